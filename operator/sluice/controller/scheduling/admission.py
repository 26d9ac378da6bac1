"""Decides who goes next: those who may go are granted their leases, the others are told who is in the way. The queue is kept,
and follows each change of one job: what it holds, and whether it waits."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from sluice.admission import AdmissionDecision, Holder, Queue, Waiter
from sluice.api.job_status import Phase
from sluice.api.reasons import Reason
from sluice.controller.applications.applications import Applications
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.execution.attempts import Attempts
from sluice.controller.execution.job_figures import JobFigures
from sluice.controller.leadership.election import Election
from sluice.controller.leadership.prerequisites import MissingPrerequisite, Prerequisites
from sluice.controller.lease_table.table import LeaseTable
from sluice.controller.policy_work.change_gate import ChangeGate
from sluice.controller.process import clock
from sluice.controller.process.fair_queue import FairQueue
from sluice.controller.process.metrics import Metrics
from sluice.controller.process.object_workers import ObjectWorkers
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.controller.process.timers import Timers
from sluice.controller.readers.spec_reader import SpecReader
from sluice.controller.readers.table_reader import PATIENCE, TableReader
from sluice.controller.reporting.events import EventWriter
from sluice.controller.reporting.status_throttle import StatusThrottle
from sluice.controller.reporting.status_writer import StatusWriter
from sluice.controller.scheduling.grants import GrantedJob, Grants
from sluice.controller.scheduling.holder_readiness import ASK_AGAIN, HolderReadiness
from sluice.controller.scheduling.holders import Holders
from sluice.controller.scheduling.rejection import Rejection, unfit
from sluice.controller.scheduling.stream_pauses import StreamPauses
from sluice.controller.scheduling.waiter_status import WaiterStatus, waits
from sluice.footprint import NotUnderstoodError
from sluice.leases.changes import AT_ONCE
from sluice.lifecycle.attempt.withdrawal import back_off_left
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import StatusChange, UnderstoodFields
from sluice.lifecycle.job.table_rules import accepted, ages_after, writers_at_a_time
from sluice.lifecycle.job.visible_blockers import VisibleBlockers
from sluice.lifecycle.spec.yield_time import counts_from
from sluice.lifecycle.streams.pauses import since_when
from sluice.tables import Declarations
from sluice.templates import NO_ENTRIES, Permissions

logger = logging.getLogger(__name__)

SLOW_SECONDS = 1.0
AGEING_PAUSE = 0.05
"""Seconds between looks at who has aged: of thousands that were queued one after another, many at once."""
TURN_SECONDS = 0.1
"""Seconds of granting before what has changed meanwhile is looked at."""


@dataclass(kw_only=True)
class JobAdmission:
    world: ClusterCache
    leases: LeaseTable
    holders: Holders
    leadership: Election
    attempts: Attempts
    applications: Applications
    workers: ObjectWorkers
    statuses: StatusWriter
    events: EventWriter
    specs: SpecReader
    tables: TableReader
    conditions: OperatorConditions
    metrics: Metrics
    figures: JobFigures
    timers: Timers
    surroundings: Prerequisites
    own_changes: ChangeGate
    age_after: timedelta
    """How long jobs wait until they have aged, where no policy says so."""
    neighbours: VisibleBlockers = field(default_factory=VisibleBlockers)
    permissions: Permissions = NO_ENTRIES
    queue: Queue = field(default_factory=Queue)
    retelling: StatusThrottle = field(default_factory=StatusThrottle)
    unread: FairQueue = field(default_factory=FairQueue)
    """Jobs whose specs have not been read yet; reading takes milliseconds each."""
    _limits_of: Declarations | None = None
    """The declarations whose limits the queue heeds."""
    who_holds: HolderReadiness = field(init=False)
    refusing: Rejection = field(init=False)
    pausing: StreamPauses = field(init=False)
    granting: Grants = field(init=False)
    telling: WaiterStatus = field(init=False)

    def __post_init__(self) -> None:
        self.who_holds = HolderReadiness(self.world, self.holders, self.conditions, self.unread)
        self.pausing = StreamPauses(
            world=self.world,
            attempts=self.attempts,
            workers=self.workers,
            statuses=self.statuses,
            events=self.events,
            retelling=self.retelling,
            neighbours=self.neighbours,
        )
        self.granting = Grants(
            world=self.world,
            leases=self.leases,
            attempts=self.attempts,
            applications=self.applications,
            workers=self.workers,
            statuses=self.statuses,
            events=self.events,
            metrics=self.metrics,
            figures=self.figures,
            neighbours=self.neighbours,
        )
        self.refusing = Rejection(
            world=self.world,
            leases=self.leases,
            statuses=self.statuses,
            events=self.events,
            metrics=self.metrics,
            neighbours=self.neighbours,
            permissions=self.permissions,
        )
        self.telling = WaiterStatus(
            world=self.world,
            leases=self.leases,
            holders=self.holders,
            workers=self.workers,
            statuses=self.statuses,
            events=self.events,
            tables=self.tables,
            metrics=self.metrics,
            figures=self.figures,
            timers=self.timers,
            neighbours=self.neighbours,
            queue=self.queue,
            retelling=self.retelling,
            refusing=self.refusing,
            pausing=self.pausing,
            granting=self.granting,
        )

    def seconds_left(self) -> float | None:
        """Seconds until somebody has aged, or is to be told anew who is in the way."""
        if self.who_holds.is_being_read:
            return ASK_AGAIN
        if not self.leases.is_sure or self.who_holds.nobody_knows is not None:
            return None
        ageing, until_told = self.queue.next_ageing, self.retelling.seconds_left()
        until_aged = None if ageing is None else max(AGEING_PAUSE, (ageing - clock.now()).total_seconds())
        until_look = self.pausing.seconds_until_look()
        return min((left for left in (until_aged, until_told, until_look) if left is not None), default=None)

    def holds(self, uid: str) -> None:
        """Returns what is held for the job, as it is now."""
        holders = self.holders.of(uid)
        self.figures.holds(uid, holders)
        self.pausing.holds(uid, holders)
        if uid not in self.holders.unread and (holders or self.queue.is_held_by(uid)):
            self.queue.hold(uid, holders)
            if not holders:
                self.retelling.gone(uid)

    def consider(self, uid: str) -> bool:
        """Updates what is held for the job and whether it waits for others. Returns whether it wants nothing else."""
        self.holds(uid)
        waiter, wants_nothing = self._waiter(uid)
        if waiter is not None:
            self.telling.heed_news(waiter)
            self.queue.wait(waiter)
        elif uid in self.queue:
            self.queue.leave(uid)
            if not self.queue.is_held_by(uid):
                self.retelling.gone(uid)
        return wants_nothing and not self.leases.held_by(uid)  # what it had before is to be released

    def read(self, uid: str) -> None:
        """Reads the job's spec, and what the logs of its tables say."""
        job = self.world.jobs.get(uid)
        if job is None or job.unreadable is not None:
            return
        try:
            if self.specs.has_read(job) and self.tables.knows(job):
                self.specs.has_read(job)
        except NotUnderstoodError:
            pass  # is told where it is considered
        except Exception as failure:  # noqa: BLE001 - goes to the guard, which tells it on the job
            self.holders.not_to_be_read(uid)
            self.workers.do(uid, partial(failed, failure))

    def forget(self, uid: str) -> None:
        """Forgets a job that is over."""
        self.holds(uid)
        self.queue.leave(uid)
        self.retelling.gone(uid)
        self.granting.pauses.forget(uid)
        self.telling.forget(uid)

    def forget_gone(self) -> None:
        self.granting.pauses.forget_unless(lambda uid: uid in self.world.jobs)
        self.pausing.forget_gone()
        self.telling.forget_gone()
        self.statuses.forget_gone()

    def _waiter(self, uid: str) -> tuple[Waiter | None, bool]:  # noqa: PLR0911 - one way not to queue per line
        """Returns the waiter of a job that waits for nothing but others; and whether nothing else is to be done for it."""
        job = self.world.jobs.get(uid)
        if job is None or not self.granting.nothing_under_way(job):
            return None, False
        if job.status.attempts and self.leases.held_by(uid):
            return None, False  # what the last one held goes first
        try:
            if job.spec.admission.suspend:
                return None, job.phase is Phase.SUSPENDED
            left = self._seconds_of_pause(job)
            if left > 0:
                self.timers.within(left, uid)
                return None, True
            if (wants_nothing := self._until_it_is_read(job)) is not None:
                return None, wants_nothing
            if self.refusing.out_of_the_queue(job) is not None or self._gives_way_now(job):
                return None, False
            if (own := self._obstacle_of_its_own(job)) is not None:
                return None, _says(job, own)  # it must not be in the way of those who can start
            if (kept := self.own_changes.keeps(job)) is not None:
                if not kept.quiet_for:
                    return None, _says(job, kept.obstacle)
                self.timers.within(min(kept.quiet_for, SLOW_SECONDS), uid)
            waiter = self._as_waiter(job)
        except NotUnderstoodError:
            return None, False
        self.telling.heed_patience(job)
        is_told = self.leases.is_sure or job.phase is Phase.WAITING
        return waiter, is_told and self.who_holds.nobody_knows is None

    def _until_it_is_read(self, job: JobView) -> bool | None:
        """Whether it wants nothing until its spec and its tables were read; None: they were."""
        if not self.specs.has_read(job):
            return self._is_told_of_reading(job, self.specs.waited(job))
        if not self.tables.knows(job):
            return self._is_told_of_reading(job, self.tables.waited(job))
        if not self.specs.has_read(self.world.jobs[job.uid]):
            return self._is_told_of_reading(job, self.specs.waited(job))
        return None

    def _is_told_of_reading(self, job: JobView, waited: float) -> bool:
        """Whether it says so, or need not yet."""
        left = SLOW_SECONDS - waited
        self.timers.within(left + 0.1 if left > 0 else PATIENCE, job.uid)
        return left > 0 or job.phase is not None

    def _as_waiter(self, job: JobView) -> Waiter:
        tables, declarations = job.footprint.keys, self.world.declarations
        age = ages_after(tables, declarations, self.age_after)
        since = counts_from(job.queued_at, age, job.annotations)
        paused = since_when(job.uid, self.world.pausing_for(job.uid))
        return Waiter(
            job.uid,
            job.key,
            job.footprint,
            job.spec.priority,
            since,
            since + age if paused is None else min(since + age, paused),
            accepts=accepted(job.spec.admission, tables, declarations),
            for_ever=job.for_ever,
            yields=job.yields,
        )

    def _seconds_of_pause(self, job: JobView) -> float:
        """Seconds until it queues again after it had its tables but got nowhere, or after its intent could not be written."""
        now = clock.now()
        if self.pausing.backs_off(job, now):
            return max(0.1, back_off_left(job, now))
        if (left := self.pausing.seconds_left(job)) > 0:
            return left
        return self.granting.pauses.seconds_left(job.uid)

    def _gives_way_now(self, job: JobView) -> bool:
        """Whether streams have paused for it for as long as they may."""
        left = self.pausing.seconds_to_give_way(job)
        if left:
            self.timers.within(left, job.uid)
        return left == 0

    async def prepare(self, job: JobView) -> None:
        """Tells a job that has no attempt what it waits for besides others."""
        try:
            known = self.specs.has_read(job) and self.tables.knows(job)
        except NotUnderstoodError as error:
            await self.refusing.refuse(job, unfit(str(error)))
            return
        if not known or not self.specs.has_read(job):
            await self._tell_of_reading(job)
            return
        understood = UnderstoodFields.of(job)
        if job.spec.admission.suspend:
            message = "held by spec.admission.suspend; it queues again, keeping its age, once that is false"
            await self.statuses.write(
                job, StatusChange(Phase.SUSPENDED, Reason.SUSPENDED, message, understood)
            )
        elif self.pausing.backs_off(job, clock.now()) or self.pausing.seconds_left(job) > 0:
            return
        elif self.pausing.seconds_to_give_way(job) == 0:
            await self.pausing.give_way(job)
        elif (refused := self.refusing.out_of_the_queue(job)) is not None:
            await self.refusing.refuse(job, refused)
        elif self._obstacle_of_its_own(job) is not None or self._outdated(job) is not None:
            await self.tell_obstacle(job.uid)
        elif not self.leases.is_sure and job.phase is not Phase.WAITING:  # who waits keeps who is in the way
            message = f"nothing is granted until it is certain who holds what: {self.leases.trouble}"
            change = StatusChange(Phase.PENDING, Reason.LEASES_UNAVAILABLE, message, understood)
            await self.statuses.write(job, change)
        elif self.who_holds.nobody_knows is not None:
            who, why = self.neighbours.called(self.who_holds.nobody_knows.who, job.namespace), ""
            if who == self.who_holds.nobody_knows.who:
                why = f" ({self.who_holds.nobody_knows.why})"
            message = f"nothing is granted: it is not known which tables {who} may write{why}"
            change = StatusChange(Phase.PENDING, Reason.HOLDER_UNREADABLE, message, understood)
            await self.statuses.write(job, change)

    async def turn(self) -> None:
        """Grants what may be granted now."""
        self._heed_limits()
        if self.who_holds.is_news():
            self.world.mark_these(self.queue.uids)
        if self.who_holds.nobody_knows is not None:
            return
        if self.who_holds.is_to_be_read():
            return
        began, before = time.monotonic(), self.queue.judged
        while self.queue.judge(clock.now()):
            await _others_have_their_turn()
        if self.queue.judged > before:
            self.metrics.judged(time.monotonic() - began)
        while admitted := self._take(AT_ONCE):
            await self.granting.grant(admitted)
            if not self.leases.is_sure or not self.leadership.leads():
                return
            if time.monotonic() - began > TURN_SECONDS:
                self.world.wake()
                break
        self.pausing.turn(self.queue)
        self.telling.turn()

    def _heed_limits(self) -> None:
        if self._limits_of is not self.world.declarations:
            self._limits_of = self.world.declarations
            self.queue.limit(writers_at_a_time(self._limits_of))

    def _take(self, most: int) -> list[GrantedJob]:
        """Takes jobs that may go, beside all that hold and beside one another."""
        admitted: list[GrantedJob] = []
        while len(admitted) < most and (decision := self.queue.take()) is not None:
            job = self._admitted(decision)
            if job is not None:
                admitted.append(GrantedJob(job, self.queue.risks(job.uid)))
                accepts = decision.waiter.accepts
                self.holders.is_led(job.uid, job.footprint)
                self.queue.hold(
                    job.uid, (Holder(job.uid, job.key, job.footprint, accepts=accepts),)
                )  # as it was decided on
                self.queue.leave(job.uid)
                self.retelling.gone(waits(job.uid))
        return admitted

    def _admitted(self, decision: AdmissionDecision) -> JobView | None:
        """Returns the job if nothing else is in its way. Whatever it still waits for has it looked at again."""
        uid = decision.waiter.uid
        job = self.world.jobs.get(uid)
        if job is None or self.workers.is_busy(uid):
            return None  # it is considered again when nothing is under way
        if decision.failure is None and job.footprint is not decision.waiter.footprint:
            return (
                None  # it is another job by now, or its tables are others: that is marked, and looked at next
            )
        if decision.failure is not None:
            self.granting.pauses.tries(uid)
            self.workers.do(uid, partial(failed, decision.failure))
        elif job.is_late_on(clock.now()):
            self.world.judge_by_today(job)
        elif not self.tables.knows(job, for_grant=True):
            return None
        elif (refused := self.refusing.before_a_grant(job)) is not None:
            self.workers.do(uid, partial(self._tell, uid, partial(self.refusing.refuse, job, refused)))
        elif (obstacle := self.surroundings.obstacle_for(job)) is not None:
            if not _says(job, obstacle):
                self.workers.do(uid, partial(self._tell, uid, partial(self.tell_obstacle, uid)))
        elif (kept := self.own_changes.keeps(job)) is not None:
            if (
                kept.quiet_for
            ):  # it keeps its place, or whoever changes the table next would outdate the look again
                self.timers.within(min(kept.quiet_for, SLOW_SECONDS), uid)
            else:
                self.world.mark(uid)
        else:
            return job
        return None

    async def _tell(self, uid: str, telling: Callable[[], Awaitable[None]]) -> None:
        """Tells a job what keeps it from a grant. Where that fails it queues again after a pause, or it would be its turn again at
        once."""
        try:
            await telling()
        except Exception:
            self.granting.pauses.tries(uid)
            raise
        self.granting.pauses.forget(uid)

    async def tell_obstacle(self, uid: str) -> None:
        """Says what is missing around the operator, on a job that would otherwise start or be judged."""
        job = self.world.jobs.get(uid)
        if job is None:
            return
        obstacle = self.surroundings.obstacle_for(job) or self.refusing.obstacle(job) or self._outdated(job)
        if obstacle is None or not self.granting.nothing_under_way(job) or _says(job, obstacle):
            return
        if job.phase is Phase.SUSPENDED or self._seconds_of_pause(job) > 0:
            return
        if job.phase is Phase.WAITING and not self.leases.is_sure:
            return  # who waits keeps who is in the way: an API server that starts serves nothing of ours for a moment
        await self.statuses.write(job, StatusChange(Phase.PENDING, obstacle.reason, obstacle.message))

    def _obstacle_of_its_own(self, job: JobView) -> MissingPrerequisite | None:
        return self.surroundings.obstacle_of_its_own(job) or self.refusing.obstacle(job)

    def _outdated(self, job: JobView) -> MissingPrerequisite | None:
        """What it is to be told where it would change a table for a policy that has not looked at it for too long."""
        kept = self.own_changes.keeps(job)
        return None if kept is None or kept.quiet_for else kept.obstacle

    async def _tell_of_reading(self, job: JobView) -> None:
        """Says once that its spec or its tables are being read; reading usually takes less time than writing that would."""
        if job.phase is not None:
            return
        if self.specs.waited(job) > SLOW_SECONDS:
            ahead = self.specs.ahead(job)
            waits = f"its spec waits to be read; ahead of it: {ahead}"
            message = waits if ahead else "its spec is being read"
            await self.statuses.write(job, StatusChange(Phase.PENDING, Reason.READING_SPEC, message))
        elif job.is_read and self.tables.waited(job) > SLOW_SECONDS:
            tables = ", ".join(key.text for key in job.tables)
            message = (
                f"reading the log of {tables}; without an answer within {PATIENCE:.0f} s the job queues as if it "
                "touched all of them"
            )
            await self.statuses.write(job, StatusChange(Phase.PENDING, Reason.READING_TABLES, message))


async def _others_have_their_turn() -> None:
    await asyncio.sleep(0)


async def failed(failure: Exception) -> None:
    """Raises the failure for the guard, which reports it on the job that it concerns."""
    raise failure


def _says(job: JobView, obstacle: MissingPrerequisite) -> bool:
    return (job.phase, job.status.reason, job.status.message) == (
        Phase.PENDING,
        obstacle.reason,
        obstacle.message,
    )
