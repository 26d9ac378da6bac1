"""What becomes of a person's word that a failed job is to have one more attempt, whatever its retry allows."""

from dataclasses import dataclass
from datetime import datetime

from sluice.api import names
from sluice.api.job_status import Phase
from sluice.api.reasons import Reason
from sluice.footprint import NotUnderstoodError
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import StatusChange
from sluice.lifecycle.retries.retry_decision import why_it_cannot_run_again


@dataclass(frozen=True)
class RetryGranted:
    """Another attempt follows."""

    change: StatusChange


@dataclass(frozen=True)
class RetryRefused:
    """None follows: the job stays as it is."""

    why: str


def heeded(job: JobView, asked: str, now: datetime, taken: str | None = None) -> RetryGranted | RetryRefused:
    """What follows from the word `asked`, for a job that has ended. `taken`: why another job has what this one would go on from."""
    why = _why_not(job, asked) or taken
    if why is not None:
        return RetryRefused(f"{names.ANNOTATION_RETRY}={asked}: there is no other attempt, because {why}")
    message = (
        f"attempt {job.status.attempts[-1].number} failed, and somebody asked for another one ({names.ANNOTATION_RETRY}={asked}); "
        "it queues again, keeping its age"
    )
    return RetryGranted(
        StatusChange(Phase.PENDING, Reason.RETRYING, message, retry_at=now, retry_asked=asked)
    )


def _why_not(job: JobView, asked: str) -> str | None:
    attempts = job.status.attempts
    if job.phase is not Phase.FAILED:
        return f"the job ended as {job.phase}, so that nothing is left to do"
    if not attempts:
        return "it has had none: create the job again"
    if asked.partition(".")[0] != str(attempts[-1].number):  # what follows tells one word from another
        return f"its last attempt is {attempts[-1].number}: say that number"
    try:
        why = why_it_cannot_run_again(job, attempts)
    except NotUnderstoodError as error:
        return f"its spec is not understood any more: {error}"
    return None if why is None else f"{why}: look at its tables, and create a job for what is left"
