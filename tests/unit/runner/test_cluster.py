"""The API server is asked over one connection, and whatever it answers, or breaks off, is an error that who asked expects: nobody
starts the asking threads again."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sluice_runner.cluster import Cluster, RequestError

POD = "/api/v1/namespaces/sales/pods/daily-1-driver"


def answer(body: bytes, status: str = "200 OK", more: str = "", length: int | None = None) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body) if length is None else length}\r\n{more}\r\n"
    return head.encode() + body


GOES_ON, CLOSES = answer(b'{"kind":"Pod"}'), answer(b'{"kind":"Pod"}', more="Connection: close\r\n")


class Server:
    """Speaks TLS, and gives one answer after the other, the last one for ever. An empty one closes the connection."""

    def __init__(self, certificate: Path, key: Path) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._socket = context.wrap_socket(socket.create_server(("127.0.0.1", 0)), server_side=True)
        self.port = self._socket.getsockname()[1]
        self.answers: Sequence[bytes] = (GOES_ON,)
        self.asked: list[str] = []
        self.connections = 0
        self._open: list[ssl.SSLSocket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for one in (self._socket, *self._open):
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(accepted)
            threading.Thread(target=self._serve, args=(accepted,), daemon=True).start()

    def _serve(self, connection: ssl.SSLSocket) -> None:
        with connection, connection.makefile("rb") as asked:
            while head := b"".join(iter(asked.readline, b"\r\n")).decode():
                self.asked.append(head)
                if not (given := self._next()):
                    return
                try:
                    connection.sendall(given)
                except OSError:  # who asked had read enough, and closed
                    return
                if b"Connection: close" in given or given is BROKEN_OFF:
                    return

    def _next(self) -> bytes:
        first, *rest = self.answers
        self.answers = rest or self.answers
        return first


BROKEN_OFF = answer(b'{"kind":', length=100)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key")
    name = ("-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "1")
    command = ("openssl", "req", "-x509", *new_key, "-out", "certificate", *name)
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "certificate", folder / "key"


@pytest.fixture
def server(certificate: tuple[Path, Path]) -> Iterator[Server]:
    one = Server(*certificate)
    yield one
    one.close()


@pytest.fixture
def cluster(server: Server, certificate: tuple[Path, Path], tmp_path: Path) -> Cluster:
    (tmp_path / "token").write_text("a-token\n", encoding="ascii")
    (tmp_path / "ca.crt").write_bytes(certificate[0].read_bytes())
    return Cluster("127.0.0.1", str(server.port), tmp_path, "daily-1")


def asked(cluster: Cluster) -> dict[str, Any]:
    return cluster.request("GET", POD)


def test_many_requests_of_several_threads_open_one_connection(cluster: Cluster, server: Server) -> None:
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _number: asked(cluster), range(100)))
    assert found == [{"kind": "Pod"}] * 100
    assert server.connections == 1


def test_an_answer_in_chunks_as_of_any_pod_of_some_size_keeps_the_connection(
    cluster: Cluster, server: Server
) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    server.answers = (head + b'8\r\n{"kind":\r\n6\r\n"Pod"}\r\n0\r\n\r\n',)
    assert [asked(cluster) for _ in range(3)] == [{"kind": "Pod"}] * 3
    assert server.connections == 1


def test_each_request_brings_the_token_that_is_there_then(
    cluster: Cluster, server: Server, tmp_path: Path
) -> None:
    asked(cluster)
    (tmp_path / "token").write_text("another", encoding="ascii")
    asked(cluster)
    assert ["Bearer a-token" in server.asked[0], "Bearer another" in server.asked[1]] == [True, True]
    assert server.connections == 1


def test_a_connection_that_the_server_closes_is_opened_again_without_an_error(
    cluster: Cluster, server: Server
) -> None:
    server.answers = (CLOSES, GOES_ON, b"", GOES_ON)
    assert [asked(cluster) for _ in range(4)] == [{"kind": "Pod"}] * 4
    assert server.connections == 3


def test_what_was_broken_off_is_not_taken_for_the_answer_to_the_next_request(
    cluster: Cluster, server: Server
) -> None:
    server.answers = (GOES_ON, BROKEN_OFF, GOES_ON)
    asked(cluster)
    with pytest.raises(RequestError, match="does not answer"):
        asked(cluster)
    assert asked(cluster) == {"kind": "Pod"}
    assert server.connections == 2


def test_an_answer_that_is_no_object_is_read_as_an_empty_one(cluster: Cluster, server: Server) -> None:
    server.answers = (answer(b"[]"),)
    assert asked(cluster) == {}


@pytest.mark.parametrize(
    "given",
    [
        answer(b"<html>"),
        answer(b"\xff"),
        b"",
        b"\x15\x03\r\n\r\n",
        BROKEN_OFF,
        answer(b'"' + b"x" * (5 * 1024 * 1024) + b'"'),
    ],
    ids=["no JSON", "no text", "closed", "no HTTP", "broken off", "too long"],
)
def test_what_is_no_answer_is_told_as_one_that_did_not_come(
    cluster: Cluster, server: Server, given: bytes
) -> None:
    server.answers = (given,)
    with pytest.raises(RequestError, match=r"^https://127\.0\.0\.1:\d+ does not answer: ") as refused:
        asked(cluster)
    assert refused.value.code is None


@pytest.mark.parametrize(
    ("body", "length", "told"),
    [
        (b'{"message":"come later"}', None, "503 come later"),
        (b"no JSON", None, "503 Service Unavailable"),
        (b'{"message":"co', 100, "503 Service Unavailable"),
    ],
)
def test_a_refusal_is_told_by_its_code_also_where_its_words_were_broken_off(
    cluster: Cluster, server: Server, body: bytes, length: int | None, told: str
) -> None:
    server.answers = (
        answer(body, "503 Service Unavailable", "" if length is None else "Connection: close\r\n", length),
    )
    with pytest.raises(RequestError) as refused:
        asked(cluster)
    assert (str(refused.value), refused.value.code) == (told, 503)


def test_a_server_of_another_authority_is_told_nothing(
    cluster: Cluster, server: Server, tmp_path: Path
) -> None:
    (tmp_path / "ca.crt").unlink()
    with pytest.raises(RequestError, match="does not answer"):
        asked(cluster)
    assert server.asked == []
