"""What a leader counts of jobs as they go their way: how long they waited and for what, what conflicts cost, and which leases
they hold. It is told of each change once, so that nothing is counted at a scrape."""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from sluice.admission import Holder
from sluice.api.job import RetryCause
from sluice.api.job_status import Attempt, AttemptException, Outcome, PauseReason, Phase
from sluice.conflicts import Level, Verdict
from sluice.conflicts.lost_commit_rule import EXCEPTIONS
from sluice.conflicts.rule_ids import NO_CONFLICTS
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.lease_table.table import LeaseTable
from sluice.controller.process import clock
from sluice.controller.process.metrics import Metrics, Winner
from sluice.footprint import NotUnderstoodError
from sluice.leases import Lease
from sluice.lifecycle.evidence.lease_states import BY_STAGE, LeaseState
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.spec.core_seconds import core_seconds
from sluice.lifecycle.spec.lease_kinds import LeaseKind, kinds_of

MOST_TABLES = 10_000
"""Tables of which it is remembered when somebody last let them go."""


@dataclass(frozen=True)
class _Held:
    tables: tuple[str, ...]
    counted: tuple[tuple[LeaseKind, LeaseState], ...]


class JobFigures:
    def __init__(
        self,
        metrics: Metrics,
        world: ClusterCache,
        leases: LeaseTable,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._metrics = metrics
        self._world = world
        self._leases = leases
        self._clock = clock
        self.leases: Counter[tuple[LeaseKind, LeaseState]] = Counter()
        self._held: dict[str, _Held] = {}
        """What is counted in that, by the jobs' uids."""
        self._freed: OrderedDict[str, float] = OrderedDict()
        """When a lease on each table was last released."""
        self._avoided: dict[str, Level] = {}
        """How sure the conflict was for which a job began to wait that has not ended, by uid."""
        metrics.tell_of_leases(lambda: self.leases)

    def holds(self, uid: str, holders: Iterable[Holder]) -> None:
        """Counts the job's leases as they are now. `holders`: with what they touch; none as long as that isn't known."""
        held, before = self._leases.held_by(uid), self._held.get(uid)
        if not held and before is None:
            self._forget_if_over(uid)
            return
        kinds = kinds_of(holder.footprint for holder in holders)
        states = [self._state_of(lease) for lease in held]
        counted = tuple((kind, state) for state in states for kind in kinds)
        self.leases.subtract(before.counted if before is not None else ())
        self.leases.update(counted)
        if held:
            self._held[uid] = _Held(tuple({table for lease in held for table in lease.tables}), counted)
        elif before is not None:
            self._let_go(uid, before)

    def begins_to_wait(self, uid: str, verdict: Verdict) -> None:
        """`verdict`: on the job and the first in its way. A limit of writers avoids no conflict."""
        if verdict.rule not in NO_CONFLICTS:
            self._metrics.avoided(verdict.rule)
            self._avoided[uid] = verdict.level

    def granted(self, job: JobView, attempt: Attempt, lease: Lease) -> None:
        """`job`: as it was before it was granted."""
        self._metrics.waited(_seconds(job.waits_since, attempt.granted_at))
        last = job.status.attempts[-1] if job.status.attempts else None
        if last is not None and last.ended_at is not None and _yielded(last):
            self._metrics.resumed(_seconds(last.ended_at, attempt.granted_at))
        if job.phase is not Phase.WAITING:
            return
        freed = [self._freed[table] for table in lease.tables if table in self._freed]
        if freed:
            self._metrics.granted_after_release(self._clock() - max(freed))

    def created(self, attempt: Attempt) -> None:
        self._metrics.created(_seconds(attempt.granted_at, clock.now()))

    def ended(self, job: JobView, attempt: Attempt) -> None:
        avoided = self._avoided.pop(job.uid, None)
        exception = attempt.exception
        if attempt.outcome is Outcome.PAUSED:
            asked, ended = attempt.pause, attempt.ended_at
            seconds = None if asked is None or ended is None else _seconds(asked.since, ended)
            self._metrics.stopped(None if asked is None else asked.reason, seconds)
        if exception is not None and _is_conflict(exception):
            self._metrics.conflicted(exception.class_, _winner(exception), _cost(job, attempt))
        elif avoided is not None and attempt.outcome is Outcome.SUCCEEDED:
            self._metrics.saved(avoided, _cost(job, attempt))

    def retried(self, cause: RetryCause | None) -> None:
        """`cause`: None where somebody asked for it."""
        self._metrics.retried(cause)

    def _forget_if_over(self, uid: str) -> None:
        job = self._world.jobs.get(uid) if uid in self._avoided else None
        if job is None or job.is_finished:
            self._avoided.pop(uid, None)

    def _let_go(self, uid: str, held: _Held) -> None:
        del self._held[uid]
        now = self._clock()
        for table in held.tables:
            self._freed[table] = now
            self._freed.move_to_end(table)
        while len(self._freed) > MOST_TABLES:
            self._freed.popitem(last=False)

    def _state_of(self, lease: Lease) -> LeaseState:
        if lease in self._leases.unexplained:
            return LeaseState.UNEXPLAINED
        evidence = self._world.evidence(lease.uid)
        if evidence.failure is not None:
            return LeaseState.UNREADABLE
        mine = (one for one in evidence.by_application.values() if one.number == lease.attempt)
        return next((BY_STAGE[one.seen.stage] for one in mine), LeaseState.STARTING)


def _yielded(attempt: Attempt) -> bool:
    paused = attempt.pause if attempt.outcome is Outcome.PAUSED else None
    return paused is not None and paused.reason is PauseReason.YIELDS


def _is_conflict(exception: AttemptException) -> bool:
    return exception.conflicting_commit is not None or exception.class_ in EXCEPTIONS


def _winner(exception: AttemptException) -> Winner:
    won = exception.conflicting_commit
    if won is None or won.foreign is None:
        return Winner.UNKNOWN
    return Winner.FOREIGN if won.foreign else Winner.OWN


def _cost(job: JobView, attempt: Attempt) -> float:
    try:
        return core_seconds(job.profile, attempt)
    except NotUnderstoodError:
        return 0.0  # it was edited since, so that nobody knows what it asked for


def _seconds(since: datetime, until: datetime) -> float:
    return max(0.0, (until - since).total_seconds())
