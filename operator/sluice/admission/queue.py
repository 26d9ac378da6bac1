"""The queue, whose work grows with the change: it says what `decide` says, and judges again only those whose reason to wait is
gone.

All waiters of one shape have the same jobs in their way, so only the first of them is judged. For it one party is kept that is
in its way; until that one has left, nothing can let any of them go. Whom they may conflict with is looked up by place, among
those who can be in anybody's way: who holds, who may go, and who is a barrier.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import heappop, heappush, nsmallest
from itertools import count, takewhile
from operator import itemgetter

from sluice.admission.age_order import AgeOrder
from sluice.admission.blockers import explained, risks
from sluice.admission.limits import Limit
from sluice.admission.queue_entries import (
    EntryGroup,
    EntryState,
    Holding,
    HoldingOrder,
    QueueEntry,
    Waiting,
    take_out,
)
from sluice.admission.queue_state import QueueState, may_stay
from sluice.admission.reference_decision import (
    MOST_NAMED,
    AdmissionDecision,
    Blocking,
    Holder,
    Rank,
    Waiter,
    has_aged,
)
from sluice.admission.shapes import Shape
from sluice.footprint.model import JobFootprint
from sluice.tables import TableKey

AT_ONCE = 64
"""Waiters that are judged before others have their turn."""
WORKED_OUT_AT_ONCE = 500
"""Pairs of shapes that are worked out until then, each in some 25 microseconds; of those that have many statements, fewer."""


class Queue:
    """Judges which waiters may go. After changes, and whenever somebody has aged, call `judge` until nobody is left to be judged;
    then `take` gives those who may go, one by one, and `take_blocked` those who may not. Each is given once, until something
    changes for it."""

    def __init__(self) -> None:
        self._there = QueueState()
        self._ageing = AgeOrder(self._there.waiting)
        self._to_judge: list[tuple[Rank, int, EntryGroup]] = []
        self._numbers = count()
        self._doubtful: dict[str, None] = {}
        """Waiters that may go and whose own jobs hold something since."""
        self._offered: list[Rank] = []
        self._blocked: dict[str, None] = {}
        """The waiters that became blocked since somebody last asked."""
        self._holds = 0
        self.judged = 0
        """How often the first of a shape was judged since the beginning."""

    @property
    def compared(self) -> int:
        """The pairs of shapes whose verdict was asked for."""
        return self._there.shapes.compared

    @property
    def worked_out(self) -> int:
        """The pairs whose verdict was not known and had to be worked out."""
        return self._there.shapes.worked_out

    def __len__(self) -> int:
        return len(self._there.waiting)

    def __contains__(self, uid: object) -> bool:
        return uid in self._there.waiting

    @property
    def uids(self) -> list[str]:
        """The jobs that wait."""
        return list(self._there.waiting)

    @property
    def next_ageing(self) -> datetime | None:
        """When the next waiter will have aged."""
        return self._ageing.next_at

    def waiter(self, uid: str) -> Waiter | None:
        entry = self._there.waiting.get(uid)
        return None if entry is None else entry.waiter

    def is_held_by(self, uid: str) -> bool:
        """Whether anything is held for this job."""
        return uid in self._there.holding

    @property
    def holders(self) -> list[Holder]:
        return [one.holder for held in self._there.holding.values() for one in held]

    def limit(self, most: Mapping[TableKey, int]) -> None:
        """Replaces all limits: how many may write a table at a time."""
        for table in [
            table for table in self._there.limits if self._there.limits[table].most != most.get(table)
        ]:
            self._let_others_go(self._there.limits.pop(table))
        for table, number in most.items():
            if table not in self._there.limits:
                self._there.limits[table] = self._there.new_limit(table, number)
                self._stop_beyond(self._there.limits[table])
                self._judge_barriers_at(self._there.limits[table])

    def hold(self, uid: str, holders: Sequence[Holder]) -> None:
        """Replaces all that is held for this job."""
        before = self._there.holding.get(uid, [])
        first = before[0].order[0] if before else self._holds
        self._holds += not before
        after: list[Holding] = []
        shapes = [self._there.shape_of(holder) for holder in holders]
        for number, (holder, shape) in enumerate(zip(holders, shapes, strict=True)):
            if number < len(before) and before[number].alike.shape is shape:
                after.append(before[number])
                self._replace_holder(before[number], holder)
            else:
                after.append(self._begin_holding(holder, shape, (first, number)))
        kept_on = set(map(id, after))
        if after:
            self._there.holding[uid] = after
        else:
            self._there.holding.pop(uid, None)
        for holding in before:
            if id(holding) not in kept_on:
                self._end_holding(holding)
        own = self._there.waiting.get(uid)
        if own is not None and own.state is EntryState.MAY_GO:
            self._doubtful[uid] = None

    def wait(self, waiter: Waiter) -> None:
        """Adds the waiter, or replaces what was said of it before."""
        entry = self._there.waiting.get(waiter.uid)
        before = None if entry is None else entry.waiter
        if entry is not None and before is not None and _is_same_work(before, waiter):
            shape = entry.alike.shape
        else:
            shape = self._there.shapes.of(waiter.footprint, waiter.accepts, for_ever=waiter.for_ever)
        if (
            entry is None
            or before is None
            or entry.alike.shape is not shape
            or not _waits_alike(before, waiter)
        ):
            alike = self._there.join(shape)
            if entry is not None:
                self._remove(entry)
            self._add(Waiting(alike, waiter, waiter.rank(aged=False)))
            return
        entry.waiter = waiter
        if entry.state is EntryState.FAILED:
            self._try_again(entry)
        self.offer(waiter.uid)

    def leave(self, uid: str) -> None:
        """Ends the waiting of this job."""
        entry = self._there.waiting.get(uid)
        if entry is not None:
            self._remove(entry)

    def judge(self, now: datetime, most: int = AT_ONCE) -> bool:
        """Has those age whose time has come, judges at most this many of those that are due, and returns whether there are more."""
        for uid in tuple(self._doubtful):
            self._make_sure(uid)
        left, enough = most, self._there.shapes.spent + WORKED_OUT_AT_ONCE
        while left and (entry := self._ageing.take(now)) is not None:
            left -= 1
            self._age(entry)
        if not left:
            return True
        while self._to_judge:
            due, _, alike = self._to_judge[0]
            if alike.due == due:
                if not left or self._there.shapes.spent > enough:
                    return True
                left -= 1
                heappop(self._to_judge)
                self._judge(alike)
            else:
                heappop(self._to_judge)
        return False

    def take(self) -> AdmissionDecision | None:
        """Returns the first that may go now, or that could not be judged. It stays where it is, in the way of those behind it,
        until it leaves. Nothing else has to be done before the next one is taken than holding its leases and letting it leave."""
        while self._offered:
            entry = self._there.still(heappop(self._offered))
            if entry is not None and entry.offered:
                entry.offered = False
                return AdmissionDecision(entry.waiter, failure=entry.failure)
        return None

    def offer(self, uid: str) -> None:
        """Offers the waiter again, if it may go: something else kept it from going."""
        entry = self._there.waiting.get(uid)
        if entry is not None and entry.state in (EntryState.MAY_GO, EntryState.FAILED) and not entry.offered:
            self._offer(entry)

    def take_blocked(self) -> AdmissionDecision | None:
        """Returns the next one that has come to wait for others since they were last taken."""
        while self._blocked:
            uid = next(iter(self._blocked))
            del self._blocked[uid]
            decision = self.explain(uid)
            if decision.blocked_by:
                return decision
        return None

    def is_in_the_way(self, uid: str) -> bool:
        """Whether anybody stands behind what is held for this job."""
        return any(one.in_the_way_of for one in self._held_for(uid))

    def first_behind(self, uid: str, most: int, counts: Callable[[JobFootprint], bool]) -> list[Rank]:
        """Returns the first of each shape that stand behind what is held for this job, at most so many of each: those that have
        aged, and others only where what they do counts."""
        stopped = dict.fromkeys(one for held in self._held_for(uid) for one in held.in_the_way_of)
        found: list[Rank] = []
        for one in stopped:
            if isinstance(one, Waiting) or not one.blocked:
                continue
            if one.shape.footprint is not None and counts(one.shape.footprint):
                found += one.blocked[:most]
            elif has_aged(one.blocked[0]):
                found += takewhile(has_aged, one.blocked[:most])
        return found

    def _held_for(self, uid: str) -> Iterator[QueueEntry]:
        """What is held for this job, and the limits that it takes up places of."""
        for holding in self._there.holding.get(uid, ()):
            yield holding
            yield from self._there.limits_of(holding.holder)

    def explain(self, uid: str, most: int = MOST_NAMED) -> AdmissionDecision:
        """Returns the decision on the waiter as things are now, with at most so many of those in its way."""
        entry = self._there.waiting[uid]
        while entry.alike.due is not None:
            self._judge(entry.alike)
        if entry.state is not EntryState.BLOCKED:
            return AdmissionDecision(entry.waiter, failure=entry.failure)
        try:
            return explained(self._there, entry, most)
        except Exception as failure:  # noqa: BLE001 - goes to whoever acts on the decision
            self._fail(entry, entry.alike.behind, failure)
            return AdmissionDecision(entry.waiter, failure=failure)

    def risks(self, uid: str) -> tuple[Blocking, ...]:
        """Returns those who hold and beside whom the waiter may go only because both accept it."""
        return risks(self._there, self._there.waiting[uid])

    def _judge(self, alike: EntryGroup) -> None:
        self.judged += 1
        alike.due = None
        woken_by, alike.woken_by = alike.woken_by, None
        entry = self._there.first_of(alike)
        if alike.barrier is not entry:
            self._set_barrier(alike, None)
        goes = entry is not None and self._lets_the_first_go(alike, entry)
        if isinstance(woken_by, Limit):
            took_its_place = goes and entry is not None and entry.waiter.uid not in woken_by.holders
            if not took_its_place and alike.behind is not woken_by:
                self._wake(woken_by)

    def _lets_the_first_go(self, alike: EntryGroup, entry: Waiting) -> bool:
        """Returns whether the first of a shape may go now, after noting what it says of all of them."""
        one: QueueEntry | None = None
        try:
            for other, one in self._there.beside(alike, entry.rank):  # noqa: B007 - it is kept after the loop
                if self._there.shapes.conflict(alike.shape, other.shape):
                    break
            else:
                one = self._there.limit_before(entry)
            stays = self._there.who_stays_before(alike, entry) if one is not None and entry.has_aged else None
            is_next = one is not None and entry.has_aged and self._there.waits_for_a_barrier(entry)
        except Exception as failure:  # noqa: BLE001 - goes to whoever acts on the decision: the others are judged
            self._fail(entry, one, failure)
            return False
        if one is None:
            self._let_it_go(entry)
            return True
        self._stand_behind(alike, stays or one)  # once that is gone they may be a barrier
        if is_next:
            self._there.barriers.comes_next(alike, entry)
        self._set_barrier(alike, entry if entry.has_aged and not is_next and stays is None else None)
        self._blocked.update(alike.news)
        alike.news.clear()
        return False

    def _set_barrier(self, alike: EntryGroup, entry: Waiting | None) -> None:
        before = alike.barrier
        if before is entry:
            return
        if before is not None:
            self._is_no_barrier_any_more(before)
            self._heed_no_more(before, None)
        if entry is not None:
            alike.barrier = entry
            for other in self._there.barriers.behind(entry):
                if self._may_stop(other.alike.shape, alike.shape):
                    self._again(other.alike)
            self._there.barriers.add(entry)
            self._heed(entry)

    def _is_no_barrier_any_more(self, entry: Waiting) -> None:
        entry.alike.barrier = None
        for other in self._there.barriers.remove(entry):
            self._again(other)

    def _let_it_go(self, entry: Waiting) -> None:
        """Notes that the waiter may go, and that those behind it that conflict with it may not."""
        alike, was_barrier = entry.alike, entry.is_barrier
        take_out(alike.blocked, entry.rank)
        insort(alike.ready, entry.rank)
        entry.state = EntryState.MAY_GO
        alike.news.pop(entry.waiter.uid, None)
        self._blocked.pop(entry.waiter.uid, None)
        self._stand_behind(alike, None)
        if was_barrier:
            self._is_no_barrier_any_more(entry)
        else:
            self._heed(entry)
        self._offer(entry)
        self._again(alike)

    def _stop(self, entry: Waiting) -> None:
        """Notes that a waiter that could go has somebody in its way."""
        alike = entry.alike
        take_out(alike.ready, entry.rank)
        insort(alike.blocked, entry.rank)
        entry.state, entry.offered = EntryState.BLOCKED, False
        alike.news[entry.waiter.uid] = None
        self._heed_no_more(entry, None)
        self._again(alike)

    def _fail(self, entry: Waiting, behind: QueueEntry | None, failure: Exception) -> None:
        alike, uid = entry.alike, entry.waiter.uid
        take_out(alike.blocked, entry.rank)
        entry.state, entry.failure = EntryState.FAILED, failure
        alike.news.pop(uid, None)
        self._blocked.pop(uid, None)
        if entry.is_barrier:
            self._set_barrier(alike, None)
        self._stand_behind(entry, behind)
        self._offer(entry)
        self._again(alike)

    def _try_again(self, entry: Waiting) -> None:
        self._stand_behind(entry, None)
        entry.state, entry.failure, entry.offered = EntryState.BLOCKED, None, False
        self._enter(entry)

    def _add(self, entry: Waiting) -> None:
        self._there.waiting[entry.waiter.uid] = entry
        self._ageing.add(entry)
        self._enter(entry)

    def _enter(self, entry: Waiting) -> None:
        alike, uid = entry.alike, entry.waiter.uid
        insort(alike.blocked, entry.rank)
        if alike.due is None and alike.behind is not None and alike.first is not entry.rank:
            self._blocked[uid] = None
        else:
            alike.news[uid] = None
            self._again(alike)

    def _remove(self, entry: Waiting) -> None:
        alike, uid = entry.alike, entry.waiter.uid
        was_barrier, was_ready = entry.is_barrier, entry.state is EntryState.MAY_GO
        del self._there.waiting[uid]
        for ranks in (alike.ready, alike.blocked):
            take_out(ranks, entry.rank)
        alike.news.pop(uid, None)
        self._blocked.pop(uid, None)
        self._doubtful.pop(uid, None)
        self._stand_behind(entry, None)
        if was_barrier:
            self._set_barrier(alike, None)
            self._again(alike)
        elif was_ready:
            held = self._there.holding.get(uid, ())
            self._heed_no_more(entry, next((one for one in held if one.alike is alike), None))
        if alike.first is None:
            self._stand_behind(alike, None)
            self._there.barriers.comes_no_more(alike)
            if alike.due is not None:
                self._judge(alike)  # has the next one take the place that it was woken for
        self._there.leave(alike)

    def _age(self, entry: Waiting) -> None:
        alike, is_ready = entry.alike, entry.state is EntryState.MAY_GO
        if is_ready:
            self._forget_rank(entry)
        ranks = {EntryState.MAY_GO: alike.ready, EntryState.BLOCKED: alike.blocked}.get(entry.state, [])
        take_out(ranks, entry.rank)
        entry.rank = entry.waiter.rank(aged=True)
        if entry.state is not EntryState.FAILED:
            insort(ranks, entry.rank)
        if is_ready:
            self._heed(entry)
        if entry.offered:
            self._offer(entry)
        if entry.state is EntryState.BLOCKED:
            self._again(alike)

    def _heed(self, entry: Waiting) -> None:
        """Has those behind the waiter heed it from now on."""
        insort(self._there.heeded, entry.rank)
        for limit in self._there.limits_of(entry.waiter):
            insort(limit.claims, entry.rank)
        self._there.in_ways.note(entry.alike)
        self._stop_those_behind(entry)

    def _stop_those_behind(self, entry: Waiting) -> None:
        self._stop_ready(entry.alike.shape, entry.rank)
        for limit in self._there.limits_of(entry.waiter):
            self._stop_beyond(limit)

    def _heed_no_more(self, entry: Waiting, instead: QueueEntry | None) -> None:
        self._forget_rank(entry)
        self._let_others_go(entry, instead)
        for limit in self._there.limits_of(entry.waiter):
            self._wake(limit)

    def _forget_rank(self, entry: Waiting) -> None:
        take_out(self._there.heeded, entry.rank)
        for limit in self._there.limits_of(entry.waiter):
            take_out(limit.claims, entry.rank)
        self._there.in_ways.note(entry.alike)

    def _begin_holding(self, holder: Holder, shape: Shape, order: HoldingOrder) -> Holding:
        holding = Holding(self._there.join(shape), holder, order)
        alike, own = holding.alike, self._there.waiting.get(holder.uid)
        insort(alike.holding, (order, holding))
        self._there.in_ways.note(alike)
        if may_stay(shape):
            self._there.staying += 1
            self._bar_no_more(shape)
        if own is None or own.alike is not alike or own.state is not EntryState.MAY_GO:
            self._stop_ready(shape)  # else those that can't go beside it have been stopped when it could go
        self._take_places(holder)
        return holding

    def _bar_no_more(self, shape: Shape) -> None:
        """Has the barriers judged again in whose way is who may stay there."""
        for other in self._there.in_ways.met_by(shape):
            if other.barrier is not None and self._may_stop(other.shape, shape):
                self._again(other)

    def _judge_barriers_at(self, limit: Limit) -> None:
        """Has those judged again for whom no place may come free any more."""
        if len(limit.endless) >= limit.most:
            for one in tuple(limit.claims):
                alike = self._there.waiting[one[-1]].alike
                if alike.barrier is not None:
                    self._again(alike)

    def _replace_holder(self, holding: Holding, holder: Holder) -> None:
        before, holding.holder = holding.holder, holder
        self._take_places(holder)
        self._give_places_back(before)

    def _end_holding(self, holding: Holding) -> None:
        held = holding.alike.holding
        del held[bisect_left(held, (holding.order,))]
        self._there.in_ways.note(holding.alike)
        self._there.staying -= may_stay(holding.alike.shape)
        self._let_others_go(holding)
        self._give_places_back(holding.holder)
        self._there.leave(holding.alike)

    def _take_places(self, holder: Holder) -> None:
        for limit in self._there.limits_of(holder):
            limit.hold(holder)
            self._stop_beyond(limit, but=holder.uid)
            if holder.for_ever is not None:
                self._judge_barriers_at(limit)

    def _give_places_back(self, holder: Holder) -> None:
        for limit in self._there.limits_of(holder):
            limit.let_go(holder)
            if holder.for_ever is not None:
                self._let_others_go(limit)
            self._wake(limit)

    def _stop_ready(self, shape: Shape, rank: Rank | None = None) -> None:
        """Stops those that could go, if the newcomer is in their way; if it is a waiter, only those behind it."""
        for other in self._there.in_ways.met_by(shape):
            ready = other.ready if rank is None else other.ready[bisect_right(other.ready, rank) :]
            if ready and self._may_stop(other.shape, shape):
                for one in tuple(ready):
                    self._stop(self._there.waiting[one[-1]])

    def _stop_beyond(self, limit: Limit, but: str = "") -> None:
        """Stops those that could go and for which there is no place any more; but for one that goes just now."""
        for one in limit.claims[max(0, limit.free) :]:
            entry = self._there.waiting[one[-1]]
            if entry.state is EntryState.MAY_GO and one[-1] != but and limit.is_used_up_before(one):
                self._stop(entry)

    def _wake(self, limit: Limit) -> None:
        """Has as many judged again as there are places, those first that rank first."""
        if limit.free > 0:
            stopped = [(one.first, one) for one in limit.in_the_way_of if isinstance(one, EntryGroup)]
            waiting = [(first, one) for first, one in stopped if first is not None]
            for _, alike in nsmallest(limit.free, waiting, key=itemgetter(0)):
                alike.woken_by = limit
                self._again(alike)

    def _may_stop(self, one: Shape, other: Shape) -> bool:
        try:
            return self._there.shapes.conflict(one, other)
        except Exception:  # noqa: BLE001 - told when it is judged, which it is now
            return True

    def _let_others_go(self, party: QueueEntry, instead: QueueEntry | None = None) -> None:
        """Has those judged again whose way it was in, unless it stays in their way in another role."""
        for stopped in tuple(party.in_the_way_of):
            self._stand_behind(stopped, instead)
            if instead is not None:
                continue
            if isinstance(stopped, Waiting):
                self._try_again(stopped)
            else:
                self._again(stopped)

    def _make_sure(self, uid: str) -> None:
        """Stops a waiter that could go, if its own job holds what is in its way."""
        del self._doubtful[uid]
        entry = self._there.waiting[uid]
        held = self._there.holding.get(uid, ())
        is_stopped = any(self._may_stop(entry.alike.shape, one.alike.shape) for one in held)
        if entry.state is EntryState.MAY_GO and (is_stopped or self._there.limit_before(entry) is not None):
            self._stop(entry)

    def _stand_behind(self, stopped: EntryGroup | Waiting, party: QueueEntry | None) -> None:
        if stopped.behind is not None:
            stopped.behind.is_out_of_the_way_of(stopped)
        stopped.behind = party
        if party is not None:
            party.is_in_the_way_of(stopped)

    def _again(self, alike: EntryGroup) -> None:
        first = alike.first
        self._there.barriers.comes_no_more(alike)
        if first is not None and (alike.due is None or first < alike.due):
            self._stand_behind(alike, None)
            alike.due = first
            heappush(self._to_judge, (first, next(self._numbers), alike))

    def _offer(self, entry: Waiting) -> None:
        entry.offered = True
        heappush(self._offered, entry.rank)


def _is_same_work(one: Waiter, other: Waiter) -> bool:
    return (one.footprint is other.footprint, one.accepts, one.for_ever, one.yields) == (
        True,
        other.accepts,
        other.for_ever,
        other.yields,
    )


def _waits_alike(one: Waiter, other: Waiter) -> bool:
    return one.rank(aged=False) == other.rank(aged=False) and one.aged_at == other.aged_at
