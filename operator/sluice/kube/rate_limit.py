"""Limits how fast requests go out: a limited number a second, in the order in which they were asked for, and a limited number under
way at one time."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

UNDER_WAY = 100
"""Requests under way. Each needs a connection of its own; those that come later wait here, where no request's own time runs
yet."""


class RateLimit:
    """A bucket of `burst` tokens that fills by `rate` a second; at a rate of 0 there is no limit."""

    def __init__(self, rate: float = 0.0, burst: int = 1, now: Callable[[], float] = time.monotonic) -> None:
        self._interval = 1 / rate if rate else 0.0
        self._tolerance = self._interval * max(burst - 1, 0)
        self._now = now
        self._next = 0.0
        """When the next one would go out if all went out evenly."""
        self._places = asyncio.Semaphore(UNDER_WAY)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        seconds = self.reserve()
        if seconds > 0:
            await asyncio.sleep(seconds)
        async with self._places:
            yield

    def reserve(self) -> float:
        """Takes a token, and returns how long to wait until it may be used."""
        now = self._now()
        due = max(self._next, now)
        self._next = due + self._interval
        return max(due - self._tolerance - now, 0.0)
