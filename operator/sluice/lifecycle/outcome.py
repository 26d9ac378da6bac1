"""Works out what came of an attempt, put together from the driver's end, the runner's result, and otherwise the tables' logs."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from sluice.api.job_status import (
    MAX_COMMITS,
    Attempt,
    AttemptEnding,
    AttemptException,
    Commit,
    EndingReason,
    Outcome,
    Phase,
)
from sluice.api.reasons import Reason, reason_of
from sluice.engines import Observation, Stage
from sluice.engines.disruption import Disruption
from sluice.engines.result import RunResult, parse
from sluice.lifecycle import lost_commits
from sluice.lifecycle.logs import LogsSay, versions
from sluice.lifecycle.strayed import FootprintSaid
from sluice.tables import key_of_path

_FAILURE = 1600
"""Characters for what went wrong, so that what was committed has room in the message, too."""

DELETED = "its SparkApplication was deleted while it ran"

_RAISED = re.compile(
    r'(?:Exception in thread "[^"]*" |Caused by: )?(?:[A-Za-z_$][\w$]*\.)*[A-Z][\w$]*(?:Error|Exception)(?:: |$)'
)
"""A line by which Python or Java names an exception, with or without its message. Lines of a trace are indented."""

_OUT_OF_MEMORY = "OOMKilled"
"""A kubelet's word."""

_SIGNALS = {130: "interrupted", 137: "killed", 143: "terminated"}

_MORE_MEMORY = (
    "it needed more memory than its pod may have, and another attempt has no more: create the job with a higher "
    "runtime.driver.memory; in the template of an application it is driver.memory, or for Apache's operator "
    "spark.driver.memory in its sparkConf"
)


def must_ask_logs(seen: Observation, *, is_application: bool, came_back: bool = False) -> bool:
    """Whether the driver's end doesn't tell by itself what the attempt committed: a user's own program tells at
    most of a part of what it does. `came_back`: its application came back with an earlier state of the API server, so that it may
    have had a driver of which nothing else tells."""
    if seen.stage is Stage.NEVER_STARTS and not came_back:
        return False
    result = parse(seen.message)
    return is_application or result is None or result.commits_left_out or _failed_afterwards(seen, result)


def looked_at(seen: Observation) -> frozenset[tuple[str, int]]:
    """The commits, as tables and versions, of which the driver itself has seen by Spark's own expressions that they keep to what
    the job was judged to touch."""
    result = parse(seen.message)
    if result is None or not result.has_kept_to_footprint:
        return frozenset()
    return frozenset(map(_place_in_log, result.commits))


def footprint_said(seen: Observation, logs: LogsSay | None) -> FootprintSaid | None:
    """What the look of the driver at its commits says, and the logs of an application's tables; None where nobody has looked at all
    of them."""
    return _footprint_said(parse(seen.message), logs)


def _footprint_said(result: RunResult | None, logs: LogsSay | None) -> FootprintSaid | None:
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
    logs: LogsSay | None,
    now: datetime,
    *,
    deleted: bool = False,
    came_back: bool = False,
    as_told: Callable[[AttemptException | None], AttemptException | None] = lambda exception: exception,
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
        return _closed(attempt, ended, Outcome.UNKNOWN, may_have_run).model_copy(update={"commits": commits})
    if seen.stage is Stage.NEVER_STARTS:
        return _never_started(attempt, ended, seen.detail)
    attempt = attempt.model_copy(
        update={"started_at": attempt.started_at or seen.started_at, "exit_code": seen.exit_code}
    )
    result = parse(seen.message)
    if result is not None:
        result = result.model_copy(update={"exception": as_told(result.exception), "of_job": job})
    if attempt.ending is not None and _was_told_to_end(seen, result):
        return _ended_by_us(attempt, ended, seen, result, logs)
    if not deleted and (why := _why_lost(seen, result)) is not None:
        return _lost(attempt, ended, result, logs, why)
    return _ended_by_itself(attempt, ended, seen, result, logs, deleted=deleted)


def _ended_by_itself(
    attempt: Attempt,
    ended: datetime,
    seen: Observation,
    result: RunResult | None,
    logs: LogsSay | None,
    *,
    deleted: bool,
) -> Attempt:
    if result is not None and logs is not None and logs.of_application and _failed_afterwards(seen, result):
        return _failed_after_its_report(attempt, ended, seen, result, logs, deleted=deleted)
    if result is not None:
        return _from_result(attempt, ended, result, logs)
    if logs is None:
        raise ValueError(f"attempt {attempt.number} left no result, and no log was asked")
    has_succeeded = logs.of_application and seen.exit_code == 0
    outcome = Outcome.SUCCEEDED if has_succeeded else _outcome_of(seen)
    death = "the application ended with exit code 0" if has_succeeded else _death(seen)
    death = f"{DELETED}: {death}" if deleted else death
    return _closed(attempt, ended, outcome, f"{death}; {logs}").model_copy(
        update={"commits": logs.commits[:MAX_COMMITS], **_told(result, logs)}
    )


def _failed_afterwards(seen: Observation, result: RunResult) -> bool:
    return result.exception is None and seen.exit_code not in (None, 0)


def _failed_after_its_report(
    attempt: Attempt, ended: datetime, seen: Observation, result: RunResult, logs: LogsSay, *, deleted: bool
) -> Attempt:
    """A program goes on after what it has reported, and may fail at what it does then."""
    commits = _all_commits(result, logs)
    by_whom = f"{DELETED}: " if deleted else ""
    message = (
        f"{by_whom}it reported success, and ended with exit code {seen.exit_code} after that, so that what it does then "
        f"may not be done; {replace(logs, commits=commits)}"
    )
    failed = _closed(attempt, ended, _outcome_of(seen), message)
    told = _told(result, logs) | {"commits_known": False}
    return failed.model_copy(update={"commits": commits[:MAX_COMMITS], **told})


def _never_started(attempt: Attempt, ended: datetime, detail: str) -> Attempt:
    ending = attempt.ending
    if ending is not None and ending.reason is EndingReason.WAITING_FOR_COMPUTE:
        why = f"attempt {attempt.number} was taken back before its driver ran: {ending.message}"
        return _closed(attempt, ended, Outcome.WITHDRAWN, why)
    why = detail if ending is None else ending.message
    return _closed(attempt, ended, Outcome.NOT_STARTED, f"no driver was started: {why}")


def _was_told_to_end(seen: Observation, result: RunResult | None) -> bool:
    """Whether its driver did not come to its end by itself, so that an attempt that is being ended was ended by that."""
    if result is not None:
        return result.was_ended_from_outside
    return seen.exit_code is None or seen.exit_code in _SIGNALS


def _ended_by_us(
    attempt: Attempt, ended: datetime, seen: Observation, result: RunResult | None, logs: LogsSay | None
) -> Attempt:
    ending = attempt.ending
    if ending is None:
        raise ValueError(f"attempt {attempt.number} came to its end by itself")
    if ending.reason is not EndingReason.DEADLINE_EXCEEDED:
        if _did_nothing(attempt, ending, result, logs):
            return _never_started(attempt, ended, seen.detail)
        return _lost(attempt, ended, result, logs, ending.message)
    if result is None and logs is None:
        return _closed(attempt, ended, Outcome.DEADLINE_EXCEEDED, f"{ending.message}; {_death(seen)}")
    commits = _all_commits(result, logs)
    known = (
        str(replace(logs, commits=commits))
        if logs is not None
        else f"it had committed {versions(commits) or 'nothing'}"
    )
    late = _closed(attempt, ended, Outcome.DEADLINE_EXCEEDED, f"{ending.message}; {known}")
    return late.model_copy(update={"commits": commits[:MAX_COMMITS], **_told(result, logs)})


def _did_nothing(
    attempt: Attempt, ending: AttemptEnding, result: RunResult | None, logs: LogsSay | None
) -> bool:
    """Whether a driver whose container was ended while it started did nothing: nobody saw it run, and the logs tell of nothing."""
    is_known = result is None and logs is not None and logs.tell_of_nothing
    return is_known and attempt.started_at is None and ending.reason is not EndingReason.PREEMPTED


def _told(result: RunResult | None, logs: LogsSay | None) -> dict[str, Any]:
    said = _footprint_said(result, logs)
    return {
        "commits_known": _tells_all(result, logs),
        "report": result.report if result is not None else None,
        "names": result.names if result is not None else (),
        "footprint_held": said.is_held if said is not None else None,
    }


def _why_lost(seen: Observation, result: RunResult | None) -> str | None:
    """Why the driver did not end by itself, where that is known."""
    if seen.exit_code is None:
        return seen.detail
    disruption = seen.disruption
    if disruption is None or not _ended_from_outside(seen, result, disruption):
        return None
    where = f" on node {seen.node}" if seen.node is not None else ""
    return f"the driver{where} was ended from outside: {disruption}, exit code {seen.exit_code}"


def _ended_from_outside(seen: Observation, result: RunResult | None, disruption: Disruption) -> bool:
    if disruption.meaning is None:
        return False
    if result is not None:
        return result.was_ended_from_outside
    return seen.exit_code != 0 and disruption.may_have_ended(seen.ended_at)


def _lost(
    attempt: Attempt, ended: datetime, result: RunResult | None, logs: LogsSay | None, why: str
) -> Attempt:
    commits = _all_commits(result, logs)
    said = f"; {replace(logs, commits=commits)}" if logs is not None else ""
    lost = _closed(attempt, ended, Outcome.DRIVER_LOST, f"{why}{said}")
    return lost.model_copy(update={"commits": commits[:MAX_COMMITS], **_told(result, logs)})


_MAY_HAVE_LANDED = ("CommitCompletionUnknownException", "UnknownOutcomeException")


def _tells_all(result: RunResult | None, logs: LogsSay | None) -> bool:
    """Whether there are no other commits than those that are known. Of a driver that was killed a last one may still land."""
    if result is None or result.was_ended_from_outside:
        return False
    if logs is not None and (logs.unread or logs.unstamped):
        return False
    return result.exception is None or result.exception.class_ not in _MAY_HAVE_LANDED


def _all_commits(result: RunResult | None, logs: LogsSay | None) -> tuple[Commit, ...]:
    """The commits that the driver told, and those of the tables' logs that it left out."""
    own = result.commits if result is not None else ()
    told = {_place_in_log(commit) for commit in own}
    found = logs.commits if logs is not None else ()
    left_out = (commit for commit in found if _place_in_log(commit) not in told)
    return tuple(sorted((*own, *left_out), key=lambda commit: commit.statement or 0))


def _place_in_log(commit: Commit) -> tuple[str, int]:
    """One statement of an application may write several tables, and of one table several versions."""
    return key_of_path(commit.table).text, commit.version


def _from_result(attempt: Attempt, ended: datetime, result: RunResult, logs: LogsSay | None) -> Attempt:
    commits = _all_commits(result, logs)
    if logs is None:
        message = _summary(result)
    elif result.commits_left_out:
        message = f"{_failure(result) or 'done'}; {replace(logs, commits=commits)}"
    else:
        untold = tuple(commit for commit in commits if commit not in result.commits)
        message = f"{_summary(result)}{replace(logs, commits=untold).beside_the_report}"
    update = {
        "commits": commits[:MAX_COMMITS],
        "commits_known": _tells_all(result, logs),
        "exception": lost_commits.with_advice(result),
        **_told(result, logs),
    }
    return _closed(attempt, ended, result.outcome, message).model_copy(update=update)


def _closed(attempt: Attempt, ended: datetime, outcome: Outcome, message: str) -> Attempt:
    return attempt.model_copy(
        update={"ended_at": ended, "outcome": outcome, "message": message[:2048], "progress": None}
    )


def _summary(result: RunResult) -> str:
    failure = _failure(result)
    if failure is not None:
        return f"{failure}; it had committed {versions(result.commits)}" if result.commits else failure
    if result.outcome is Outcome.ALREADY_COMMITTED:
        which = f": {versions(result.commits)}" if result.commits else ""
        return f"nothing was left to do, earlier attempts of this run had done it{which}"
    if not result.commits:
        return "done; no statement had anything to commit"
    return f"committed {versions(result.commits)}"


def _failure(result: RunResult) -> str | None:
    if result.exception is None:
        return None
    statement = f"statement {result.exception.statement}: " if result.exception.statement else ""
    lost = lost_commits.what_happened(result.exception, result.of_job)
    what = lost or f"{result.exception.class_}: {_in_short(result.exception.message)}"
    return f"{statement}{what}"[:_FAILURE]


def _in_short(message: str) -> str:
    """What goes wrong, on one line: Spark puts plans and the statement's text below it, and kubectl shows no more in a table. The
    attempt's exception has all of it."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    told: list[str] = []
    for line in lines:
        told.append(line)
        if not line.endswith(":"):
            break
    return " ".join(told).rstrip(" ;")


def _outcome_of(seen: Observation) -> Outcome:
    if seen.exit_code == 0:
        return Outcome.UNKNOWN
    return Outcome.KILLED if seen.exit_code in _SIGNALS else Outcome.FAILED


def _death(seen: Observation) -> str:
    if seen.exit_code is None:
        return f"the driver left no result: {seen.detail or 'its end was not seen'}"
    signal = _SIGNALS.get(seen.exit_code)
    how = f"was {signal}" if signal else "ended"
    reason = f", {seen.detail}" if seen.detail and seen.detail not in ("Error", "Completed") else ""
    memory = f": {_MORE_MEMORY}" if seen.detail == _OUT_OF_MEMORY else ""
    beside = f"; {seen.disruption}" if seen.disruption is not None else ""
    return f"the driver {how} (exit code {seen.exit_code}{reason}) without a result{memory}{beside}{_last_words(seen.message)}"


def _last_words(log: str | None) -> str:
    """The last words of a driver without a result: Kubernetes then gives the end of its log as its message. After an exception
    Spark itself still says how it stops."""
    lines = [line.rstrip() for line in (log or "").splitlines() if line.strip()]
    raised = [line for line in lines if _RAISED.match(line) is not None]
    if raised:
        return f"; the last exception in its log is {raised[-1][:400]!r}"
    return f"; its log ends with {lines[-1].strip()[:400]!r}" if lines else ""


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
    return phase, reason, attempt.message or ""
