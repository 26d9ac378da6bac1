"""What is said of a stream that was asked to stop at a batch boundary, and for how long it has not heeded that."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import PauseReason, StreamPause
from sluice.api.reasons import Reason

PATIENCE = timedelta(minutes=1)
"""For a batch to come to its end, before anybody is told that the stream goes on."""

TOLD_AGAIN = timedelta(hours=1)

_NEXT = {
    PauseReason.YIELDS: "pauses",
    PauseReason.SPEC_CHANGED: "stops, and goes on as its spec says now,",
    PauseReason.UNDERSTOOD_OTHERWISE: "stops, and goes on once it is admitted again,",
    PauseReason.SUSPENDED: "stops",
}

_WHY = {
    PauseReason.SPEC_CHANGED: "its spec was changed, and it goes on as that says now",
    PauseReason.UNDERSTOOD_OTHERWISE: "Sluice, or its runtime profile, is another since it began, by which it touches something "
    "else than it was admitted for; it goes on once it is admitted for that",
    PauseReason.SUSPENDED: "spec.admission.suspend holds it back",
}


def is_asked_to_stop(pod: Json) -> bool:
    """Whether the driver finds on its pod that it is to stop. One that is being ended finds nothing any more."""
    metadata = pod["metadata"]
    return "deletionTimestamp" in metadata or names.ANNOTATION_STOP in (metadata.get("annotations") or {})


def why_it_pauses(pause: StreamPause) -> str:
    if pause.reason is not PauseReason.YIELDS:
        return _WHY[pause.reason]
    if not pause.for_:
        return "others wait for it"
    first, *others = pause.for_
    more = f" and {len(others)} more" if others else ""
    return f"{first.job}{more} {'wait' if others else 'waits'} for it"


@dataclass(frozen=True)
class StopProgress:
    """What is said of a stream that is still at work."""

    reason: Reason
    message: str
    seconds_until_more: float
    """Seconds until there is more to say."""


def heed(pause: StreamPause, since: datetime, now: datetime, *, is_idle: bool = False) -> StopProgress:
    """`since`: when its driver could first know. `is_idle`: whether it has said that there is nothing to do."""
    passed = now - since
    asked = f"its stream was asked to stop at a batch boundary at {since:%H:%M:%S} UTC, because {why_it_pauses(pause)}"
    if passed < PATIENCE:
        left = (PATIENCE - passed).total_seconds()
        when = "at once, as it has nothing to do" if is_idle else "once the batch that is under way has ended"
        return StopProgress(Reason.PAUSING, f"{asked}; it {_NEXT[pause.reason]} {when}", left)
    hours = passed // TOLD_AGAIN
    left = ((hours + 1) * TOLD_AGAIN - passed).total_seconds()
    how_long = "a minute" if hours < 1 else "an hour" if hours == 1 else f"{hours} hours"
    why = (
        "it has said that it has nothing to do, so its driver may not be able to ask for its pod"
        if is_idle
        else "a batch may take as long as that"
    )
    waits = "; who waits for it goes on waiting" if pause.reason is PauseReason.YIELDS else ""
    message = f"{asked}, and after {how_long} it still goes on: {why}; nobody ends it for it{waits}. Its driver's log tells"
    return StopProgress(Reason.PAUSE_NOT_HEEDED, message, left)
