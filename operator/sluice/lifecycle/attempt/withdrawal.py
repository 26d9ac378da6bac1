"""Withdraws an intent that has waited for compute for too long: what was granted goes back, and the job queues again, keeping
its age.

This happens only where it is known that no driver of the attempt ran, and that none can start: every create of it was answered by a
refusal, its driver's name is taken, or its driver's pod has ended.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile

from sluice.api.job_status import Attempt, EndingReason, Outcome, Phase
from sluice.api.reasons import Reason
from sluice.lifecycle.attempt.deadlines import quota_patience
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import StatusChange
from sluice.lifecycle.streams.pauses import are_to_go_on

LONGEST_BACK_OFF = 600
LOOK_AGAIN = 10.0
"""Seconds until a job is looked at again that stays out of the way of streams: a change of theirs has it looked at, too."""
LONGEST_WORDS = 1024
"""How many characters of the API server's answer a message quotes; the rest of the message needs room, too."""


@dataclass(frozen=True)
class Creates:
    """What this leader knows of the creates of an attempt's application, none of which has made one yet."""

    refusal: str | None = None
    """The API server's own words, if it definitely refused one."""
    none_can_land: bool = False
    """Whether each was answered, and nobody else has sent any."""
    is_next_due: bool = True
    a_new_epoch_helps: bool = False
    """Whether none that was sent can land any more once a new epoch has begun."""
    namespace_ends: bool = False
    """Whether it was refused because its namespace is being deleted: to try again helps nobody, and its job may stay for as long as
    the end of another one's driver there isn't proved."""


def withdrawn(attempt: Attempt, why: str, now: datetime) -> StatusChange:
    """The change that takes the attempt back. `why`: what came in between, other than the API server's will."""
    message = f"attempt {attempt.number} was taken back before it began: {why}"
    return StatusChange(
        Phase.PENDING, Reason.ATTEMPT_TAKEN_BACK, message, attempt=_closed(attempt, message, now)
    )


def refused(job: JobView, attempt: Attempt, words: str) -> StatusChange:
    """The change while creating is still being tried; the attempt remembers it for a later leader."""
    words = words[:LONGEST_WORDS]
    ends = _ends(job, attempt).strftime("%H:%M:%S")
    message = (
        f"the API server refuses SparkApplication {attempt.application}: {words}; retried until {ends} UTC; after that "
        "its leases are released and it queues again"
    )
    remembered = attempt.model_copy(update={"message": words})
    return StatusChange(Phase.STARTING, Reason.APPLICATION_REFUSED, message, attempt=remembered)


def given_up(job: JobView, attempt: Attempt, words: str, now: datetime) -> StatusChange:
    """The change when creating is given up: the job backs off, so that others have its tables meanwhile."""
    said = words[:LONGEST_WORDS]
    why = f"attempt {attempt.number} was taken back before it began: the API server refused its SparkApplication: {said}"
    message = f"{why}; {_until(job, now)}"
    return StatusChange(
        Phase.BACKING_OFF, Reason.APPLICATION_REFUSED, message, attempt=_closed(attempt, why, now)
    )


def waited_in_vain(job: JobView, attempt: Attempt, now: datetime) -> StatusChange:
    """The same for an attempt that was ended before its driver ran, because it waited for compute or because streams had paused for
    it for too long, and that is closed."""
    ending = attempt.ending
    gave_way = ending is not None and ending.reason is EndingReason.PAUSE_EXCEEDED
    reason = Reason.PAUSE_EXCEEDED if gave_way else Reason.WAITING_FOR_COMPUTE
    message = f"{attempt.message}; {_until(job, now)}"
    return StatusChange(Phase.BACKING_OFF, reason, message, attempt=attempt)


def gave_way(job: JobView, why: str, now: datetime) -> StatusChange:
    """The change for a job that waits, and for which streams have paused for as long as they may. It stays out of the queue until
    they run again. One that was granted its tables and gave way without having run keeps the longer pause, as each try costs an
    application."""
    if not _was_taken_back_for_streams(job):
        message = f"it has not begun: {why}; it queues again, keeping its age, once the stream runs"
        retry_at = now if job.status.retry_at is not None else None
        return StatusChange(
            Phase.BACKING_OFF, Reason.PAUSE_EXCEEDED, message, retry_at=retry_at, comes_anew=True
        )
    at = now + _pause(job)
    message = f"it has not begun: {why}; it queues again, keeping its age, at {at:%H:%M:%S} UTC"
    retry_at = at if job.status.retry_at is not None else None
    return StatusChange(Phase.BACKING_OFF, Reason.PAUSE_EXCEEDED, message, retry_at=retry_at, comes_anew=True)


def is_over(job: JobView, attempt: Attempt, now: datetime) -> bool:
    """Whether the job's patience with refusals is over."""
    return now >= _ends(job, attempt)


def backs_off(job: JobView, now: datetime, streams: Collection[JobView] = ()) -> bool:
    """Whether the job stays out of the queue after it had its tables but got nowhere, or gave way to `streams`, which pause for it
    or were asked to. A stream whose spec was changed since is tried anew, unless it gives way to others, which can't begin before
    it is out of their way."""
    since = job.status.since
    if _gave_way_before_it_began(job):
        return are_to_go_on(streams, now)
    if job.phase is not Phase.BACKING_OFF or since is None or not since <= now < _back_off_ends(job, since):
        return False
    if job.status.reason == Reason.PAUSE_EXCEEDED:
        return True
    attempts = job.status.attempts
    return not (attempts and job.is_stream and job.was_rewritten_since(attempts[-1]))


def back_off_left(job: JobView, now: datetime) -> float:
    """Seconds until it queues again."""
    if _gave_way_before_it_began(job):
        return LOOK_AGAIN
    since = job.status.since
    return 0.0 if since is None else (_back_off_ends(job, since) - now).total_seconds()


def _back_off_ends(job: JobView, since: datetime) -> datetime:
    """When it queues again: after a failed attempt as its status says, after one that was taken back when its pause is over."""
    attempts, at = job.status.attempts, job.retry_at
    if attempts and attempts[-1].outcome is not Outcome.WITHDRAWN and at is not None:
        return at
    return since + _pause(job)


def _gave_way_before_it_began(job: JobView) -> bool:
    is_given_way = job.phase is Phase.BACKING_OFF and job.status.reason == Reason.PAUSE_EXCEEDED
    return is_given_way and not _was_taken_back_for_streams(job)


def _was_taken_back_for_streams(job: JobView) -> bool:
    last = job.status.attempts[-1] if job.status.attempts else None
    if last is None or last.outcome is not Outcome.WITHDRAWN or last.ending is None:
        return False
    return last.ending.reason is EndingReason.PAUSE_EXCEEDED


def _until(job: JobView, now: datetime) -> str:
    return f"it queues again, keeping its age, at {(now + _pause(job)).strftime('%H:%M:%S')} UTC"


def _ends(job: JobView, attempt: Attempt) -> datetime:
    return attempt.granted_at + timedelta(seconds=quota_patience(job))


def _pause(job: JobView) -> timedelta:
    """It doubles with each attempt in a row that was taken back, so that a short patience doesn't make applications for ever. One
    that is open is being taken back."""
    was_taken_back = (one.outcome in (None, Outcome.WITHDRAWN) for one in reversed(job.status.attempts))
    in_a_row = sum(1 for _ in takewhile(bool, was_taken_back))
    return timedelta(seconds=min(quota_patience(job) << max(0, in_a_row - 1), LONGEST_BACK_OFF))


def _closed(attempt: Attempt, message: str, now: datetime) -> Attempt:
    return attempt.model_copy(
        update={"ended_at": now, "outcome": Outcome.WITHDRAWN, "message": message[:2048]}
    )
