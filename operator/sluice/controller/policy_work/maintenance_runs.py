"""What becomes of a run of maintenance that is due: a job is made, or it is told why there is none.

It rests on a look at the table that began after the run was due, because one that is older tells of another time."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sluice.api.base import Json
from sluice.api.durations import seconds
from sluice.api.policy import DeltaTablePolicySpec
from sluice.api.reasons import EventReason
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.policy_work.policy_jobs import JobOrder, NameTakenError, PolicyJobs
from sluice.controller.policy_work.table_observations import TableObservations
from sluice.controller.reporting.events import EventWriter
from sluice.kube.client import ApiError, ConflictError, NotFoundError
from sluice.kube.mirror import uid_of
from sluice.lifecycle.evidence.table_writers import writers_of
from sluice.lifecycle.job.visible_blockers import VisibleBlockers
from sluice.policies.job_permission import why_none
from sluice.policies.maintenance import MaintenanceKind, MaintenanceRun, MaintenanceSpec, NextRun
from sluice.policies.maintenance_decision import SkipRun, WaitForNextRun, errand_of
from sluice.policies.maintenance_record import DueRunRecord
from sluice.policies.maintenance_spec import yields_for
from sluice.policies.retention import ActiveWriter
from sluice.tables import unread
from sluice.tables.table_observation import TableObservation, TableState

FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=15), timedelta(minutes=10)
"""Until a job is created again that the API server refused; each time twice as long."""
WITHOUT_A_LOOK = timedelta(minutes=5)
"""So long a run waits for such a look, and for as long as its turn is still to come; then its table counts as one that cannot be
read."""
_TOLD_IN_THE_LOG = {"spark.databricks.delta.vacuum.logging.enabled": "true"}
"""On S3 no log tells of a VACUUM without it, and the next run could not know whether there is something to be gained."""
_LAST = -1000
"""The lowest priority: whoever waits for the table goes first."""


@dataclass(frozen=True)
class DueRun:
    """What is planned for one kind of a policy's maintenance."""

    upkeep: MaintenanceSpec
    plan: NextRun
    asked: str | None
    """The word by which somebody asked for a run."""


@dataclass(frozen=True)
class _Noticed:
    run: str
    since: datetime


@dataclass(frozen=True)
class _Refused:
    """A job that the API server did not take."""

    run: str
    why: str
    pause: timedelta
    until: datetime


@dataclass(kw_only=True)
class MaintenanceRuns:
    world: ClusterCache
    looks: TableObservations
    jobs: PolicyJobs
    events: EventWriter
    neighbours: VisibleBlockers

    def __post_init__(self) -> None:
        self._noticed: dict[tuple[str, MaintenanceKind], _Noticed] = {}
        """The run of each kind that was last seen to be due, by the policy's uid, and since when."""
        self._refused: dict[tuple[str, str], _Refused] = {}

    def forget_unless(self, uids: set[str]) -> None:
        self._noticed = {key: noticed for key, noticed in self._noticed.items() if key[0] in uids}
        self._refused = {key: refused for key, refused in self._refused.items() if key[0] in uids}

    async def come(
        self, policy: Json, spec: DeltaTablePolicySpec, due: DueRun, now: datetime
    ) -> DueRunRecord:
        run, told = due.plan.run, "; ".join(due.plan.told) or None
        if run is not None:
            return await self._come(policy, spec, due, run, now)
        if due.plan.decided is None:
            return DueRunRecord(waits=told)
        return DueRunRecord(
            at=due.plan.decided.until, left_out=told
        )  # if anything is told, one is passed over

    async def _come(
        self, policy: Json, spec: DeltaTablePolicySpec, due: DueRun, run: MaintenanceRun, now: datetime
    ) -> DueRunRecord:
        why = self._why_no_job(policy, spec, due.upkeep.kind, run, now)
        if why is not None:
            return DueRunRecord(waits=why, is_settled=False)
        look = self._look(policy, due.upkeep.kind, run, now)
        if look is None:
            return DueRunRecord(is_settled=False)
        longest = self._longest(policy, now)
        # A table may have so many files that the acting loop would wait for a second.
        errand = await asyncio.to_thread(errand_of, spec, due.upkeep, run, look, longest=longest, now=now)
        if isinstance(errand, SkipRun):
            return DueRunRecord(at=run.at, left_out=errand.why)
        if isinstance(errand, WaitForNextRun):
            return DueRunRecord(waits=errand.why, is_settled=False)
        more = f" ({'; '.join(due.plan.told)})" if due.plan.told else ""
        order = _order(errand.sql, due, run, now, spec.admission.default_timeout)
        return await self._make(policy, order, f"{errand.why}{more}", now)

    def _why_no_job(
        self,
        policy: Json,
        spec: DeltaTablePolicySpec,
        kind: MaintenanceKind,
        run: MaintenanceRun,
        now: datetime,
    ) -> str | None:
        """None: one can be made now."""
        none = why_none(spec, policy["metadata"]["namespace"], self.world.profiles)
        if none is not None:
            return none.why
        refused = self._refused.get((uid_of(policy), kind.value))
        return (
            refused.why if refused is not None and refused.run == run.name and now < refused.until else None
        )

    async def _make(self, policy: Json, order: JobOrder, why: str, now: datetime) -> DueRunRecord:
        try:
            await self.jobs.make(policy, order)
        except NameTakenError as error:
            return DueRunRecord(waits=str(error), is_settled=False)
        except (NotFoundError, ConflictError):
            raise  # it isn't refused: what it rests on has changed
        except ApiError as error:
            return await self._refuse(policy, order, error, now)
        self._refused.pop((uid_of(policy), order.kind), None)
        message = f"created DeltaWriteJob {order.name} for {order.kind}: {why}"
        await self.events.tell_of_policy(policy, EventReason.MAINTENANCE_CREATED, message)
        return DueRunRecord(at=order.at, job=order.name)

    async def _refuse(self, policy: Json, order: JobOrder, error: ApiError, now: datetime) -> DueRunRecord:
        """What is quoted may differ each time: it is told as it was said first."""
        before = self._refused.get((uid_of(policy), order.kind))
        if before is not None and before.run == order.name:
            pause = min(before.pause * 2, LONGEST_PAUSE)
            refused = replace(before, pause=pause, until=now + pause)
        else:
            why = f"the API server refuses its job {order.name}: {error}; it is created as soon as that takes it"
            refused = _Refused(order.name, why, FIRST_PAUSE, now + FIRST_PAUSE)
            message = f"no {order.kind} is run yet: {why}"
            await self.events.tell_of_policy(policy, EventReason.MAINTENANCE_REFUSED, message, warning=True)
        self._refused[uid_of(policy), order.kind] = refused
        return DueRunRecord(waits=refused.why, is_settled=False)

    def _look(
        self, policy: Json, kind: MaintenanceKind, run: MaintenanceRun, now: datetime
    ) -> TableObservation | None:
        """None: there is none yet that tells enough."""
        uid = uid_of(policy)
        noticed = self._noticed.get((uid, kind))
        if noticed is None or noticed.run != run.name:
            noticed = self._noticed[uid, kind] = _Noticed(run.name, now)
        look = self.looks.of(uid)
        if look is not None and look.at >= noticed.since:
            return look
        if now - noticed.since > WITHOUT_A_LOOK and not self.looks.is_to_come(uid):
            why = f"no look at it has ended within {WITHOUT_A_LOOK}"
            return TableObservation(now, TableState(unread=why), unread(why))
        self.looks.soon(uid)
        return None

    def _longest(self, policy: Json, now: datetime) -> ActiveWriter | None:
        """The job that has written the policy's table for the longest time, or may write it."""
        key, namespace = self.looks.key_of(uid_of(policy)), policy["metadata"]["namespace"]
        writers = (
            ActiveWriter(
                self.neighbours.called(f"the job {job.key}", namespace), now - job.open_attempt.granted_at
            )
            for job in writers_of(key, self.world.jobs.values())
            if job.open_attempt is not None
        )
        return max(writers, key=lambda writer: writer.runs_for, default=None)


def _order(sql: str, due: DueRun, run: MaintenanceRun, now: datetime, timeout: str | None) -> JobOrder:
    longest_wait = None if timeout is None else timedelta(seconds=seconds(timeout))
    return JobOrder(
        name=run.name,
        kind=due.upkeep.kind.value,
        sql=sql,
        at=run.at,
        asked=(due.asked or "") if run.by_hand else "",
        priority=0 if run.by_hand else _LAST,
        yields_for=yields_for(due.upkeep, run, now, longest_wait),
        spark_conf=_TOLD_IN_THE_LOG if due.upkeep.kind is MaintenanceKind.VACUUM else {},
    )
