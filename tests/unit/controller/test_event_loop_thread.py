"""A thread with an event loop of its own: what is asked of it comes back, in order, whatever the asking loop does meanwhile."""

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from sluice.controller.process.event_loop_thread import EventLoopThread


@pytest.fixture
def beside() -> Iterator[EventLoopThread]:
    thread = EventLoopThread("beside")
    yield thread
    thread.close()


async def test_what_comes_of_it_comes_back_from_the_other_thread(beside: EventLoopThread) -> None:
    async def named() -> str:
        return threading.current_thread().name

    async def fails() -> None:
        raise KeyError("this")

    assert await beside.run(named()) == "beside"
    with pytest.raises(KeyError, match="this"):
        await beside.run(fails())


async def test_it_turns_while_the_asking_loop_is_busy(beside: EventLoopThread) -> None:
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    turning = asyncio.create_task(beside.run(turn()))
    await asyncio.sleep(0)
    until = time.monotonic() + 60
    while turns < 100:
        assert time.monotonic() < until
    turning.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turning


async def test_who_is_cancelled_has_ended_over_there_before_what_is_asked_next(
    beside: EventLoopThread,
) -> None:
    steps: list[str] = []
    waits_over_there = threading.Event()

    async def waits() -> None:
        try:
            waits_over_there.set()
            await asyncio.sleep(3600)
        finally:
            steps.append("ended")

    async def next_one() -> None:
        steps.append("next")

    waiting = asyncio.create_task(beside.run(waits()))
    await asyncio.to_thread(waits_over_there.wait, 60)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await beside.run(next_one())
    assert steps == ["ended", "next"]


async def test_nothing_waits_for_one_that_was_closed() -> None:
    async def nothing() -> None: ...

    thread = EventLoopThread("beside")
    await thread.run(nothing())
    thread.close()
    with pytest.raises(RuntimeError, match="closed"):
        await thread.run(nothing())
