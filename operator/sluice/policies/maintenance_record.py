"""What a policy's status keeps of its maintenance, and what changes of it.

What somebody wrote over is as if nothing was kept: then runs count from now on, and the jobs that are there tell of theirs."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import ValidationError

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import Phase
from sluice.api.maintenance_status import LeftOutRun, MaintenanceState, MaintenanceStates
from sluice.lifecycle.job.status import merge_patch
from sluice.policies.maintenance import Decided, KnownMaintenance, MaintenanceJob, MaintenanceKind, NextRun

FIELD = "maintenance"
_FIRST_GENERATION = 1
_TWO_CLOCKS = timedelta(days=1)
_PHASES = {phase.value: phase for phase in Phase}


@dataclass(frozen=True)
class DueRunRecord:
    """What the run that is due came to, if one is."""

    at: datetime | None = None
    """The time of which it is the run."""
    job: str | None = None
    """The job that was made for it."""
    left_out: str | None = None
    """Why there is none, and will be none."""
    waits: str | None = None
    """Why there is none yet."""
    is_settled: bool = True
    """False while it stays due."""


def kept_in(policy: Json) -> MaintenanceStates:
    status = policy.get("status")
    given = status.get(FIELD) if isinstance(status, dict) else None
    try:
        return MaintenanceStates.as_stored(given if isinstance(given, dict) else {})
    except ValidationError:
        return MaintenanceStates()


def _decided_in(state: MaintenanceState | None) -> Decided | None:
    if state is None or state.decided_until is None or state.schedule is None:
        return None
    if state.decided_until.tzinfo is None:
        return None
    return Decided(state.decided_until, state.schedule)


def _never_changed_since(policy: Json) -> datetime | None:
    """When the policy was created, if its spec was never changed: then its schedule is as old."""
    metadata = policy["metadata"]
    if metadata.get("generation") != _FIRST_GENERATION:
        return None
    return _moment(metadata.get("creationTimestamp"))


def _jobs_of(kind: MaintenanceKind, jobs: Iterable[Json]) -> tuple[MaintenanceJob, ...]:
    """Of the jobs that the policy has made those of this kind. One whose annotations somebody removed is of when it was made."""
    found = []
    for job in jobs:
        metadata, status = job["metadata"], job.get("status")
        if (metadata.get("labels") or {}).get(names.LABEL_POLICY_KIND) != kind.value:
            continue
        annotations = metadata.get("annotations") or {}
        at = _time_of_run(
            annotations.get(names.ANNOTATION_RUN_AT), _moment(metadata.get("creationTimestamp"))
        )
        if at is not None:
            by_hand = bool(annotations.get(names.ANNOTATION_ASKED))
            found.append(MaintenanceJob(metadata["name"], at, _phase(status), by_hand))
    return tuple(found)


def _time_of_run(told: Any, made: datetime | None) -> datetime | None:
    """A run is of a time before its job is made, but for two clocks: what somebody wrote in its place doesn't count."""
    at = _moment(told)
    if at is None or made is None:
        return at or made
    return at if at - made < _TWO_CLOCKS else made


def known_of(
    policy: Json,
    kind: MaintenanceKind,
    state: MaintenanceState | None,
    jobs: Iterable[Json],
    asked: str | None,
) -> KnownMaintenance:
    metadata = policy["metadata"]
    return KnownMaintenance(
        policy=metadata["name"],
        uid=metadata["uid"],
        since=_never_changed_since(policy),
        decided=_decided_in(state),
        jobs=_jobs_of(kind, jobs),
        asked=asked,
    )


def state_after(
    before: MaintenanceState | None, known: KnownMaintenance, plan: NextRun, came: DueRunRecord
) -> MaintenanceState:
    changes: dict[str, Any] = {"next_run_at": plan.look_again, "message": came.waits}
    if plan.decided is not None and came.is_settled:
        changes |= {"decided_until": plan.decided.until, "schedule": plan.decided.schedule}
    if came.job is not None:
        changes |= {"last_job": came.job, "last_run_at": came.at}
    elif (latest := _latest(known.jobs, before)) is not None:
        changes |= {"last_job": latest.name, "last_run_at": latest.at}
    if came.left_out is not None:
        changes["last_left_out"] = LeftOutRun(at=came.at, why=came.left_out)
    return MaintenanceState(**(dict(before or MaintenanceState()) | changes))


def _latest(jobs: Iterable[MaintenanceJob], before: MaintenanceState | None) -> MaintenanceJob | None:
    """A job of which the status doesn't tell yet."""
    latest = max(jobs, key=lambda job: job.at, default=None)
    told = before.last_run_at if before is not None else None
    return latest if latest is not None and (told is None or latest.at > told) else None


def patch_of_maintenance(policy: Json, wanted: MaintenanceStates | None) -> Json:
    """What is to be changed in the policy's status; empty: nothing. None: there is nothing to tell."""
    status = policy.get("status")
    given = status.get(FIELD) if isinstance(status, dict) else None
    after = (
        None if wanted is None else wanted.model_dump(mode="json", by_alias=True, exclude_none=True) or None
    )
    if given == after:
        return {}
    if after is None or not isinstance(given, dict):
        return {FIELD: after}
    return {FIELD: merge_patch(given, after)}


def _phase(status: Any) -> Phase | None:
    given = status.get("phase") if isinstance(status, dict) else None
    return _PHASES.get(given) if isinstance(given, str) else None


def _moment(text: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo is not None else None
