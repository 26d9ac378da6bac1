"""The queue: by priority, then by age. A job passes those ahead of it only if it conflicts with none of them, so
that nobody waits for ever behind latecomers."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sluice.conflicts import Conflict, conflict_between
from sluice.footprint.model import JobFootprint


@dataclass(frozen=True)
class Holder:
    """A job that holds leases."""

    uid: str
    job: str
    footprint: JobFootprint


@dataclass(frozen=True)
class Waiter(Holder):
    priority: int
    queued_at: datetime

    @property
    def rank(self) -> tuple[int, datetime, str]:
        return (-self.priority, self.queued_at, self.uid)


@dataclass(frozen=True)
class Blocking:
    """Who is in the way, and why; `holds` is false for a job that waits, too, but is ahead in the queue."""

    by: Holder
    conflict: Conflict
    holds: bool


@dataclass(frozen=True)
class Decision:
    """Granted if nobody is in the way."""

    waiter: Waiter
    blocked_by: tuple[Blocking, ...]
    failure: Exception | None = None
    """Why it could not be decided on."""

    @property
    def granted(self) -> bool:
        return not self.blocked_by and self.failure is None


def decide(waiters: Iterable[Waiter], holders: Iterable[Holder]) -> list[Decision]:
    """One decision a waiter, in the order of the queue; those granted hold from then on."""
    holding = list(holders)
    ahead: list[Waiter] = []
    decisions: list[Decision] = []
    for waiter in sorted(waiters, key=lambda w: w.rank):
        try:
            blocked_by = (*_in_the_way(waiter, holding, holds=True), *_in_the_way(waiter, ahead, holds=False))
        except Exception as failure:  # noqa: BLE001 - goes to whoever acts on the decision: the others are decided on
            decisions.append(Decision(waiter, (), failure))
            continue
        decisions.append(Decision(waiter, blocked_by))
        if blocked_by:
            ahead.append(waiter)
        else:
            holding.append(waiter)
    return decisions


def _in_the_way(waiter: Waiter, others: Iterable[Holder], *, holds: bool) -> Iterable[Blocking]:
    for other in others:
        conflict = conflict_between(waiter.footprint, other.footprint)
        if conflict is not None:
            yield Blocking(other, conflict, holds)
