"""What an API server says of itself is understood: that it is not ready yet, that something is not there, that it refuses."""

import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from integration.objects import NoSuchObjectError, Objects, RefusedRequestError, Server


class _Scripted(BaseHTTPRequestHandler):
    answers: list[tuple[int, str]]

    def answer(self) -> None:
        status, text = self.answers.pop(0)
        self.send_response(status)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815 - as the base class calls them

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - as the base class calls it
        """Nobody reads it."""


@pytest.fixture
def answers() -> list[tuple[int, str]]:
    return []


@pytest.fixture
def objects(answers: list[tuple[int, str]]) -> Iterator[Objects]:
    """Yields the objects of a server that gives these answers, one after the other."""
    handler = type("Handler", (_Scripted,), {"answers": answers})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield Objects(Server(lambda: HTTPConnection("127.0.0.1", server.server_port, timeout=60)), "here")
        server.shutdown()
        serving.join()


def test_a_server_that_is_not_ready_is_asked_again(objects: Objects, answers: list[tuple[int, str]]) -> None:
    answers += [(429, "storage is (re)initializing"), (429, "storage is (re)initializing"), (200, "{}")]
    assert objects.get("pod", "any") == {}
    assert answers == []


def test_what_is_not_there_is_none_and_cannot_be_changed(
    objects: Objects, answers: list[tuple[int, str]]
) -> None:
    answers += [(404, "{}")] * 3
    assert objects.get("pod", "any") is None
    with pytest.raises(NoSuchObjectError, match="pod any is not in namespace here to be patched"):
        objects.patch("pod", "any", {})
    with pytest.raises(NoSuchObjectError, match="to be deleted"):
        objects.delete("pod", "any")


def test_a_refusal_is_told_in_the_servers_words(objects: Objects, answers: list[tuple[int, str]]) -> None:
    answers.append((422, "spec is odd"))
    with pytest.raises(RefusedRequestError, match="POST /api/v1/namespaces/here/pods: 422: spec is odd"):
        objects.create("pod", {})


def _event(name: str, version: int) -> dict[str, object]:
    return {"type": "MODIFIED", "object": {"metadata": {"name": name, "resourceVersion": str(version)}}}


def test_a_history_ends_with_the_last_change_of_what_is_there(
    objects: Objects, answers: list[tuple[int, str]]
) -> None:
    events = [_event("a", 8), _event("b", 9), _event("a", 12)]
    there = {"items": [events[1]["object"], events[2]["object"]]}
    answers += [(200, json.dumps(there)), (200, "\n".join(map(json.dumps, [*events, _event("a", 13)])))]
    assert objects.history("pod", "7") == events
    answers.append((200, json.dumps(there)))
    assert objects.history("pod", "12") == []
