"""What is said of a run while its driver runs, and how often: each change of a status is a write, and thousands may run."""

from dataclasses import dataclass, replace
from datetime import datetime

from sluice.api.job_status import Attempt, Phase, StreamProgress
from sluice.api.reasons import Reason
from sluice.engines.progress import progress_of, stream_of
from sluice.lifecycle.evidence.attempt_evidence import Evidence
from sluice.lifecycle.evidence.driver_details import with_driver
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import StatusChange
from sluice.lifecycle.streams.pauses import what_is_wrong
from sluice.lifecycle.streams.stop_requests import heed
from sluice.lifecycle.streams.stream_progress import (
    got_anywhere,
    in_words,
    of_attempt,
    put_together,
    says_news,
)

PROGRESS_SECONDS = 60.0
"""Between two copies of a run's progress into its job's status."""


@dataclass(frozen=True)
class RunningStatus:
    change: StatusChange
    seconds_until_worth_it: float = 0.0
    """Seconds before it is said."""
    seconds_until_more: float | None = None
    """Seconds until there is more to say, though nothing changes."""


def running(job: JobView, attempt: Attempt, evidence: Evidence, now: datetime) -> RunningStatus:
    """Progress is news of its own: it is copied once a minute at most, so that short runs cost no write more, and with
    whatever else is written."""
    attempt_now = _started(job, attempt, evidence)
    if job.is_stream:
        return _streaming(job, attempt, attempt_now, evidence, now)
    known = attempt.progress
    told = _told(attempt_now, evidence, now)
    progress = progress_of(evidence.pod)
    if progress is None or progress == (known and known.model_copy(update={"copied_at": None})):
        return told
    if attempt_now.started_at is None:
        return told
    last = known.copied_at if known is not None and known.copied_at is not None else attempt_now.started_at
    if (left := _seconds_left(last, now)) > 0:
        return _once_worth_it(job, attempt, told, left)
    copied = attempt_now.model_copy(update={"progress": progress.model_copy(update={"copied_at": now})})
    return replace(told, change=replace(told.change, attempt=copied))


def _streaming(
    job: JobView, attempt: Attempt, attempt_now: Attempt, evidence: Evidence, now: datetime
) -> RunningStatus:
    """That a stream which runs for ever has begun to work is told at once: others wait for that, as for a job's end."""
    known = job.status.stream
    ours = of_attempt(known, attempt.number)
    told = _told(attempt_now, evidence, now, job=job, stream=ours)
    said = stream_of(evidence.pod)
    news = put_together(known, said, attempt.number, now) if said is not None else None
    if news is None or not says_news(ours, news):
        return told
    begins_to_work = job.streams_for_ever and got_anywhere(news) and not got_anywhere(ours)
    last = ours.told_at if ours is not None else attempt_now.started_at
    if last is not None and not begins_to_work and (left := _seconds_left(last, now)) > 0:
        return _once_worth_it(job, attempt, told, left)
    told = _told(attempt_now, evidence, now, job=job, stream=news)
    return replace(told, change=replace(told.change, stream=news))


def _seconds_left(last: datetime, now: datetime) -> float:
    """A leader whose clock was ahead may have written a moment that is yet to come: nobody waits for that."""
    return PROGRESS_SECONDS - abs((now - last).total_seconds())


def _once_worth_it(job: JobView, attempt: Attempt, told: RunningStatus, seconds: float) -> RunningStatus:
    return replace(told, seconds_until_worth_it=seconds) if _is_said(job, attempt, told) else told


def _started(job: JobView, attempt: Attempt, evidence: Evidence) -> Attempt:
    seen = evidence.seen
    update = {"started_at": attempt.started_at or seen.started_at, "message": None}
    return with_driver(job, attempt, seen).model_copy(update=update)


def _is_said(job: JobView, attempt: Attempt, told: RunningStatus) -> bool:
    change = told.change
    return job.phase is Phase.RUNNING and change.attempt == attempt and change.message == job.status.message


def _told(
    attempt: Attempt,
    evidence: Evidence,
    now: datetime,
    *,
    job: JobView | None = None,
    stream: StreamProgress | None = None,
) -> RunningStatus:
    """`job`: if it is a stream, `stream`: what its status says of that."""
    seen = evidence.seen
    ended = f" on node {seen.node}, but {seen.disruption}" if seen.disruption is not None else ""
    runs = f"SparkApplication {attempt.application} runs{ended}"
    if attempt.pause is not None:
        since = max(attempt.pause.since, attempt.started_at or attempt.pause.since)
        said = heed(attempt.pause, since, now, is_idle=stream is not None and stream.idle_since is not None)
        message = f"{said.message}{f'; {runs}' if ended else ''}{evidence.words_beside}"
        change = StatusChange(Phase.RUNNING, said.reason, message, attempt=attempt)
        return RunningStatus(change, seconds_until_more=said.seconds_until_more)
    reason, wrong = Reason.DRIVER_RUNNING, what_is_wrong(job) if job is not None else ""
    warning = wrong or _warning(job)
    if job is None:
        runs = f"{runs}; its outcome comes when the driver ends"
    elif job.streams_for_ever and got_anywhere(stream):
        runs = f"the stream runs{ended}: {in_words(stream)}{warning}"
        reason = Reason.STREAMING
    else:
        runs = f"{runs}; {in_words(stream)}{warning}"
    if wrong:  # only a person can put that right, and meanwhile it is not ready as its spec says now
        reason = Reason.NOT_UNDERSTOOD
    return RunningStatus(
        StatusChange(Phase.RUNNING, reason, f"{runs}{evidence.words_beside}", attempt=attempt)
    )


def _warning(job: JobView | None) -> str:
    """What may go wrong with a stream that goes well."""
    forgotten = job.forgotten_batches if job is not None else None
    return "" if forgotten is None else f"; {forgotten}"
