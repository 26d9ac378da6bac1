"""A proxy in front of an S3 server that loses, doubles, delays and answers requests, as networks and busy stores do.

Requests are signed, so they go on byte by byte; each has a connection of its own, so that the reply ends with it.
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

_HEAD_ENDS = b"\r\n\r\n"
_OF_THE_CONNECTION = re.compile(rb"(?im)^(connection|keep-alive|expect):[^\r\n]*\r\n")
WAIT_SECONDS = 240


@dataclass(frozen=True)
class Request:
    head: bytes
    body: bytes

    @property
    def line(self) -> str:
        return self.head.partition(b"\r\n")[0].decode()

    @property
    def method(self) -> str:
        return self.line.split(" ")[0]

    @property
    def path(self) -> str:
        return self.line.split(" ")[1]

    @property
    def is_conditional(self) -> bool:
        return re.search(rb"(?im)^if-none-match:", self.head) is not None

    @property
    def one_shot(self) -> bytes:
        head = _OF_THE_CONNECTION.sub(b"", self.head)
        first, _, rest = head.partition(b"\r\n")
        return first + b"\r\nConnection: close\r\n" + rest + self.body


Send = Callable[[Request], bytes]
Fault = Callable[[Request, Send], bytes | None]
"""What becomes of a request: the reply, or None for a connection that breaks without one."""


def lose_reply(request: Request, send: Send) -> None:
    send(request)


def lose_request(_request: Request, _send: Send) -> None:
    pass


def double(request: Request, send: Send) -> bytes:
    """The network delivers it twice, and the reply to the second is the one that arrives."""
    send(request)
    return send(request)


def answer(status: int, code: str) -> Fault:
    """The store refuses, and does nothing."""
    return lambda request, _send: _refusal(status, code, request)


def answer_after(status: int, code: str) -> Fault:
    """The store does it, and says that it didn't."""

    def fault(request: Request, send: Send) -> bytes:
        send(request)
        return _refusal(status, code, request)

    return fault


@dataclass
class Late:
    """Requests arrive only when they are let through, long after their sender has given up."""

    held: list[tuple[Request, Send]] = field(default_factory=list)

    def __call__(self, request: Request, send: Send) -> None:
        self.held.append((request, send))

    def let_through(self) -> list[bytes]:
        return [send(request).partition(b"\r\n")[0] for request, send in self.held]


@dataclass
class Together:
    """Requests wait until so many are there, and then go on at once."""

    count: int

    def __post_init__(self) -> None:
        self._all = threading.Barrier(self.count)

    def __call__(self, request: Request, send: Send) -> bytes:
        self._all.wait(WAIT_SECONDS)
        return send(request)


@dataclass
class Rule:
    matches: Callable[[Request], bool]
    fault: Fault
    times: int | None = None
    """None: always."""
    met: int = 0


class S3Proxy:
    def __init__(self, port: int) -> None:
        self._server = port
        self._rules: list[Rule] = []
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.seen: list[str] = []

    def on(self, method: str, path: str, fault: Fault, times: int | None = None) -> Rule:
        """From now on this befalls requests whose path matches; earlier rules come first."""
        pattern = re.compile(path)
        rule = Rule(
            lambda request: request.method == method and pattern.search(request.path) is not None,
            fault,
            times,
        )
        with self._lock:
            self._rules.append(rule)
        return rule

    def quiet(self) -> None:
        with self._lock:
            self._rules.clear()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)

    def _serve(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._handle, args=[client], daemon=True).start()

    def _handle(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            request = _read(client)
            if request is None:
                return
            self.seen.append(request.line)
            fault = self._fault(request)
            reply = self._send(request) if fault is None else fault(request, self._send)
            if reply is not None:
                client.sendall(reply)

    def _fault(self, request: Request) -> Fault | None:
        with self._lock:
            for rule in self._rules:
                if rule.matches(request) and (rule.times is None or rule.met < rule.times):
                    rule.met += 1
                    return rule.fault
        return None

    def _send(self, request: Request) -> bytes:
        with socket.create_connection(("127.0.0.1", self._server)) as server:
            server.sendall(request.one_shot)
            return b"".join(_pieces(server))


def _pieces(server: socket.socket) -> Iterator[bytes]:
    while piece := server.recv(1 << 16):
        yield piece


def _read(client: socket.socket) -> Request | None:
    data = b""
    while _HEAD_ENDS not in data:
        piece = client.recv(1 << 16)
        if not piece:
            return None
        data += piece
    head, _, body = data.partition(_HEAD_ENDS)
    head += b"\r\n"
    if re.search(rb"(?im)^expect: *100-continue", head):
        client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    length = re.search(rb"(?im)^content-length: *(\d+)", head)
    missing = (int(length[1]) if length else 0) - len(body)
    while missing > 0:
        piece = client.recv(min(missing, 1 << 16))
        if not piece:
            return None
        body += piece
        missing -= len(piece)
    return Request(head, b"\r\n" + body)


def _refusal(status: int, code: str, request: Request) -> bytes:
    said = "" if request.method == "HEAD" else f"<Error><Code>{code}</Code><Message>{code}</Message></Error>"
    head = f"HTTP/1.1 {status} {code}\r\nContent-Type: application/xml\r\nContent-Length: {len(said)}\r\nConnection: close\r\n\r\n"
    return (head + said).encode()
