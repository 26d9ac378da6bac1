"""Tells those that wait who is in their way: when they come to wait, when that changes, when their specs change, and when they
have waited for as long as they may."""

import logging
from dataclasses import dataclass, field
from functools import partial

from sluice.admission import AdmissionDecision, Queue, Waiter
from sluice.api.job import WhenBlocked
from sluice.api.job_status import Phase
from sluice.api.reasons import EventReason, Reason
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.execution.job_figures import JobFigures
from sluice.controller.lease_table.table import LeaseTable
from sluice.controller.process import clock
from sluice.controller.process.metrics import DecisionOutcome, Metrics
from sluice.controller.process.object_workers import ObjectWorkers
from sluice.controller.process.timers import Timers
from sluice.controller.readers.table_reader import TableReader
from sluice.controller.reporting.events import EventWriter
from sluice.controller.reporting.status_throttle import StatusThrottle
from sluice.controller.reporting.status_writer import StatusWriter
from sluice.controller.scheduling.grants import Grants
from sluice.controller.scheduling.holders import Holders
from sluice.controller.scheduling.rejection import Rejection, unfit
from sluice.controller.scheduling.stream_pauses import StreamPauses
from sluice.kube.client import ApiError
from sluice.lifecycle.attempt import job_events
from sluice.lifecycle.job.blocked_status import outcome_of_waiting
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import StatusChange, UnderstoodFields
from sluice.lifecycle.job.table_rules import Patience, patience
from sluice.lifecycle.job.visible_blockers import VisibleBlockers

logger = logging.getLogger(__name__)


@dataclass(kw_only=True)
class WaiterStatus:
    world: ClusterCache
    leases: LeaseTable
    holders: Holders
    workers: ObjectWorkers
    statuses: StatusWriter
    events: EventWriter
    tables: TableReader
    metrics: Metrics
    figures: JobFigures
    timers: Timers
    neighbours: VisibleBlockers
    queue: Queue
    retelling: StatusThrottle
    refusing: Rejection
    pausing: StreamPauses
    granting: Grants
    _untold: dict[str, str] = field(default_factory=dict)
    """Jobs that are told who is in their way once that one has been read, by its uid."""
    _edited: dict[str, int] = field(default_factory=dict)
    """Jobs whose statuses describe another spec than theirs of this generation, which was noticed since the last turn."""
    _impatient: dict[str, None] = field(default_factory=dict)
    """Jobs that have waited for as long as they may."""
    _heeded: dict[str, int] = field(default_factory=dict)
    """The generation that was last noticed so, by uid."""

    def forget(self, uid: str) -> None:
        self._heeded.pop(uid, None)

    def forget_gone(self) -> None:
        self._heeded = {uid: generation for uid, generation in self._heeded.items() if uid in self.world.jobs}

    def heed_news(self, waiter: Waiter) -> None:
        """Updates a status that describes another spec, or other facts."""
        known, job = self.queue.waiter(waiter.uid), self.world.jobs[waiter.uid]
        if job.phase is not Phase.WAITING:
            if known is not None:  # its status could not be written, or another was written over it
                self.retelling.again([waiter.uid])
            return
        if job.status.observed_generation != job.generation:
            # Not told here: whatever is under way for a job keeps it from being granted, and perhaps nobody is in its way now.
            if self._heeded.get(waiter.uid) != job.generation:
                self._heeded[waiter.uid] = self._edited[waiter.uid] = job.generation
            else:
                self.retelling.again([waiter.uid])
        elif known is not None and known.footprint is not waiter.footprint:
            self.retelling.again([waiter.uid])

    def heed_patience(self, job: JobView) -> None:
        allowed = self._patience(job)
        if allowed is None:
            return
        left = allowed.seconds - job.waited(clock.now())
        if left > 0:
            self.timers.within(left + 0.1, job.uid)
        elif job.phase is Phase.WAITING:
            self._impatient[job.uid] = None  # not told here: perhaps nobody is in its way now

    def turn(self) -> None:
        """Has those told that wait, now that all were granted that may go."""
        while (blocked := self.queue.take_blocked()) is not None:
            self._tell_or_retell(blocked.waiter.uid)
        for uid in [uid for uid, by in self._untold.items() if not self.holders.is_to_be_read(by)]:
            del self._untold[uid]
            self._tell_or_retell(uid)
        edited, self._edited = self._edited, {}
        impatient, self._impatient = self._impatient, {}
        for uid in (*edited, *(uid for uid in impatient if not self._is_to_be_told(uid))):
            if uid in self.queue and self.queue.explain(uid).blocked_by:
                self._tell(uid)
        while (stale := self.retelling.take_due()) is not None:
            self._tell(stale)

    def _is_to_be_told(self, uid: str) -> bool:
        """Whether it is told anyway, once somebody has been read or after a pause."""
        return uid in self._untold or self.retelling.is_to_be_told(uid)

    def _patience(self, job: JobView) -> Patience | None:
        return patience(job.spec.admission, job.tables, self.world.declarations)

    def _may_wait(self, job: JobView) -> bool:
        return job.when_blocked is WhenBlocked.WAIT and self._patience(job) is None

    def _tell_or_retell(self, uid: str) -> None:
        job = self.world.jobs.get(uid)
        if job is not None and job.phase is Phase.WAITING and self._may_wait(job):
            self.retelling.again([uid])  # as a leader before has told it
        else:
            self._tell(uid)

    def _tell(self, uid: str) -> None:
        self.workers.do(uid, partial(self._keep_waiting, uid))

    async def _keep_waiting(self, uid: str) -> None:
        """Says who is in the way, as things are when its turn comes."""
        job = self.world.jobs.get(uid)
        if (
            job is None
            or uid not in self.queue
            or not self.leases.is_sure
            or not self.granting.nothing_under_way(job)
        ):
            return  # it may have ended just now: whoever looks at it next takes it out of the queue
        decision = self.queue.explain(uid)
        if not decision.blocked_by:
            return
        unread = [one.by.uid for one in decision.blocked_by if self.holders.is_to_be_read(one.by.uid)]
        if unread:  # it may not be in the way once it is read
            self._untold[uid] = unread[0]
            return
        if job.refusal is not None and not _may_change_before(job, decision):
            if self.tables.knows(job, for_grant=True):
                await self.refusing.refuse(job, unfit(job.refusal))
            else:
                self.retelling.again([uid])
            return
        named = decision.blocked_by
        waiting = (waits(one.by.uid) for one in named if not one.holds)
        self.retelling.told(uid, (*(one.by.uid for one in named), *waiting))
        waited = job.waited(clock.now())
        told = self._as_told(decision)
        again = job.status.retry_at is not None
        phase, reason, message = outcome_of_waiting(
            job.when_blocked, self._patience(job), told, waited, again=again
        )
        message += self.pausing.said_to(job, decision) if phase is Phase.WAITING else ""
        change = StatusChange(
            phase,
            reason,
            message,
            understood=UnderstoodFields.of(job),
            blocked_by=told.blocked_by,
            blocked_by_count=decision.count,
        )
        new = phase is Phase.WAITING and job.phase is not Phase.WAITING
        try:
            await self.statuses.write(job, change)
        except ApiError:
            self.retelling.again([uid])
            raise
        if new or phase is not Phase.WAITING:
            self.metrics.decided(_counted(phase, reason))
        if new:
            self.figures.begins_to_wait(uid, decision.blocked_by[0].conflict.verdict)
            await self.events.tell(job, EventReason.QUEUED, message)
        elif phase is not Phase.WAITING:
            ended = job_events.ending(phase, reason, message)
            await self.events.tell(job, ended.reason, ended.message, warning=ended.is_warning)

    def _as_told(self, decision: AdmissionDecision) -> AdmissionDecision:
        """A failure to advise must not keep a job from being told, or from ending once it has waited for as long as it may."""
        try:
            return self.neighbours.as_told(decision)
        except Exception:
            logger.exception(
                "%s: the operator failed to try what would let it run beside %s: its status advises nothing; please report this, "
                "with the specs of these jobs",
                decision.waiter.job,
                ", ".join(one.by.job for one in decision.blocked_by),
            )
            return self.neighbours.without_advice(decision)


def waits(uid: str) -> str:
    """What a job is called that others were told waits ahead of them: once it begins, they are told that."""
    return f"{uid} waits"


def _counted(phase: Phase, reason: Reason) -> DecisionOutcome:
    if phase is Phase.FAILED:
        return DecisionOutcome.TIMED_OUT if reason is Reason.TIMED_OUT else DecisionOutcome.FAILED
    return DecisionOutcome.SKIPPED if phase is Phase.SKIPPED else DecisionOutcome.BLOCKED


def _may_change_before(job: JobView, decision: AdmissionDecision) -> bool:
    """Whether a job ahead of it may change its tables, or more jobs are ahead than are named."""
    named = decision.blocked_by
    return decision.count > len(named) or any(one.by.footprint.may_change(job.tables) for one in named)
