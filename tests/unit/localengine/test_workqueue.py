import asyncio
from collections.abc import Awaitable, Callable

import pytest

from localengine.workqueue import WorkQueue


async def run_until(queue: WorkQueue[str], done: asyncio.Event, workers: int = 3) -> None:
    working = asyncio.create_task(queue.run(workers))
    await asyncio.wait_for(done.wait(), 60)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)


async def test_a_change_during_the_work_is_looked_at_after_it_and_never_beside_it() -> None:
    done, seen, at_once = asyncio.Event(), 0, 0

    async def handle(key: str) -> float | None:
        nonlocal seen, at_once
        at_once += 1
        assert at_once == 1
        if seen == 0:
            queue.add(key)
            queue.add(key)
        await asyncio.sleep(0.01)
        seen, at_once = seen + 1, at_once - 1
        if seen == 2:
            done.set()
        return None

    queue: WorkQueue[str] = WorkQueue("test", handle)
    queue.add("a")
    await run_until(queue, done)
    assert seen == 2


@pytest.mark.parametrize("failure", [RuntimeError("not yet"), KeyError("a fault of ours")])
async def test_a_failure_is_tried_again_and_ends_nothing(failure: Exception) -> None:
    done, tries = asyncio.Event(), 0

    async def handle(_key: str) -> float | None:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise failure
        done.set()
        return None

    queue: WorkQueue[str] = WorkQueue("test", handle)
    queue.add("a")
    await run_until(queue, done)
    assert tries == 3


async def test_a_key_comes_back_when_it_asked_to_or_when_it_changes_before() -> None:
    done, when = asyncio.Event(), list[float]()

    def handler() -> Callable[[str], Awaitable[float | None]]:
        async def handle(_key: str) -> float | None:
            when.append(asyncio.get_running_loop().time())
            if len(when) == 1:
                return 0.05
            if len(when) == 2:
                asyncio.get_running_loop().call_later(0.05, queue.add, "a")
                return 60
            done.set()
            return None

        return handle

    queue: WorkQueue[str] = WorkQueue("test", handler())
    queue.add("a")
    await run_until(queue, done)
    assert when[1] - when[0] >= 0.05
    assert when[2] - when[1] < 30
