"""Decides when an attempt is to be ended: it runs for too long, what its start waits for doesn't come, or its application was
suspended while its driver ran.

That an attempt is to be ended proves nothing of its end, which is proved as always.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.api.durations import seconds
from sluice.api.job_status import Attempt, AttemptEnding, EndingReason
from sluice.engines import Observation, Stage
from sluice.footprint import NotUnderstoodError
from sluice.lifecycle.evidence.attempt_evidence import Evidence
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.streams.pauses import StreamPauseReason

PATIENCE = 600
"""Seconds for which an attempt may wait for compute, if its job sets no `quotaTimeout`."""

SECONDS_TO_COME_BACK = 60
"""What a cluster has to go on with its starts once it is observed again: while nobody could see it, perhaps nothing could start."""

LONGEST_WORDS = 1024

_ENDED_FOR_STREAMS = (Stage.NOT_CREATED, Stage.STARTING, Stage.RUNNING)


@dataclass(frozen=True)
class Deadline:
    at: datetime
    reason: EndingReason
    message: str

    def ending(self, now: datetime) -> AttemptEnding:
        return AttemptEnding(reason=self.reason, since=now, message=self.message)


def deadline_of(
    job: JobView,
    attempt: Attempt,
    evidence: Evidence,
    observed_since: datetime | None,
    gives_way: StreamPauseReason | None = None,
) -> Deadline | None:
    """Returns when the attempt is to be ended if it stays as it is seen, and why; None if nothing limits it. `observed_since`:
    since when the attempts are followed without a break. `gives_way`: until when streams pause for the job."""
    found = list[Deadline]()
    with suppress(NotUnderstoodError):  # its spec was made unreadable since, and limits nothing
        found += _deadlines(job, attempt, evidence.seen, observed_since)
    if gives_way is not None and evidence.seen.stage in _ENDED_FOR_STREAMS:
        found.append(Deadline(gives_way.at, EndingReason.PAUSE_EXCEEDED, gives_way.message))
    return min(found, key=lambda deadline: deadline.at, default=None)


def of_a_suspended(attempt: Attempt, evidence: Evidence) -> tuple[EndingReason, str] | None:
    """Why an attempt without a driver is ended whose application is suspended: resuming it would start another driver. None if it
    is not, or if its end isn't known yet."""
    seen = evidence.seen
    if not seen.is_suspended or seen.stage is not Stage.NOT_OVER:
        return None
    if seen.exit_code is None and not evidence.declared_dead:
        return EndingReason.WAITING_FOR_COMPUTE, "its SparkApplication was suspended before its driver ran"
    if seen.exit_code is not None and attempt.started_at is None and seen.started_at is None:
        return EndingReason.WAITING_FOR_COMPUTE, "its SparkApplication was suspended while its driver started"
    return EndingReason.PREEMPTED, "preempted: its SparkApplication was suspended while it ran"


def quota_patience(job: JobView) -> int:
    """Seconds for which it may wait for compute; also of a job whose spec was made unreadable since it was admitted."""
    try:
        limit = job.spec.admission.quota_timeout
    except NotUnderstoodError:
        limit = None
    return PATIENCE if limit is None else seconds(limit)


def _deadlines(
    job: JobView, attempt: Attempt, seen: Observation, observed_since: datetime | None
) -> Iterator[Deadline]:
    match seen.stage:
        case Stage.RUNNING:
            yield from _of_running(job, attempt, seen)
        case Stage.STARTING:
            yield from _of_starting(job, attempt, seen, observed_since)
        case _:
            return


def _of_running(job: JobView, attempt: Attempt, seen: Observation) -> Iterator[Deadline]:
    limit = job.spec.active_deadline_seconds
    started = attempt.started_at or seen.started_at
    if limit is None or started is None:
        return
    # No driver runs before it is granted: where its node's clock says so, that is behind the operator's.
    began = max(started, attempt.granted_at)
    endless = "; leave that out of a stream that is to run for ever" if job.streams_for_ever else ""
    message = f"it ran for longer than spec.activeDeadlineSeconds allows, which is {limit} s{endless}"
    yield Deadline(began + timedelta(seconds=limit), EndingReason.DEADLINE_EXCEEDED, message)


def _of_starting(
    job: JobView, attempt: Attempt, seen: Observation, observed_since: datetime | None
) -> Iterator[Deadline]:
    admission, said = job.spec.admission, seen.detail[:LONGEST_WORDS]
    if seen.waits_for_compute:
        patience = quota_patience(job)
        limit = admission.quota_timeout or f"{PATIENCE // 60}m, as it says nothing else"
        message = f"it had no compute within spec.admission.quotaTimeout ({limit}): {said}"
        at = _when_observed(attempt.granted_at, patience, observed_since)
        yield Deadline(at, EndingReason.WAITING_FOR_COMPUTE, message)
    if admission.start_timeout is not None:
        message = (
            f"its driver didn't start within spec.admission.startTimeout ({admission.start_timeout}): {said}"
        )
        at = _when_observed(attempt.granted_at, seconds(admission.start_timeout), observed_since)
        yield Deadline(at, EndingReason.START_TIMED_OUT, message)


def _when_observed(since: datetime, patience: int, observed_since: datetime | None) -> datetime:
    ends = since + timedelta(seconds=patience)
    if observed_since is None:
        return ends
    return max(ends, observed_since + timedelta(seconds=min(patience, SECONDS_TO_COME_BACK)))
