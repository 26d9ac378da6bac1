"""Names those that are in a waiter's way."""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from operator import itemgetter

from sluice.admission.queue_entries import EntryGroup, EntryState, HoldingOrder, Waiting
from sluice.admission.queue_state import QueueState, writes
from sluice.admission.reference_decision import MOST_NAMED, AdmissionDecision, Blocking, Holder, Rank
from sluice.conflicts import conflict_between
from sluice.conflicts.oracle import too_many_writers

MOST_COMPARED = 500
"""Shapes that are looked at."""
MOST_WORKED_OUT = 64
"""How many of those may be shapes whose verdict was not known yet; of those that have many statements, fewer."""


def risks(there: QueueState, entry: Waiting) -> tuple[Blocking, ...]:
    """Returns the first of those who hold and beside whom the waiter may go only because both accept that one may abort the
    other."""
    shape, found = entry.alike.shape, list[tuple[HoldingOrder, Blocking]]()
    if shape.accepts and shape.footprint is not None:
        for alike in there.in_ways.met_by(shape):
            other = alike.shape
            if alike.holding and other.footprint is not None and shape.accepts & other.accepts:
                conflict = conflict_between(shape.footprint, other.footprint)
                if conflict is not None:
                    held = alike.holding[:MOST_NAMED]
                    found += [(order, Blocking(one.holder, conflict, holds=True)) for order, one in held]
    return tuple(one for _, one in sorted(found, key=itemgetter(0))[:MOST_NAMED])


def explained(there: QueueState, entry: Waiting, most_named: int = MOST_NAMED) -> AdmissionDecision:
    """Returns the decision on a waiter that is blocked."""
    found: list[EntryGroup] = []
    shape, rank = entry.alike.shape, entry.rank
    most = there.shapes.spent + MOST_WORKED_OUT
    at_least = False
    for looked_at, (alike, _) in enumerate(there.beside(entry.alike, rank)):
        at_least = looked_at == MOST_COMPARED or there.shapes.spent >= most
        if at_least:
            break
        if there.shapes.conflict(shape, alike.shape):
            found.append(alike)
    count = sum(len(a.holding) + a.ready_ahead(rank) + (a.barrier_ahead(rank) is not None) for a in found)
    if not count and not at_least:
        return _beyond_a_limit(there, entry, most_named)
    named = []
    for alike, by, holds in islice(_in_the_way(there, rank, found, most_named), most_named):
        conflict = there.shapes.between(shape, alike.shape)
        if conflict is not None:
            named.append(Blocking(by, conflict, holds))
    return AdmissionDecision(entry.waiter, tuple(named), count=count, at_least=at_least)


def _in_the_way(
    there: QueueState, rank: Rank, found: list[EntryGroup], most: int
) -> Iterator[tuple[EntryGroup, Holder, bool]]:
    """Yields those who hold, then those who are about to, then the barriers ahead."""
    held = [one for alike in found for one in alike.holding[:most]]
    for _, holding in sorted(held, key=lambda one: one[0]):
        yield holding.alike, holding.holder, True
    about_to = [one for a in found for one in a.ready[: min(a.ready_ahead(rank), most)]]
    barriers = [ahead.rank for a in found if (ahead := a.barrier_ahead(rank)) is not None]
    for ranks, holds in ((about_to, True), (barriers, False)):
        for one in sorted(ranks):
            waiting = there.waiting[one[-1]]
            yield waiting.alike, waiting.waiter, holds


def _beyond_a_limit(there: QueueState, entry: Waiting, most: int) -> AdmissionDecision:
    limit = there.limit_before(entry)
    if limit is None:
        return AdmissionDecision(entry.waiter)
    table = limit.table
    held = [next(one for one in there.holding[other] if writes(one.holder, table)) for other in limit.holders]
    ahead = [there.waiting[one[-1]] for one in limit.claims[: bisect_left(limit.claims, entry.rank)]]
    ahead = [one for one in ahead if one.waiter.uid not in limit.holders]
    parties: list[tuple[Holder, bool]] = [
        *((one.holder, True) for one in sorted(held, key=lambda one: one.order)),
        *((one.waiter, True) for one in ahead if one.state is EntryState.MAY_GO),
        *((one.waiter, False) for one in ahead if one.state is not EntryState.MAY_GO),
    ]
    conflict = too_many_writers(table, limit.most)
    named = tuple(Blocking(by, conflict, holds) for by, holds in parties[:most])
    return AdmissionDecision(entry.waiter, named, count=len(parties))
