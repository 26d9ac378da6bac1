"""Carries an open attempt through: each step is decided by `lifecycle.attempt`, and done here."""

import contextlib
import logging
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import assert_never

from sluice.api.job import RetryCause
from sluice.api.job_status import Attempt, Outcome, Phase, StreamProgress
from sluice.api.reasons import EventReason, Reason
from sluice.controller.applications.applications import (
    Applications,
    ForeignApplicationError,
    RefusedCreateError,
)
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.execution.cleanup import Cleanup
from sluice.controller.execution.job_figures import JobFigures
from sluice.controller.lease_table.table import LeaseTable
from sluice.controller.process import clock
from sluice.controller.process.timers import Timers
from sluice.controller.readers.run_commits import RunCommits
from sluice.controller.readers.table_reader import TableReader
from sluice.controller.reporting.events import EventWriter
from sluice.controller.reporting.status_writer import StatusWriter
from sluice.engines import Observation, Stage
from sluice.engines.account import missing
from sluice.footprint import NotUnderstoodError
from sluice.leases import ForgottenError, Lease
from sluice.lifecycle.attempt import job_events, withdrawal
from sluice.lifecycle.attempt import next_step as way
from sluice.lifecycle.attempt.intent_restoration import restored
from sluice.lifecycle.attempt.lease_evidence import changed_tables
from sluice.lifecycle.evidence.attempt_evidence import Evidence
from sluice.lifecycle.evidence.deletion import DeleteApplication
from sluice.lifecycle.evidence.driver_details import with_driver
from sluice.lifecycle.evidence.outcome import closed, footprint_said, looked_at, must_ask_logs, phase_after
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import StatusChange
from sluice.lifecycle.job.visible_blockers import VisibleBlockers
from sluice.lifecycle.retries.retry_decision import Again, followed
from sluice.lifecycle.retries.stream_retries import goes_on, row_after
from sluice.lifecycle.streams.pauses import StreamPauseReason, after_a_stop, gives_way, is_kept_waiting_by
from sluice.lifecycle.streams.stream_outcome import closed_stream, last_progress

logger = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Attempts:
    world: ClusterCache
    leases: LeaseTable
    applications: Applications
    leftovers: Cleanup
    statuses: StatusWriter
    events: EventWriter
    figures: JobFigures
    tables: TableReader
    logs: RunCommits
    timers: Timers
    neighbours: VisibleBlockers = field(default_factory=VisibleBlockers)
    _followed: tuple[int, datetime] = (-1, datetime.min.replace(tzinfo=UTC))
    """The epoch in which attempts are followed, and since when: before it nobody may have seen how they fare."""

    async def drive(self, job: JobView, attempt: Attempt) -> None:
        """Takes one step."""
        self._follow_tables(job)
        evidence = self.world.evidence(job.uid).of(attempt)
        if evidence.asks_for_its_namespace and await self.applications.find_namespace_ending(job.namespace):
            return  # it is looked at again with that
        if evidence.seen.stage is Stage.NOT_CREATED and (why := self._not_followed(attempt)) is not None:
            await self.statuses.write(job, StatusChange(Phase.STARTING, Reason.SPARK_OPERATOR_MISSING, why))
            return
        creates = self.applications.creates.of(job.namespace, attempt.application)
        now = clock.now()
        if self._followed[0] != self.leases.epoch:
            self._followed = self.leases.epoch, now
        step = way.next_step(
            job,
            evidence,
            self._cover(job, attempt),
            creates,
            now,
            observed_since=self._followed[1],
            gives_way=self._gives_way(job),
        )
        await self._take(job, attempt, evidence, step)

    def _gives_way(self, job: JobView) -> StreamPauseReason | None:
        found = gives_way(job, self.world.pausing_for(job.uid), clock.now())
        return None if found is None else found.as_told(partial(self.neighbours.called, by=job.namespace))

    def _not_followed(self, attempt: Attempt) -> str | None:
        """Why nothing may be concluded from an application that is not seen: an operator that was configured otherwise may have
        made it, for a Spark operator that this one does not follow."""
        if attempt.engine in self.world.applications.kinds:
            return None
        return (
            f"whether its application is there is not known, because this operator does not follow those of {attempt.engine}: its "
            "leases are held until engines of the operator's configuration names it again"
        )

    def _cover(self, job: JobView, attempt: Attempt) -> way.Cover:
        lease = self.leases.lease_of(job.uid, attempt.number)
        doubtful = lease is not None and lease in self.leases.unexplained
        revoke = self.leases.unexplained.revoke_command(lease) if lease is not None and doubtful else None
        return way.Cover(lease, is_sure=self.leases.is_sure, revoke_command=revoke)

    async def _take(self, job: JobView, attempt: Attempt, evidence: Evidence, step: way.Step) -> None:
        match step:
            case way.Create(lease):
                await self._create(job, attempt, lease)
            case way.Withdraw(change):
                await self._take_back(job, attempt, change)
            case way.ReportProgress():
                await self._tell(job, attempt, evidence, step)
            case way.AskToStop(pod, why):
                await self.applications.ask_to_stop(pod, attempt, why)
            case way.OccupyDriverName():
                await self.applications.occupy_driver_name(
                    job.namespace, attempt.application, job.uid, attempt.number
                )
            case way.LookForDriver(otherwise):
                if not await self.applications.find_driver(job.namespace, attempt.application):
                    await self._tell_once(job, otherwise, EventReason.DRIVER_LOST)
            case way.DistrustIntent(why):
                self.leases.mistrust(ForgottenError(why))
            case way.Wait():
                pass
            case _:
                await self._take_towards_the_end(job, attempt, step)

    async def _take_towards_the_end(
        self, job: JobView, attempt: Attempt, step: way.StepTowardsTheEnd
    ) -> None:
        match step:
            case way.BeginEnding(change):
                if not await self.applications.have_changed(job.namespace, attempt.application):
                    await self.statuses.write(job, change)
                    logger.info("%s: %s", job.key, change.message)
            case DeleteApplication():
                if not await self.applications.have_changed(job.namespace, attempt.application):
                    await self.applications.delete(job.namespace, attempt.application, as_seen=True)
            case way.End():
                await self._end(job, attempt, step)
            case way.EndPod(pod):
                logger.info("%s: its driver has ended, and the pod has not: ending that", job.key)
                await self.applications.delete_pod(pod)
            case way.Leave():
                await self.leftovers.retire(job.uid)
            case _:
                assert_never(step)

    def _follow_tables(self, job: JobView) -> None:
        """Keeps what the attempt touches up to date, once anybody has had to look: others are compared with it."""
        if job.is_read:
            with contextlib.suppress(NotUnderstoodError):
                self.tables.knows(job)

    def seconds_to_the_next_create(self, job: JobView, attempt: Attempt) -> float:
        return self.applications.creates.seconds_left(job.namespace, attempt.application)

    async def restore(self, job: JobView) -> bool:
        """Writes a missing intent again; returns whether one was missing."""
        if not self.leases.is_sure:
            return False
        change = restored(job, self.world.evidence(job.uid), self.leases.held_by(job.uid))
        if change is not None:
            logger.warning("%s: %s", job.key, change.message)
            await self.statuses.write(job, change)
        return change is not None

    async def _tell(
        self, job: JobView, attempt: Attempt, evidence: Evidence, step: way.ReportProgress
    ) -> None:
        left = 0.0 if step.deadline is None else (step.deadline.at - clock.now()).total_seconds()
        if (
            left > 0
        ):  # one that is over already is heeded once it is certain who holds what, and then all are looked at
            self.timers.within(left, job.uid)
        if step.seconds_until_more is not None:
            self.timers.within(step.seconds_until_more, job.uid)
        if step.seconds_until_worth_it > 0:
            self.timers.within(step.seconds_until_worth_it, job.uid)
            return
        await self.statuses.write(job, step.change)
        started = job_events.started(attempt, step.change.attempt)
        if started is not None:
            await self.events.tell(job, started.reason, started.message)
        pausing = job_events.pausing(attempt, step.change.attempt)
        if pausing is not None:
            await self.events.tell(job, pausing.reason, pausing.message)
        not_heeded = job_events.pause_not_heeded(job.status, step.change.reason, step.change.message)
        if not_heeded is not None:
            await self.events.tell(job, not_heeded.reason, not_heeded.message, warning=True)
            await self._tell_those_it_is_for(job, attempt)
        await self._tell_of_its_checkpoint(job, step.change.stream)
        await self._tell_what_is_beside(job, evidence)

    async def _tell_of_its_checkpoint(self, job: JobView, stream: StreamProgress | None) -> None:
        replaced = job_events.checkpoint_replaced(job.status.stream, stream)
        if replaced is not None:
            await self.events.tell(job, replaced.reason, replaced.message, warning=True)

    async def _tell_those_it_is_for(self, stream: JobView, attempt: Attempt) -> None:
        """Tells who waits for a stream that goes on though it was asked to stop."""
        for one in attempt.pause.for_ if attempt.pause is not None else ():
            waiter = self.world.jobs.get(one.uid)
            if waiter is not None and waiter.open_attempt is None and is_kept_waiting_by(waiter):
                called = self.neighbours.called(stream.key, waiter.namespace)
                message = f"the stream {called} was asked to pause for it, and still goes on: it waits until that has stopped"
                await self.events.tell(waiter, EventReason.PAUSE_NOT_HEEDED, message, warning=True)

    async def _tell_what_is_beside(self, job: JobView, evidence: Evidence) -> None:
        """Tells once what stands beside the attempt: `job` is as it was before its status named them."""
        for sentence in evidence.told_beside:
            if sentence not in (job.status.message or ""):
                await self.events.tell(job, EventReason.SECOND_APPLICATION, sentence, warning=True)

    async def _create(self, job: JobView, attempt: Attempt, lease: Lease) -> None:
        try:
            await self.applications.create(job, attempt, lease, self.leases.epoch)
        except ForeignApplicationError as error:
            change = StatusChange(Phase.STARTING, Reason.NAME_TAKEN, f"{error}; trying again")
            await self.statuses.write(job, change)
        except RefusedCreateError as error:
            refused = withdrawal.refused(job, attempt, str(error))
            await self._tell_once(job, refused, EventReason.APPLICATION_REFUSED)
        else:
            self.figures.created(attempt)
            logger.info("%s: created SparkApplication %s", job.key, attempt.application)

    async def _tell_once(self, job: JobView, change: StatusChange, event: EventReason) -> None:
        """Writes it, and tells it by an Event where its reason is news."""
        is_news = job.status.reason != change.reason
        await self.statuses.write(job, change)
        if is_news:
            await self.events.tell(job, event, change.message, warning=True)

    async def _take_back(self, job: JobView, attempt: Attempt, change: StatusChange) -> None:
        if await self.applications.find(job.namespace, attempt.application, job.uid):
            return
        await self.statuses.write(job, change)
        if change.phase is Phase.BACKING_OFF:
            await self.events.tell(job, EventReason.APPLICATION_REFUSED, change.message, warning=True)

    async def _end(self, job: JobView, attempt: Attempt, end: way.End) -> None:
        seen, logs = end.seen, None
        deleted = end.application_deleted and attempt.ending is None
        if not job.is_stream and must_ask_logs(
            seen, is_application=job.spec.application is not None, came_back=end.came_back
        ):
            logs = self.logs.ask(job, attempt, looked_at(seen))
            if logs is None:
                return
        if seen.stage is Stage.NEVER_STARTS:
            seen = await self._with_missing_account(job, seen)
        now, progress = clock.now(), None
        as_told = partial(self.neighbours.exception, by=job.namespace)
        attempt = with_driver(job, attempt, seen)
        told_of = {"deleted": deleted, "came_back": end.came_back}
        if job.is_stream:
            progress = last_progress(job.status.stream, attempt, seen, end.on_pod, now)
            ended = closed_stream(attempt, seen, progress, now, **told_of, as_told=as_told, job=job.key)
        else:
            ended = closed(attempt, seen, logs, now, **told_of, as_told=as_told, job=job.key)
        self.tables.changed(changed_tables(job, attempt))
        said = footprint_said(seen, logs)
        change, told, cause = self._what_follows(job, ended, progress)
        if change.retries is None:
            change = replace(change, retries=row_after(job, ended, progress))
        await self.statuses.write(job, replace(change, footprint=said, stream=progress))
        self.figures.ended(job, ended)
        if cause is not None:
            self.figures.retried(cause)
        await self._tell_of_its_checkpoint(job, progress)
        await self.events.tell(job, told.reason, told.message, warning=told.is_warning)
        if said is not None and said.is_held is False:
            await self.events.tell(job, EventReason.FOOTPRINT_STRAYED, said.message, warning=True)
        self.logs.forget(job, attempt)
        logger.info("%s: %s: %s", job.key, change.reason, change.message)
        await self.leftovers.retire(job.uid)

    def _what_follows(
        self, job: JobView, ended: Attempt, progress: StreamProgress | None
    ) -> tuple[StatusChange, job_events.JobEvent, RetryCause | None]:
        """What the job's status and an Event say after this attempt, and for which failure another one follows."""
        phase, reason, message = phase_after(ended)
        if ended.outcome is Outcome.PAUSED:
            stopped = after_a_stop(job, ended, clock.now())
            return stopped, job_events.JobEvent(EventReason.PAUSED, stopped.message), None
        if phase is Phase.FAILED and not job.is_deleted:
            now = clock.now()
            next_one = (
                goes_on(job, ended, progress, message, now)
                if job.streams_for_ever
                else followed(job, ended, self.world.declarations, message, now)
            )
            if isinstance(next_one, Again):
                told = job_events.retrying(next_one.change.message, ended)
                return next_one.change, told, next_one.cause
            message = next_one.message
        change = StatusChange(phase, reason, message, attempt=ended)
        if ended.outcome is Outcome.WITHDRAWN:
            change = withdrawal.waited_in_vain(job, ended, clock.now())
        return change, job_events.ending(phase, reason, change.message, ended), None

    async def _with_missing_account(self, job: JobView, seen: Observation) -> Observation:
        """Adds what no application tells where it keeps a driver from being started."""
        try:
            account = job.profile.service_account
        except NotUnderstoodError:
            return seen
        if account is None or await self.applications.has_account(job.namespace, account):
            return seen
        return replace(seen, detail=f"{missing(job.namespace, account)}; {seen.detail}")
