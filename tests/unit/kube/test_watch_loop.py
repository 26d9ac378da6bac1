"""What a watcher does when things are not as usual."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import pytest

from sluice.kube import watch_loop
from sluice.kube.client import ApiError, KindMissingError
from sluice.kube.watch_loop import Watcher
from unit.kube.bodies import Told, body


class Server:
    """Lists what it is given, in turn; each of its watches tells one event, and then nothing."""

    def __init__(self, *lists: Exception | list[dict[str, Any]]) -> None:
        self.lists = list(lists)
        self.before_the_next_event: Callable[[], None] = lambda: None
        self.all_listed = asyncio.Event()

    async def pages(self, *_: Any) -> AsyncIterator[dict[str, Any]]:
        listed = self.lists.pop(0)
        if not self.lists:
            self.all_listed.set()
        if isinstance(listed, Exception):
            raise listed
        yield {"metadata": {"resourceVersion": "50"}, "items": listed}

    async def watch(self, *_: Any) -> AsyncIterator[dict[str, Any]]:
        self.before_the_next_event()
        self.before_the_next_event = lambda: None
        yield {"type": "ADDED", "object": body("c", 45)}
        await asyncio.Event().wait()


async def watched(told: Told, server: Any) -> None:
    task = asyncio.create_task(Watcher(server, told.mirror, None).run())
    await server.all_listed.wait()
    await asyncio.sleep(0)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_what_was_forgotten_is_listed_again_though_its_watch_goes_on() -> None:
    told = Told()
    server = Server([body("a", 5)], [body("a", 5), body("b", 6)])
    server.before_the_next_event = told.mirror.forget
    async with asyncio.timeout(30):
        await watched(told, server)
    assert server.lists == []


async def test_what_keeps_it_from_watching_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(watch_loop, "PAUSE", 0.0)
    away = ApiError(0, "NoAnswer", "no answer")
    server = Server(
        away,
        away,
        away,
        KindMissingError(404, "KindMissing", "the API server serves no pods of /v1"),
        away,
        [],
    )
    async with asyncio.timeout(30):
        await watched(Told(), server)
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 3
    assert (
        said[0] == said[2] == "watching pods of all namespaces: no answer; listing anew until it is answered"
    )
    assert "is its definition applied?" in said[1]
