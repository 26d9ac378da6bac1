"""Who ages next, of those that wait."""

from collections.abc import Mapping
from datetime import datetime
from heapq import heappop, heappush

from sluice.admission.queue_entries import Waiting
from sluice.admission.reference_decision import Rank

_SPARE = 64
"""Entries of those who wait no longer that may stay beside those that do, whatever their number."""


class AgeOrder:
    def __init__(self, waiting: Mapping[str, Waiting]) -> None:
        self._waiting = waiting
        self._coming: list[tuple[datetime, Rank]] = []
        """A heap, with entries of those who wait no longer, or under another rank."""

    @property
    def next_at(self) -> datetime | None:
        while self._coming and not self._is_current(*self._coming[0]):
            heappop(self._coming)
        return self._coming[0][0] if self._coming else None

    def add(self, entry: Waiting) -> None:
        heappush(self._coming, (entry.waiter.aged_at, entry.rank))
        if len(self._coming) > 2 * len(self._waiting) + _SPARE:
            self._coming = sorted(one for one in self._coming if self._is_current(*one))

    def take(self, now: datetime) -> Waiting | None:
        """Returns one whose time has come."""
        at = self.next_at
        return self._waiting[heappop(self._coming)[1][-1]] if at is not None and at <= now else None

    def _is_current(self, at: datetime, rank: Rank) -> bool:
        entry = self._waiting.get(rank[-1])
        return entry is not None and entry.rank == rank and entry.waiter.aged_at == at
