"""A node of the test's own, whose kubelet serves the logs that the test writes."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Condition, Thread
from urllib.parse import parse_qs, urlsplit

from integration.objects import Server


@dataclass
class ContainerLog:
    """One container's log, with the time of each line, as the API server hands it on."""

    lines: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    """The queries that came."""
    is_over: bool = False
    cuts: int = 0
    """How often connections were cut off."""
    changed: Condition = field(default_factory=Condition)

    def after(self, sent: int, begun: int) -> tuple[list[str], bool]:
        """Waits for more than so many lines, or for the end of a connection that began with that count of cuts. Returns the new
        lines, and whether it goes on."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.lines) > sent or self.is_over or self.cuts > begun)
            return self.lines[sent:], not self.is_over and self.cuts == begun

    def write(self, *lines: str) -> None:
        with self.changed:
            self.lines += lines
            self.changed.notify_all()

    def cut_off(self) -> None:
        """Ends what is being followed, as a node does that loses its connection."""
        with self.changed:
            self.cuts += 1
            self.changed.notify_all()

    def end(self) -> None:
        with self.changed:
            self.is_over = True
            self.changed.notify_all()


@contextmanager
def kubelet_of(
    node: str, server: Server, certificate: tuple[Path, Path], log: ContainerLog
) -> Iterator[None]:
    """Makes the Node object and serves the log of whatever container of it is asked for."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            query = parse_qs(asked.query)
            since = query.get("sinceTime", [""])[0]
            log.asked.append(self.path)
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            sent, begun, follows = 0, log.cuts, "follow" in query
            goes_on = True
            while goes_on:
                new, goes_on = log.after(sent, begun) if follows else (list(log.lines), False)
                sent += len(new)
                # To the second, as a kubelet is asked.
                self._send("".join(f"{line}\n" for line in new if line[:19] >= since[:19]))
            self.wfile.write(b"0\r\n\r\n")

        def _send(self, text: str) -> None:
            content = text.encode()
            if content:
                self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
                self.wfile.flush()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            """Says nothing: what was asked is kept."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    http.socket = context.wrap_socket(http.socket, server_side=True)
    thread = Thread(target=http.serve_forever, daemon=True)
    thread.start()
    nodes = "/api/v1/nodes"
    server.ask("POST", nodes, {"metadata": {"name": node}})
    try:
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": http.server_port}},
        }
        merge = "application/merge-patch+json"
        server.ask("PATCH", f"{nodes}/{node}/status", {"status": status}, content=merge)
        yield
    finally:
        server.ask("DELETE", f"{nodes}/{node}")
        log.end()
        http.shutdown()
        http.server_close()
        thread.join()
