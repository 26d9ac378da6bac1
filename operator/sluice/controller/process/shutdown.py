"""Stops the operator on SIGINT and SIGTERM, however often they come, and ends its tasks."""

import asyncio
import logging
import signal
from collections.abc import Iterable
from typing import Any

logger = logging.getLogger(__name__)

ASK_AGAIN = 1.0


def heed_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)


async def end(tasks: Iterable["asyncio.Task[Any]"], *, ask_again: float = ASK_AGAIN) -> None:
    """Cancels the tasks until they have ended, whatever came of them. One cancellation can get lost: of a hundred tasks that
    waited for a silent Redis through redis-py, which waits by `asyncio.wait_for`, one went on under Python 3.11."""
    left = set(tasks)
    is_told_to_end = False
    while left:
        for task in left:
            task.cancel()
        try:
            done, left = await asyncio.wait(left, timeout=ask_again)
        except asyncio.CancelledError:  # who ends others ends after them
            is_told_to_end = True
            continue
        for task in done:
            _ = task.cancelled() or task.exception()  # else asyncio would complain that nobody asked
        for task in left:
            logger.info("%s still runs though it was cancelled; cancelling it again", task.get_name())
    if is_told_to_end:
        raise asyncio.CancelledError
