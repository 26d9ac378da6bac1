"""Works out what came of an attempt of a stream. No table's log is asked: a stream makes thousands of commits, and whatever it has
done, it goes on from its checkpoint."""

from datetime import datetime

from sluice.api.job_status import Attempt, EndingReason, Outcome, StreamProgress
from sluice.engines import Observation, Stage
from sluice.engines.result import RunResult, parse
from sluice.lifecycle.evidence import lost_commits
from sluice.lifecycle.evidence.driver_ends import (
    DELETED,
    AsTold,
    death_of,
    died_meanwhile,
    ended_as,
    failure_of,
    never_started,
    observed,
    outcome_of,
    told_to,
    was_told_to_end,
    why_lost,
    with_advice_on_memory,
)
from sluice.lifecycle.streams import source_changes
from sluice.lifecycle.streams.stream_progress import GOES_ON, got_anywhere, in_words, of_attempt, put_together

_LIMITED = (EndingReason.DEADLINE_EXCEEDED, EndingReason.PAUSE_EXCEEDED)
"""Endings of what ran for longer than it may."""

_UNASKED = "its driver stopped at a batch boundary, though no operator had asked it to"
"""Of one that got nowhere: it would stop again at once, and start drivers without end."""

_WELL = {
    Outcome.PAUSED: "it stopped at a batch boundary",
    Outcome.SUCCEEDED: "it has processed what was there",
    Outcome.ALREADY_COMMITTED: "nothing was there that it had not processed before",
}


def last_progress(
    known: StreamProgress | None,
    attempt: Attempt,
    seen: Observation,
    on_pod: StreamProgress | None,
    now: datetime,
) -> StreamProgress | None:
    """What is known of the stream after the attempt: its result says it, and of a driver that was killed what it had said on its
    pod. `known`: as its job's status has it."""
    result = parse(seen.message)
    for said in (on_pod, result.stream if result is not None else None):
        if said is not None:
            known = put_together(known, said, attempt.number, now)
    return known


def closed_stream(
    attempt: Attempt,
    seen: Observation,
    progress: StreamProgress | None,
    now: datetime,
    *,
    deleted: bool = False,
    came_back: bool = False,
    as_told: AsTold = lambda exception: exception,
    job: str | None = None,
) -> Attempt:
    """The same as `outcome.closed` for a stream. `progress`: what is known of it after the attempt."""
    ended = seen.ended_at or now
    if seen.stage is Stage.NEVER_STARTS and came_back:
        may_have_run = (
            "no driver of it is there, but it may have run, because it came back with the API server's earlier state: "
            f"{GOES_ON}"
        )
        return ended_as(attempt, ended, Outcome.UNKNOWN, may_have_run)
    if seen.stage is Stage.NEVER_STARTS:
        return never_started(attempt, ended, seen.detail)
    attempt = observed(attempt, seen)
    result = told_to(job, parse(seen.message), as_told)
    has_died = died_meanwhile(seen, result)
    if result is not None:
        failure = with_advice_on_memory(source_changes.with_advice(lost_commits.with_advice(result)))
        attempt = attempt.model_copy(
            update={
                "report": result.report,
                "names": result.names,
                "exception": None if has_died else failure,
            }
        )
    so_far = in_words(of_attempt(progress, attempt.number))
    if attempt.ending is not None and was_told_to_end(seen, result):
        return _ended_by_us(attempt, ended, seen, progress, so_far)
    if not deleted and (why := why_lost(seen, result)) is not None:
        return ended_as(attempt, ended, Outcome.DRIVER_LOST, f"{why}; {so_far}; {GOES_ON}")
    if result is None or has_died:
        death = f"{DELETED}: {death_of(seen, result)}" if deleted else death_of(seen, result)
        return ended_as(attempt, ended, outcome_of(seen), f"{death}; {so_far}; {GOES_ON}")
    worked = got_anywhere(of_attempt(progress, attempt.number))
    return _from_result(attempt, ended, result, so_far, deleted=deleted, worked=worked)


def _ended_by_us(
    attempt: Attempt, ended: datetime, seen: Observation, progress: StreamProgress | None, so_far: str
) -> Attempt:
    ending = attempt.ending
    if ending is None:
        raise ValueError(f"attempt {attempt.number} came to its end by itself")
    if ending.reason is EndingReason.DEADLINE_EXCEEDED:
        return ended_as(attempt, ended, Outcome.DEADLINE_EXCEEDED, f"{ending.message}; {so_far}")
    was_seen = attempt.started_at is not None or of_attempt(progress, attempt.number) is not None
    if not was_seen and ending.reason is not EndingReason.PREEMPTED:
        return never_started(attempt, ended, seen.detail)
    outcome = Outcome.DEADLINE_EXCEEDED if ending.reason in _LIMITED else Outcome.DRIVER_LOST
    return ended_as(attempt, ended, outcome, f"{ending.message}; {so_far}; {GOES_ON}")


def _from_result(
    attempt: Attempt, ended: datetime, result: RunResult, so_far: str, *, deleted: bool, worked: bool
) -> Attempt:
    if deleted and result.was_ended_from_outside:
        return ended_as(attempt, ended, Outcome.KILLED, f"{DELETED}; {so_far}; {GOES_ON}")
    failure = failure_of(result)
    if result.outcome is Outcome.FAILED:
        return ended_as(attempt, ended, Outcome.FAILED, f"{failure or 'it failed'}; {so_far}")
    if result.outcome is Outcome.PAUSED and attempt.pause is None and not worked:
        return ended_as(attempt, ended, Outcome.FAILED, f"{_UNASKED}; {so_far}; {GOES_ON}")
    return ended_as(attempt, ended, result.outcome, f"{_WELL[result.outcome]}: {so_far}")
