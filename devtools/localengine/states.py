"""The spark-operator's state machine, as a pure function: what is known of an application -> the next thing to do.

Every transition below is one of the real operator's (v2.5.2), with the same words in the status, because Sluice must not learn
anything from this engine that the real one doesn't say. Where both differ on purpose (adopting a driver after a crash), it is
the engine's I/O that differs, not this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from localengine.application import DRIVER_CONTAINER, LABEL_SELECTOR, Application, refusal
from sluice.api.base import Json

DRIVER_POD_CREATION_GRACE = timedelta(seconds=10)


class State(StrEnum):
    NEW = ""
    SUBMITTED = "SUBMITTED"
    RUNNING = "RUNNING"
    SUCCEEDING = "SUCCEEDING"
    COMPLETED = "COMPLETED"
    FAILING = "FAILING"
    FAILED = "FAILED"
    SUBMISSION_FAILED = "SUBMISSION_FAILED"
    SUSPENDING = "SUSPENDING"
    SUSPENDED = "SUSPENDED"
    RESUMING = "RESUMING"
    UNKNOWN = "UNKNOWN"


_NOT_TO_BE_SUSPENDED = frozenset({State.SUSPENDING, State.SUSPENDED, State.COMPLETED, State.FAILED})


@dataclass(frozen=True)
class Submit:
    """Start the driver, then write what came of it."""


@dataclass(frozen=True)
class Write:
    """Replace the application's status."""

    status: Json


@dataclass(frozen=True)
class Wait:
    """Nothing to do before `seconds` have passed, unless something changes."""

    seconds: float


@dataclass(frozen=True)
class DeleteDriver:
    """The application is being deleted or suspended: its driver goes first."""


@dataclass(frozen=True)
class DeleteApplication:
    """The application outlived its timeToLiveSeconds."""


@dataclass(frozen=True)
class Rest:
    """Nothing to do until something changes."""


Step = Submit | Write | Wait | DeleteDriver | DeleteApplication | Rest


def decide(application: Application, pod: Json | None, now: datetime) -> Step:  # noqa: PLR0911 - a table
    """The next step for an application whose driver's name is held by `pod` (or by nobody)."""
    if application.deleted:
        # By name, whoever made it: so does the real one.
        return DeleteDriver() if pod is not None and "deletionTimestamp" not in pod["metadata"] else Rest()
    state = current_state(application)
    if application.is_to_be_suspended and state not in _NOT_TO_BE_SUSPENDED:
        return Write(
            {"driverInfo": {}, **_changed(application, State.SUSPENDING)}
        )  # no status goes without it
    match state:
        case State.SUSPENDING:
            return _suspend(application, pod)
        case State.SUSPENDED:
            is_free = pod is None and not application.is_to_be_suspended
            return Write(_changed(application, State.RESUMING)) if is_free else Rest()
        case State.NEW | State.RESUMING:
            why = refusal(application)
            return Write(submission_failed(application, "", why, now)) if why else Submit()
        case State.SUBMITTED | State.RUNNING | State.UNKNOWN:
            return _observe(application, pod, now)
        case State.SUBMISSION_FAILED:
            return Write(_changed(application, State.FAILED, terminationTime=timestamp(now)))
        case State.SUCCEEDING:
            return Write(_changed(application, State.COMPLETED))
        case State.FAILING:
            return Write(_changed(application, State.FAILED))
        case State.COMPLETED | State.FAILED:
            return _expire(application, now)


def _suspend(application: Application, pod: Json | None) -> Step:
    """It is suspended once its driver's pod was told to go, and resumed once that has gone. Nothing is kept of its driver."""
    if pod is not None and "deletionTimestamp" not in pod["metadata"]:
        return DeleteDriver()
    state = {"state": State.SUSPENDED.value, "errorMessage": None}
    forgotten = {"applicationState": state, "sparkApplicationId": None, "driverInfo": {"podName": None}}
    return Write({**application.status, **forgotten})


def current_state(application: Application) -> State:
    return State((application.status.get("applicationState") or {}).get("state", ""))


def submitted(application: Application, submission_id: str, at: datetime) -> Json:
    status = _submission(application, submission_id, at)
    attempts = int(application.status.get("executionAttempts") or 0)
    return {
        **status,
        "applicationState": {"state": State.SUBMITTED.value},
        "executionAttempts": attempts + 1,
    }


def submission_failed(application: Application, submission_id: str, message: str, at: datetime) -> Json:
    state = {
        "state": State.SUBMISSION_FAILED.value,
        "errorMessage": f"failed to submit spark application: {message}",
    }
    return {**_submission(application, submission_id, at), "applicationState": state}


def timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _submission(application: Application, submission_id: str, at: datetime) -> Json:
    return {
        **application.status,
        "submissionID": submission_id,
        "driverInfo": {"podName": application.driver_pod_name},
        "lastSubmissionAttemptTime": timestamp(at),
        "submissionAttempts": int(application.status.get("submissionAttempts") or 0) + 1,
    }


def _observe(application: Application, pod: Json | None, now: datetime) -> Step:
    if pod is None:
        state = current_state(application)
        since = datetime.fromisoformat(application.status["lastSubmissionAttemptTime"])
        if state is State.SUBMITTED and now - since <= DRIVER_POD_CREATION_GRACE:
            return Wait((since + DRIVER_POD_CREATION_GRACE - now).total_seconds() + 0.1)
        return Write(
            _changed(application, State.FAILING, error="driver pod not found", terminationTime=timestamp(now))
        )
    state, error = _state_by_driver(pod)
    changes: dict[str, str] = {}
    selector = (pod["metadata"].get("labels") or {}).get(LABEL_SELECTOR)
    if selector:
        changes["sparkApplicationId"] = selector
    if state in (State.SUCCEEDING, State.FAILING):
        changes["terminationTime"] = application.status.get("terminationTime") or timestamp(now)
    status = _changed(application, state, error=error, **changes)
    return Write(status) if status != application.status else Rest()


def _state_by_driver(pod: Json) -> tuple[State, str | None]:
    phase = (pod.get("status") or {}).get("phase")
    ended = _driver_container_end(pod)
    if phase == "Pending":
        return State.SUBMITTED, None
    if phase == "Running" and ended is None:
        return State.RUNNING, None
    if phase == "Succeeded" or (phase in ("Running", "Failed") and ended and ended["exitCode"] == 0):
        return State.SUCCEEDING, None
    if phase in ("Running", "Failed"):
        if ended is None:
            return State.FAILING, "driver container status missing"
        reason = ended.get("reason", "")
        return State.FAILING, f"driver container failed with ExitCode: {ended['exitCode']}, Reason: {reason}"
    return State.UNKNOWN, None


def _driver_container_end(pod: Json) -> Json | None:
    for container in pod["status"].get("containerStatuses") or []:
        if container["name"] == DRIVER_CONTAINER:
            ended: Json | None = (container.get("state") or {}).get("terminated")
            return ended
    return None


def _expire(application: Application, now: datetime) -> Step:
    lifetime = application.spec.get("timeToLiveSeconds")
    ended = application.status.get("terminationTime")
    if lifetime is None or not ended:
        return Rest()
    left = (datetime.fromisoformat(ended) + timedelta(seconds=lifetime) - now).total_seconds()
    return DeleteApplication() if left < 0 else Wait(left + 0.1)


def _changed(application: Application, state: State, *, error: str | None = None, **fields: str) -> Json:
    before = application.status.get("applicationState") or {}
    message = error if error is not None else before.get("errorMessage")
    told = {"state": state.value, **({"errorMessage": message} if message else {})}
    return {**application.status, **fields, "applicationState": told}
