"""Which Event tells of a change. In an ordinary life there are four: Queued, Admitted, Started, Succeeded."""

from dataclasses import dataclass
from datetime import datetime

from sluice.api.job_status import Attempt, DeltaWriteJobStatus, Phase, StreamProgress
from sluice.api.reasons import CONFLICTS, EventReason, Reason
from sluice.lifecycle.streams.stop_requests import why_it_pauses
from sluice.lifecycle.streams.stream_progress import in_words_of_replaced

_OF_THEIR_OWN = {
    Reason.TIMED_OUT: EventReason.TIMED_OUT,
    Reason.WAITING_FOR_COMPUTE: EventReason.WAITING_FOR_COMPUTE,
    Reason.DEADLINE_EXCEEDED: EventReason.DEADLINE_EXCEEDED,
    Reason.PAUSE_EXCEEDED: EventReason.PAUSE_EXCEEDED,
}


@dataclass(frozen=True)
class JobEvent:
    reason: EventReason
    message: str
    is_warning: bool = False


def ending(phase: Phase, reason: Reason, message: str, attempt: Attempt | None = None) -> JobEvent:
    """Returns the Event of a job that has come to its end, or queues again; `attempt`: its last one, if it had any."""
    if phase is Phase.SUCCEEDED:
        return JobEvent(EventReason.SUCCEEDED, message)
    if phase is Phase.SKIPPED:
        return JobEvent(EventReason.SKIPPED, message)
    if reason in _OF_THEIR_OWN:
        return JobEvent(_OF_THEIR_OWN[reason], message, is_warning=True)
    if reason in CONFLICTS:
        return JobEvent(EventReason.CONFLICT, f"{message}{_rule_and_advice(attempt)}", is_warning=True)
    said = message if reason in message else f"{reason}: {message}"
    return JobEvent(EventReason.FAILED, said, is_warning=True)


def retrying(message: str, attempt: Attempt) -> JobEvent:
    """Returns the Event of an attempt that failed, and after which another one follows."""
    return JobEvent(EventReason.RETRYING, f"{message}{_rule(attempt)}", is_warning=True)


def started(before: Attempt, after: Attempt | None) -> JobEvent | None:
    """Returns the Event of a driver that is seen running for the first time."""
    if after is None or after.started_at is None or before.started_at is not None:
        return None
    where = f" on node {after.driver.node}" if after.driver is not None and after.driver.node else ""
    pod = f"pod {after.driver.pod}" if after.driver is not None else f"SparkApplication {after.application}"
    return JobEvent(EventReason.STARTED, f"the driver runs: {pod}{where}")


def pausing(before: Attempt, after: Attempt | None) -> JobEvent | None:
    """Returns the Event of a stream that is asked to stop."""
    if after is None or after.pause is None or before.pause is not None:
        return None
    return JobEvent(
        EventReason.PAUSING, f"it was asked to stop at a batch boundary: {why_it_pauses(after.pause)}"
    )


def pause_not_heeded(before: DeltaWriteJobStatus, reason: Reason, message: str) -> JobEvent | None:
    """Returns the Event of a stream that goes on though it was asked to stop: each time that there is more to say of it."""
    if reason is not Reason.PAUSE_NOT_HEEDED or message == before.message:
        return None
    return JobEvent(EventReason.PAUSE_NOT_HEEDED, message, is_warning=True)


_GOES_ON = {
    Phase.STARTING: "it goes on",
    Phase.WAITING: "it queues again",
    Phase.PENDING: "it queues again",
}


def resumed(before: DeltaWriteJobStatus, phase: Phase, now: datetime) -> JobEvent | None:
    """Returns the Event of a stream that has paused until now. `phase`: the one that it enters."""
    if before.phase is not Phase.PAUSED or phase not in _GOES_ON or not before.attempts:
        return None
    stopped_at = before.attempts[-1].ended_at or now
    paused = max(0.0, (now - stopped_at).total_seconds())
    return JobEvent(EventReason.RESUMED, f"its pause is over after {paused:.1f} s: {_GOES_ON[phase]}")


def checkpoint_replaced(before: StreamProgress | None, after: StreamProgress | None) -> JobEvent | None:
    """Returns the Event of a stream that goes on by another checkpoint than the one that it had."""
    replaced = after.replaced if after is not None else None
    if replaced is None or (before is not None and before.replaced == replaced):
        return None
    message = (
        f"{in_words_of_replaced(replaced)}: if that isn't wanted, suspend the job, put the checkpoint back, or take out of its "
        "tables what they have twice, and resume it"
    )
    return JobEvent(EventReason.CHECKPOINT_REPLACED, message, is_warning=True)


def _rule_and_advice(attempt: Attempt | None) -> str:
    exception = attempt.exception if attempt is not None else None
    if exception is None:
        return ""
    rule = _rule(attempt)
    return f"{rule}; what to change: {exception.advice}" if exception.advice else rule


def _rule(attempt: Attempt | None) -> str:
    exception = attempt.exception if attempt is not None else None
    if exception is None or not exception.rule:
        return ""
    return f"; by the rule {exception.rule} of docs/conflict-rules.md"
