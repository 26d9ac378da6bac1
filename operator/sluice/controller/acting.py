"""The one task that acts: it takes what changed, moves each job one step on, and decides who goes next.

Only the leader runs it. Every step follows the order of the protocol: grant, intent, create, observe, outcome,
finalizers off, release. It can be killed between any two of them: the next leader finds where it was.
"""

import contextlib
import logging
import time
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from redis.exceptions import RedisError

from sluice.admission import Decision, Holder, Waiter, decide
from sluice.api.job import WhenBlocked
from sluice.api.job_status import Attempt, Outcome, Phase
from sluice.controller import rebuild, status
from sluice.controller.applications import DRIVER_DEAD, Applications, ForeignApplicationError
from sluice.controller.durations import seconds
from sluice.controller.events import EventWriter
from sluice.controller.jobs import JobView
from sluice.controller.kube import ApiError, ConflictError, NotFoundError
from sluice.controller.leadership import Leadership, LostLeadershipError
from sluice.controller.lists import Lists
from sluice.controller.outcome import close_attempt, verdict_of
from sluice.controller.status import StatusWriter
from sluice.controller.table_reader import PATIENCE, TableReader
from sluice.controller.world import World
from sluice.engines import Observation, Stage
from sluice.engines.attempt import application_name
from sluice.footprint import NotUnderstoodError
from sluice.leases import ForgottenError, Lease, LeaseStore, RefusedError

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 5.0
LIST_SECONDS = 300.0
SLOW_SECONDS = 1.0

_MAY_WRITE = frozenset({Stage.STARTING, Stage.RUNNING, Stage.NO_DRIVER, Stage.LOST})
_TABLE_TROUBLE = (RedisError, OSError, ForgottenError, RefusedError, ValueError)


@dataclass
class Acting:
    world: World
    lists: Lists
    leases: LeaseStore
    leadership: Leadership
    statuses: StatusWriter
    applications: Applications
    events: EventWriter
    tables: TableReader
    table_ready: bool = False
    table_trouble: str = "it was not asked yet"
    unsettled: dict[str, Lease] = field(default_factory=dict)
    """Grants of which it isn't known whether their intent was written."""
    listed_at: float | None = None

    async def run(self) -> None:
        """Until leadership is lost. What watches missed is repaired by sweeps and, less often, by full lists."""
        swept_at = 0.0
        while self.leadership.leads():
            changed = await self.world.changes(max(0.0, swept_at + SWEEP_SECONDS - time.monotonic()))
            if time.monotonic() >= swept_at + SWEEP_SECONDS:
                changed, swept_at = self.everything(), time.monotonic()
                self.tables.forget_unused()
            if self.leadership.leads() and await self._listed():
                await self._act(changed)

    def everything(self) -> set[str]:
        """Also what left nothing but a lease: looking for its application, before the release, may have failed."""
        return self.world.all_uids() | {lease.uid for lease in self.leases.held}

    async def _act(self, changed: set[str]) -> None:
        self.world.heed_policies()
        await self._ensure_lease_table()
        for uid in sorted(changed):
            if not self.leadership.leads():
                return
            await self._guarded(uid, self._step(uid))
        if self.table_ready:
            try:
                await self._admit()
            except Exception:
                logger.exception("nothing more is admitted in this turn: the operator failed; trying again")

    async def _listed(self) -> bool:
        """Nothing is judged by what watches may not have brought yet."""
        if self.listed_at is None or time.monotonic() - self.listed_at > LIST_SECONDS:
            try:
                await self._list()
            except ApiError as error:
                logger.warning("cannot list what there is: %s; trying again", error)
        return self.listed_at is not None

    async def _list(self) -> None:
        await self.lists.refresh()
        self.listed_at = time.monotonic()

    async def _guarded(self, uid: str, doing: Awaitable[None]) -> None:
        """One job's trouble is not another's: it is logged, and tried again at the next sweep."""
        try:
            await doing
        except ApiError as error:
            await self._refused(uid, error)
        except Exception:
            logger.exception("job %s: the operator failed on it; trying again", uid)

    async def _refused(self, uid: str, error: ApiError) -> None:
        """Tried again at the next sweep, unless the job is not there any more, which a watch may have missed."""
        job = self.world.jobs.get(uid)
        logger.warning("%s: %s; trying again", job.key if job else f"job {uid}", error)
        if job is None or not isinstance(error, NotFoundError | ConflictError):
            return
        try:
            body = await self.lists.job(job.namespace, job.name, uid)
        except ApiError as second:
            logger.warning("%s: %s; trying again", job.key, second)
        else:
            if body is None:
                logger.info("%s is gone", job.key)
                self.world.job_gone(uid)
            else:
                self.world.job_seen(body)

    async def _step(self, uid: str) -> None:
        job = self.world.jobs.get(uid)
        if job is None or job.is_finished or job.is_deleted:
            await self._retire_all(uid, job)
            return
        attempt = job.open_attempt
        if attempt is not None:
            await self._drive(job, attempt)
            return
        if await self._has_leftovers(job):
            return
        try:
            known = self.tables.knows(job)
        except NotUnderstoodError as error:
            await self._refuse(job, str(error))
            return
        if not known:
            await self._await_tables(job)
            return
        fields = status.understood(job)
        if job.spec.admission.suspend:
            message = "held by spec.admission.suspend; it queues again, with its age, when that is false"
            await self.statuses.write(job, Phase.SUSPENDED, "Suspended", message, **fields)
        elif not self.table_ready:
            message = f"nothing is granted until it is sure who holds what: {self.table_trouble}"
            await self.statuses.write(job, Phase.PENDING, "LeasesUnavailable", message, **fields)

    async def _refuse(self, job: JobView, why: str) -> None:
        await self.statuses.write(job, Phase.FAILED, "NotUnderstood", why)
        await self.events.tell(job, "NotUnderstood", why, warning=True)

    async def _await_tables(self, job: JobView) -> None:
        """Mostly it takes less time than to write that it does."""
        if job.phase is None and self.tables.waited(job) > SLOW_SECONDS:
            tables = ", ".join(key.text for key in job.tables)
            message = (
                f"reading what the log of {tables} says; without an answer within {PATIENCE:.0f} s it queues as if it "
                "touched all of it"
            )
            await self.statuses.write(job, Phase.PENDING, "ReadingTables", message)

    # The way of an open attempt

    async def _drive(self, job: JobView, attempt: Attempt) -> None:
        with contextlib.suppress(NotUnderstoodError):
            self.tables.knows(job)  # others are held against what it touches
        seen = self.applications.observe(job, attempt)
        if seen.stage in _MAY_WRITE and self.table_ready and not self.leases.holds(job.uid, attempt.number):
            self._table_lost(ForgottenError(f"no lease covers {attempt.application}, which may run"))
        match seen.stage:
            case Stage.NOT_CREATED:
                await self._create(job, attempt)
            case Stage.STARTING:
                message = f"SparkApplication {attempt.application} is there; {seen.detail}"
                await self.statuses.write(job, Phase.STARTING, "DriverStarting", message)
            case Stage.RUNNING:
                running = attempt.model_copy(update={"started_at": attempt.started_at or seen.started_at})
                await self.statuses.write(
                    job,
                    Phase.RUNNING,
                    "DriverRunning",
                    f"SparkApplication {attempt.application} runs; its outcome comes when the driver ends",
                    **status.with_attempt(job, running),
                )
            case Stage.NO_DRIVER:
                await self.applications.occupy_driver_name(job.namespace, attempt.application)
            case Stage.LOST:
                if not await self.applications.find_driver(job.namespace, attempt.application):
                    await self._hold_lost(job, attempt, seen)
            case Stage.ENDED | Stage.NEVER_STARTS:
                await self._end(job, attempt, seen)

    async def _create(self, job: JobView, attempt: Attempt) -> None:
        """Also after a takeover: an intent is rolled forward, under the same name and with the same content."""
        if not self.leadership.leads() or not self.table_ready:
            return
        lease = self.leases.lease_of(job.uid, attempt.number)
        if lease is None:
            await self._take_back(job, attempt)
            return
        obstacle = _obstacle(job, attempt)
        if obstacle is not None:
            message = f"{obstacle}: nothing is created; put that right, or delete the job"
            await self.statuses.write(job, Phase.STARTING, "SpecChanged", message)
            return
        try:
            await self.applications.create(job, attempt, lease, self.leases.epoch)
        except ForeignApplicationError as error:
            await self.statuses.write(job, Phase.STARTING, "NameTaken", f"{error}; trying again")
        except ApiError as error:
            if not error.is_definite:
                raise
            message = f"the API server refuses SparkApplication {attempt.application}: {error}; trying again"
            await self.statuses.write(job, Phase.STARTING, "ApplicationRefused", message)
        else:
            logger.info("%s: created SparkApplication %s", job.key, attempt.application)

    async def _take_back(self, job: JobView, attempt: Attempt) -> None:
        """An intent that no lease covers: a leader wrote it that had already been replaced, after its successor had
        looked. What it was granted for may have been granted to others since."""
        if await self.applications.find(job.namespace, attempt.application):
            return
        message = (
            f"attempt {attempt.number} was taken back before it began: its leases were of an earlier epoch"
        )
        closed = attempt.model_copy(
            update={"ended_at": datetime.now(UTC), "outcome": Outcome.NOT_STARTED, "message": message}
        )
        fields = status.with_attempt(job, closed)
        await self.statuses.write(job, Phase.PENDING, "AttemptTakenBack", message, **fields)

    async def _hold_lost(self, job: JobView, attempt: Attempt, seen: Observation) -> None:
        message = (
            f"{seen.detail}: it may still write, so its leases are held; once you know that it is dead, say so: "
            f"kubectl annotate deltawritejob -n {job.namespace} {job.name} "
            f"{DRIVER_DEAD}={attempt.application}"
        )
        await self.statuses.write(job, Phase.ENDING, "DriverLost", message)

    async def _end(self, job: JobView, attempt: Attempt, seen: Observation) -> None:
        closed = await close_attempt(job, attempt, seen)
        self.tables.changed(rebuild.changed_tables(job, attempt))
        phase, reason, message = verdict_of(closed)
        await self.statuses.write(job, phase, reason, message, **status.with_attempt(job, closed))
        await self.events.tell(job, reason, message, warning=phase is Phase.FAILED)
        logger.info("%s: %s: %s", job.key, reason, message)
        await self._retire_all(job.uid, self.world.jobs.get(job.uid))

    # What outlives its job, or its attempt

    async def _has_leftovers(self, job: JobView) -> bool:
        """An application of an attempt that was taken back may have been created late, by a leader that was replaced:
        until its driver has ended, the job must not run again."""
        if not job.status.attempts or job.uid in self.unsettled:
            return False
        for application in self.applications.still_held(job.uid):
            await self.applications.retire(application, outcome_written=False)
        left = self.applications.still_held(job.uid)
        if left:
            name = left[0]["metadata"]["name"]
            message = (
                f"SparkApplication {name} of an earlier attempt was created late; it is being ended first"
            )
            await self.statuses.write(job, Phase.PENDING, "EarlierAttempt", message)
            return True
        for lease in self.leases.held_by(job.uid):
            if not await self._was_created_unseen(lease):
                await self._release(lease)
        return False

    async def _retire_all(self, uid: str, job: JobView | None) -> None:
        if job is not None and job.is_finished and job.status.observed_generation != job.generation:
            await self.statuses.observe_generation(job)
        over = {a.application for a in job.status.attempts if a.outcome is not None} if job else set()
        for application in self.applications.still_held(uid):
            name = application["metadata"]["name"]
            await self.applications.retire(application, outcome_written=name in over)
        if self.applications.still_held(uid):
            return
        await self.applications.remove_old_placeholders(uid)
        for pod in self.applications.held_pods(uid):
            await self.applications.retire_pod(pod)
        if self.applications.held_pods(uid):
            return
        for lease in self.leases.held_by(uid):
            if job is not None or not await self._was_created_unseen(lease):
                await self._release(lease)

    async def _was_created_unseen(self, lease: Lease) -> bool:
        """The answer to its creation may have been lost, and its job be gone before a watch showed it."""
        namespace, _, name = lease.job.partition("/")
        return await self.applications.find(namespace, application_name(name, lease.uid, lease.attempt))

    async def _release(self, lease: Lease) -> None:
        """What cannot be released now is left out by the rebuild that follows."""
        if not self.table_ready:
            return
        try:
            await self.leases.release(lease)
        except _TABLE_TROUBLE as error:
            self._table_lost(error)

    # Who goes next

    async def _admit(self) -> None:
        self.world.heed_policies()
        judged = dict(self.world.jobs)
        holders = rebuild.holders(self.world, self.leases.held)
        for decision in decide(await self._without_refused(self._waiters(), holders), holders):
            uid = decision.waiter.uid
            job = judged[uid]
            if self.world.jobs.get(uid) is not job:
                self.world.mark(uid)  # changed since it was judged
                continue
            await self._guarded(uid, self._decided(job, decision))
            if not self.table_ready or not self.leadership.leads():
                return

    async def _without_refused(self, waiters: list[Waiter], holders: list[Holder]) -> list[Waiter]:
        """Those whose tables, as they are, have no place for them end here, unless a job before them may change that."""
        left = []
        for waiter in waiters:
            job = self.world.jobs[waiter.uid]
            if job.refusal is None or _may_change_before(waiter, job, (*holders, *waiters)):
                left.append(waiter)
            elif self.tables.knows(job, for_grant=True):
                await self._guarded(job.uid, self._refuse(job, job.refusal))
        return left

    async def _decided(self, job: JobView, decision: Decision) -> None:
        if not decision.granted:
            await self._keep_waiting(job, decision)
        elif self.tables.knows(job, for_grant=True):
            await (self._grant(job) if job.refusal is None else self._refuse(job, job.refusal))

    def _waiters(self) -> list[Waiter]:
        waiters = []
        for job in self.world.jobs.values():
            if job.is_finished or job.is_deleted or job.open_attempt is not None or job.uid in self.unsettled:
                continue
            if job.status.attempts and self.applications.still_held(job.uid):
                continue
            try:
                if job.spec.admission.suspend or not self.tables.knows(job):
                    continue
                footprint = job.footprint
            except NotUnderstoodError:
                continue
            except Exception:
                logger.exception("%s: the operator failed on it; it is left out", job.key)
                continue
            waiters.append(Waiter(job.uid, job.key, footprint, job.spec.priority, job.queued_at))
        return waiters

    async def _keep_waiting(self, job: JobView, decision: Decision) -> None:
        first = decision.blocked_by[0]
        others = f" and {len(decision.blocked_by) - 1} more" if len(decision.blocked_by) > 1 else ""
        state = "runs" if first.holds else "is ahead in the queue"
        message = f"{first.by.job}{others} {state} on {first.conflict.table}: {first.conflict.verdict.reason}"
        fields = status.understood(job) | status.blockers(decision.blocked_by)
        admission = job.spec.admission
        waited = (datetime.now(UTC) - fields["queued_at"]).total_seconds()
        if admission.when_blocked is WhenBlocked.SKIP:
            await self.statuses.write(job, Phase.SKIPPED, "Blocked", f"skipped: {message}", **fields)
        elif admission.when_blocked is WhenBlocked.FAIL:
            await self.statuses.write(job, Phase.FAILED, "Blocked", f"not run: {message}", **fields)
        elif admission.timeout is not None and waited > seconds(admission.timeout):
            message = f"not run: still blocked after {admission.timeout}: {message}"
            await self.statuses.write(job, Phase.FAILED, "TimedOut", message, **fields)
        else:
            new = job.phase is not Phase.WAITING
            message = f"{message}; starts when nothing conflicts with it any more"
            await self.statuses.write(job, Phase.WAITING, "Blocked", message, **fields)
            if new:
                await self.events.tell(job, "Blocked", message)

    async def _grant(self, job: JobView) -> None:
        number = (job.status.attempts[-1].number if job.status.attempts else 0) + 1
        lease = rebuild.lease_for(job, number, job.spec_hash)
        try:
            grant = await self.leases.grant(lease)
        except _TABLE_TROUBLE as error:
            self._table_lost(error)
            return
        attempt = Attempt(
            number=number,
            token=grant.token,
            hash=lease.hash,
            application=application_name(job.name, job.uid, number),
            granted_at=datetime.now(UTC),
        )
        self.unsettled[job.uid] = lease
        try:
            await self.statuses.write(
                job,
                Phase.STARTING,
                "Admitted",
                f"admitted; SparkApplication {attempt.application} is being created",
                **status.understood(job),
                **status.with_attempt(job, attempt),
            )
        except (ConflictError, NotFoundError):
            # Edited or deleted since it was read: the decision was on another job than there is now.
            del self.unsettled[job.uid]
            await self._release(lease)
            raise
        del self.unsettled[job.uid]
        current = self.world.jobs.get(job.uid)
        if current is not None and current.open_attempt is not None:
            await self._create(current, current.open_attempt)
        await self.events.tell(job, "Admitted", f"holds {', '.join(lease.tables)} for attempt {number}")

    # The lease table

    async def _ensure_lease_table(self) -> None:
        try:
            await self._settle()  # before a rebuild, which rests on what the jobs say
            if self.table_ready:
                await self.leases.check_memory()
            else:
                await self._rebuild()
        except _TABLE_TROUBLE as error:
            self._table_lost(error)
        except (ApiError, LostLeadershipError) as error:
            logger.warning("the lease table cannot be made sure of now: %s; trying again", error)

    async def _settle(self) -> None:
        """A status write whose answer was lost: the job itself says whether the intent is there. If it isn't, the
        job is written to, so that the intent cannot arrive later: it was sent under a precondition."""
        for uid, lease in list(self.unsettled.items()):
            namespace, _, name = lease.job.partition("/")
            body = await self.lists.job(namespace, name, uid)
            given_back = body is None
            if body is not None:
                self.world.job_seen(body)
                job = self.world.jobs[uid]
                given_back = job.open_attempt is None
                if given_back:
                    message = f"attempt {lease.attempt} was given back: its intent could not be written"
                    await self.statuses.write(
                        job,
                        Phase.PENDING,
                        "GrantGivenBack",
                        message,
                        since=datetime.now(UTC),
                    )
            del self.unsettled[uid]
            if given_back:
                await self._release(lease)
            self.world.mark(uid)

    async def _rebuild(self) -> None:
        """A new epoch, and in it every lease that Kubernetes knows of after the epoch was raised."""
        await self.leases.check_settings()
        await self._list()
        known = max(await self.leases.known_epoch(), rebuild.highest_epoch(self.world))
        epoch = await self.leadership.raise_epoch(known)
        await self._list()
        self.world.heed_policies()
        grants = rebuild.grants(self.world)
        await self.leases.rebuild(epoch, grants)
        self.table_ready = True
        self.world.mark_all()
        logger.info("epoch %d: the lease table was rebuilt with %d leases", epoch, len(grants))

    def _table_lost(self, error: Exception) -> None:
        """All jobs are told, and the table is rebuilt, at once; and if that fails for the same reason, at the next sweep."""
        trouble = f"Redis: {error}" if isinstance(error, RedisError | OSError) else str(error)
        if self.table_ready or self.table_trouble != trouble:
            logger.warning(
                "the lease table is not usable: %s; nothing is granted until it is rebuilt", trouble
            )
            self.world.mark_all()
        self.table_ready = False
        self.table_trouble = trouble


def _obstacle(job: JobView, attempt: Attempt) -> str | None:
    """Why an attempt that was admitted cannot be created as it was admitted; None if it can."""
    try:
        same = job.spec_hash == attempt.hash
    except NotUnderstoodError as error:
        return str(error)
    return None if same else f"the spec is not the one that attempt {attempt.number} was granted for"


def _may_change_before(waiter: Waiter, job: JobView, others: Iterable[Holder]) -> bool:
    ahead = (other for other in others if not isinstance(other, Waiter) or other.rank < waiter.rank)
    return any(other.footprint.may_change(job.tables) for other in ahead)
