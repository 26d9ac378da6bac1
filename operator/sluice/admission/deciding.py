"""Decides who goes, by priority and then by age. A job passes those ahead of it only if it conflicts with none of them, so
that nobody waits for ever behind latecomers. This states what the queue does as simply as it can be stated."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from sluice.api.job_status import MAX_BLOCKERS
from sluice.conflicts import Conflict, conflict_between, conflict_where_met
from sluice.conflicts.places import Places
from sluice.footprint.model import JobFootprint

MOST_NAMED = MAX_BLOCKERS


@dataclass(frozen=True, slots=True)
class Holder:
    """A job that holds leases."""

    uid: str
    job: str
    footprint: JobFootprint
    places: Places | None = field(default=None, kw_only=True)
    """Set for a holder whose footprint does not tell what it does: it blocks whoever may meet it at these places, and nobody
    else."""


@dataclass(frozen=True, slots=True)
class Waiter(Holder):
    priority: int
    queued_at: datetime

    @property
    def rank(self) -> tuple[int, datetime, str]:
        return (-self.priority, self.queued_at, self.uid)


@dataclass(frozen=True)
class Blocking:
    """A job that is in the way, and why. `holds` is false for a job that is itself waiting, ahead in the queue."""

    by: Holder
    conflict: Conflict
    holds: bool


@dataclass(frozen=True)
class Decision:
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


def decide(waiters: Iterable[Waiter], holders: Iterable[Holder]) -> list[Decision]:
    """Returns one decision per waiter, in the order of the queue; jobs that are granted hold from then on."""
    holding = list(holders)
    ahead: list[Waiter] = []
    decisions: list[Decision] = []
    for waiter in sorted(waiters, key=lambda w: w.rank):
        try:
            blocked_by = (*_in_the_way(waiter, holding, holds=True), *_in_the_way(waiter, ahead, holds=False))
        except Exception as failure:  # noqa: BLE001 - goes to whoever acts on the decision: the others are decided on
            decisions.append(Decision(waiter, failure=failure))
            continue
        decisions.append(Decision(waiter, blocked_by[:MOST_NAMED], count=len(blocked_by)))
        if blocked_by:
            ahead.append(waiter)
        else:
            holding.append(waiter)
    return decisions


def _in_the_way(waiter: Waiter, others: Iterable[Holder], *, holds: bool) -> Iterable[Blocking]:
    for other in others:
        if other.places is None:
            conflict = conflict_between(waiter.footprint, other.footprint)
        else:
            conflict = conflict_where_met(waiter.footprint, other.places)
        if conflict is not None:
            yield Blocking(other, conflict, holds)
