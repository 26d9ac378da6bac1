"""A way to the API server on which an operator dies just at a write: before it arrives, or before its answer does."""

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

from integration.objects import Server

_HOP_BY_HOP = frozenset({"connection", "transfer-encoding", "host", "keep-alive", "content-length"})

Is = Callable[[str, str, str], bool]
"""Whether a request is the one at which the operator dies, by its method, its path and its body."""


class Moment(StrEnum):
    BEFORE = "before it arrives"
    AFTER = "before its answer arrives"


class FatalWay:
    """Carries all requests but one. Nothing that comes after that is carried, until the next operator has its own."""

    def __init__(self, server: Server, moment: Moment) -> None:
        self._server = server
        self._moment = moment
        self._lock = threading.Lock()
        self._fatal: Is | None = None
        self._kill: Callable[[], None] = lambda: None
        self.has_died = threading.Event()

    def dies_at(self, fatal: Is, kill: Callable[[], None]) -> None:
        self.has_died.clear()
        with self._lock:
            self._fatal, self._kill = fatal, kill

    def is_fatal(self, method: str, path: str, body: str) -> bool:
        """Only the first one counts."""
        with self._lock:
            if self._fatal is None or not self._fatal(method, path, body):
                return False
            self._fatal = None
            return True

    def carry(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers.get("Content-Length") or 0)
        body = request.rfile.read(length)
        is_fatal = self.is_fatal(request.command, request.path, body.decode("utf-8", "replace"))
        if is_fatal and self._moment is Moment.BEFORE:
            self._dies()
            return
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP_BY_HOP}
        headers["Authorization"] = f"Bearer {self._server.token}"
        connection = self._server.connect()
        try:
            connection.request(request.command, request.path, body or None, headers)
            answer = connection.getresponse()
            if is_fatal:
                answer.read()
                self._dies()
                return
            _hand_on(answer, request)
        finally:
            connection.close()

    def _dies(self) -> None:
        self._kill()
        self.has_died.set()


def _hand_on(answer: http.client.HTTPResponse, request: BaseHTTPRequestHandler) -> None:
    request.send_response(answer.status)
    for name, value in answer.getheaders():
        if name.lower() not in _HOP_BY_HOP:
            request.send_header(name, value)
    request.send_header("Transfer-Encoding", "chunked")
    request.end_headers()
    while data := answer.read1(65536):
        request.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        request.wfile.flush()
    request.wfile.write(b"0\r\n\r\n")


@contextmanager
def fatal_way(kubeconfig: Path, folder: Path, moment: Moment) -> Iterator[tuple[FatalWay, Path]]:
    """And the configuration of who goes that way."""
    way = FatalWay(Server.of(kubeconfig), moment)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _carry(self) -> None:
            with suppress(OSError, http.client.HTTPException):  # one of the two has gone
                way.carry(self)
                return
            self.close_connection = True

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _carry  # noqa: N815 - the library looks for these names

        def log_message(self, *_: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    content = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    content["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{listening.server_address[1]}"}
    file = folder / "fatal-way.yaml"
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    try:
        yield way, file
    finally:
        listening.shutdown()
        listening.server_close()
