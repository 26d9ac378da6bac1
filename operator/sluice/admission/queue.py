"""The queue, whose work grows with the change: it says what `decide` says, and judges again only those whose reason to wait is
gone.

For each blocked waiter it keeps one party that is in its way; until that one has left, nothing can let the waiter go. It looks
up by place whom a waiter may conflict with, and asks once per shape. A waiter that may go blocks those behind it until it
goes.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import islice

from sluice.admission.deciding import MOST_NAMED, Blocking, Decision, Holder, Waiter
from sluice.admission.parties import (
    Alike,
    Holding,
    HoldingOrder,
    Meetings,
    Party,
    Rank,
    State,
    Waiting,
    put,
    take_out,
)
from sluice.admission.shapes import Shape, Shapes

AT_ONCE = 64
"""Waiters that are judged before others have their turn."""
_MANY = 32
"""If a waiter may meet more shapes than this, the queue first looks at this many waiters right ahead of it: usually one of them
is in the way."""
MOST_COMPARED = 500
"""Shapes that an explanation looks at."""
MOST_WORKED_OUT = 64
"""How many of those may be shapes whose verdict was not known yet."""


class Queue:
    """Judges which waiters may go. After changes, call `judge` until nobody is left to be judged; then `take` gives those who may
    go, one by one, and `take_blocked` those who may not. Each is given once, until something changes for it."""

    def __init__(self) -> None:
        self._shapes = Shapes()
        self._meetings = Meetings()
        self._waiting: dict[str, Waiting] = {}
        self._holding: dict[str, list[Holding]] = {}
        self._in_order: list[Rank] = []
        self._to_judge: list[Rank] = []
        self._offered: list[Rank] = []
        self._blocked: dict[str, None] = {}
        """The waiters that became blocked since somebody last asked."""
        self._ready = 0
        self._holds = 0
        self.judged = 0
        """Waiters judged since the beginning."""

    @property
    def compared(self) -> int:
        """The pairs of shapes whose verdict was asked for."""
        return self._shapes.compared

    @property
    def worked_out(self) -> int:
        """The pairs whose verdict was not known and had to be worked out."""
        return self._shapes.worked_out

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, uid: object) -> bool:
        return uid in self._waiting

    @property
    def uids(self) -> list[str]:
        """The jobs that wait."""
        return list(self._waiting)

    def waiter(self, uid: str) -> Waiter | None:
        entry = self._waiting.get(uid)
        return None if entry is None else entry.waiter

    def is_held_by(self, uid: str) -> bool:
        """Whether anything is held for this job."""
        return uid in self._holding

    def hold(self, uid: str, holders: Sequence[Holder]) -> None:
        """Replaces all that is held for this job."""
        before = self._holding.get(uid, [])
        first = before[0].order[0] if before else self._holds
        self._holds += not before
        after: list[Holding] = []
        shapes = [self._shape_of(holder) for holder in holders]
        for number, (holder, shape) in enumerate(zip(holders, shapes, strict=True)):
            if number < len(before) and before[number].alike.shape is shape:
                kept = before[number]
                kept.holder = holder
                after.append(kept)
            else:
                after.append(self._begin_holding(holder, shape, (first, number)))
        kept_on = set(map(id, after))
        if after:
            self._holding[uid] = after
        else:
            self._holding.pop(uid, None)
        for holding in before:
            if id(holding) not in kept_on:
                self._end_holding(holding)
        own = self._waiting.get(uid)
        if own is not None and own.state is State.MAY_GO:
            self._again(own)

    def _shape_of(self, holder: Holder) -> Shape:
        return self._shapes.of(holder.footprint) if holder.places is None else self._shapes.at(holder.places)

    def wait(self, waiter: Waiter) -> None:
        """Adds the waiter, or replaces what was said of it before."""
        entry = self._waiting.get(waiter.uid)
        if entry is not None and entry.waiter.footprint is waiter.footprint:
            shape = entry.alike.shape
        else:
            shape = self._shapes.of(waiter.footprint)
        if entry is None or entry.alike.shape is not shape or entry.rank != waiter.rank:
            alike = self._meetings.join(shape)
            if entry is not None:
                self._remove(entry)
            self._add(Waiting(alike, waiter, waiter.rank))
            return
        entry.waiter = waiter
        if entry.state is State.FAILED:
            self._again(entry)
        self.offer(waiter.uid)

    def leave(self, uid: str) -> None:
        """Ends the waiting of this job."""
        entry = self._waiting.get(uid)
        if entry is not None:
            self._remove(entry)

    def judge(self, most: int = AT_ONCE) -> bool:
        """Judges at most this many of those that are due, and returns whether there are more."""
        left = most
        while self._to_judge:
            entry = self._still(self._to_judge[0])
            if entry is not None and entry.to_judge:
                if not left:
                    return True
                left -= 1
                heappop(self._to_judge)
                self._judge(entry)
            else:
                heappop(self._to_judge)
        return False

    def take(self) -> Decision | None:
        """Returns the first that may go now, or that could not be judged. It stays where it is, in the way of those behind it,
        until it leaves. Nothing else has to be done before the next one is taken than holding its leases and letting it leave."""
        while self._offered:
            entry = self._still(heappop(self._offered))
            if entry is not None and entry.offered and not entry.to_judge:
                entry.offered = False
                return Decision(entry.waiter, failure=entry.failure)
        return None

    def offer(self, uid: str) -> None:
        """Offers the waiter again, if it may go: something else kept it from going."""
        entry = self._waiting.get(uid)
        if entry is not None and entry.state in (State.MAY_GO, State.FAILED):
            self._offer(entry)

    def take_blocked(self) -> Decision | None:
        """Returns the next one that has come to wait for others since they were last taken."""
        while self._blocked:
            uid = next(iter(self._blocked))
            del self._blocked[uid]
            decision = self.explain(uid)
            if decision.blocked_by:
                return decision
        return None

    def explain(self, uid: str) -> Decision:
        """Says who is in the way of a waiting job: the first of them by name."""
        entry = self._waiting[uid]
        if entry.to_judge:
            self._judge(entry)
        if entry.state is not State.BLOCKED:
            return Decision(entry.waiter, failure=entry.failure)
        try:
            return self._blocked_by(entry)
        except Exception as failure:  # noqa: BLE001 - goes to whoever acts on the decision
            self._enter(entry, State.FAILED, entry.behind, failure)
            return Decision(entry.waiter, failure=failure)

    def _blocked_by(self, entry: Waiting) -> Decision:
        found: list[Alike] = []
        shape, rank = entry.alike.shape, entry.rank
        most = self.worked_out + MOST_WORKED_OUT
        at_least = False
        for looked_at, (alike, _) in enumerate(self._beside(entry)):
            at_least = looked_at == MOST_COMPARED or self.worked_out >= most
            if at_least:
                break
            if self._shapes.conflict(shape, alike.shape):
                found.append(alike)
        count = sum(len(alike.holding) + alike.ahead(rank) for alike in found)
        named = []
        for alike, by, holds in islice(self._in_the_way(rank, found), MOST_NAMED):
            conflict = self._shapes.between(shape, alike.shape)
            if conflict is not None:
                named.append(Blocking(by, conflict, holds))
        return Decision(entry.waiter, tuple(named), count=count, at_least=at_least)

    def _in_the_way(self, rank: Rank, found: list[Alike]) -> Iterator[tuple[Alike, Holder, bool]]:
        """Yields those who hold, then those who are about to, then those who wait ahead."""
        held = [one for alike in found for one in alike.holding[:MOST_NAMED]]
        for _, holding in sorted(held, key=lambda one: one[0]):
            yield holding.alike, holding.holder, True
        for ready in (True, False):
            ahead: list[Rank] = []
            for alike in found:
                ahead += islice(self._ahead(alike, rank, ready=ready), MOST_NAMED)
            for one in sorted(ahead):
                waiting = self._waiting[one[-1]]
                yield waiting.alike, waiting.waiter, ready

    def _ahead(self, alike: Alike, rank: Rank, *, ready: bool) -> Iterator[Rank]:
        for one in alike.ready if ready else alike.waiting:
            if one >= rank:
                return
            if ready or self._waiting[one[-1]].state is not State.MAY_GO:
                yield one

    def _judge(self, entry: Waiting) -> None:
        self.judged += 1
        for alike, one in self._beside(entry):
            try:
                conflict = self._shapes.conflict(entry.alike.shape, alike.shape)
            except Exception as failure:  # noqa: BLE001 - goes to whoever acts on the decision: the others are judged
                self._enter(entry, State.FAILED, one, failure)
                return
            if conflict:
                self._enter(entry, State.BLOCKED, one)
                return
        self._enter(entry, State.MAY_GO)

    def _beside(self, entry: Waiting) -> Iterator[tuple[Alike, Party]]:
        """Yields all shapes that may be in its way, with one party of each: first the ones that wait ahead of it, the nearest
        first because they leave last; then those that only hold."""
        met = self._meetings.met_by(entry.alike)
        near: dict[Alike, None] = {}
        if len(met) > _MANY:
            for alike, one in self._right_ahead(entry.rank):
                if alike in met and alike not in near:
                    near[alike] = None
                    yield alike, one
        ahead: list[tuple[Rank, Alike]] = []
        holding: list[Alike] = []
        for alike in met:
            if alike in near:
                continue
            nearest = alike.nearest_ahead(entry.rank)
            if nearest is not None:
                ahead.append((nearest, alike))
            elif alike.holding:
                holding.append(alike)
        ahead.sort(key=lambda one: one[0], reverse=True)
        for rank, alike in ahead:
            yield alike, self._waiting[rank[-1]]
        for alike in holding:
            yield alike, alike.holding[-1][1]

    def _right_ahead(self, rank: Rank) -> Iterator[tuple[Alike, Party]]:
        position = bisect_left(self._in_order, rank)
        for one in reversed(self._in_order[max(0, position - _MANY) : position]):
            entry = self._waiting[one[-1]]
            if entry.state is not State.FAILED:
                yield entry.alike, entry

    def _enter(
        self, entry: Waiting, state: State, behind: Party | None = None, failure: Exception | None = None
    ) -> None:
        before, entry.state, entry.failure, entry.to_judge = entry.state, state, failure, False
        self._stand_behind(entry, behind)
        if state is not before:
            self._move(entry, before)
        if state is State.BLOCKED:
            entry.offered = False
        elif entry.offered or state is not before or state is State.FAILED:
            self._offer(entry)

    def _move(self, entry: Waiting, before: State) -> None:
        """Moves a waiter from one state to another."""
        alike, rank, state = entry.alike, entry.rank, entry.state
        if before is State.MAY_GO:
            self._ready -= 1
            take_out(alike.ready, rank)
        if before is State.BLOCKED:
            self._blocked.pop(entry.waiter.uid, None)
        if before is State.FAILED:
            put(alike.waiting, rank)
            self._stop_ready(alike, rank)
        if state is State.MAY_GO:
            self._ready += 1
            put(alike.ready, rank)
        if state is State.BLOCKED:
            self._blocked[entry.waiter.uid] = None
        if state is State.FAILED:
            take_out(alike.waiting, rank)
            self._let_go(entry)

    def _add(self, entry: Waiting) -> None:
        self._waiting[entry.waiter.uid] = entry
        insort(self._in_order, entry.rank)
        put(entry.alike.waiting, entry.rank)
        self._again(entry)
        if self._in_order[-1] is not entry.rank:
            self._stop_ready(entry.alike, entry.rank)

    def _remove(self, entry: Waiting) -> None:
        uid = entry.waiter.uid
        del self._waiting[uid]
        take_out(self._in_order, entry.rank)
        take_out(entry.alike.waiting, entry.rank)
        if entry.state is State.MAY_GO:
            self._ready -= 1
            take_out(entry.alike.ready, entry.rank)
        self._blocked.pop(uid, None)
        self._stand_behind(entry, None)
        holds_now = next((one for one in self._holding.get(uid, ()) if one.alike is entry.alike), None)
        self._let_go(entry, holds_now)
        self._meetings.leave(entry.alike)

    def _begin_holding(self, holder: Holder, shape: Shape, order: HoldingOrder) -> Holding:
        holding = Holding(self._meetings.join(shape), holder, order)
        own = self._waiting.get(holder.uid)
        goes = own is not None and own.alike is holding.alike and own.state is State.MAY_GO
        if not (goes and own is not None and not own.to_judge):
            self._stop_ready(holding.alike)
        insort(holding.alike.holding, (order, holding))
        return holding

    def _end_holding(self, holding: Holding) -> None:
        held = holding.alike.holding
        del held[bisect_left(held, (holding.order,))]
        self._let_go(holding)
        self._meetings.leave(holding.alike)

    def _stop_ready(self, alike: Alike, rank: Rank | None = None) -> None:
        """Judges again those that could go, if the newcomer may be in their way; if it is a waiter, only those behind it."""
        if not self._ready:
            return
        for other in self._meetings.met_by(alike):
            ready = other.ready if rank is None else other.ready[bisect_right(other.ready, rank) :]
            if ready and self._may_stop(other.shape, alike.shape):
                for one in ready:
                    self._again(self._waiting[one[-1]])

    def _may_stop(self, one: Shape, other: Shape) -> bool:
        try:
            return self._shapes.conflict(one, other)
        except Exception:  # noqa: BLE001 - told when it is judged, which it is now
            return True

    def _let_go(self, party: Party, instead: Party | None = None) -> None:
        """Has those judged again whose way it was in, unless it stays in their way in another role."""
        for entry in tuple(party.in_the_way_of):
            self._stand_behind(entry, instead)
            if instead is None:
                self._again(entry)

    def _stand_behind(self, entry: Waiting, party: Party | None) -> None:
        if entry.behind is not None:
            entry.behind.is_out_of_the_way_of(entry)
        entry.behind = party
        if party is not None:
            party.is_in_the_way_of(entry)

    def _again(self, entry: Waiting) -> None:
        if not entry.to_judge:
            entry.to_judge = True
            heappush(self._to_judge, entry.rank)

    def _offer(self, entry: Waiting) -> None:
        entry.offered = True
        heappush(self._offered, entry.rank)

    def _still(self, rank: Rank) -> Waiting | None:
        entry = self._waiting.get(rank[-1])
        return entry if entry is not None and entry.rank == rank else None
