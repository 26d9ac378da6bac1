"""A proxy before a store on loopback, which counts requests and answers some of them itself, or not at all."""

import http.client
import re
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    authorization: str
    number: int
    """Of all requests, beginning with 1."""

    @property
    def region(self) -> str | None:
        """For which region it is signed."""
        found = re.search(r"Credential=[^/]+/\d+/([^/]+)/s3/", self.authorization)
        return found[1] if found else None

    @property
    def lists(self) -> bool:
        return "list-type" in parse_qs(urlsplit(self.target).query)


@dataclass(frozen=True)
class Answer:
    status: int
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)


def s3_error(status: int, code: str, message: str = "says the test's proxy") -> Answer:
    body = f'<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'
    return Answer(status, body, {"Content-Type": "application/xml"})


DROPPED = Answer(0)
"""The connection ends after the store has answered."""
HANGS = Answer(-1)
"""Nothing comes until the proxy is closed or told to go on."""

Fault = Callable[[Request], Answer | None]


def passes(_: Request) -> None:
    return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # delta-rs asks for all commits of a log at once.
    request_queue_size = 1024

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that gave up an answer is no news."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class StoreProxy:
    def __init__(self, port: int, fault: Fault = passes) -> None:
        self.fault = fault
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        self._thaws = threading.Event()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Headers and body go out as two packets, and the second waits for the client's ACK otherwise.
            disable_nagle_algorithm = True

            def do(self) -> None:
                request = proxy._counted(self.command, self.path, self.headers.get("Authorization", ""))
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                answer = proxy.fault(request)
                if answer is HANGS:
                    proxy._thaws.wait()
                    self.close_connection = True
                elif answer is None or answer is DROPPED:
                    self._pass_on(body, drops=answer is DROPPED)
                else:
                    self._answer(answer)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do  # noqa: N815 - as its base class calls them

            def _pass_on(self, body: bytes, *, drops: bool) -> None:
                store = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
                try:
                    store.request(self.command, self.path, body or None, dict(self.headers))
                    reply = store.getresponse()
                    content = reply.read()
                finally:
                    store.close()
                if drops:
                    self.close_connection = True
                    return
                self.send_response_only(reply.status)
                for name, value in reply.getheaders():
                    if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                        self.send_header(name, value)
                length = len(content) if self.command != "HEAD" else reply.getheader("Content-Length", "0")
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(content)

            def _answer(self, answer: Answer) -> None:
                content = answer.body.encode()
                self.send_response_only(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """The test's own output says what went wrong."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def _counted(self, method: str, target: str, authorization: str) -> Request:
        with self._lock:
            request = Request(method, target, authorization, len(self.requests) + 1)
            self.requests.append(request)
        return request

    def thaw(self) -> None:
        """Ends the connections that hang."""
        self.fault = passes
        self._thaws.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.thaw()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)
