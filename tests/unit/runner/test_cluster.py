"""Whatever an API server answers, or breaks off, is an error that who asked expects: nobody starts the asking threads again."""

from __future__ import annotations

import http.client
import io
import urllib.error
import urllib.request
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from sluice_runner.cluster import Cluster, RequestError


class Answered:
    """In the place of urllib's opener."""

    def __init__(self, answer: bytes | Exception) -> None:
        self._answer = answer

    def open(self, _request: object, timeout: float) -> Any:
        assert timeout > 0
        if isinstance(self._answer, Exception):
            raise self._answer
        return io.BytesIO(self._answer)


class BrokenOff(io.BytesIO):
    def read(self, _size: int | None = -1) -> bytes:
        raise http.client.IncompleteRead(b"{")


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    (tmp_path / "token").write_text("a-token\n", encoding="ascii")
    monkeypatch.setattr(Cluster, "_trust", lambda _self: None)
    return Cluster("https://10.0.0.1:443", tmp_path, "daily-1")


def asked(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, answer: bytes | Exception) -> dict[str, Any]:
    monkeypatch.setattr(urllib.request, "build_opener", lambda *_handlers: Answered(answer))
    return cluster.request("GET", "/api/v1/namespaces/sales/pods/daily-1-driver")


def test_an_answer_is_read(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(cluster, monkeypatch, b'{"kind":"Pod"}') == {"kind": "Pod"}
    assert asked(cluster, monkeypatch, b"[]") == {}


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>",
        b"\xff",
        ConnectionResetError("reset"),
        TimeoutError("timed out"),
        http.client.BadStatusLine("\x15\x03"),
        http.client.IncompleteRead(b"{"),
        http.client.RemoteDisconnected("closed"),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_what_is_no_answer_is_told_as_one_that_did_not_come(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, answer: bytes | Exception
) -> None:
    with pytest.raises(RequestError, match=r"^https://10\.0\.0\.1:443 does not answer: ") as refused:
        asked(cluster, monkeypatch, answer)
    assert refused.value.code is None


@pytest.mark.parametrize("body", [io.BytesIO(b"no JSON"), BrokenOff()])
def test_a_refusal_is_told_by_its_code_also_where_its_words_were_broken_off(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, body: io.BytesIO
) -> None:
    refusal = urllib.error.HTTPError("https://10.0.0.1", 503, "Service Unavailable", Message(), body)
    with pytest.raises(RequestError, match=r"^503 Service Unavailable$") as refused:
        asked(cluster, monkeypatch, refusal)
    assert refused.value.code == 503
