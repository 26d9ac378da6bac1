"""Keeps each job by which a policy changes its table from beginning before a look at the table tells that the job is still needed.
The one before it in the queue may have set the same, and a statement that sets what is there already aborts other writers for
nothing."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from sluice.api import names
from sluice.api.base import Json
from sluice.api.policy import DeltaTablePolicySpec, Enforcement
from sluice.api.reasons import Reason
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.leadership.prerequisites import MissingPrerequisite
from sluice.controller.policy_work.policy_status import called
from sluice.controller.policy_work.table_observations import LEAST_PAUSE, TableObservations
from sluice.delta.version import Version
from sluice.engines import RuntimeProfile
from sluice.kube.mirror import uid_of
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.pruned_objects import policy_of
from sluice.policies.conditions import spec_of
from sluice.policies.job_permission import DEFAULT_PROFILE
from sluice.policies.remediation import KINDS, number_of, why_not_yet
from sluice.tables.dialect import oss

QUIET = LEAST_PAUSE + 5.0
"""Seconds for which a job is kept in its place and without a word: usually the look is there by then, or the job has been taken
back."""


@dataclass(frozen=True)
class HeldBackChange:
    obstacle: MissingPrerequisite
    quiet_for: float
    """Seconds until it is to be told, and to be in nobody's way."""


class ChangeGate:
    def __init__(self, world: ClusterCache, looks: TableObservations, *, quiet: float = QUIET) -> None:
        self._world = world
        self._looks = looks
        self._quiet = quiet
        self._since: dict[str, float] = {}
        """Since when jobs are kept, by uid."""
        looks.listen(self._wake)

    def keeps(self, job: JobView) -> HeldBackChange | None:
        """What keeps the job from beginning now; None: nothing, as of all that are not a policy's changes of its table."""
        policy = self._policy_of(job)
        why = None if policy is None else self._why_not_yet(policy, job)
        if policy is None or why is None:
            self._since.pop(job.uid, None)
            return None
        now = time.monotonic()
        if job.uid not in self._since:
            self._since = {uid: since for uid, since in self._since.items() if uid in self._world.jobs}
            self._since[job.uid] = now
        name = policy["metadata"]["name"]
        message = (
            f"not started, since its policy {name} does not know that the table is still to be changed: {why}. A statement "
            "that sets what is there already would abort other writers. "
            f"`kubectl describe dtp {name}` says what the policy knows of the table"
        )
        left = self._since[job.uid] + self._quiet - now
        return HeldBackChange(MissingPrerequisite(Reason.AWAITS_LOOK, message), max(0.0, left))

    def _policy_of(self, job: JobView) -> Json | None:
        """The policy that the job changes a table for. One that is gone says nothing any more: its jobs go with it."""
        kind = kind_of(job.body)
        uid = policy_of(job.body) if kind in KINDS else None
        policy = None if uid is None else self._world.policies.by_uid(uid)
        if policy is None or policy["metadata"]["namespace"] != job.namespace:
            return None
        is_its = number_of(job.name, kind, policy["metadata"]["name"], uid_of(policy)) is not None
        return policy if is_its else None

    def _why_not_yet(self, policy: Json, job: JobView) -> str | None:
        spec = enforced_spec(self._world, policy)
        if spec is None:
            return "what the policy says is not understood: correct it, or delete this job"
        look = self._looks.after_all_runs(uid_of(policy))
        version = version_of_jobs(spec, self._world.profiles)
        return why_not_yet(spec, look, version, (job.body.get("spec") or {}).get("sql"))

    def _wake(self, policy: str) -> None:
        """Has those jobs decided on again that waited for this look."""
        for uid in self._since:
            job = self._world.jobs.get(uid)
            if job is not None and policy_of(job.body) == policy:
                self._world.mark(uid)


def enforced_spec(world: ClusterCache, policy: Json) -> DeltaTablePolicySpec | None:
    """What the policy says, as far as it counts: one that is left out has nothing changed. None: it is not understood."""
    spec = spec_of(policy)
    if spec is not None and world.leaves_alone(called(policy)):
        return spec.model_copy(update={"enforcement": Enforcement.OBSERVE})
    return spec


def version_of_jobs(spec: DeltaTablePolicySpec, profiles: Mapping[str, RuntimeProfile]) -> Version | None:
    """The version of Delta that the policy's jobs run; None: it has no profile for them."""
    profile = profiles.get(spec.runtime_ref or DEFAULT_PROFILE)
    return None if profile is None else oss(profile.delta_version).version


def kind_of(job: Json) -> str:
    """What a policy's job is for; empty if it is none."""
    return str((job["metadata"].get("labels") or {}).get(names.LABEL_POLICY_KIND, ""))
