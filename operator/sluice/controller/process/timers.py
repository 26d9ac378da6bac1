"""Keeps who is to be looked at again though nothing changes: each at the earliest time that was asked for."""

import heapq
import time
from collections.abc import Callable


class Timers:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []
        """Also has entries that an earlier time has replaced or that were forgotten: those are passed over."""

    def within(self, seconds: float, uid: str) -> None:
        """Sets the timer, unless one comes sooner anyway."""
        due = self._clock() + max(0.0, seconds)
        known = self._due.get(uid)
        if known is None or due < known:
            self._due[uid] = due
            heapq.heappush(self._heap, (due, uid))

    def forget(self, uid: str) -> None:
        self._due.pop(uid, None)

    def take_due(self) -> list[str]:
        """Takes those whose time has come; each is returned once."""
        now, found = self._clock(), []
        while self._heap and self._heap[0][0] <= now:
            due, uid = heapq.heappop(self._heap)
            if self._due.get(uid) == due:
                del self._due[uid]
                found.append(uid)
        return found

    def seconds_left(self) -> float | None:
        """Seconds until the next one is due; None: nobody waits."""
        while self._heap and self._due.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return max(0.0, self._heap[0][0] - self._clock()) if self._heap else None
