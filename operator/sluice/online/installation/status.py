"""Tells how an installation is: what its Lease object says, its jobs, and the leases that nothing explains.

Only Kubernetes is asked, so that there is an answer during an outage of Redis, too.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sluice.api import names
from sluice.api.base import Json
from sluice.api.conditions import ConditionStatus
from sluice.api.job_status import OVER, AttemptProgress, Phase
from sluice.api.operator_status import OperatorCondition, OperatorConditionType, read
from sluice.api.reasons import Reason
from sluice.installations.unexplained_leases import UnexplainedLeases, in_words
from sluice.kube.client import Kube
from sluice.kube.resources import JOBS
from sluice.leases import Epochs, Lease, number_in
from sluice.lifecycle.job.status import FOOTPRINT_HELD, NEED_A_PERSON
from sluice.online.access.connection import Installation, cluster
from sluice.online.access.driver_pods import DriverPods, driver_pods, progress_in
from sluice.online.access.job_objects import (
    HOLDING,
    key_of,
    objects_in,
    pause_in,
    phase_of,
    status_in,
    time_in,
)
from sluice.online.access.leader import SILENT_AFTER, lease_of
from sluice.online.access.stream_progress import stream_in
from sluice.online.doctor.stalled_policies import SeenPolicies, problems_of, seen_policies


@dataclass(frozen=True)
class HoldingJob:
    job: str
    phase: str
    attempt: int | None
    tables: tuple[str, ...]
    progress: AttemptProgress | None = None
    """As its driver's pod has it; where that can't be read, as the status had it last."""
    stream: Json | None = None
    """How far its stream has come, likewise."""
    pause: Json | None = None
    """Why its stream is asked to stop, as its status has it."""


@dataclass(frozen=True)
class PausedStream:
    job: str
    stream: Json | None
    pause: Json | None


@dataclass(frozen=True)
class RetryingJob:
    """A job whose last attempt failed, and that queues for another one later."""

    job: str
    attempt: int | None
    """The attempt that failed."""
    at: str | None
    """When it queues, as its status says."""


@dataclass(frozen=True)
class JobSummary:
    job: str
    reason: str
    message: str


@dataclass(frozen=True)
class InstallationStatus:
    namespace: str
    deployment: str
    leader: str | None
    epoch: int | None
    renewed: datetime | None
    silent_for: float | None
    """Seconds since the Lease was renewed, by this machine's clock."""
    conditions: tuple[OperatorCondition, ...]
    jobs: dict[str, int]
    holding: tuple[HoldingJob, ...]
    paused: tuple[PausedStream, ...]
    retrying: tuple[RetryingJob, ...]
    stuck: tuple[JobSummary, ...]
    strayed: tuple[JobSummary, ...]
    """Jobs of which a run has touched more than was understood of them."""
    policies: SeenPolicies
    unexplained: tuple[Lease, ...]
    """Leases held, since the API server went back or the leases were taken over, until an object explains them or somebody
    revokes them."""
    problems: tuple[str, ...]
    """The problems; empty: all is well."""


async def status_of(at: Installation) -> InstallationStatus:
    async with cluster() as kube:
        lease = await lease_of(kube, at)
        jobs = [
            job
            for namespace in at.watch_namespaces or (None,)
            async for page in kube.pages(JOBS, namespace)
            for job in page["items"]
        ]
        runs = any(phase_of(job) in HOLDING for job in jobs)
        drivers = await driver_pods(kube, at.watch_namespaces) if runs else None
        unexplained, unreadable = await _unexplained(kube, at)
        policies = await seen_policies(kube, at)
    return told(
        at,
        lease,
        jobs,
        datetime.now(UTC),
        drivers=drivers or {},
        unexplained=unexplained,
        unreadable=unreadable,
        policies=policies,
    )


def told(
    at: Installation,
    lease: Json,
    jobs: Iterable[Json],
    now: datetime,
    *,
    drivers: DriverPods | None = None,
    unexplained: Sequence[Lease] = (),
    unreadable: str | None = None,
    policies: SeenPolicies | None = None,
) -> InstallationStatus:
    """Says how the installation is. `unreadable`: why it is not known which leases are unexplained."""
    annotations = lease["metadata"].get("annotations") or {}
    spec = lease.get("spec") or {}
    leader = spec.get("holderIdentity") or None
    renewed = time_in(spec.get("renewTime"))
    silent_for = (now - renewed).total_seconds() if renewed is not None else None
    conditions = read(str(annotations.get(names.ANNOTATION_CONDITIONS, "")))
    found = sorted(jobs, key=key_of)
    policies = policies or SeenPolicies({})
    stuck, strayed = tuple(_stuck(found)), tuple(_strayed(found))
    return InstallationStatus(
        namespace=at.namespace,
        deployment=at.deployment,
        leader=leader,
        epoch=number_in(annotations.get(names.ANNOTATION_EPOCH), most=Epochs.END - 1),
        renewed=renewed,
        silent_for=silent_for,
        conditions=conditions,
        jobs=dict(sorted(Counter(phase_of(job) for job in found).items())),
        holding=tuple(_holding(found, drivers or {})),
        paused=tuple(
            PausedStream(key_of(job), stream_in(job, drivers or {}), pause_in(job))
            for job in found
            if phase_of(job) == Phase.PAUSED.value
        ),
        retrying=tuple(_retrying(found)),
        stuck=stuck,
        strayed=strayed,
        policies=policies,
        unexplained=tuple(unexplained),
        problems=(
            *_problems_of_leader(leader, silent_for),
            *_problems_of_conditions(at, conditions, unexplained, unreadable),
            *(f"{one.job}: {one.reason}: {one.message}" for one in (*stuck, *strayed)),
            *problems_of(policies),
        ),
    )


async def _unexplained(kube: Kube, at: Installation) -> tuple[list[Lease], str | None]:
    try:
        records = await UnexplainedLeases(kube, at.namespace, at.deployment).read()
    except ValueError as error:
        return [], str(error)
    return [record.grant.lease for record in records], None


def _problems_of_leader(leader: str | None, silent_for: float | None) -> Iterator[str]:
    if leader is None:
        yield "nobody leads: no job is admitted, and no end of a run is noticed"
    elif silent_for is not None and silent_for > SILENT_AFTER:
        yield f"{leader} has not renewed its Lease for {silent_for:.0f} s: it is gone, or cut off, or the clocks differ"


def _problems_of_conditions(
    at: Installation,
    conditions: Iterable[OperatorCondition],
    unexplained: Sequence[Lease],
    unreadable: str | None,
) -> Iterator[str]:
    """Returns the problems in the conditions. What is written down still holds while nobody leads to report it by a condition."""
    failing = [condition for condition in conditions if condition.status is ConditionStatus.FALSE]
    for condition in failing:
        yield f"{condition.type.value} is {condition.status.value}: {condition.message}"
    if unreadable is not None:
        yield unreadable
    if unexplained and all(one.type is not OperatorConditionType.LEASES_EXPLAINED for one in failing):
        yield in_words(unexplained, at.revoke_command)


def _holding(jobs: Iterable[Json], drivers: DriverPods) -> Iterator[HoldingJob]:
    for job in jobs:
        status = status_in(job)
        if phase_of(job) in HOLDING:
            tables = {str(one.get("table", "?")) for one in objects_in(status.get("footprint"))}
            attempt = status.get("attempt")
            yield HoldingJob(
                key_of(job),
                phase_of(job),
                attempt if isinstance(attempt, int) else None,
                tuple(sorted(tables)),
                progress_in(job, drivers),
                stream_in(job, drivers),
                pause_in(job),
            )


def _retrying(jobs: Iterable[Json]) -> Iterator[RetryingJob]:
    for job in jobs:
        status = status_in(job)
        if phase_of(job) == Phase.BACKING_OFF.value and status.get("reason") == Reason.RETRYING:
            attempt, at = status.get("attempt"), status.get("retryAt")
            yield RetryingJob(
                key_of(job),
                attempt if isinstance(attempt, int) else None,
                at if isinstance(at, str) else None,
            )


def _stuck(jobs: Iterable[Json]) -> Iterator[JobSummary]:
    for job in jobs:
        status = status_in(job)
        reason = str(status.get("reason"))
        if reason in NEED_A_PERSON and phase_of(job) not in OVER:
            yield JobSummary(key_of(job), reason, str(status.get("message", "")))


def _strayed(jobs: Iterable[Json]) -> Iterator[JobSummary]:
    for job in jobs:
        for condition in objects_in(status_in(job).get("conditions")):
            if condition.get("type") == FOOTPRINT_HELD and condition.get("status") == ConditionStatus.FALSE:
                yield JobSummary(key_of(job), str(condition.get("reason")), str(condition.get("message", "")))
