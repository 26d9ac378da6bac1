"""An intent is withdrawn where the API server refuses its application for too long, for a quota or by a webhook: what was
granted goes back, and the job queues again with its age.

Only where it is known that no driver of the attempt can start: every create of it was answered by a refusal, or its
driver's name is taken.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.api.job_status import Attempt, Outcome, Phase
from sluice.lifecycle.durations import seconds
from sluice.lifecycle.job import JobView
from sluice.lifecycle.status import StatusChange

REASON = "ApplicationRefused"

PATIENCE = 600
"""Seconds, where the job says nothing else."""
LONGEST_BACK_OFF = 600
LONGEST_WORDS = 1024
"""Characters of what the API server says, so that what follows from it has room beside them."""


@dataclass(frozen=True)
class Creates:
    """What this leader knows of the creates of an attempt's application, none of which has made one yet."""

    refusal: str | None = None
    """The API server's own words, if it refused one for certain."""
    none_can_land: bool = False
    """Each was answered, and nobody else has sent any."""
    is_next_due: bool = True


def withdrawn(attempt: Attempt, why: str, now: datetime) -> StatusChange:
    """`why`: what came in between, and not by the API server's will."""
    message = f"attempt {attempt.number} was taken back before it began: {why}"
    return StatusChange(Phase.PENDING, "AttemptTakenBack", message, attempt=_closed(attempt, message, now))


def refused(job: JobView, attempt: Attempt, words: str) -> StatusChange:
    """What is told as long as it is tried again; the attempt remembers it for a later leader."""
    words = words[:LONGEST_WORDS]
    ends = _ends(job, attempt).strftime("%H:%M:%S")
    message = (
        f"the API server refuses SparkApplication {attempt.application}: {words}; tried again until {ends} UTC, then its "
        "leases go back and it queues again"
    )
    remembered = attempt.model_copy(update={"message": words})
    return StatusChange(Phase.STARTING, REASON, message, attempt=remembered)


def given_up(job: JobView, attempt: Attempt, words: str, now: datetime) -> StatusChange:
    """The job backs off, so that others have its tables meanwhile."""
    said = words[:LONGEST_WORDS]
    why = f"attempt {attempt.number} was taken back before it began: the API server refused its SparkApplication: {said}"
    until = (now + _pause(job)).strftime("%H:%M:%S")
    message = f"{why}; it queues again, with its age, at {until} UTC"
    return StatusChange(Phase.BACKING_OFF, REASON, message, attempt=_closed(attempt, why, now))


def is_over(job: JobView, attempt: Attempt, now: datetime) -> bool:
    """Whether the job's patience with refusals is."""
    return now >= _ends(job, attempt)


def backs_off(job: JobView, now: datetime) -> bool:
    """Whether the job stays out of the queue, after it had its tables and made nothing of them."""
    since = job.status.since
    return job.phase is Phase.BACKING_OFF and since is not None and since <= now < since + _pause(job)


def back_off_left(job: JobView, now: datetime) -> float:
    """Seconds until it queues again."""
    since = job.status.since
    return 0.0 if since is None else (since + _pause(job) - now).total_seconds()


def _ends(job: JobView, attempt: Attempt) -> datetime:
    return attempt.granted_at + timedelta(seconds=_patience(job))


def _pause(job: JobView) -> timedelta:
    return timedelta(seconds=min(_patience(job), LONGEST_BACK_OFF))


def _patience(job: JobView) -> int:
    limit = job.spec.admission.quota_timeout
    return PATIENCE if limit is None else seconds(limit)


def _closed(attempt: Attempt, message: str, now: datetime) -> Attempt:
    return attempt.model_copy(
        update={"ended_at": now, "outcome": Outcome.WITHDRAWN, "message": message[:2048]}
    )
