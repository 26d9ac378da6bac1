"""Decides who goes. This states what the queue does as simply as it can be stated.

A waiter has a rank. Those that have aged come first, by age alone; the others follow by priority, and then by age. A waiter goes
if nobody who holds leases is in its way, nor anybody who goes before it at the same moment, nor a barrier before it.

A barrier is a waiter that has aged, can't go yet, and has no barrier of its own tables before it in its way: nothing that conflicts
with it overtakes it. Whoever has not aged, or waits for a barrier on its table, may be overtaken even by those that conflict with
it, because the table would lie idle otherwise; its turn to be a barrier comes when those before it have gone. Of waiters that are
alike one is enough.

A stream that is at rest, because it pauses or backs off, holds nothing, and keeps away only what would break it for good. Whoever
waits for one is no barrier: the stream itself may have to pass it. Nor is one that waits for a stream which runs for ever and makes
no room for it, or for a place where such streams have all of them: nobody knows when they go, if ever, and those that it would stop
until then would wait for nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from sluice.admission.stream_yield import why_no_room
from sluice.api.job import Yield
from sluice.api.job_status import MAX_BLOCKERS
from sluice.conflicts import Conflict, conflict_at_rest, conflict_between, conflict_where_met
from sluice.conflicts.oracle import too_many_writers
from sluice.conflicts.places import Places
from sluice.footprint.model import JobFootprint
from sluice.tables import TableKey

MOST_NAMED = MAX_BLOCKERS

Rank = tuple[int, int, datetime, str]
"""Whether it has aged (0) or not (1), its priority unless it has, when it was queued, its uid: the lowest goes first."""


def has_aged(rank: Rank) -> bool:
    return rank[0] == 0


@dataclass(frozen=True, slots=True)
class Holder:
    """A job that holds leases."""

    uid: str
    job: str
    footprint: JobFootprint
    places: Places | None = field(default=None, kw_only=True)
    """Set for a holder whose footprint does not tell what it does: it blocks whoever may meet it at these places, and nobody
    else."""
    accepts: frozenset[TableKey] = field(default=frozenset(), kw_only=True)
    """Tables on which it runs beside jobs that accept them, too, and may abort it or be aborted by it."""
    at_rest: bool = field(default=False, kw_only=True)
    """Whether it is a stream that holds no lease and will go on: it blocks only what would break it for good."""
    for_ever: Yield | None = field(default=None, kw_only=True)
    """Set for a stream that doesn't end by itself: for whom it makes room. One whose footprint does not tell what it does makes
    room for nobody."""
    yields: Yield | None = field(default=None, kw_only=True)
    """For whom it pauses, if it is a stream, whether or not it ends by itself. Decides nothing: it is told."""


@dataclass(frozen=True, slots=True)
class Waiter(Holder):
    priority: int
    queued_at: datetime
    aged_at: datetime
    """When it has waited for so long that it goes ahead of any priority, and is a barrier if it is its turn."""

    def rank(self, *, aged: bool) -> Rank:
        return (0, 0, self.queued_at, self.uid) if aged else (1, -self.priority, self.queued_at, self.uid)

    def has_aged(self, now: datetime) -> bool:
        return now >= self.aged_at


@dataclass(frozen=True)
class Blocking:
    """A job that is in the way, and why. `holds` is false for a job that is itself waiting, ahead in the queue."""

    by: Holder
    conflict: Conflict
    holds: bool


@dataclass(frozen=True)
class AdmissionDecision:
    """Granted if nobody is in the way."""

    waiter: Waiter
    blocked_by: tuple[Blocking, ...] = ()
    """The first of the jobs in the way."""
    failure: Exception | None = None
    """Why no decision could be made."""
    count: int = 0
    """The number of all that are in the way."""
    at_least: bool = False
    """Whether there may be more than were counted."""

    @property
    def granted(self) -> bool:
        return not self.blocked_by and self.failure is None


def decide(
    waiters: Iterable[Waiter], holders: Iterable[Holder], now: datetime, limits: Mapping[TableKey, int]
) -> list[AdmissionDecision]:
    """Returns one decision per waiter, in the order of the queue; jobs that are granted hold from then on. `limits`: how many may
    write a table at a time; tables that aren't named have no limit."""
    holding = list(holders)
    there = set(map(id, holding))
    barriers: list[Waiter] = []
    decisions: list[AdmissionDecision] = []
    for waiter in sorted(waiters, key=lambda w: w.rank(aged=w.has_aged(now))):
        try:
            behind = tuple(_in_the_way(waiter, barriers, holds=False))
            held = tuple(_in_the_way(waiter, holding, holds=True))
            has_no_end = any(stays(one.by, waiter) for one in held if id(one.by) in there) or any(
                are_taken_for_ever(
                    waiter, (one for one in _writers(table, holding) if id(one) in there), limits[table]
                )
                for table in written_by(waiter)
                if table in limits
            )
            blocked_by = (*held, *behind) or _beyond_a_limit(waiter, holding, barriers, limits)
        except Exception as failure:  # noqa: BLE001 - goes to whoever acts on the decision: the others are decided on
            decisions.append(AdmissionDecision(waiter, failure=failure))
            continue
        decisions.append(AdmissionDecision(waiter, blocked_by[:MOST_NAMED], count=len(blocked_by)))
        if not blocked_by:
            holding.append(waiter)
        elif waiter.has_aged(now) and not (
            has_no_end
            or any(_share_a_table(waiter, one.by) for one in behind)
            or any(_are_alike(waiter, one) for one in barriers)
        ):
            barriers.append(waiter)
    return decisions


def _in_the_way(waiter: Waiter, others: Iterable[Holder], *, holds: bool) -> Iterator[Blocking]:
    for other in others:
        if other.at_rest:
            conflict = conflict_at_rest(other.footprint, waiter.footprint)
        elif other.places is None:
            accepted = waiter.accepts & other.accepts
            conflict = conflict_between(waiter.footprint, other.footprint, accepted)
        else:
            conflict = conflict_where_met(waiter.footprint, other.places)
        if conflict is not None:
            yield Blocking(other, conflict, holds)


def stays(holder: "Stays", waiter: "Stays") -> bool:
    """Whether nobody knows when what is in the waiter's way will be gone, if ever."""
    if holder.at_rest or holder.for_ever is Yield.NEVER:
        return True
    if holder.for_ever is None or holder.footprint is None or waiter.footprint is None:
        return False
    is_endless = waiter.for_ever is not None
    return why_no_room(holder.for_ever, holder.footprint, waiter.footprint, is_endless=is_endless) is not None


def are_taken_for_ever(waiter: "Stays", writers: Iterable[Holder], most: int) -> bool:
    """Whether streams that make no room for the waiter have all places of a table."""
    return len({one.uid for one in writers if one.for_ever is not None and stays(one, waiter)}) >= most


class Stays(Protocol):
    """Those that hold or wait, or what they have in common."""

    @property
    def at_rest(self) -> bool: ...
    @property
    def for_ever(self) -> Yield | None: ...
    @property
    def footprint(self) -> JobFootprint | None: ...


def _share_a_table(one: Holder, other: Holder) -> bool:
    return not set(one.footprint.keys).isdisjoint(other.footprint.keys)


def written_by(one: Holder) -> tuple[TableKey, ...]:
    """The tables that it may write; a name that leads to several may be any of them, and a location goes by its names as well."""
    if one.at_rest:
        return ()
    found: dict[TableKey, None] = {}
    for table in one.footprint.keys:
        found[table] = None
        found.update(dict.fromkeys(map(TableKey.parse, sorted(table.bound))))
    return tuple(found)


def _are_alike(one: Holder, other: Holder) -> bool:
    return (
        one.footprint.fingerprint == other.footprint.fingerprint
        and one.accepts == other.accepts
        and one.for_ever == other.for_ever
    )


def _beyond_a_limit(
    waiter: Waiter, holding: Iterable[Holder], barriers: Iterable[Holder], limits: Mapping[TableKey, int]
) -> tuple[Blocking, ...]:
    """Returns all that take up the places of the first of its tables that has none left."""
    for table in written_by(waiter):
        if table in limits:
            held = {one.uid: one for one in reversed(_writers(table, holding))}
            reserved = [one for one in _writers(table, barriers) if one.uid not in held]
            if len(held) + len(reserved) >= limits[table]:
                conflict = too_many_writers(table, limits[table])
                return (
                    *(Blocking(one, conflict, holds=True) for one in reversed(held.values())),
                    *(Blocking(one, conflict, holds=False) for one in reserved),
                )
    return ()


def _writers(table: TableKey, among: Iterable[Holder]) -> list[Holder]:
    return [one for one in among if table in written_by(one)]
