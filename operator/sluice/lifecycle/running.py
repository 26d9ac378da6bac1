"""What is said of a run while its driver runs, and how often: each change of a status is a write, and thousands may run."""

from dataclasses import dataclass, replace
from datetime import datetime

from sluice.api.job_status import Attempt, Phase
from sluice.api.reasons import Reason
from sluice.engines.progress import progress_of
from sluice.lifecycle.driver import with_driver
from sluice.lifecycle.evidence import Evidence
from sluice.lifecycle.job import JobView
from sluice.lifecycle.status import StatusChange
from sluice.lifecycle.stopping import heed

PROGRESS_SECONDS = 60.0
"""Between two copies of a run's progress into its job's status."""


@dataclass(frozen=True)
class Running:
    change: StatusChange
    seconds_until_worth_it: float = 0.0
    """Seconds before it is said."""
    seconds_until_more: float | None = None
    """Seconds until there is more to say, though nothing changes."""


def running(job: JobView, attempt: Attempt, evidence: Evidence, now: datetime) -> Running:
    """Progress is news of its own: it is copied once a minute at most, so that short runs cost no write more, and with
    whatever else is written."""
    known = attempt.progress
    attempt_now = _started(job, attempt, evidence)
    told = _told(attempt_now, evidence, now)
    progress = progress_of(evidence.pod)
    if progress is None or progress == (known and known.model_copy(update={"copied_at": None})):
        return told
    if attempt_now.started_at is None:
        return told
    last = known.copied_at if known is not None and known.copied_at is not None else attempt_now.started_at
    seconds_left = PROGRESS_SECONDS - (now - last).total_seconds()
    if seconds_left > 0:
        return replace(told, seconds_until_worth_it=seconds_left) if _is_said(job, attempt, told) else told
    copied = attempt_now.model_copy(update={"progress": progress.model_copy(update={"copied_at": now})})
    return replace(told, change=replace(told.change, attempt=copied))


def _started(job: JobView, attempt: Attempt, evidence: Evidence) -> Attempt:
    seen = evidence.seen
    update = {"started_at": attempt.started_at or seen.started_at, "message": None}
    return with_driver(job, attempt, seen).model_copy(update=update)


def _is_said(job: JobView, attempt: Attempt, told: Running) -> bool:
    change = told.change
    return job.phase is Phase.RUNNING and change.attempt == attempt and change.message == job.status.message


def _told(attempt: Attempt, evidence: Evidence, now: datetime) -> Running:
    seen = evidence.seen
    ended = f" on node {seen.node}, but {seen.disruption}" if seen.disruption is not None else ""
    runs = f"SparkApplication {attempt.application} runs{ended}"
    if attempt.pause is not None:
        since = max(attempt.pause.since, attempt.started_at or attempt.pause.since)
        said = heed(attempt.pause, since, now)
        message = f"{said.message}{f'; {runs}' if ended else ''}{evidence.words_beside}"
        change = StatusChange(Phase.RUNNING, said.reason, message, attempt=attempt)
        return Running(change, seconds_until_more=said.seconds_until_more)
    message = f"{runs}; its outcome comes when the driver ends{evidence.words_beside}"
    return Running(StatusChange(Phase.RUNNING, Reason.DRIVER_RUNNING, message, attempt=attempt))
