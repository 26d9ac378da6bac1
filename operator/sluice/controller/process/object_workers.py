"""Works on the API server for jobs, beside the task that decides: for many jobs at once, one thing after another for each.

What was decided comes first; for the rest, namespaces take turns, so that one with thousands of jobs in need delays the others
as little as one with a few.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from sluice.controller.process.fair_queue import FairQueue
from sluice.controller.process.shutdown import end

MOST = 64
"""Steps at once: more than the API server answers at a time on small machines, and a bound where each answer takes seconds."""

Doing = Callable[[], Awaitable[None]]


class ObjectWorkers:
    def __init__(self, guard: Callable[[str, Awaitable[None]], Awaitable[None]], *, most: int = MOST) -> None:
        self._guard = guard
        self._most = most
        self._step: Callable[[str], Awaitable[None]] | None = None
        self._done: Callable[[str], None] = lambda _: None
        self._urgent: deque[str] = deque()
        self._turns = FairQueue()
        """Turns of jobs that need a step."""
        self._decided: dict[str, deque[Doing]] = {}
        self._wanting: dict[str, str] = {}
        """The namespaces of those that need a step."""
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self._paused = False

    def serve(self, step: Callable[[str], Awaitable[None]], done: Callable[[str], None]) -> None:
        """Begins to serve. `step`: does what a job needs next, as things are when its turn comes; `done`: is called with the
        uid of a job for which nothing is under way any more."""
        self._step, self._done = step, done
        self._fill()

    def ask(self, uid: str, namespace: str) -> None:
        """Asks for a step for the job; another one if one is under way, which may have looked before something changed."""
        if uid in self._wanting:
            return
        self._wanting[uid] = namespace
        if uid not in self._under_way and uid not in self._decided:
            self._turns.add(uid, namespace)
        self._fill()

    def do(self, uid: str, work: Doing) -> None:
        """Does what was decided for the job, after what is under way for it and before any step."""
        known = self._decided.setdefault(uid, deque())
        known.append(work)
        if len(known) == 1 and uid not in self._under_way:
            if uid in self._wanting:
                self._turns.drop(uid, self._wanting[uid])  # its step follows
            self._urgent.append(uid)
        self._fill()

    def is_busy(self, uid: str) -> bool:
        return uid in self._under_way or uid in self._decided

    @property
    def count(self) -> int:
        """The number of jobs for which something is under way."""
        return len(self._under_way)

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Waits until nothing is under way: what was sent was answered, or counts as not known."""
        self._paused = True
        try:
            await self._idle.wait()
            yield
        finally:
            self._paused = False
            self._fill()

    def forget_decided(self) -> None:
        """Drops what was decided under an epoch that is over and did not begin: it is decided again, or not any more."""
        for uid in [uid for uid in self._decided if uid not in self._under_way]:
            del self._decided[uid]
            if uid in self._wanting:
                self._turns.add(uid, self._wanting[uid])
        self._urgent.clear()

    async def close(self) -> None:
        self._paused = True
        await end(self._under_way.values())

    def _fill(self) -> None:
        while self._step is not None and not self._paused and len(self._under_way) < self._most:
            uid = self._next()
            if uid is None:
                return
            self._idle.clear()
            self._under_way[uid] = asyncio.create_task(self._run(uid), name=f"job {uid}")

    def _next(self) -> str | None:
        if self._urgent:
            return self._urgent.popleft()
        return self._turns.take() if self._turns else None

    async def _run(self, uid: str) -> None:
        try:
            for work in self._decided.pop(uid, ()):
                await self._guard(uid, work())
            if self._wanting.pop(uid, None) is not None and self._step is not None:
                await self._guard(uid, self._step(uid))
        finally:
            self._ended(uid)

    def _ended(self, uid: str) -> None:
        del self._under_way[uid]
        if uid in self._decided:
            self._urgent.append(uid)
        elif uid in self._wanting:
            self._turns.add(uid, self._wanting[uid])
        else:
            self._done(uid)
        if not self._under_way:
            self._idle.set()
        self._fill()
