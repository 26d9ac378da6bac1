"""Works out what came of an attempt, put together from the driver's end, the runner's result, and otherwise the tables' logs."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from sluice.api.job_status import (
    MAX_COMMITS,
    Attempt,
    AttemptEnding,
    Commit,
    EndingReason,
    Outcome,
    Phase,
)
from sluice.api.reasons import Reason, reason_of
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
from sluice.lifecycle.evidence.log_findings import LogFindings, versions
from sluice.lifecycle.spec.footprint_violations import FootprintSaid
from sluice.tables import key_of_path


def must_ask_logs(seen: Observation, *, is_application: bool, came_back: bool = False) -> bool:
    """Whether the driver's end doesn't tell by itself what the attempt committed: a user's own program tells at
    most of a part of what it does. `came_back`: its application came back with an earlier state of the API server, so that it may
    have had a driver of which nothing else tells."""
    if seen.stage is Stage.NEVER_STARTS and not came_back:
        return False
    result = _result_of(seen)
    return is_application or result is None or result.commits_left_out or _failed_afterwards(seen, result)


def _result_of(seen: Observation) -> RunResult | None:
    """Only a stream pauses: what else says so is no run's result."""
    result = parse(seen.message)
    return None if result is not None and result.outcome is Outcome.PAUSED else result


def looked_at(seen: Observation) -> frozenset[tuple[str, int]]:
    """The commits, as tables and versions, of which the driver itself has seen by Spark's own expressions that they keep to what
    the job was judged to touch."""
    result = parse(seen.message)
    if result is None or not result.has_kept_to_footprint:
        return frozenset()
    return frozenset(map(_place_in_log, result.commits))


def footprint_said(seen: Observation, logs: LogFindings | None) -> FootprintSaid | None:
    """What the look of the driver at its commits says, and the logs of an application's tables; None where nobody has looked at all
    of them."""
    return _footprint_said(parse(seen.message), logs)


def _footprint_said(result: RunResult | None, logs: LogFindings | None) -> FootprintSaid | None:
    by_logs = logs.footprint if logs is not None else None
    if result is None or result.has_kept_to_footprint is None:
        return by_logs
    if by_logs is not None and by_logs.is_held is False:
        return by_logs
    if result.has_kept_to_footprint:
        # The logs tell of what a program does outside of its own look, too.
        return by_logs or FootprintSaid(
            is_held=True, message="its commits touched only what the job was judged to touch"
        )
    return FootprintSaid(
        is_held=False,
        message="it touched more than the job was judged to touch, so that other jobs may have failed for it: "
        f"{'; '.join(result.strayed)}. From now on jobs with this very spec are taken to touch all of their tables. Correct what "
        "the manifest declares; if it declares nothing, Sluice has understood a statement wrongly: please report it",
    )


def closed(
    attempt: Attempt,
    seen: Observation,
    logs: LogFindings | None,
    now: datetime,
    *,
    deleted: bool = False,
    came_back: bool = False,
    as_told: AsTold = lambda exception: exception,
    job: str | None = None,
) -> Attempt:
    """Returns the attempt with its outcome, once the end of its driver is proved. `logs`: None where they need not be asked.
    `deleted`: somebody deleted its application, and so its driver. `came_back`: its application came back with an earlier state of
    the API server, so that it may have run before. `as_told`: the exception without what the job may not be told. `job`: its
    name, as namespace/name."""
    ended = seen.ended_at or now
    if seen.stage is Stage.NEVER_STARTS and came_back:
        said = str(logs) if logs is not None else "nothing tells what it committed"
        may_have_run = (
            f"no driver of it is there, but it may have run, because it came back with the API server's earlier state: {said}. "
            "Look at its tables before you create the job again"
        )
        commits = logs.commits[:MAX_COMMITS] if logs is not None else ()
        return ended_as(attempt, ended, Outcome.UNKNOWN, may_have_run).model_copy(update={"commits": commits})
    if seen.stage is Stage.NEVER_STARTS:
        return never_started(attempt, ended, seen.detail)
    attempt = observed(attempt, seen)
    result = told_to(job, _result_of(seen), as_told)
    if attempt.ending is not None and was_told_to_end(seen, result):
        return _ended_by_us(attempt, ended, seen, result, logs)
    if not deleted and (why := why_lost(seen, result)) is not None:
        return _lost(attempt, ended, result, logs, why)
    return _ended_by_itself(attempt, ended, seen, result, logs, deleted=deleted)


def _ended_by_itself(
    attempt: Attempt,
    ended: datetime,
    seen: Observation,
    result: RunResult | None,
    logs: LogFindings | None,
    *,
    deleted: bool,
) -> Attempt:
    if result is not None and logs is not None and logs.of_application and _failed_afterwards(seen, result):
        return _failed_after_its_report(attempt, ended, seen, result, logs, deleted=deleted)
    if result is not None and not died_meanwhile(seen, result):
        return _from_result(attempt, ended, result, logs)
    if logs is None:
        raise ValueError(f"attempt {attempt.number} left no result, and no log was asked")
    has_succeeded = logs.of_application and seen.exit_code == 0
    outcome = Outcome.SUCCEEDED if has_succeeded else outcome_of(seen)
    death = "the application ended with exit code 0" if has_succeeded else death_of(seen, result)
    death = f"{DELETED}: {death}" if deleted else death
    commits = _all_commits(result, logs)
    return ended_as(attempt, ended, outcome, f"{death}; {replace(logs, commits=commits)}").model_copy(
        update={"commits": commits[:MAX_COMMITS], **_told(result, logs)}
    )


def _failed_afterwards(seen: Observation, result: RunResult) -> bool:
    return result.exception is None and seen.exit_code not in (None, 0)


def _failed_after_its_report(
    attempt: Attempt,
    ended: datetime,
    seen: Observation,
    result: RunResult,
    logs: LogFindings,
    *,
    deleted: bool,
) -> Attempt:
    """A program goes on after what it has reported, and may fail at what it does then."""
    commits = _all_commits(result, logs)
    by_whom = f"{DELETED}: " if deleted else ""
    message = (
        f"{by_whom}it reported success, and ended with exit code {seen.exit_code} after that, so that what it does then "
        f"may not be done; {replace(logs, commits=commits)}"
    )
    failed = ended_as(attempt, ended, outcome_of(seen), message)
    told = _told(result, logs) | {"commits_known": False}
    return failed.model_copy(update={"commits": commits[:MAX_COMMITS], **told})


def _ended_by_us(
    attempt: Attempt, ended: datetime, seen: Observation, result: RunResult | None, logs: LogFindings | None
) -> Attempt:
    ending = attempt.ending
    if ending is None:
        raise ValueError(f"attempt {attempt.number} came to its end by itself")
    if ending.reason is not EndingReason.DEADLINE_EXCEEDED:
        if _did_nothing(attempt, ending, result, logs):
            return never_started(attempt, ended, seen.detail)
        if ending.reason is not EndingReason.PAUSE_EXCEEDED:
            return _lost(attempt, ended, result, logs, ending.message)
    if result is None and logs is None:
        return ended_as(attempt, ended, Outcome.DEADLINE_EXCEEDED, f"{ending.message}; {death_of(seen)}")
    commits = _all_commits(result, logs)
    known = (
        str(replace(logs, commits=commits))
        if logs is not None
        else f"it had committed {versions(commits) or 'nothing'}"
    )
    late = ended_as(attempt, ended, Outcome.DEADLINE_EXCEEDED, f"{ending.message}; {known}")
    return late.model_copy(update={"commits": commits[:MAX_COMMITS], **_told(result, logs)})


def _did_nothing(
    attempt: Attempt, ending: AttemptEnding, result: RunResult | None, logs: LogFindings | None
) -> bool:
    """Whether a driver whose container was ended while it started did nothing: nobody saw it run, and the logs tell of nothing."""
    is_known = result is None and logs is not None and logs.tell_of_nothing
    return is_known and attempt.started_at is None and ending.reason is not EndingReason.PREEMPTED


def _told(result: RunResult | None, logs: LogFindings | None) -> dict[str, Any]:
    said = _footprint_said(result, logs)
    return {
        "commits_known": _tells_all(result, logs),
        "report": result.report if result is not None else None,
        "names": result.names if result is not None else (),
        "footprint_held": said.is_held if said is not None else None,
    }


def _lost(
    attempt: Attempt, ended: datetime, result: RunResult | None, logs: LogFindings | None, why: str
) -> Attempt:
    commits = _all_commits(result, logs)
    said = f"; {replace(logs, commits=commits)}" if logs is not None else ""
    lost = ended_as(attempt, ended, Outcome.DRIVER_LOST, f"{why}{said}")
    return lost.model_copy(update={"commits": commits[:MAX_COMMITS], **_told(result, logs)})


_MAY_HAVE_LANDED = ("CommitCompletionUnknownException", "UnknownOutcomeException")


def _tells_all(result: RunResult | None, logs: LogFindings | None) -> bool:
    """Whether there are no other commits than those that are known. Of a driver that was killed a last one may still land."""
    if result is None or result.was_ended_from_outside:
        return False
    if logs is not None and (logs.unread or logs.unstamped):
        return False
    return result.exception is None or result.exception.class_ not in _MAY_HAVE_LANDED


def _all_commits(result: RunResult | None, logs: LogFindings | None) -> tuple[Commit, ...]:
    """The commits that the driver told, and those of the tables' logs that it left out."""
    own = result.commits if result is not None else ()
    told = {_place_in_log(commit) for commit in own}
    found = logs.commits if logs is not None else ()
    left_out = (commit for commit in found if _place_in_log(commit) not in told)
    return tuple(sorted((*own, *left_out), key=lambda commit: commit.statement or 0))


def _place_in_log(commit: Commit) -> tuple[str, int]:
    """One statement of an application may write several tables, and of one table several versions."""
    return key_of_path(commit.table).text, commit.version


def _from_result(attempt: Attempt, ended: datetime, result: RunResult, logs: LogFindings | None) -> Attempt:
    commits = _all_commits(result, logs)
    if logs is None:
        message = _summary(result)
    elif result.commits_left_out:
        message = f"{failure_of(result) or 'done'}; {replace(logs, commits=commits)}"
    else:
        untold = tuple(commit for commit in commits if commit not in result.commits)
        message = f"{_summary(result)}{replace(logs, commits=untold).beside_the_report}"
    update = {
        "commits": commits[:MAX_COMMITS],
        "commits_known": _tells_all(result, logs),
        "exception": with_advice_on_memory(lost_commits.with_advice(result)),
        **_told(result, logs),
    }
    return ended_as(attempt, ended, result.outcome, message).model_copy(update=update)


def _summary(result: RunResult) -> str:
    failure = failure_of(result)
    if failure is not None:
        return f"{failure}; it had committed {versions(result.commits)}" if result.commits else failure
    if result.outcome is Outcome.ALREADY_COMMITTED:
        which = f": {versions(result.commits)}" if result.commits else ""
        return f"nothing was left to do, earlier attempts of this run had done it{which}"
    if not result.commits:
        return "done; no statement had anything to commit"
    return f"committed {versions(result.commits)}"


REASONS = {
    Outcome.SUCCEEDED: (Reason.COMMITTED, Phase.SUCCEEDED),
    Outcome.ALREADY_COMMITTED: (Reason.ALREADY_COMMITTED, Phase.SUCCEEDED),
    Outcome.FAILED: (Reason.RUN_FAILED, Phase.FAILED),
    Outcome.KILLED: (Reason.DRIVER_KILLED, Phase.FAILED),
    Outcome.DRIVER_LOST: (Reason.DRIVER_LOST, Phase.FAILED),
    Outcome.NOT_STARTED: (Reason.DRIVER_NOT_STARTED, Phase.FAILED),
    Outcome.UNKNOWN: (Reason.RESULT_MISSING, Phase.FAILED),
    Outcome.DEADLINE_EXCEEDED: (Reason.DEADLINE_EXCEEDED, Phase.FAILED),
    Outcome.PAUSED: (Reason.YIELDED, Phase.PAUSED),
    Outcome.WITHDRAWN: (Reason.WAITING_FOR_COMPUTE, Phase.BACKING_OFF),
}


_GAVE_WAY = (Outcome.WITHDRAWN, Outcome.DEADLINE_EXCEEDED)

COMMITTED_NOTHING = (Outcome.NOT_STARTED, Outcome.WITHDRAWN)


def may_have_committed(attempt: Attempt) -> bool:
    """Whether the attempt committed anything, or nobody knows that it didn't."""
    if attempt.outcome in COMMITTED_NOTHING:
        return False
    return bool(attempt.commits) or not attempt.commits_known


def phase_after(attempt: Attempt) -> tuple[Phase, Reason, str]:
    """Returns the job's phase, reason and message after its last attempt."""
    if attempt.outcome is None:
        raise ValueError(f"attempt {attempt.number} has not ended")
    reason, phase = REASONS[attempt.outcome]
    if attempt.outcome is Outcome.FAILED and attempt.exception is not None:
        reason = reason_of(attempt.exception.class_)
    if attempt.outcome is Outcome.KILLED and (attempt.message or "").startswith(DELETED):
        reason = Reason.APPLICATION_DELETED
    ending = attempt.ending
    if ending is not None and ending.reason is EndingReason.PAUSE_EXCEEDED and attempt.outcome in _GAVE_WAY:
        reason = Reason.PAUSE_EXCEEDED
    return phase, reason, attempt.message or ""
