"""Groups waiters and holders by what they have in common: those of one shape are in the same jobs' way, so that of those of them
that wait only the first has to be judged."""

from bisect import bisect_left
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Union

from sluice.admission.reference_decision import Holder, Rank, Waiter, has_aged
from sluice.admission.shapes import Shape
from sluice.tables import TableKey

HoldingOrder = tuple[int, int]


class EntryState(Enum):
    BLOCKED = "blocked"
    """Somebody is in its way, or it has not been judged yet."""
    MAY_GO = "may go"
    FAILED = "failed"
    """It could not be judged, and is in nobody's way."""


Stopped = Union["EntryGroup", "Waiting"]
"""Those of one shape that wait, or one waiter that could not be judged."""


@dataclass(eq=False, slots=True)
class QueueEntry:
    """Somebody, or something, that is in others' way."""

    _stopped: set[Stopped] | None = field(default=None, init=False)
    """None if there is nobody, as for most: an empty set takes 216 bytes."""

    @property
    def in_the_way_of(self) -> Collection[Stopped]:
        """Those who are not judged again until this one is gone."""
        return self._stopped or ()

    def is_in_the_way_of(self, stopped: Stopped) -> None:
        if self._stopped is None:
            self._stopped = set()
        self._stopped.add(stopped)

    def is_out_of_the_way_of(self, stopped: Stopped) -> None:
        if self._stopped is not None:
            self._stopped.discard(stopped)
        if not self._stopped:
            self._stopped = None


@dataclass(eq=False, slots=True)
class Holding(QueueEntry):
    alike: "EntryGroup"
    holder: Holder
    order: HoldingOrder


@dataclass(eq=False, slots=True)
class Waiting(QueueEntry):
    alike: "EntryGroup"
    waiter: Waiter
    rank: Rank
    state: EntryState = EntryState.BLOCKED
    offered: bool = False
    """Nobody has been told yet that it may go, or that it failed."""
    behind: QueueEntry | None = None
    """The one at which its judgement failed."""
    failure: Exception | None = None

    @property
    def has_aged(self) -> bool:
        return has_aged(self.rank)

    @property
    def is_barrier(self) -> bool:
        """Whether nothing that conflicts with it overtakes it though it can't go yet."""
        return self.alike.barrier is self


class EntryGroup:
    """All parties of one shape, each list in its own order."""

    __slots__ = (
        "barrier", "behind", "blocked", "due", "holding", "members", "news", "next_on", "ready", "shape", "woken_by",
    )  # fmt: skip

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.members = 0
        self.holding: list[tuple[HoldingOrder, Holding]] = []
        self.ready: list[Rank] = []
        """Those that may go."""
        self.blocked: list[Rank] = []
        """Those that wait for others. Whoever is in the way of the first is in the way of all of them."""
        self.barrier: Waiting | None = None
        """The first, if it has aged and no barrier of its tables is in its way."""
        self.next_on: tuple[TableKey, ...] = ()
        """The tables on whose barriers the first waits, though it has aged."""
        self.behind: QueueEntry | None = None
        """One of those in the way of the first."""
        self.due: Rank | None = None
        """Set while the first is to be judged."""
        self.news: dict[str, None] = {}
        """Those that have come to wait and have not been told yet."""
        self.woken_by: QueueEntry | None = None
        """The limit that has a place for the first, if nothing else is in its way."""

    @property
    def first(self) -> Rank | None:
        return self.blocked[0] if self.blocked else None

    @property
    def is_in_ways(self) -> bool:
        """Whether anybody of them can be in anybody's way."""
        return bool(self.holding or self.ready or self.barrier)

    def barrier_ahead(self, rank: Rank) -> Waiting | None:
        return self.barrier if self.barrier is not None and self.barrier.rank < rank else None

    def ready_ahead(self, rank: Rank) -> int:
        return bisect_left(self.ready, rank)

    def nearest_ahead(self, rank: Rank) -> Rank | None:
        """The last of those that are in the way of a waiter with this rank."""
        barrier, ready = self.barrier_ahead(rank), self.ready_ahead(rank)
        found = [*self.ready[ready - 1 : ready], *([barrier.rank] if barrier is not None else [])]
        return max(found, default=None)


def take_out(ranks: list[Rank], rank: Rank) -> None:
    position = bisect_left(ranks, rank)
    if position < len(ranks) and ranks[position] == rank:
        del ranks[position]


class EntryIndex:
    """Finds those that can be in others' way, by the places where they may meet them."""

    def __init__(self) -> None:
        self._there: set[EntryGroup] = set()
        self._asking: dict[int, dict[EntryGroup, None]] = {}
        self._standing: dict[int, dict[EntryGroup, None]] = {}

    def note(self, alike: EntryGroup) -> None:
        """Has them found from now on, or no longer."""
        if alike.is_in_ways == (alike in self._there):
            return
        if alike.is_in_ways:
            self._there.add(alike)
            for place, index in self._places(alike.shape):
                index.setdefault(place, {})[alike] = None
        else:
            self._there.remove(alike)
            for place, index in self._places(alike.shape):
                there = index[place]
                del there[alike]
                if not there:
                    del index[place]

    def met_by(self, shape: Shape) -> dict[EntryGroup, None]:
        """Returns all that may conflict with this shape; those of the very same shape may be among them."""
        found: dict[EntryGroup, None] = {}
        for places, index in ((shape.places.asks, self._standing), (shape.places.stands, self._asking)):
            for place in places:
                there = index.get(place)
                if there is not None:
                    found.update(there)
        return found

    def _places(self, shape: Shape) -> Iterator[tuple[int, dict[int, dict[EntryGroup, None]]]]:
        for place in shape.places.asks:
            yield place, self._asking
        for place in shape.places.stands:
            yield place, self._standing
