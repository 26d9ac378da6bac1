"""All that wait and hold, and how one finds those that may be in another's way: by place, among those who can be in anybody's
way at all: who holds, who may go, and who is a barrier."""

from bisect import bisect_left
from collections.abc import Iterator
from operator import itemgetter

from sluice.admission.barriers import Barriers
from sluice.admission.limits import Limit
from sluice.admission.queue_entries import EntryGroup, EntryIndex, Holding, QueueEntry, Waiting
from sluice.admission.reference_decision import Holder, Rank, stays, written_by
from sluice.admission.shapes import Shape, Shapes
from sluice.tables import TableKey

_MANY = 32
"""How many of those right ahead are looked at before all that are ahead: usually one of them is in the way."""


class QueueState:
    def __init__(self) -> None:
        self.shapes = Shapes()
        self.in_ways = EntryIndex()
        self.waiting: dict[str, Waiting] = {}
        self.holding: dict[str, list[Holding]] = {}
        self.limits: dict[TableKey, Limit] = {}
        self.heeded: list[Rank] = []
        """The waiters that those behind them heed."""
        self.barriers = Barriers()
        self.staying = 0
        """How many of those that hold may stay for ever in somebody's way."""
        self._alike: dict[Shape, EntryGroup] = {}

    def first_of(self, alike: EntryGroup) -> Waiting | None:
        return self.waiting[alike.first[-1]] if alike.first is not None else None

    def limit_before(self, entry: Waiting) -> Limit | None:
        """Returns the first limit that keeps the waiter from going."""
        used_up = (limit for limit in self.limits_of(entry.waiter) if limit.is_used_up_before(entry.rank))
        return next(used_up, None)

    def limits_of(self, one: Holder) -> Iterator[Limit]:
        if self.limits:
            for table in written_by(one):
                if table in self.limits:
                    yield self.limits[table]

    def beside(self, alike: EntryGroup, rank: Rank) -> Iterator[tuple[EntryGroup, QueueEntry]]:
        """Yields all shapes that may be in the way of a waiter with this rank, with one party of each: first those that wait right
        ahead of it, the nearest first because they leave last; then those that hold, the latest first; then all others ahead."""
        seen: dict[EntryGroup, None] = {}
        position = bisect_left(self.heeded, rank)
        for ahead in reversed(self.heeded[max(0, position - _MANY) : position]):
            other = self.waiting[ahead[-1]]
            if other.alike not in seen and alike.shape.places.may_meet(other.alike.shape.places):
                seen[other.alike] = None
                yield other.alike, other
        met = self.in_ways.met_by(alike.shape)
        for one in reversed(met):
            if one.holding and one not in seen:
                seen[one] = None
                yield one, one.holding[-1][1]
        if position > _MANY:
            further = ((one.nearest_ahead(rank), one) for one in met if one not in seen)
            ahead_of_it = [(nearest, one) for nearest, one in further if nearest is not None]
            for nearest, one in sorted(ahead_of_it, key=itemgetter(0), reverse=True):
                yield one, self.waiting[nearest[-1]]

    def waits_for_a_barrier(self, entry: Waiting) -> bool:
        """Whether a barrier of its own tables is in its way."""
        return any(
            one.alike is not entry.alike and self.shapes.conflict(entry.alike.shape, one.alike.shape)
            for one in self.barriers.ahead_of(entry)
        )

    def who_stays_before(self, alike: EntryGroup, entry: Waiting) -> QueueEntry | None:
        """Returns what is in their way, of which nobody knows when that will be over."""
        for other in self.in_ways.met_by(alike.shape) if self.staying else ():
            if (
                other.holding
                and may_stay(other.shape)
                and self.shapes.conflict(alike.shape, other.shape)
                and stays(other.shape, alike.shape)
            ):
                return other.holding[-1][1]
        return next(
            (one for one in self.limits_of(entry.waiter) if one.is_used_up_for_ever(alike.shape)), None
        )

    def new_limit(self, table: TableKey, most: int) -> Limit:
        limit = Limit(table, most)
        for held in self.holding.values():
            for one in held:
                if writes(one.holder, table):
                    limit.hold(one.holder)
        limit.claims = [rank for rank in self.heeded if writes(self.waiting[rank[-1]].waiter, table)]
        return limit

    def still(self, rank: Rank) -> Waiting | None:
        entry = self.waiting.get(rank[-1])
        return entry if entry is not None and entry.rank == rank else None

    def shape_of(self, holder: Holder) -> Shape:
        if holder.places is not None:
            return self.shapes.at(holder.places, holder.for_ever)
        return self.shapes.of(
            holder.footprint, holder.accepts, at_rest=holder.at_rest, for_ever=holder.for_ever
        )

    def join(self, shape: Shape) -> EntryGroup:
        alike = self._alike.get(shape)
        if alike is None:
            alike = self._alike[shape] = EntryGroup(shape)
        alike.members += 1
        return alike

    def leave(self, alike: EntryGroup) -> None:
        alike.members -= 1
        if not alike.members:
            alike.due = None
            del self._alike[alike.shape]


def may_stay(shape: Shape) -> bool:
    return shape.at_rest or shape.for_ever is not None


def writes(one: Holder, table: TableKey) -> bool:
    return table in written_by(one)
