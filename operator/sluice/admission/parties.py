"""Groups waiters and holders by what they have in common: those of one shape are looked at together."""

from bisect import bisect_left, insort
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from sluice.admission.deciding import Holder, Waiter
from sluice.admission.shapes import Shape

Rank = tuple[int, datetime, str]
"""The last part is the waiter's uid."""
HoldingOrder = tuple[int, int]


class State(Enum):
    NOT_JUDGED = "not judged"
    MAY_GO = "may go"
    BLOCKED = "blocked"
    FAILED = "failed"
    """It could not be judged, and is in nobody's way."""


@dataclass(eq=False, slots=True)
class Party:
    alike: "Alike"
    _stopped: set["Waiting"] | None = field(default=None, init=False)
    """None if there is nobody, as for most: an empty set takes 216 bytes."""

    @property
    def in_the_way_of(self) -> Collection["Waiting"]:
        """The parties that are not judged again until this one is gone."""
        return self._stopped or ()

    def is_in_the_way_of(self, waiting: "Waiting") -> None:
        if self._stopped is None:
            self._stopped = set()
        self._stopped.add(waiting)

    def is_out_of_the_way_of(self, waiting: "Waiting") -> None:
        if self._stopped is not None:
            self._stopped.discard(waiting)
        if not self._stopped:
            self._stopped = None


@dataclass(eq=False, slots=True)
class Holding(Party):
    holder: Holder
    order: HoldingOrder


@dataclass(eq=False, slots=True)
class Waiting(Party):
    waiter: Waiter
    rank: Rank
    state: State = State.NOT_JUDGED
    to_judge: bool = False
    offered: bool = False
    """Nobody has been told yet that it may go, or that it failed."""
    behind: Party | None = None
    """One of those in its way, or the one at which its judgement failed."""
    failure: Exception | None = None


class Alike:
    """All parties of one shape, each list in its own order."""

    __slots__ = ("holding", "members", "ready", "shape", "waiting")

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.members = 0
        self.holding: list[tuple[HoldingOrder, Holding]] = []
        self.waiting: list[Rank] = []
        """The waiters that those behind them have to heed: all but those that failed."""
        self.ready: list[Rank] = []

    def nearest_ahead(self, rank: Rank) -> Rank | None:
        position = bisect_left(self.waiting, rank)
        return self.waiting[position - 1] if position else None

    def ahead(self, rank: Rank) -> int:
        return bisect_left(self.waiting, rank)


def put(ranks: list[Rank], rank: Rank) -> None:
    insort(ranks, rank)


def take_out(ranks: list[Rank], rank: Rank) -> None:
    position = bisect_left(ranks, rank)
    if position < len(ranks) and ranks[position] == rank:
        del ranks[position]


class Meetings:
    """Finds shapes by the places where they may meet others."""

    def __init__(self) -> None:
        self._alike: dict[Shape, Alike] = {}
        self._asking: dict[int, dict[Alike, None]] = {}
        self._standing: dict[int, dict[Alike, None]] = {}

    def join(self, shape: Shape) -> Alike:
        alike = self._alike.get(shape)
        if alike is None:
            alike = self._alike[shape] = Alike(shape)
            for places, index in self._places(shape):
                for place in places:
                    index.setdefault(place, {})[alike] = None
        alike.members += 1
        return alike

    def leave(self, alike: Alike) -> None:
        alike.members -= 1
        if alike.members:
            return
        del self._alike[alike.shape]
        for places, index in self._places(alike.shape):
            for place in places:
                there = index[place]
                del there[alike]
                if not there:
                    del index[place]

    def met_by(self, alike: Alike) -> dict[Alike, None]:
        """Returns all shapes that may conflict with this one, itself among them."""
        found: dict[Alike, None] = {}
        for places, index in (
            (alike.shape.places.asks, self._standing),
            (alike.shape.places.stands, self._asking),
        ):
            for place in places:
                there = index.get(place)
                if there is not None:
                    found.update(there)
        return found

    def _places(self, shape: Shape) -> tuple[tuple[frozenset[int], dict[int, dict[Alike, None]]], ...]:
        return (shape.places.asks, self._asking), (shape.places.stands, self._standing)
