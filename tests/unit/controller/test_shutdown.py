"""Every task of the operator comes to its end when it is told to."""

import asyncio
from contextlib import suppress

from sluice.controller.process.shutdown import end


async def losing_two(lost: list[str]) -> None:
    """Cancellations, as a library does whose answer came in the same moment."""
    while len(lost) < 2:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            lost.append("a cancellation")
    await asyncio.sleep(60)


async def test_a_task_that_loses_a_cancellation_is_told_again() -> None:
    lost: list[str] = []
    task = asyncio.create_task(losing_two(lost))
    await asyncio.sleep(0)
    async with asyncio.timeout(30):
        await end([task], ask_again=0.01)
    assert task.cancelled()
    assert len(lost) == 2


async def test_tasks_that_failed_or_have_ended_before_hold_up_nothing() -> None:
    async def fail() -> None:
        raise ValueError("on its way")

    async def fail_at_the_end() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            raise ValueError("while it tidied up")

    tasks = [asyncio.create_task(coroutine) for coroutine in (fail(), fail_at_the_end())]
    with suppress(ValueError):
        await tasks[0]
    await end(tasks)
    assert all(task.done() for task in tasks)


async def test_who_ends_others_when_it_is_told_to_end_ends_after_them() -> None:
    worker = asyncio.create_task(losing_two([]))

    async def lead() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await end([worker], ask_again=0.05)

    leader = asyncio.create_task(lead())
    await asyncio.sleep(0)
    async with asyncio.timeout(30):
        await end([leader], ask_again=0.01)
    assert leader.cancelled()
    assert worker.done()


async def test_nothing_to_end_is_no_error() -> None:
    await end([])
