"""Brings to its end what outlives its job or its attempt, lets it go when the end is proved, and releases its leases."""

import logging
from collections.abc import Callable

from sluice.api.job_status import Phase
from sluice.api.reasons import Reason
from sluice.controller.applications.applications import Applications, place_of
from sluice.controller.cache.change_deduplication import ChangeDeduplication
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.lease_table.table import LeaseTable
from sluice.controller.process import clock
from sluice.controller.reporting.status_writer import StatusWriter
from sluice.engines import is_placeholder
from sluice.engines.attempt import driver_pod_name
from sluice.leases import ForgottenError, Lease
from sluice.lifecycle.attempt import next_step as way
from sluice.lifecycle.attempt.withdrawal import backs_off
from sluice.lifecycle.evidence import deletion
from sluice.lifecycle.evidence.attempt_evidence import Evidence
from sluice.lifecycle.evidence.finished_jobs import seconds_to_live
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import StatusChange
from sluice.lifecycle.streams.pauses import seconds_left
from sluice.tables import TableKey

logger = logging.getLogger(__name__)


class Cleanup:
    def __init__(
        self,
        world: ClusterCache,
        leases: LeaseTable,
        applications: Applications,
        statuses: StatusWriter,
        *,
        changed: Callable[[tuple[TableKey, ...]], None] = lambda _: None,
        ttl: int | None = None,
    ) -> None:
        """`changed`: is told which tables a run may have changed whose job is gone."""
        self._world = world
        self._leases = leases
        self._applications = applications
        self._statuses = statuses
        self._changed = changed
        self._ttl = ttl
        """Seconds that a finished job stays if it doesn't say so itself; None: for ever."""
        self._told = ChangeDeduplication()
        """Why leases are held."""

    async def retire(self, uid: str) -> None:
        """Retires all of a job that has ended, is being deleted or is gone."""
        job = self._world.jobs.get(uid)
        if job is not None and job.is_finished and job.status.observed_generation != job.generation:
            await self._statuses.observe_generation(job)
        await self._let_go(uid)
        await self._release(uid, is_gone=job is None, look_first=job is None)
        if job is not None and job.is_finished:
            await self._remove_outlived(uid)

    async def _remove_outlived(self, uid: str) -> None:
        """Removes a finished job where somebody has said how long it stays. One that was changed since is kept: it may stay
        for longer now."""
        job = self._world.jobs.get(uid)
        if job is None or self._leases.held_by(uid) or not self._world.is_done_with(uid):
            return
        left = self.seconds_to_live(uid)
        if left is not None and left <= 0:
            await self._applications.delete_job(job)
            logger.info("%s: finished long enough ago: deleted", job.key)

    def seconds_to_live(self, uid: str) -> float | None:
        """Seconds until a job at rest is removed; None: it stays."""
        return seconds_to_live(self._world.jobs[uid].body, self._ttl, clock.now())

    async def block(self, job: JobView) -> bool:
        """Whether something of an earlier attempt must end before the job may run again. An application of an attempt that was
        taken back may have been created late, by a leader that was replaced."""
        if await self._await_unexplained(job):
            return True
        if job.uid in self._leases.unsettled:
            return False
        if not job.status.attempts and not self._world.evidence(job.uid).holds_any:
            return False
        await self._let_go(job.uid)
        left = [one for one in self._world.evidence(job.uid).by_application.values() if one.holds]
        if left and (
            self._says_what_is_next(job) or backs_off(job, clock.now(), self._world.pausing_for(job.uid))
        ):
            return True  # what is left may be gone by then
        if left:
            name, how = left[0].application_name, deletion.how_to_declare_it_dead(left[0], job.namespace)
            lost = "" if how is None else f"; {left[0].how_lost}; {how}"
            message = (
                f"SparkApplication {name} of an earlier attempt is still there; it is being ended first{lost}"
            )
            await self._statuses.write(job, StatusChange(Phase.PENDING, Reason.EARLIER_ATTEMPT, message))
            return True
        await self._release(job.uid, look_first=True)
        return False

    def _says_what_is_next(self, job: JobView) -> bool:
        """Whether a stream that has stopped still says what follows: one whose pause is over says that it goes on then."""
        if not job.has_stopped:
            return False
        return job.phase is not Phase.PAUSED or seconds_left(job, self._world.jobs, clock.now()) > 0

    async def _await_unexplained(self, job: JobView) -> bool:
        held = self._leases.unexplained.of(job.uid)
        if held:
            message = way.unexplained(held[0], self._leases.unexplained.revoke_command(held[0]))
            change = StatusChange(Phase.PENDING, Reason.LEASE_UNEXPLAINED, message)
            await self._statuses.write(job, change)
        return bool(held)

    async def _let_go(self, uid: str) -> None:
        evidence = self._world.evidence(uid)
        for doubt in evidence.doubts:
            if doubt.holds:
                await self._applications.put_label_back(doubt.body)
        for one in evidence.by_application.values():
            if one.holds and not await self._turns_out_to_end(one):
                await self._leave(uid, one)
        if not self._world.evidence(uid).holds_any:
            await self._applications.remove_old_placeholders(uid)

    async def _turns_out_to_end(self, one: Evidence) -> bool:
        """Whether its namespace is being deleted, which wasn't known: it is looked at again with that."""
        body = one.application or one.pod
        if body is None or not one.asks_for_its_namespace:
            return False
        return await self._applications.find_namespace_ending(body["metadata"]["namespace"])

    async def _leave(self, uid: str, one: Evidence) -> None:
        body = one.application or one.pod
        if body is None:
            return
        namespace = body["metadata"]["namespace"]
        match deletion.leaving(one, namespace):
            case deletion.ReleaseObject() if self._is_late(namespace, one.application_name):
                self._begin_anew(one.application_name)
            case deletion.ReleaseObject():
                await self._applications.let_go(one)
            case deletion.DeletePod(pod):
                logger.info("%s/%s: ending its driver", namespace, one.application_name)
                await self._applications.delete_pod(pod)
            case deletion.DeleteApplication():
                await self._applications.delete(namespace, one.application_name)
            case deletion.OccupyName():
                await self._applications.occupy_driver_name(namespace, one.application_name, uid, one.number)
            case deletion.FreeDriverName(pod):
                await self._applications.free_driver_name(pod)
            case deletion.RecordLoss(after) if after is not None and clock.now() < after:
                pass
            case deletion.Bury() | deletion.Hold() | deletion.RecordLoss() as step:
                if not await self._applications.find_driver(namespace, one.application_name):
                    await self._hold(uid, one, f"{namespace}/{one.application_name}", step)
            case deletion.AwaitChange():
                pass

    async def _hold(self, uid: str, one: Evidence, who: str, step: deletion.LeavingStep) -> None:
        """Holds the lease of a driver that may run. Its finalizers would keep a namespace that is being deleted from going."""
        if isinstance(step, deletion.Bury):
            lease = self._leases.lease_of(uid, one.number)
            if lease is not None:
                if await self._leases.bury(lease, step.why):
                    await self._applications.let_go(one)
                return
            step = step.otherwise
        if isinstance(step, deletion.RecordLoss):
            await self._applications.note_loss(one)
        elif isinstance(step, deletion.Hold):
            self._told.warns(logger, uid, f"{who}: {step.message}")

    async def _release(self, uid: str, *, look_first: bool, is_gone: bool = False) -> None:
        """Releases leases by evidence alone. `look_first`: a create's answer may have been lost, and no watch may have shown
        yet what came of it. `is_gone`: its job is, so that nobody else tells of the run's end."""
        for lease in self._leases.held_by(uid):
            if lease in self._leases.unexplained or self._world.evidence(uid).holds(lease.attempt):
                continue
            if look_first and await self._applications.is_left(lease):
                continue
            if not await self._can_nothing_land(lease):
                continue
            if is_gone:
                self._changed(tuple(map(TableKey.parse, lease.tables)))
            self._leases.release(lease)
            self._told.forget(uid)
            self._applications.creates.forget(*place_of(lease))

    def _begin_anew(self, name: str) -> None:
        """Has a new epoch begun, unless it is about to be."""
        if self._leases.is_sure:
            self._leases.mistrust(ForgottenError(way.may_land(name)))

    def _is_late(self, namespace: str, name: str) -> bool:
        """Whether a create of an application that is there may land a second time, and a new epoch keeps it from that."""
        creates = self._applications.creates
        return creates.is_fenced and creates.may_land(namespace, name, exists=True)

    def _has_landed(self, lease: Lease, name: str) -> bool:
        """Whether the application that was to be created exists, or existed, as its driver's pod tells."""
        one = self._world.evidence(lease.uid).by_application.get(name)
        return one is not None and (one.application is not None or one.pod is not None)

    async def _can_nothing_land(self, lease: Lease) -> bool:
        """Whether nothing can land any more. A create without an answer still may: a new epoch begins, in which it is refused; or,
        where nobody refuses it, its driver's name is taken before its lease goes."""
        namespace, name = place_of(lease)
        creates = self._applications.creates
        if not creates.may_land(namespace, name, exists=self._has_landed(lease, name)):
            return True
        if creates.is_fenced:
            self._begin_anew(name)
            return False
        pod = self._world.pods.get(namespace, driver_pod_name(name))
        if pod is not None and is_placeholder(pod):
            return True
        await self._applications.occupy_driver_name(namespace, name, lease.uid, lease.attempt)
        return self._world.is_ending(namespace)
