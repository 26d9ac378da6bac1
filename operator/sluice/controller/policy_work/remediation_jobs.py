"""Has tables become as their policies want, by jobs: what is to be done is decided in `policies/`, and kept in the policy's status
before it is done."""

import logging
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import Phase
from sluice.api.policy import DeltaTablePolicySpec
from sluice.api.policy_enforcement import Enforced, EnforcedReason
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.policy_work.change_gate import enforced_spec, kind_of, version_of_jobs
from sluice.controller.policy_work.policy_jobs import JobOrder, NameTakenError, PolicyJobs
from sluice.controller.policy_work.policy_status import PolicyStatuses
from sluice.controller.policy_work.table_observations import TableObservations
from sluice.controller.reporting.events import EventWriter
from sluice.engines import RuntimeProfile
from sluice.kube.client import ApiError
from sluice.kube.mirror import uid_of
from sluice.lifecycle.attempt.job_events import JobEvent
from sluice.lifecycle.job.visible_blockers import VisibleBlockers
from sluice.policies.change_events import announced, begun
from sluice.policies.changes import fields_in
from sluice.policies.enforcement_record import enforced_in, patch_of_enforced
from sluice.policies.job_permission import why_none
from sluice.policies.manual_maintenance import asked_to_go_on
from sluice.policies.remediation import (
    KINDS,
    MakeJob,
    ObservedPolicy,
    OwnJob,
    WaitForJob,
    WithdrawJob,
    decide,
    number_of,
    too_many,
)

logger = logging.getLogger(__name__)

_TO_THE_SECOND = timedelta(seconds=1)
"""Times in statuses may be cut to seconds."""


class RemediationJobs:
    def __init__(
        self,
        *,
        world: ClusterCache,
        looks: TableObservations,
        jobs: PolicyJobs,
        statuses: PolicyStatuses,
        events: EventWriter,
        neighbours: VisibleBlockers,
        profiles: Mapping[str, RuntimeProfile],
        began: datetime,
    ) -> None:
        """`began`: when this leader began. What ended before that had ended by then, whatever another clock said."""
        self._world = world
        self._looks = looks
        self._jobs = jobs
        self._statuses = statuses
        self._events = events
        self._neighbours = neighbours
        self._profiles = profiles
        self._began = began

    async def visit(self, policy: Json, now: datetime) -> datetime | None:
        """Does what is to be done for one policy now; returns when there is something to be done again, if that is known."""
        spec = enforced_spec(self._world, policy)
        if spec is None or "deletionTimestamp" in policy["metadata"]:
            return None
        known = self._known(policy, spec)
        decision = decide(known, enforced_in(policy), now)
        await self._keep(policy, decision.kept)
        step = decision.step
        if isinstance(step, MakeJob):
            await self._make(policy, step, decision.kept, now)
        elif isinstance(step, WithdrawJob):
            logger.info("%s/%s: taken back: %s", policy["metadata"]["namespace"], step.job.name, step.why)
            await self._remove(step.job)
        for job in too_many(known.jobs, decision.kept):
            await self._remove(job)
        if isinstance(step, WaitForJob) and step.look:
            self._looks.soon(known.uid)
        return step.until if isinstance(step, WaitForJob) else None

    async def _make(self, policy: Json, step: MakeJob, kept: Enforced, now: datetime) -> None:
        order = JobOrder(step.name, step.kind, step.sql, now, changes=step.fields)
        try:
            await self._jobs.make(policy, order)
        except NameTakenError as error:
            await self._tell(policy, kept, EnforcedReason.NAME_TAKEN, str(error))
        except ApiError as error:
            why = f"the API server refuses its job {step.name}: {error}"
            await self._tell(policy, kept, EnforcedReason.API_SERVER_REFUSES, why)
            raise
        else:
            await self._announce(policy, begun(step))

    async def _tell(self, policy: Json, kept: Enforced, reason: EnforcedReason, why: str) -> None:
        """Says it on the policy as it is now, of which a status may just have been written."""
        latest = self._world.policies.by_uid(uid_of(policy)) or policy
        await self._keep(latest, kept.model_copy(update={"reason": reason, "message": why}).within_bounds())

    async def _keep(self, policy: Json, kept: Enforced) -> None:
        patch = patch_of_enforced(policy, kept)
        if not patch:
            return
        await self._statuses.write(policy, patch)
        self._statuses.mark(uid_of(policy))
        for told in announced(enforced_in(policy), kept):
            await self._announce(policy, told)

    async def _announce(self, policy: Json, told: JobEvent) -> None:
        await self._events.tell_of_policy(policy, told.reason, told.message, warning=told.is_warning)

    async def _remove(self, job: OwnJob) -> None:
        known = self._world.jobs.get(job.uid)
        if known is not None:
            await self._jobs.remove(known.body)

    def _known(self, policy: Json, spec: DeltaTablePolicySpec) -> ObservedPolicy:
        metadata, uid = policy["metadata"], uid_of(policy)
        jobs = tuple(self._own_jobs(policy))
        last = enforced_in(policy).job_uid
        is_left = last is not None and last not in self._world.jobs and self._world.is_there(last)
        return ObservedPolicy(
            name=metadata["name"],
            uid=uid,
            generation=metadata["generation"],
            spec=spec,
            jobs=jobs,
            look=self._looks.of(uid),
            version=version_of_jobs(spec, self._profiles),
            no_jobs=why_none(spec, metadata["namespace"], self._profiles),
            asked=asked_to_go_on((metadata.get("annotations") or {}).get(names.ANNOTATION_RUN)),
            named=partial(self._neighbours.called, by=metadata["namespace"]),
            lingering=frozenset({last} if last is not None and is_left else ()),
        )

    def _own_jobs(self, policy: Json) -> Iterator[OwnJob]:
        """Those that were made to change the table. A name that this policy would not give tells of no job of its."""
        metadata, uid = policy["metadata"], uid_of(policy)
        jobs = [body for body in self._world.of_policies.of(policy) if kind_of(body) in KINDS]
        for body in jobs:
            number = number_of(body["metadata"]["name"], kind_of(body), metadata["name"], uid)
            if number is not None:
                yield self._own_job(body, number)

    def _own_job(self, body: Json, number: int) -> OwnJob:
        metadata = body["metadata"]
        status = body.get("status")
        told: Json = status if isinstance(status, dict) else {}
        phase = _phase_in(told)
        is_over = phase is not None and phase.is_terminal
        changes = (metadata.get("annotations") or {}).get(names.ANNOTATION_CHANGES) or ""
        return OwnJob(
            name=metadata["name"],
            uid=uid_of(body),
            number=number,
            phase=phase,
            sql=(body.get("spec") or {}).get("sql"),
            fields=fields_in(changes),
            why=f"{told.get('reason')}: {told.get('message')}"
            if is_over
            else f"it is {phase or Phase.PENDING}",
            ended_at=self._end_of(told) if is_over else None,
            has_begun="deletionTimestamp" in metadata or self._is_under_way(uid_of(body)),
            was_tried=bool(told.get("attempts")),
        )

    def _is_under_way(self, uid: str) -> bool:
        job = self._world.jobs.get(uid)
        return job is None or job.unreadable is not None or job.open_attempt is not None

    def _end_of(self, status: Json) -> datetime:
        """When it ended, or a little later."""
        try:
            return max(self._began, datetime.fromisoformat(status["finishedAt"]) + _TO_THE_SECOND)
        except (KeyError, TypeError, ValueError, OverflowError):
            return self._began  # somebody wrote over it


def _phase_in(status: Json) -> Phase | None:
    told = status.get("phase")
    return Phase(told) if told in tuple(Phase) else None
