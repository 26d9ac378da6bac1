"""Grants the jobs that may go: their leases first, then the intents in their statuses, then what follows from those."""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from sluice.admission import Blocking, Holder
from sluice.api.job_status import Attempt, Phase
from sluice.api.reasons import EventReason, Reason
from sluice.controller.applications.applications import Applications
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.execution.attempts import Attempts
from sluice.controller.execution.job_figures import JobFigures
from sluice.controller.lease_table.table import FIRST_PAUSE, LONGEST_PAUSE, LeaseTable
from sluice.controller.process import clock
from sluice.controller.process.metrics import DecisionOutcome, Metrics
from sluice.controller.process.object_workers import ObjectWorkers
from sluice.controller.process.retry_pauses import RetryPauses
from sluice.controller.reporting.events import EventWriter
from sluice.controller.reporting.status_writer import StatusWriter
from sluice.engines.attempt import application_name
from sluice.kube.client import ApiError, ConflictError
from sluice.leases import Grant
from sluice.lifecycle.attempt.lease_evidence import lease_for, reach_of
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import StatusChange, UnderstoodFields
from sluice.lifecycle.job.visible_blockers import VisibleBlockers
from sluice.lifecycle.retries.retry_decision import is_to_have_a_slot
from sluice.lifecycle.spec.commit_ids import kept_slot, shown_run, slot_named

logger = logging.getLogger(__name__)

SEEN_SOON = 1.0
"""Seconds until what somebody else has written to a job is seen here."""


@dataclass(frozen=True)
class GrantedJob:
    """A job that may go."""

    job: JobView
    risks: tuple[Blocking, ...]
    """Those that hold leases, and beside whom it goes only because both accept that one may abort the other."""


@dataclass(kw_only=True)
class Grants:
    world: ClusterCache
    leases: LeaseTable
    attempts: Attempts
    applications: Applications
    workers: ObjectWorkers
    statuses: StatusWriter
    events: EventWriter
    metrics: Metrics
    figures: JobFigures
    neighbours: VisibleBlockers
    pauses: RetryPauses[str] = field(
        default_factory=lambda: RetryPauses(time.monotonic, first=FIRST_PAUSE, longest=LONGEST_PAUSE)
    )
    """Pauses of jobs whose intents could not be written, or for whose leases Redis had no room."""

    def nothing_under_way(self, job: JobView) -> bool:
        """Whether nothing of the job is under way, or may be."""
        if job.is_finished or job.is_deleted or job.unreadable or job.open_attempt is not None:
            return False
        if job.uid in self.leases.unsettled or self.leases.unexplained.of(job.uid):
            return False
        return self.world.holds_nothing(job.uid) or not self.world.evidence(job.uid).holds_any

    async def grant(self, admitted: Sequence[GrantedJob]) -> None:
        """Has all of them granted at once."""
        outcomes = await asyncio.gather(*map(self._granted, admitted), return_exceptions=True)
        failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if failures:
            raise failures[0]

    async def _granted(self, admitted: GrantedJob) -> None:
        job = admitted.job
        self.pauses.tries(job.uid)
        grant, slots = None, self.world.slots
        try:
            number = (job.status.attempts[-1].number if job.status.attempts else 0) + 1
            slot = self._slot(job)
            if slot is not None and self._has_another(slot, job):
                return  # somebody wrote it into a status: it is refused when it is looked at next
            if slot is not None:
                slots.granted[job.uid] = slot  # others are granted theirs beside it
            lease = lease_for(job, number, job.spec_hash, slot)
            grant = await self.leases.grant(lease, reach_of(job))
            if grant is not None:
                self.workers.do(job.uid, partial(self._begin, admitted, grant))
            elif self.leases.no_room is None:
                self.pauses.forget(job.uid)  # nobody is granted anything now
            else:
                self.workers.do(job.uid, partial(self._tell_no_room, job.uid))
        finally:
            slots.granted.pop(job.uid, None)
            if grant is None:
                self.world.mark(job.uid)  # it holds nothing, and waits again

    def _slot(self, job: JobView) -> int | None:
        """The slot under whose id it commits: its own, or for its first attempt the lowest that nobody has."""
        if job.footprint.run is not None:
            return None
        kept = kept_slot(job.status.run)
        if kept is not None or not is_to_have_a_slot(job, self.world.declarations):
            return kept
        slots = self.world.slots
        taken = {*slots.kept, *slots.granted.values()}
        free = (n for n in count(1) if n not in taken and self.leases.holder_of_run(slot_named(n)) is None)
        return next(free)

    def _has_another(self, slot: int, job: JobView) -> bool:
        """Whether another job has the slot since this one was decided on, or is just being granted it."""
        is_being_granted = slot in self.world.slots.granted.values()
        return is_being_granted or self.leases.is_run_of_another(slot_named(slot), job.uid)

    async def _tell_no_room(self, uid: str) -> None:
        job, why = self.world.jobs.get(uid), self.leases.no_room
        if job is not None and why is not None and self.nothing_under_way(job):
            change = StatusChange(Phase.PENDING, Reason.LEASES_UNAVAILABLE, why, UnderstoodFields.of(job))
            await self.statuses.write(job, change)

    async def _begin(self, admitted: GrantedJob, grant: Grant) -> None:
        """Writes the intent, under the version of the job that was decided on; then starts what follows from it."""
        job, lease = admitted.job, grant.lease
        attempt = Attempt(
            number=lease.attempt,
            token=grant.token,
            hash=lease.hash,
            application=application_name(job.name, job.uid, lease.attempt),
            engine=job.engine,
            granted_at=clock.now(),
        )
        self.applications.creates.begins(job.namespace, attempt.application)
        message = f"admitted; SparkApplication {attempt.application} is being created"
        beside = self.neighbours.named(admitted.risks, job.namespace)
        change = StatusChange(
            Phase.STARTING,
            Reason.ADMITTED,
            message,
            UnderstoodFields.of(job),
            attempt,
            beside=beside,
            run=shown_run(job.status.run, lease.run, grant.token),
        )
        try:
            await self.statuses.write(job, change)
        except ApiError as error:
            if error.is_definite or isinstance(error, ConflictError):
                # It was not written: usually the job was edited or deleted after the decision.
                self.leases.settled(job.uid)
                self.leases.release(lease)
            if isinstance(error, ConflictError):
                self.pauses.forget(job.uid)
            raise
        self.pauses.forget(job.uid)
        self.leases.settled(job.uid)
        self.metrics.decided(DecisionOutcome.GRANTED)
        self.figures.granted(job, attempt, lease)
        logger.info("%s: attempt %d granted", job.key, lease.attempt)
        self._tell_of_risks(admitted)
        risks = "; beside jobs that may abort it: see status.runsBeside" if admitted.risks else ""
        held = f"holds {', '.join(lease.tables)} for attempt {lease.attempt}{risks}"
        await self.events.tell(job, EventReason.ADMITTED, held)
        current = self.world.jobs.get(job.uid)
        if current is not None and current.open_attempt is not None:
            await self.attempts.drive(current, current.open_attempt)

    def _tell_of_risks(self, admitted: GrantedJob) -> None:
        """Has those told whom it runs beside, too."""
        job = admitted.job
        newcomer = Holder(job.uid, job.key, job.footprint)
        for one in admitted.risks:
            told = Blocking(newcomer, one.conflict, holds=True)
            self.workers.do(one.by.uid, partial(self._tell_of_risk, one.by.uid, told))

    async def _tell_of_risk(self, uid: str, newcomer: Blocking) -> None:
        job = self.world.jobs.get(uid)
        if job is not None and job.open_attempt is not None and job.unreadable is None:
            (told,) = self.neighbours.named((newcomer,), job.namespace)
            try:
                await self.statuses.tell_of_risk(job, told)
            except ConflictError:  # somebody changed it meanwhile, which is seen soon
                await asyncio.sleep(SEEN_SOON)
                self.workers.do(uid, partial(self._tell_of_risk, uid, newcomer))
