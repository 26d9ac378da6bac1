"""The one task that decides: it takes what changed, keeps track of who holds and who waits, grants, and sends releases.

Only the leader runs it. What follows from a decision is done beside it by workers, for each job in the order of the protocol:
grant, intent, create, observe, outcome, finalizers off, release. It can be killed between any two of these: the next leader
finds where it was.
"""

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from operator import is_not

from sluice.admission import Holder
from sluice.api.operator_status import OperatorConditionType
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.cache.full_list import FullList
from sluice.controller.execution.attempts import Attempts
from sluice.controller.execution.cleanup import Cleanup
from sluice.controller.execution.lease_revocation import LeaseRevocation
from sluice.controller.execution.manual_retries import ManualRetries
from sluice.controller.leadership.election import Election
from sluice.controller.leadership.epoch_policy import EpochPolicy
from sluice.controller.leadership.prerequisites import Prerequisites
from sluice.controller.lease_table.table import LeaseTable
from sluice.controller.process.health import Pulse
from sluice.controller.process.metrics import Metrics
from sluice.controller.process.object_workers import ObjectWorkers
from sluice.controller.process.operator_conditions import OperatorConditions
from sluice.controller.process.timers import Timers
from sluice.controller.readers.name_bindings import NameBindings
from sluice.controller.readers.table_reader import TableReader
from sluice.controller.reporting.error_isolation import ErrorIsolation
from sluice.controller.scheduling.admission import JobAdmission, failed
from sluice.kube.client import ApiError
from sluice.lifecycle.evidence.finished_jobs import retry_asked
from sluice.lifecycle.job.job_view import JobView
from sluice.tables.reported_names import Held
from sluice.tables.table_holders import TableHolders

logger = logging.getLogger(__name__)

TIDY_SECONDS = 5.0
LIST_SECONDS = 300.0
FIRST_LIST_PAUSE = 1.0
SLICE_SECONDS = 0.02
"""Seconds of work without a pause, so that answers, events and probes have their turn."""
READING_SECONDS = 0.05
"""Seconds of reading specs before those that were read are decided on."""
SLOW_STEP = 0.5
"""Seconds of work on one job at which SluiceOneJobHoldsUpOthers tells of it."""
LOOK_AGAIN = 5.0
"""Seconds between looks at attempts of which nothing was created yet, and at what is left of jobs: what they wait for may show
itself in no watch."""

_LISTS_COMPLETE = OperatorConditionType.LISTS_COMPLETE
_TABLE_IDS_UNIQUE = OperatorConditionType.TABLE_IDS_UNIQUE


@dataclass(kw_only=True)
class Loop:
    world: ClusterCache
    relist: FullList
    leadership: Election
    leases: LeaseTable
    leftovers: Cleanup
    attempts: Attempts
    admitting: JobAdmission
    by_hand: ManualRetries
    revoking: LeaseRevocation
    names: NameBindings
    guard: ErrorIsolation
    tables: TableReader
    conditions: OperatorConditions
    metrics: Metrics
    pulse: Pulse
    timers: Timers
    workers: ObjectWorkers
    surroundings: Prerequisites
    epochs: EpochPolicy
    idle: dict[str, None] = field(default_factory=dict)
    """Jobs for which nothing is under way any more."""
    tidied_at: float = 0.0
    _listing: "asyncio.Task[None] | None" = None
    _list_failed_at: float = 0.0
    _list_failed_by: str = ""
    _holders: list[Holder] = field(default_factory=list)
    _held: Held = field(default_factory=lambda: TableHolders(()))
    """Whether any of these holds what may be a table: the same one as long as they are the same."""
    looked_at: int = 0
    """Jobs that were looked at, since this process leads."""

    async def run(self) -> None:
        """Runs until leadership is lost. Full lists repair what watches missed."""
        try:
            await self._run()
        finally:
            if self._listing is not None:
                self._listing.cancel()
            self.names.close()
            await self.workers.close()
            self.pulse.rest()

    async def _run(self) -> None:
        while self.leadership.leads():
            self.pulse.beat()
            await self.world.wait_for_change(self._patience())
            began = time.monotonic()
            self._tidy()
            await self.epochs.keep(self.leadership.epoch)
            self._heed_surroundings()
            if self.leadership.leads() and await self._is_listed():
                await self._act()
                self.metrics.turned(time.monotonic() - began)

    def _heed_surroundings(self) -> None:
        """Tells what is missing around the operator, and has those jobs looked at again that wait for it."""
        if self.surroundings.tell(self.conditions):
            self.world.mark_all()
        if self.relist.listed_at is None and self.surroundings.obstacle is not None:
            for uid in self.world.take_changes():  # all are marked once everything has been listed
                self.workers.do(uid, partial(self.admitting.tell_obstacle, uid))

    def worker_done(self, uid: str) -> None:
        self.idle[uid] = None
        self.world.wake()

    def _patience(self) -> float:
        if self.admitting.unread:
            return 0.0
        if self.relist.listed_at is None:
            return self._seconds_to_the_first_list
        waits = (
            *(self.timers.seconds_left(), self.admitting.seconds_left()),
            *(self.leases.seconds_left, self.names.seconds_left if self.leases.is_sure else None),
        )
        return min(TIDY_SECONDS, *(max(0.0, left) for left in waits if left is not None))

    async def _act(self) -> None:
        self.world.heed_policies()
        if self.leases.is_due:
            await self._make_sure()
        await self.revoking.heed()
        await self._look()
        await self._read()
        for uid in await self.leases.send_releases():
            self._look_at(uid)
        if self.names.end_what_nobody_holds(self._who_holds):
            self.world.heed_policies()
            await self._look()
        if not self.leases.is_sure or not self.leadership.leads():
            return
        for uid in self.leases.unsettled_due():
            if not self.workers.is_busy(uid):
                self.workers.do(uid, partial(self.leases.settle, uid))
        try:
            await self.admitting.turn()
        except Exception:
            logger.exception("nothing more is admitted in this turn: the operator failed; trying again")
        self.names.turn(self._who_holds)
        if self.world.copies.is_news:
            self._tell_of_copies()

    def _tell_of_copies(self) -> None:
        told = self.world.copies.told()
        if told is None:
            self.conditions.holds(_TABLE_IDS_UNIQUE)
        else:
            self.conditions.fails(
                _TABLE_IDS_UNIQUE,
                "CopiedTable",
                f"{told}: their jobs wait for each other as those of one table",
            )

    def _who_holds(self) -> Held | None:
        """Tells whether somebody holds what may be a table; None: not all that is held is known."""
        holders = self.admitting.holders
        if not self.leases.is_sure or holders.to_read or holders.frozen:
            return None
        now = self.admitting.queue.holders
        if len(now) != len(self._holders) or any(map(is_not, now, self._holders)):
            self._holders = now
            self._held = TableHolders(key for holder in now for key in holder.footprint.touched)
        return self._held

    async def _make_sure(self) -> None:
        if self.leases.is_sure:
            await self.leases.make_sure()
            return
        if not self.surroundings.serves_all:
            return  # a rebuild rests on lists of all kinds
        async with self.workers.paused():
            self.workers.forget_decided()
            await self.leases.make_sure()

    async def _look(self) -> None:
        """Looks at all that changed: nothing is granted before it is known what it means."""
        slice_began = time.monotonic()
        changed = dict.fromkeys((*self.world.take_changes(), *self.timers.take_due()))
        self.metrics.lagged(self.world.seconds_waited)
        idle, self.idle = self.idle, {}
        for uid in changed:
            with self._step(uid):
                self._look_at(uid)
            slice_began = await self._breathe(slice_began)
        for uid in idle:
            if uid not in changed:
                with self._step(uid):
                    self._consider(uid)
                slice_began = await self._breathe(slice_began)

    async def _read(self) -> None:
        """Reads specs for a while: those that were read first are decided on first."""
        began = slice_began = time.monotonic()
        unread = self.admitting.unread
        while unread and time.monotonic() - began < READING_SECONDS:
            uid = unread.take()
            with self._step(uid):
                self.admitting.read(uid)
                self._look_at(uid, is_read=True)
            slice_began = await self._breathe(slice_began)

    @contextmanager
    def _step(self, uid: str) -> Iterator[None]:
        """Measures work on one job, and names one that holds up the others: by processor time, so that no job is blamed for
        the moments in which this process did not get to run."""
        job, began = self.world.jobs.get(uid), time.thread_time()
        try:
            yield
        finally:
            took = time.thread_time() - began
            self.metrics.stepped(took)
            if took > SLOW_STEP:
                name = uid if job is None else job.key
                logger.warning(
                    "job %s took %.1f s of processor time at once: other jobs waited meanwhile", name, took
                )

    async def _breathe(self, since: float) -> float:
        if time.monotonic() - since < SLICE_SECONDS:
            return since
        self.pulse.beat()
        await asyncio.sleep(0)
        return time.monotonic()

    def _look_at(self, uid: str, *, is_read: bool = False) -> None:
        self.looked_at += 1
        job = self.world.jobs.get(uid)
        if not self.leases.held_by(uid) and self.world.is_done_with(uid):
            self.admitting.forget(uid)
            self.timers.forget(uid)
            self._heed_end_of_life(uid)
        elif job is not None and not is_read and job.is_to_be_read:
            self.admitting.holds(uid)
            self.admitting.unread.add(uid, job.namespace)
        elif not self._consider(uid) and self._is_anything(uid):
            self.workers.ask(uid, job.namespace if job is not None else "")
            left = self._seconds_to_the_next_look(uid, job)
            if left is not None:
                self.timers.within(left, uid)

    def _consider(self, uid: str) -> bool:
        """Considers one job; returns whether nothing is to be done for it."""
        try:
            return self.admitting.consider(uid)
        except Exception as failure:  # noqa: BLE001 - goes to the guard, which tells it on the job
            self.admitting.queue.leave(uid)
            self.workers.do(uid, partial(failed, failure))
            return True

    def _is_anything(self, uid: str) -> bool:
        return self.world.is_there(uid) or bool(self.leases.held_by(uid))

    def _seconds_to_the_next_look(self, uid: str, job: JobView | None) -> float | None:
        """Seconds until a look at what may change where no watch shows it; None: it is looked at when it changes."""
        if job is None or job.is_deleted:
            return LOOK_AGAIN
        if job.unreadable is not None:
            return None
        attempt = job.open_attempt
        if attempt is None:
            holds = self.leases.held_by(uid) or self.world.evidence(uid).holds_any
            return LOOK_AGAIN if holds else self.attempts.applications.seconds_of_placeholders(uid)
        if self.world.applications.get(job.namespace, attempt.application) is not None:
            return None
        return max(LOOK_AGAIN, self.attempts.seconds_to_the_next_create(job, attempt))

    def _heed_end_of_life(self, uid: str) -> None:
        left = self.leftovers.seconds_to_live(uid)
        if left is None:
            return
        if left > 0:
            self.timers.within(left, uid)
        else:
            self.workers.ask(uid, self.world.jobs[uid].namespace)

    async def step(self, uid: str) -> None:
        """Does what the job needs next. A worker calls it, and nothing else is under way for the job."""
        if not self.leadership.leads() or self.world.is_of_the_past:
            return  # what is forgotten isn't gone, and the rebuild that follows marks all
        job = self.world.jobs.get(uid)
        if job is not None and job.unreadable is not None:
            await self.guard.tell_unreadable(job, job.unreadable)
        elif job is not None and job.open_attempt is not None:
            await self.attempts.drive(job, job.open_attempt)
        elif job is None or job.is_deleted:
            await self.leftovers.retire(uid)
        elif job.is_finished and (asked := retry_asked(job.body)) is not None:
            await self.by_hand.heed(job, asked)
        elif job.is_finished:
            await self.leftovers.retire(uid)
        elif not await self.attempts.restore(job) and not await self.leftovers.block(job):
            await self.admitting.prepare(job)

    def _tidy(self) -> None:
        """Drops what is remembered of those who are gone."""
        if time.monotonic() < self.tidied_at + TIDY_SECONDS:
            return
        self.tidied_at = time.monotonic()
        self.tables.forget_unused()
        self.guard.forget_gone()
        self.admitting.forget_gone()
        self.attempts.applications.forget_gone()

    async def _is_listed(self) -> bool:
        """Whether all has been listed: nothing is judged by what watches may not have brought yet. Later lists come in beside
        what is done meanwhile."""
        if self.relist.listed_at is None:
            await self._list_first()
        elif self._is_list_due(self.relist.listed_at) and self._listing is None:
            self._listing = asyncio.create_task(self._list(), name="list")
            self._listing.add_done_callback(lambda _: setattr(self, "_listing", None))
        return self.relist.listed_at is not None

    async def _list_first(self) -> None:
        """Has everything listed for the first time: by the rebuild, or by a list of its own where Redis keeps the rebuild from
        getting that far. A rebuild raises the epoch each time, so there is none as long as it cannot succeed."""
        if self._seconds_to_the_first_list > 0:
            return
        if self.leases.is_due and self.surroundings.serves_all:
            await self._make_sure()
        if self.relist.listed_at is None:
            await self._list()
        else:
            self._list_failed_by = ""
            self.conditions.holds(_LISTS_COMPLETE)

    @property
    def _seconds_to_the_first_list(self) -> float:
        """A list that failed is not asked for again at once: what it lacks has to be mended by a person, or comes back with the API
        server."""
        return max(0.0, self._list_failed_at + FIRST_LIST_PAUSE - time.monotonic())

    def _is_list_due(self, listed_at: float) -> bool:
        return time.monotonic() >= max(listed_at + LIST_SECONDS, self._list_failed_at + TIDY_SECONDS)

    async def _list(self) -> None:
        try:
            await self.relist.everything()
        except ApiError as error:
            if str(error) != self._list_failed_by:
                logger.warning("cannot list all objects: %s; trying again", error)
            self._list_failed_by = str(error)
            self.conditions.fails(_LISTS_COMPLETE, error.reason or "NoAnswer", str(error))
            self._list_failed_at = time.monotonic()
        else:
            self._list_failed_by = ""
            self.conditions.holds(_LISTS_COMPLETE)
