"""Has policies' maintenance done, and writes into their statuses what was decided; `policies/` decides.

A job has its name from its run, so that two leaders make one; what is decided is written once the job is there, so that no run is
forgotten between the two.
"""

from dataclasses import dataclass
from datetime import datetime

from sluice.api import names
from sluice.api.base import Json
from sluice.api.maintenance_status import MaintenanceState, MaintenanceStates
from sluice.api.policy import DeltaTablePolicySpec
from sluice.api.reasons import EventReason
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.policy_work.maintenance_runs import DueRun, MaintenanceRuns
from sluice.controller.policy_work.policy_jobs import PolicyJobs
from sluice.controller.policy_work.policy_status import PolicyStatuses, called
from sluice.controller.policy_work.table_observations import TableObservations
from sluice.controller.reporting.events import EventWriter
from sluice.kube.mirror import uid_of
from sluice.lifecycle.job.visible_blockers import VisibleBlockers
from sluice.policies.conditions import spec_of
from sluice.policies.maintenance import planned
from sluice.policies.maintenance_record import kept_in, known_of, patch_of_maintenance, state_after
from sluice.policies.maintenance_spec import MaintenanceSpecs, upkeeps_of
from sluice.policies.manual_maintenance import MaintenanceRequest, NotAsked, asked_for


@dataclass(frozen=True)
class _Wanted:
    generation: int
    spec: DeltaTablePolicySpec | None
    """None: it is not understood, and does not count."""
    upkeeps: MaintenanceSpecs


class PolicyMaintenance:
    def __init__(
        self,
        *,
        world: ClusterCache,
        looks: TableObservations,
        jobs: PolicyJobs,
        statuses: PolicyStatuses,
        events: EventWriter,
        neighbours: VisibleBlockers,
    ) -> None:
        self._world = world
        self._jobs = jobs
        self._runs = MaintenanceRuns(
            world=world, looks=looks, jobs=jobs, events=events, neighbours=neighbours
        )
        self._statuses = statuses
        self._events = events
        self._wanted: dict[str, _Wanted] = {}

    async def visit(self, body: Json, now: datetime) -> datetime | None:
        """Does what is due for the policy now; returns when something is due again, if that is known."""
        wanted = self._as_wanted(body)
        is_gone = "deletionTimestamp" in body["metadata"]
        if wanted.spec is None or is_gone or self._world.leaves_alone(called(body)):
            return None
        before = kept_in(body)
        said = (body["metadata"].get("annotations") or {}).get(names.ANNOTATION_RUN)
        asked = asked_for(said, before.asked, wanted.upkeeps.by_kind)
        heeded, left_out, gone, again = before.asked, list[str](), list[str](), list[datetime]()
        if isinstance(asked, NotAsked):
            heeded = asked.word
            left_out.append(asked.why)
        states: dict[str, MaintenanceState] = {}
        for kind, upkeep in wanted.upkeeps.by_kind.items():
            state = getattr(before, kind)
            word = asked.word if isinstance(asked, MaintenanceRequest) and asked.kind is kind else None
            known = known_of(body, kind, state, self._world.of_policies.of(body), word)
            plan = planned(upkeep, known, now)
            came = await self._runs.come(body, wanted.spec, DueRun(upkeep, plan, word), now)
            states[kind] = state_after(state, known, plan, came)
            if plan.heeded and came.is_settled:
                heeded = word
            if came.left_out is not None:
                left_out.append(f"no {kind} is run: {came.left_out}")
            gone += plan.goes
            again += [plan.look_again] if plan.look_again is not None else []
        after = MaintenanceStates(**states, asked=heeded)
        await self._statuses.write(body, patch_of_maintenance(body, after))
        for why in left_out:
            await self._events.tell_of_policy(body, EventReason.MAINTENANCE_LEFT_OUT, why)
        await self._remove(body, gone)
        return min(again, default=None)

    async def _remove(self, policy: Json, gone: list[str]) -> None:
        for job in self._world.of_policies.of(policy):
            if job["metadata"]["name"] in gone and "deletionTimestamp" not in job["metadata"]:
                await self._jobs.remove(job)

    def _as_wanted(self, body: Json) -> _Wanted:
        """The spec, which is read once per generation."""
        uid, generation = uid_of(body), body["metadata"]["generation"]
        known = self._wanted.get(uid)
        if known is None or known.generation != generation:
            self._forget_gone()
            spec = spec_of(body)
            upkeeps = upkeeps_of(spec.maintenance if spec is not None else None)
            known = self._wanted[uid] = _Wanted(generation, spec, upkeeps)
        return known

    def _forget_gone(self) -> None:
        uids = {uid_of(body) for body in self._world.policies.values()}
        self._wanted = {uid: wanted for uid, wanted in self._wanted.items() if uid in uids}
        self._runs.forget_unless(uids)
