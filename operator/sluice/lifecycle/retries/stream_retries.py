"""Whether a stream that runs for ever goes on after a failed attempt, and when.

It goes on from its checkpoint, so that another attempt does nothing twice; and nobody waits for its end, so that how often it has
failed in all says nothing. What counts are failures in a row, of attempts that got nowhere: their pause grows, and meanwhile it
holds no table.
"""

from datetime import datetime, timedelta

from sluice.api.durations import seconds
from sluice.api.job import Retry, RetryCause
from sluice.api.job_status import Attempt, AttemptException, Outcome, Phase, StreamProgress
from sluice.api.reasons import CONFLICTS, Reason, reason_of
from sluice.footprint import NotUnderstoodError
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import StatusChange
from sluice.lifecycle.retries.retry_decision import (
    BACKOFF,
    LONGEST_QUOTE,
    NEVER_RETRIED,
    Again,
    Final,
    RetryRules,
    cause_of,
    pause,
    time_told,
    was_deleted,
)
from sluice.lifecycle.spec.spec_hashes import was_written_alike
from sluice.lifecycle.streams.source_changes import (
    RESTARTS_THAT_CURE,
    WENT_BACK,
    ends_the_stream,
    is_cured_by_a_restart,
)
from sluice.lifecycle.streams.stream_progress import GOES_ON, got_anywhere, of_attempt

_AT_ONCE = timedelta(seconds=1)
"""Where a restart is all that is missing."""

_CURED_BY_ITSELF = frozenset({"Terminated", "UnknownOutcomeException", "UnreachableStorageError"})
"""What a person has to look at where another attempt could do something twice, or where somebody waits for the job's end."""

_UNTIL_IT_HAD_ACCESS = frozenset({"AccessDeniedException"})
"""What a person has to look at before a stream has ended any batch. One that has was let in before: what its store refuses
now, as while a token is changed, may pass."""

_NO_FAILURES = frozenset({Outcome.PAUSED, Outcome.WITHDRAWN})
"""Ends of attempts after which the row of failures is what it was before them."""

NEVER_AGAIN = (NEVER_RETRIED - _CURED_BY_ITSELF - _UNTIL_IT_HAD_ACCESS) | {
    "CheckpointOfAnotherStreamError",
    "CheckpointInATableError",
}


def goes_on(
    job: JobView, ended: Attempt, progress: StreamProgress | None, message: str, now: datetime
) -> Again | Final:
    """What follows the failed attempt. `progress`: what is known of the stream after it."""
    try:
        own = job.spec.retry or Retry()
    except NotUnderstoodError as error:
        return Final(f"{message}; it is not retried, because its spec is not understood any more: {error}")
    worked = got_anywhere(of_attempt(progress, ended.number))
    in_a_row = 1 if worked or _is_the_first_of_its_spec(job, ended) else (job.status.retries or 0) + 1
    row = f"after {in_a_row} failures in a row: " if in_a_row > 1 else ""
    had_access = progress is not None and progress.batch is not None
    cause = _cause(ended, worked=worked, had_access=had_access)
    if cause is None:
        return Final(f"{row}{message[:LONGEST_QUOTE]}; it is not retried, because {_why_not(ended)}")
    if in_a_row >= RESTARTS_THAT_CURE and _only_met_changed_schemas(job, ended):
        return Final(
            f"{row}{message[:LONGEST_QUOTE]}; it is not retried, because no restart has cured it. What to do: {WENT_BACK}"
        )
    rules = RetryRules(
        backoff=seconds(own.backoff) if own.backoff is not None else BACKOFF,
        on=frozenset(own.on) if own.on is not None else frozenset(RetryCause),
    )
    since = min(ended.ended_at or now, now)
    if ended.exception is not None and in_a_row == 1 and is_cured_by_a_restart(ended.exception):
        return _again(ended, cause, in_a_row, message, max(since + _AT_ONCE, now), now=now)
    if cause not in rules.on:
        why = f"retry.on doesn't name {cause.value}"
    elif own.limit is not None and in_a_row > own.limit:
        why = f"retry.limit allows {own.limit} in a row"
    else:
        at = max(since + pause(rules, in_a_row, job.uid, ended.number), now)
        return _again(ended, cause, in_a_row, message, at, now=now)
    return Final(f"{row}{message[:LONGEST_QUOTE]}; it is not retried, because {why}")


def _is_the_first_of_its_spec(job: JobView, ended: Attempt) -> bool:
    """Whether its author has changed the spec since the failure before this one."""
    for before in reversed(job.status.attempts):
        if before.number >= ended.number:
            continue
        if not was_written_alike(before.hash, ended.hash):
            return True
        if before.outcome not in _NO_FAILURES:
            return False
    return False


def _only_met_changed_schemas(job: JobView, ended: Attempt) -> bool:
    """Whether each of its last attempts failed of what a restart should have cured."""
    before = tuple(
        one
        for one in job.status.attempts
        if one.number != ended.number and one.outcome is not Outcome.WITHDRAWN
    )
    last = (*before, ended)[-RESTARTS_THAT_CURE:]
    return len(last) == RESTARTS_THAT_CURE and all(
        one.exception is not None and is_cured_by_a_restart(one.exception) for one in last
    )


def row_after(job: JobView, ended: Attempt, progress: StreamProgress | None) -> int | None:
    """The failures in a row after an attempt that has not failed; None: as many as before."""
    is_over = job.streams_for_ever and job.status.retries and got_anywhere(of_attempt(progress, ended.number))
    return 0 if is_over else None


def _cause(ended: Attempt, *, worked: bool, had_access: bool) -> RetryCause | None:
    """The class of its failure; None: another attempt would end the same, or wouldn't be wanted."""
    exception = ended.exception
    if ended.outcome is not Outcome.FAILED or exception is None:
        return cause_of(ended)
    if _is_final(exception, worked=worked, had_access=had_access):
        return None
    return RetryCause.CONFLICT if reason_of(exception.class_) in CONFLICTS else RetryCause.ERROR


def _is_final(exception: AttemptException, *, worked: bool, had_access: bool) -> bool:
    """What no table knows is worth another attempt, other than of a job with an end: most of what meets a stream that has run for
    weeks passes. What Spark does not understand doesn't, if no batch of it came through."""
    if exception.class_ in NEVER_AGAIN or ends_the_stream(exception):
        return True
    if exception.class_ in _UNTIL_IT_HAD_ACCESS:
        return not had_access
    return (
        reason_of(exception.class_) is Reason.ANALYSIS and not worked and not is_cured_by_a_restart(exception)
    )


def _why_not(ended: Attempt) -> str:
    if was_deleted(ended):
        return "somebody ended it"
    exception = ended.exception
    advice = f". What to do: {exception.advice}" if exception is not None and exception.advice else ""
    return f"another attempt would end the same, or a person has to look at it first{advice}"


def _again(
    ended: Attempt, cause: RetryCause, in_a_row: int, message: str, at: datetime, *, now: datetime
) -> Again:
    exception = ended.exception
    advice = f"; what to change: {exception.advice}" if exception is not None and exception.advice else ""
    row = "" if in_a_row == 1 else f"; it has failed {in_a_row} times in a row without ending a batch"
    goes = "" if GOES_ON in message else f"{GOES_ON}; "
    told = (
        f"attempt {ended.number} ended as {cause.value}: {message[:LONGEST_QUOTE]}{row}; {goes}it queues again, keeping its age, "
        f"at {time_told(at, now)} UTC{advice}"
    )
    change = StatusChange(
        Phase.BACKING_OFF, Reason.RETRYING, told, attempt=ended, retries=in_a_row, retry_at=at
    )
    return Again(cause, change)
