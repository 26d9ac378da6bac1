"""Makes a job's status after a step: changes are made by field name, so that a misspelt field is a type error."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from sluice.admission import Blocking
from sluice.api.conditions import Condition, ConditionStatus
from sluice.api.job_status import (
    MAX_ATTEMPTS,
    MAX_BLOCKERS,
    Attempt,
    Blocker,
    DeltaWriteJobStatus,
    Phase,
    ShownFootprint,
    ShownRun,
    StreamPause,
    StreamProgress,
)
from sluice.api.reasons import Reason
from sluice.footprint import JobFootprint
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.pruned_objects import names_already
from sluice.lifecycle.spec.footprint_violations import FootprintSaid

_TRUE, _FALSE = ConditionStatus.TRUE, ConditionStatus.FALSE

_ENDED_WELL = frozenset({Phase.SUCCEEDED, Phase.SKIPPED})

NEED_A_PERSON = frozenset(
    {
        Reason.DRIVER_LOST,
        Reason.HOLDER_UNREADABLE,
        Reason.NAME_TAKEN,
        Reason.NOT_UNDERSTOOD,
        Reason.OPERATOR_FAILED,
        Reason.SPEC_CHANGED,
        Reason.STATUS_UNREADABLE,
    }
)
"""Reasons of jobs that have not ended and do not go on by themselves."""

_MAY_HAVE_PAUSED = frozenset({Phase.PAUSED, Phase.PENDING, Phase.WAITING})
"""Phases of a stream from its pause until it is admitted again."""

_LONGEST_MESSAGE = 2048

FOOTPRINT_HELD = "FootprintHeld"

_FIELDS = frozenset(field.alias or name for name, field in DeltaWriteJobStatus.model_fields.items())


@dataclass(frozen=True)
class UnderstoodFields:
    """What follows from the spec and from what is known of its tables."""

    run_key: str
    tables: str
    queued_at: datetime
    footprint: tuple[ShownFootprint, ...]

    @classmethod
    def of(cls, job: JobView) -> Self:
        return cls(job.run_key, _in_short(job.footprint), job.queued_at, job.recorded)


@dataclass(frozen=True)
class StatusChange:
    """A change of a status. A field that isn't named stays as it was; blockers stay only while the job waits."""

    phase: Phase
    reason: Reason
    message: str
    understood: UnderstoodFields | None = None
    attempt: Attempt | None = None
    """It replaces the attempt with its number, or is added after the others; the oldest ones are dropped."""
    blocked_by: tuple[Blocking, ...] | None = None
    blocked_by_count: int | None = None
    """The number of all that are in the way, if not all are named."""
    beside: tuple[Blocking, ...] = ()
    """Whom a new attempt runs beside though one may abort the other."""
    footprint: FootprintSaid | None = None
    """What a run's end said of it."""
    stream: StreamProgress | None = None
    """How far its stream has come."""
    run: ShownRun | None = None
    """By what Delta knows its commits from now on."""
    retries: int | None = None
    """How many retries have begun, or are about to."""
    retry_at: datetime | None = None
    """When the latest one queues."""
    retry_asked: str | None = None
    """The word by which somebody asked for it."""
    pause: StreamPause | None = None
    """Why its stream pauses. It stays until the stream is admitted again, so that those for whom it was know that it is over."""
    comes_anew: bool = False
    """Whether the job enters the phase anew, even if it was in it already: the status then differs from what it was, whatever
    that was."""


def status_after(job: JobView, change: StatusChange, now: datetime) -> DeltaWriteJobStatus:
    before = job.status
    stays = before.phase is change.phase and not change.comes_anew
    message = change.message[:_LONGEST_MESSAGE]
    update: dict[str, Any] = {
        "observed_generation": job.generation,
        "phase": change.phase,
        "since": before.since if stays and before.since else now,
        "reason": change.reason.value,
        "message": message,
        "conditions": (
            *_conditions(job, _states(change.phase, change.reason), change.reason, message, now),
            *_of_footprint(job, change.footprint, now),
        ),
        "resumed_at": now if _goes_on(before, change) else before.resumed_at,
        "finished_at": now if change.phase.is_terminal else None,
    }
    if change.phase is not Phase.WAITING:
        update |= {"blocked_by": (), "blocked_by_count": None}
    if change.understood is not None:
        update |= vars(change.understood)
    if change.attempt is not None:
        if change.attempt.number != before.attempt:
            update["runs_beside"] = tuple(map(_blocker, change.beside))
        update |= {
            "attempt": change.attempt.number,
            "attempts": _with_attempt(before.attempts, change.attempt),
        }
    update |= _where_said(change)
    update["pause"] = change.pause or (before.pause if change.phase in _MAY_HAVE_PAUSED else None)
    if change.blocked_by is not None:
        update |= {
            "blocked_by": tuple(map(_blocker, change.blocked_by[:MAX_BLOCKERS])),
            "blocked_by_count": len(change.blocked_by)
            if change.blocked_by_count is None
            else change.blocked_by_count,
        }
    return before.model_copy(update=update)


def _where_said(change: StatusChange) -> dict[str, Any]:
    told = {
        "stream": change.stream,
        "run": change.run,
        "retries": change.retries,
        "retry_at": change.retry_at,
        "retry_asked": change.retry_asked,
    }
    return {field: value for field, value in told.items() if value is not None}


def retry_heeded(job: JobView, asked: str) -> DeltaWriteJobStatus:
    """The change for a finished job that has no other attempt, though somebody asked for one."""
    return job.status.model_copy(update={"retry_asked": asked})


def generation_observed(job: JobView) -> DeltaWriteJobStatus:
    """The change for a finished job whose spec changed in something that no longer matters."""
    seen = {"observed_generation": job.generation}
    conditions = tuple(condition.model_copy(update=seen) for condition in job.status.conditions)
    return job.status.model_copy(update=seen | {"conditions": conditions})


def runs_beside(job: JobView, newcomer: Blocking) -> DeltaWriteJobStatus:
    """The change for a job that runs when another one begins that may abort it, or that it may abort."""
    known = job.status.runs_beside
    return job.status.model_copy(update={"runs_beside": (*known, _blocker(newcomer))[-MAX_BLOCKERS:]})


def stalled(job: JobView, reason: Reason, message: str, now: datetime) -> dict[str, Any]:
    """Returns a patch that says why nothing goes on with the job. What can't be read of its status stays as it is, even if
    that leaves no place to say it."""
    if not job.can_tell:
        return {}
    message = message[:_LONGEST_MESSAGE]
    conditions = (
        *_conditions(job, _states(None, reason), reason, message, now),
        *_of_footprint(job, None, now),
    )
    before = job.body.get("status") or {}
    wanted = {
        "reason": reason.value,
        "message": message,
        "conditions": [condition.model_dump(mode="json", by_alias=True) for condition in conditions],
    }
    return {name: value for name, value in wanted.items() if before.get(name) != value}


def is_as_recorded(job: JobView) -> bool:
    """Whether the job is still understood as its status says, which is how it was when its leases were granted. An earlier
    version of Sluice did not say what it deletes."""
    told = job.status.footprint
    return job.recorded == told or told == tuple(
        one.model_copy(update={"deletes": None}) for one in job.recorded
    )


def as_body(status: DeltaWriteJobStatus) -> dict[str, Any]:
    return status.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def patch_to(job: JobView, wanted: DeltaWriteJobStatus) -> dict[str, Any]:
    """Returns the patch. What another version of the operator keeps there, in fields that this one doesn't know, stays."""
    before = job.body.get("status") or {}
    patch = difference({name: before[name] for name in before if name in _FIELDS}, as_body(wanted))
    if names_already(job.body, patch.get("blockedBy")):
        del patch["blockedBy"]
    return patch


def difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Returns a merge patch; a list that never was there is not written empty."""
    return merge_patch(before, {key: value for key, value in after.items() if value != [] or key in before})


def merge_patch(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """As RFC 7386 has it: lists are replaced as wholes, and of objects, which are merged, what went is taken away."""
    changed = {
        key: merge_patch(before[key], value)
        if isinstance(value, dict) and isinstance(before.get(key), dict)
        else value
        for key, value in after.items()
        if before.get(key) != value
    }
    removed = {key: None for key in before if key not in after}
    return changed | removed


def _goes_on(before: DeltaWriteJobStatus, change: StatusChange) -> bool:
    """Whether the job is held back no longer."""
    return before.phase is Phase.SUSPENDED and change.phase is not Phase.SUSPENDED


def _states(phase: Phase | None, reason: Reason) -> dict[str, ConditionStatus]:
    """`phase`: None where the operator cannot go on with the job, whatever its phase is."""
    is_stalled = phase is None or phase is Phase.FAILED or reason in NEED_A_PERSON
    is_ready = phase in _ENDED_WELL or (phase is Phase.RUNNING and reason is Reason.STREAMING)
    goes_on = not is_stalled and not is_ready and phase is not None and not phase.is_terminal
    return {
        "Ready": _TRUE if is_ready else _FALSE,
        "Reconciling": _TRUE if goes_on else _FALSE,
        "Stalled": _TRUE if is_stalled else _FALSE,
    }


def _conditions(
    job: JobView, states: dict[str, ConditionStatus], reason: Reason, message: str, now: datetime
) -> tuple[Condition, ...]:
    known = {condition.type: condition for condition in job.status.conditions}
    return tuple(
        Condition(
            type=type_,
            status=state,
            observed_generation=job.generation,
            last_transition_time=known[type_].last_transition_time
            if type_ in known and known[type_].status is state
            else now,
            reason=reason.value,
            message=message,
        )
        for type_, state in states.items()
    )


_FOOTPRINT = {
    True: (_TRUE, Reason.HELD),
    False: (_FALSE, Reason.FOOTPRINT_STRAYED),
    None: (ConditionStatus.UNKNOWN, Reason.FOOTPRINT_DOUBTFUL),
}


def _of_footprint(job: JobView, said: FootprintSaid | None, now: datetime) -> tuple[Condition, ...]:
    """The condition, once anybody has looked. What has strayed once counts for the job for good."""
    known = tuple(condition for condition in job.status.conditions if condition.type == FOOTPRINT_HELD)
    if said is None or any(condition.status is _FALSE for condition in known):
        return known
    state, reason = _FOOTPRINT[said.is_held]
    return _conditions(job, {FOOTPRINT_HELD: state}, reason, said.message[:_LONGEST_MESSAGE], now)


def _with_attempt(before: tuple[Attempt, ...], attempt: Attempt) -> tuple[Attempt, ...]:
    others = tuple(other for other in before if other.number != attempt.number)
    return (*others, attempt)[-MAX_ATTEMPTS:]


def _in_short(footprint: JobFootprint) -> str:
    first, *others = footprint.keys
    return f"{first} (+{len(others)})" if others else first.text


def _blocker(blocking: Blocking) -> Blocker:
    verdict = blocking.conflict.verdict
    return Blocker(
        job=blocking.by.job,
        uid=blocking.by.uid or None,
        table=blocking.conflict.table.text,
        verdict=str(verdict.level),
        rule=verdict.rule,
        exception=verdict.exception,
        overlap=None if verdict.overlap == "true" else verdict.overlap,
        reason=verdict.reason,
        advice=verdict.advice,
    )
