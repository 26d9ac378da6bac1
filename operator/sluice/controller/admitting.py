"""Who goes next: those who may are granted their leases, the others are told who is in the way."""

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sluice.admission import Decision, Holder, Waiter, decide
from sluice.api.job import WhenBlocked
from sluice.api.job_status import Attempt, Phase
from sluice.api.operator_status import OperatorConditionType
from sluice.controller.applications import Applications
from sluice.controller.attempts import Attempts
from sluice.controller.conditions import Conditions
from sluice.controller.events import EventWriter
from sluice.controller.guard import Guard
from sluice.controller.leadership import Leadership
from sluice.controller.lease_table import FIRST_PAUSE, LONGEST_PAUSE, LeaseTable
from sluice.controller.metrics import Metrics, Outcome
from sluice.controller.pauses import Pauses
from sluice.controller.status import StatusWriter
from sluice.controller.table_reader import PATIENCE, TableReader
from sluice.controller.world import World
from sluice.engines.attempt import application_name
from sluice.footprint import NotUnderstoodError
from sluice.kube.client import ApiError, ConflictError, NotFoundError
from sluice.lifecycle.durations import seconds
from sluice.lifecycle.holding import Frozen, lease_for
from sluice.lifecycle.job import JobView
from sluice.lifecycle.status import StatusChange, Understood
from sluice.lifecycle.withdrawal import backs_off

logger = logging.getLogger(__name__)

SLOW_SECONDS = 1.0


@dataclass(kw_only=True)
class Admitting:
    world: World
    leases: LeaseTable
    leadership: Leadership
    attempts: Attempts
    applications: Applications
    guard: Guard
    statuses: StatusWriter
    events: EventWriter
    tables: TableReader
    conditions: Conditions
    metrics: Metrics
    granting: Pauses[str] = field(
        default_factory=lambda: Pauses(time.monotonic, first=FIRST_PAUSE, longest=LONGEST_PAUSE)
    )
    """Of jobs whose intents could not be written."""

    async def prepare(self, job: JobView) -> None:
        """A job that has no attempt: what it waits for beside others is told, before it is decided on."""
        try:
            known = self.tables.knows(job)
        except NotUnderstoodError as error:
            await self._refuse(job, str(error))
            return
        if not known:
            await self._await_tables(job)
            return
        understood = Understood.of(job)
        if job.spec.admission.suspend:
            message = "held by spec.admission.suspend; it queues again, with its age, when that is false"
            await self.statuses.write(job, StatusChange(Phase.SUSPENDED, "Suspended", message, understood))
        elif backs_off(job, datetime.now(UTC)):
            return
        elif not self.leases.is_sure and job.phase is not Phase.WAITING:  # who waits keeps who is in the way
            message = f"nothing is granted until it is sure who holds what: {self.leases.trouble}"
            change = StatusChange(Phase.PENDING, "LeasesUnavailable", message, understood)
            await self.statuses.write(job, change)

    async def turn(self) -> None:
        """Decides on all that wait."""
        self.world.heed_policies()
        judged = dict(self.world.jobs)
        self.granting.forget_others(set(judged))
        holders = self.leases.holders()
        frozen = self.leases.frozen()
        self._tell_of(frozen)
        nobody_knows = next((one for one in frozen if not one.tables), None)
        if nobody_knows is not None:
            await self._hold_all(nobody_knows)
            return
        for decision in decide(await self._without_refused(await self._waiters(), holders), holders):
            uid = decision.waiter.uid
            job = judged[uid]
            if self.world.jobs.get(uid) is not job:
                self.world.mark(uid)  # changed since it was judged
                continue
            await self.guard.on(uid, self._decided(job, decision))
            if not self.leases.is_sure or not self.leadership.leads():
                return

    def _tell_of(self, frozen: list[Frozen]) -> None:
        if not frozen:
            self.conditions.holds(OperatorConditionType.HOLDERS_READABLE)
            return
        first = min(frozen, key=lambda one: (bool(one.tables), one.who))
        others = f" (and {len(frozen) - 1} more)" if len(frozen) > 1 else ""
        held = ", ".join(str(table) for table in first.tables) or "nobody knows which tables, so that all are"
        message = f"{first.who}{others} may write, and cannot be read: {first.why}; held: {held}"
        self.conditions.fails(OperatorConditionType.HOLDERS_READABLE, "HolderUnreadable", message)

    async def _hold_all(self, frozen: Frozen) -> None:
        """As long as nobody knows what somebody may write."""
        message = f"nothing is granted: {frozen.who} may write, and nobody knows which tables: {frozen.why}"
        for waiter in await self._waiters():
            job = self.world.jobs[waiter.uid]
            change = StatusChange(Phase.PENDING, "HolderUnreadable", message, Understood.of(job))
            await self.guard.on(job.uid, self.statuses.write(job, change))

    async def _without_refused(self, waiters: list[Waiter], holders: list[Holder]) -> list[Waiter]:
        """Those whose tables, as they are, have no place for them end here, unless a job before them may change that."""
        left = []
        for waiter in waiters:
            job = self.world.jobs[waiter.uid]
            if job.refusal is None or _may_change_before(waiter, job, (*holders, *waiters)):
                left.append(waiter)
            elif self.tables.knows(job, for_grant=True):
                await self.guard.on(job.uid, self._refuse(job, job.refusal))
        return left

    async def _waiters(self) -> list[Waiter]:
        waiters: list[Waiter] = []
        for job in list(self.world.jobs.values()):
            if not (job.is_finished or job.is_deleted or job.unreadable or job.uid in self.leases.unsettled):
                await self.guard.on(job.uid, self._join(job, waiters))
        return waiters

    async def _join(self, job: JobView, waiters: list[Waiter]) -> None:
        """The queue, if it waits for nothing but others."""
        if job.open_attempt is not None or self.world.evidence(job.uid).holds_any:
            return
        if self.leases.unexplained_of(job.uid):
            return
        if not self.granting.is_due(job.uid):
            return
        try:
            if job.spec.admission.suspend or backs_off(job, datetime.now(UTC)) or not self.tables.knows(job):
                return
            footprint = job.footprint
        except NotUnderstoodError:
            return
        waiters.append(Waiter(job.uid, job.key, footprint, job.spec.priority, job.queued_at))

    async def _decided(self, job: JobView, decision: Decision) -> None:
        if decision.failure is not None:
            raise decision.failure
        if not decision.granted:
            await self._keep_waiting(job, decision)
        elif self.tables.knows(job, for_grant=True):
            await (self._grant(job) if job.refusal is None else self._refuse(job, job.refusal))

    async def _refuse(self, job: JobView, why: str) -> None:
        await self.statuses.write(job, StatusChange(Phase.FAILED, "NotUnderstood", why))
        self.metrics.decided(Outcome.REFUSED)
        await self.events.tell(job, "NotUnderstood", why, warning=True)

    async def _await_tables(self, job: JobView) -> None:
        """Mostly it takes less time than to write that it does."""
        if job.phase is None and self.tables.waited(job) > SLOW_SECONDS:
            tables = ", ".join(key.text for key in job.tables)
            message = (
                f"reading what the log of {tables} says; without an answer within {PATIENCE:.0f} s it queues as if it "
                "touched all of it"
            )
            await self.statuses.write(job, StatusChange(Phase.PENDING, "ReadingTables", message))

    async def _keep_waiting(self, job: JobView, decision: Decision) -> None:
        first = decision.blocked_by[0]
        others = f" ({decision.others})" if decision.others else ""
        state = "runs" if first.holds else "is ahead in the queue"
        message = f"{first.by.job} {state} on {first.conflict.table}: {first.conflict.verdict.reason}{others}"
        phase, reason, message = _outcome_of_waiting(job, message, datetime.now(UTC))
        change = StatusChange(
            phase,
            reason,
            message,
            understood=Understood.of(job),
            blocked_by=decision.blocked_by,
            blocked_by_count=decision.count,
        )
        new = phase is Phase.WAITING and job.phase is not Phase.WAITING
        await self.statuses.write(job, change)
        if new or phase is not Phase.WAITING:
            self.metrics.decided(_counted(phase, reason))
        if new:
            await self.events.tell(job, "Blocked", message)

    async def _grant(self, job: JobView) -> None:
        number = (job.status.attempts[-1].number if job.status.attempts else 0) + 1
        lease = lease_for(job, number, job.spec_hash)
        self.granting.tries(job.uid)
        grant = await self.leases.grant(lease)
        if grant is None:
            self.granting.forget(job.uid)  # nobody is granted anything now
            return
        attempt = Attempt(
            number=number,
            token=grant.token,
            hash=lease.hash,
            application=application_name(job.name, job.uid, number),
            granted_at=datetime.now(UTC),
        )
        self.applications.creates.begins(job.namespace, attempt.application)
        message = f"admitted; SparkApplication {attempt.application} is being created"
        change = StatusChange(Phase.STARTING, "Admitted", message, Understood.of(job), attempt)
        try:
            await self.statuses.write(job, change)
        except ApiError as error:
            if error.is_definite or isinstance(error, ConflictError):
                # It isn't written: mostly the job was edited or deleted since it was decided on.
                self.leases.settled(job.uid)
                await self.leases.release(lease)
            if isinstance(error, ConflictError | NotFoundError):
                self.granting.forget(job.uid)
            raise
        self.leases.settled(job.uid)
        self.granting.forget(job.uid)
        self.metrics.decided(Outcome.GRANTED)
        current = self.world.jobs.get(job.uid)
        if current is not None and current.open_attempt is not None and self.leadership.leads():
            await self.attempts.drive(current, current.open_attempt)
        await self.events.tell(job, "Admitted", f"holds {', '.join(lease.tables)} for attempt {number}")


def _counted(phase: Phase, reason: str) -> Outcome:
    if phase is Phase.FAILED:
        return Outcome.TIMED_OUT if reason == "TimedOut" else Outcome.FAILED
    return Outcome.SKIPPED if phase is Phase.SKIPPED else Outcome.BLOCKED


def _outcome_of_waiting(job: JobView, message: str, now: datetime) -> tuple[Phase, str, str]:
    """Phase, reason and message of a job that is blocked."""
    admission = job.spec.admission
    if admission.when_blocked is WhenBlocked.SKIP:
        return Phase.SKIPPED, "Blocked", f"skipped: {message}"
    if admission.when_blocked is WhenBlocked.FAIL:
        return Phase.FAILED, "Blocked", f"not run: {message}"
    waited = (now - job.queued_at).total_seconds()
    if admission.timeout is not None and waited > seconds(admission.timeout):
        return Phase.FAILED, "TimedOut", f"not run: still blocked after {admission.timeout}: {message}"
    return Phase.WAITING, "Blocked", f"{message}; starts when nothing conflicts with it any more"


def _may_change_before(waiter: Waiter, job: JobView, others: Iterable[Holder]) -> bool:
    ahead = (other for other in others if not isinstance(other, Waiter) or other.rank < waiter.rank)
    return any(other.footprint.may_change(job.tables) for other in ahead)
