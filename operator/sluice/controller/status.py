"""The one writer of a job's status: a patch a transition, and none when nothing changed."""

from datetime import UTC, datetime
from typing import Any

from sluice.admission import Blocking
from sluice.api.conditions import Condition, ConditionStatus
from sluice.api.job_status import (
    MAX_ATTEMPTS,
    MAX_BLOCKERS,
    MAX_FOOTPRINTS,
    Attempt,
    Blocker,
    DeltaWriteJobStatus,
    Phase,
    TableFootprint,
)
from sluice.controller.jobs import JobView
from sluice.controller.kube import JOBS, Kube
from sluice.controller.world import World
from sluice.footprint import JobFootprint

_TRUE, _FALSE = ConditionStatus.TRUE, ConditionStatus.FALSE

_ENDED_WELL = frozenset({Phase.SUCCEEDED, Phase.SKIPPED})


class StatusWriter:
    def __init__(self, kube: Kube, world: World) -> None:
        self._kube = kube
        self._world = world

    async def write(
        self,
        job: JobView,
        phase: Phase,
        reason: str,
        message: str,
        **fields: Any,
    ) -> None:
        """Fails with ConflictError if anybody changed the job since `job` was read: what a former leader wrote, and what
        arrives late, must not bring back what was before."""
        wanted = next_status(job, phase, reason, message, datetime.now(UTC), **fields)
        await self._patch(job, wanted)

    async def observe_generation(self, job: JobView) -> None:
        """A finished job's spec changed in something that no longer matters."""
        seen = {"observed_generation": job.generation}
        conditions = tuple(c.model_copy(update=seen) for c in job.status.conditions)
        wanted = job.status.model_copy(update=seen | {"conditions": conditions})
        await self._patch(job, wanted)

    async def _patch(self, job: JobView, wanted: DeltaWriteJobStatus) -> None:
        patch = _difference(job.body.get("status") or {}, _plain(wanted))
        if not patch:
            return
        metadata = {"uid": job.uid, "resourceVersion": job.resource_version}
        body: dict[str, Any] = {"metadata": metadata, "status": patch}
        patched = await self._kube.patch(JOBS, job.namespace, job.name, body, sub="status")
        self._world.job_seen(patched)


def next_status(
    job: JobView, phase: Phase, reason: str, message: str, now: datetime, **fields: Any
) -> DeltaWriteJobStatus:
    before = job.status
    same_phase = before.phase is phase
    update: dict[str, Any] = {
        "observed_generation": job.generation,
        "phase": phase,
        "since": before.since if same_phase and before.since else now,
        "reason": reason,
        "message": message[:2048],
        "conditions": _conditions(job, phase, reason, message[:2048], now),
        "finished_at": now if phase.is_terminal else None,
    }
    if phase is not Phase.WAITING:
        update |= {"blocked_by": (), "blocked_by_count": None}
    return before.model_copy(update=update | fields)


def _conditions(
    job: JobView, phase: Phase, reason: str, message: str, now: datetime
) -> tuple[Condition, ...]:
    states = {
        "Ready": _TRUE if phase in _ENDED_WELL else _FALSE,
        "Reconciling": _FALSE if phase.is_terminal else _TRUE,
        "Stalled": _TRUE if phase is Phase.FAILED else _FALSE,
    }
    known = {condition.type: condition for condition in job.status.conditions}
    return tuple(
        Condition(
            type=type_,
            status=state,
            observed_generation=job.generation,
            last_transition_time=known[type_].last_transition_time
            if type_ in known and known[type_].status is state
            else now,
            reason=reason,
            message=message,
        )
        for type_, state in states.items()
    )


def understood(job: JobView) -> dict[str, Any]:
    """The fields that follow from the spec and from what is known of its tables."""
    return {
        "run_key": job.run_key,
        "tables": _tables_in_short(job.footprint),
        "queued_at": job.queued_at,
        "footprint": _recorded(job.footprint),
    }


def is_as_recorded(job: JobView) -> bool:
    """Whether the job is still understood as its status says, which is how it was when its leases were granted."""
    return _recorded(job.footprint) == job.status.footprint


def _recorded(footprint: JobFootprint) -> tuple[TableFootprint, ...]:
    return tuple(
        TableFootprint(
            table=table.table.text,
            statement=table.statement,
            operation=table.operation,
            reads=table.reads_text,
            writes=table.writes_text,
            metadata=table.changes_metadata,
            widened=table.widened,
        )
        for table in footprint.tables[:MAX_FOOTPRINTS]
    )


def _tables_in_short(footprint: JobFootprint) -> str:
    first, *others = footprint.keys
    return f"{first} (+{len(others)})" if others else first.text


def blockers(blocked_by: tuple[Blocking, ...]) -> dict[str, Any]:
    return {
        "blocked_by": tuple(
            Blocker(
                job=blocking.by.job,
                uid=blocking.by.uid,
                table=blocking.conflict.table.text,
                verdict=str(blocking.conflict.verdict.level),
                rule=blocking.conflict.verdict.rule,
                exception=blocking.conflict.verdict.exception,
                overlap=blocking.conflict.verdict.overlap,
                reason=blocking.conflict.verdict.reason,
                advice=blocking.conflict.verdict.advice,
            )
            for blocking in blocked_by[:MAX_BLOCKERS]
        ),
        "blocked_by_count": len(blocked_by),
    }


def with_attempt(job: JobView, attempt: Attempt) -> dict[str, Any]:
    """The attempt put in place of the one with its number, or after the others; the oldest ones go."""
    others = tuple(a for a in job.status.attempts if a.number != attempt.number)
    return {"attempt": attempt.number, "attempts": (*others, attempt)[-MAX_ATTEMPTS:]}


def _plain(status: DeltaWriteJobStatus) -> dict[str, Any]:
    return status.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """A merge patch at the top level: lists and objects are replaced whole."""
    changed = {
        key: value
        for key, value in after.items()
        if before.get(key) != value and (value != [] or key in before)
    }
    removed = {key: None for key in before if key not in after}
    return changed | removed
