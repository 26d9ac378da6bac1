"""Policies that do not go on before a person sees to them, as their statuses say, each with what to do."""

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass

from sluice.api import names
from sluice.api.base import Json
from sluice.api.reasons import PolicyReason
from sluice.kube.client import ApiError, Kube
from sluice.kube.resources import POLICIES
from sluice.online.access.connection import Installation
from sluice.online.access.job_objects import key_of, status_in
from sluice.online.doctor.findings import Finding, ok, warn
from sluice.policies.conditions import PolicyCondition
from sluice.policies.status import standing_in

MOST_FOUND = 20
"""Policies of which the doctor says each by itself."""
_MOST_NAMED = 3
_NEW = "New"
_EDIT = "kubectl edit dtp {at}"
_GO_ON = f"kubectl annotate dtp {{at}} --overwrite {names.ANNOTATION_RUN}=enforce"

CURES: Mapping[PolicyReason, str] = {
    PolicyReason.DRIFTED: "change the table or the policy; status.drift has each difference: kubectl get dtp {at} -o yaml",
    PolicyReason.FIGHT: f"stop the writer that sets the table back, or change the policy; then {_GO_ON}",
    PolicyReason.REMEDY_FAILED: f"remove the cause that the message names, or change the policy; then {_GO_ON}",
    PolicyReason.NAME_TAKEN: "delete the job that the message names, if it is no longer needed: kubectl delete dwj JOB",
    PolicyReason.NAMESPACE_NOT_ALLOWED: f"add the policy's own namespace to spec.allowedNamespaces: {_EDIT}",
    PolicyReason.RUNTIME_UNKNOWN: (
        f"correct spec.runtimeRef, or add the profile to runtimes of the operator's configuration: {_EDIT}"
    ),
    PolicyReason.API_SERVER_REFUSES: (
        "make room for the job, or change the quota or webhook that the message quotes: kubectl describe dtp {at}"
    ),
    PolicyReason.TABLE_UNREAD: (
        f"let the operator read the table's log, or bind a name without a path by spec.table.path: {_EDIT}"
    ),
    PolicyReason.NOT_A_DELTA_TABLE: f"convert the folder by CONVERT TO DELTA, or correct spec.table.path: {_EDIT}",
    PolicyReason.IMPOSSIBLE: f"correct the field that the message names: {_EDIT}",
    PolicyReason.VACUUM_NEVER_RUNS: (
        f"set the table's property as the message says, or shorten maintenance.vacuum.retention: {_EDIT}"
    ),
    PolicyReason.LEFT_OUT: "merge it into the policy that the message names, and delete it: kubectl delete dtp {at}",
    PolicyReason.AMBIGUOUS: f"leave one path for the name: {_EDIT}",
    PolicyReason.NOT_OWNER: (
        "move it into a namespace that the message names, or add its own to tableOwners of the operator's configuration: "
        "kubectl delete dtp {at}"
    ),
    PolicyReason.NOT_UNDERSTOOD: f"correct the place that the message names: {_EDIT}",
}
"""What to do, by the reason of a policy that is Stalled."""


@dataclass(frozen=True)
class StalledPolicy:
    policy: str
    """As namespace/name."""
    reason: str
    message: str

    @property
    def cure(self) -> str:
        namespace, _, name = self.policy.partition("/")
        return _cure(self.reason, f"-n {namespace} {name}")


@dataclass(frozen=True)
class SeenPolicies:
    counts: Mapping[str, int]
    """Policies by the condition that is True; New: nothing is written yet."""
    stalled: tuple[StalledPolicy, ...] = ()
    unseen: str | None = None
    """Why they could not be listed."""


async def seen_policies(kube: Kube, at: Installation) -> SeenPolicies:
    """Those of the namespaces that the installation watches, as far as these are known."""
    try:
        return counted_policies([body async for body in _listed(kube, at)])
    except ApiError as error:
        if not error.is_definite:
            raise
        return SeenPolicies({}, unseen=f"policies could not be listed: {error}")


def counted_policies(bodies: Iterable[Json]) -> SeenPolicies:
    counts: Counter[str] = Counter()
    stalled: list[StalledPolicy] = []
    for body in bodies:
        standing, status = standing_in(body), status_in(body)
        counts[_NEW if standing is None else standing.value] += 1
        if standing is PolicyCondition.STALLED:
            told = StalledPolicy(key_of(body), str(status.get("reason")), str(status.get("message", "")))
            stalled.append(told)
    return SeenPolicies(dict(sorted(counts.items())), tuple(sorted(stalled, key=lambda one: one.policy)))


def problems_of(policies: SeenPolicies) -> Iterator[str]:
    """One sentence for each reason, however many policies have it."""
    for reason in sorted({one.reason for one in policies.stalled}):
        named = [one.policy for one in policies.stalled if one.reason == reason]
        more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        which = "1 policy is" if len(named) == 1 else f"{len(named)} policies are"
        whose = f"{', '.join(named[:_MOST_NAMED])}{more}"
        yield f"{which} Stalled as {reason}: {whose}: {_cure(reason, '-n NAMESPACE NAME')}"


async def policy_findings(kube: Kube, at: Installation) -> AsyncIterator[Finding]:
    """Jobs run beside a policy that is Stalled, so that none is a failure."""
    found = counted_policies([body async for body in _listed(kube, at)])
    for one in found.stalled[:MOST_FOUND]:
        yield warn("policy", one.policy, f"it is Stalled: {one.reason}: {one.message}", one.cure)
    more = len(found.stalled) - MOST_FOUND
    if more > 0:
        yield warn(
            "policy", "", f"{more} more policies are Stalled", "sluice status --all -o text lists all of them"
        )
    if not found.stalled:
        count = sum(found.counts.values())
        yield ok("policy", "", f"none of {count} is Stalled" if count else "there is none")


async def _listed(kube: Kube, at: Installation) -> AsyncIterator[Json]:
    for namespace in at.watch_namespaces or (None,):
        async for page in kube.pages(POLICIES, namespace):
            for body in page["items"]:
                yield body


def _cure(reason: str, at: str) -> str:
    """`at`: the options by which kubectl finds the policy."""
    known = {word.value: cure for word, cure in CURES.items()}
    return known.get(reason, "kubectl describe dtp {at}").replace("{at}", at)
