"""Who is a barrier on which table, and who would be one but for those before it."""

from bisect import insort
from collections.abc import Iterator
from operator import attrgetter

from sluice.admission.queue_entries import EntryGroup, Waiting
from sluice.tables import TableKey


class Barriers:
    def __init__(self) -> None:
        self._on: dict[TableKey, list[Waiting]] = {}
        self._next: dict[TableKey, dict[EntryGroup, None]] = {}
        """Those of which the first has aged and waits for a barrier of the table."""

    def ahead_of(self, entry: Waiting) -> Iterator[Waiting]:
        for table in entry.waiter.footprint.keys:
            for one in self._on.get(table, ()):
                if one.rank >= entry.rank:
                    break
                yield one

    def behind(self, entry: Waiting) -> list[Waiting]:
        found = (one for table in entry.waiter.footprint.keys for one in self._on.get(table, ()))
        return [one for one in found if one.rank > entry.rank]

    def add(self, entry: Waiting) -> None:
        for table in entry.waiter.footprint.keys:
            insort(self._on.setdefault(table, []), entry, key=attrgetter("rank"))

    def remove(self, entry: Waiting) -> list[EntryGroup]:
        """Returns those that may be barriers now."""
        for table in entry.waiter.footprint.keys:
            self._on[table].remove(entry)
            if not self._on[table]:
                del self._on[table]
        return [one for table in entry.waiter.footprint.keys for one in self._next.get(table, ())]

    def comes_next(self, alike: EntryGroup, entry: Waiting) -> None:
        alike.next_on = entry.waiter.footprint.keys
        for table in alike.next_on:
            self._next.setdefault(table, {})[alike] = None

    def comes_no_more(self, alike: EntryGroup) -> None:
        for table in alike.next_on:
            del self._next[table][alike]
            if not self._next[table]:
                del self._next[table]
        alike.next_on = ()
