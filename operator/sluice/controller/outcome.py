"""What came of an attempt, put together from the driver's end, the runner's result, and else the tables' logs."""

import logging
from datetime import UTC, datetime

from sluice.api.job_status import MAX_COMMITS, Attempt, Commit, Outcome, Phase
from sluice.controller.jobs import JobView
from sluice.controller.run_logs import commits_of_run
from sluice.engines import Observation, Stage
from sluice.engines.result import RunResult, parse
from sluice.tables import TableKey
from sluice.tables.log import LogUnreadableError

logger = logging.getLogger(__name__)

_FAILURE = 1600
"""Characters for what went wrong, so that what was committed has room in the message, too."""

_SIGNALS = {130: "interrupted", 137: "killed", 143: "terminated"}


async def close_attempt(job: JobView, attempt: Attempt, seen: Observation) -> Attempt:
    """The attempt with its outcome. Only called once the end of the driver is proved."""
    ended = seen.ended_at or datetime.now(UTC)
    if seen.stage is Stage.NEVER_STARTS:
        return _closed(attempt, ended, Outcome.NOT_STARTED, f"no driver was started: {seen.detail}")
    result = parse(seen.message)
    attempt = attempt.model_copy(
        update={"started_at": attempt.started_at or seen.started_at, "exit_code": seen.exit_code}
    )
    if result is not None:
        closed = _from_result(attempt, ended, result)
        return await _completed(job, closed, result) if result.commits_left_out else closed
    if job.spec.application is not None:
        return _from_exit_code(attempt, ended, seen)
    return await _from_logs(job, attempt, ended, seen)


def _from_result(attempt: Attempt, ended: datetime, result: RunResult) -> Attempt:
    closed = _closed(attempt, ended, result.outcome, _summary(result))
    return closed.model_copy(update={"commits": result.commits[:MAX_COMMITS], "exception": result.exception})


def _from_exit_code(attempt: Attempt, ended: datetime, seen: Observation) -> Attempt:
    if seen.exit_code == 0:
        return _closed(attempt, ended, Outcome.SUCCEEDED, "the application ended with exit code 0")
    return _closed(attempt, ended, _outcome_of(seen), _death(seen))


async def _completed(job: JobView, closed: Attempt, result: RunResult) -> Attempt:
    """With the commits that the result leaves out: those that the tables' logs have beside its own."""
    told = {(commit.statement, commit.version) for commit in result.commits}
    found, unread = await _stamped(job, closed)
    commits = [*result.commits, *(c for c in found if (c.statement, c.version) not in told)]
    commits.sort(key=lambda commit: commit.statement or 0)
    message = f"{_failure(result) or 'done'}; {_what(commits, unread)}"
    return closed.model_copy(update={"message": message[:2048], "commits": tuple(commits[:MAX_COMMITS])})


async def _from_logs(job: JobView, attempt: Attempt, ended: datetime, seen: Observation) -> Attempt:
    """The driver ended without a result: what it committed stands in the tables' logs."""
    commits, unread = await _stamped(job, attempt)
    what = _what(commits, unread)
    logger.info("%s: attempt %d left no result; %s", job.key, attempt.number, what)
    return _closed(attempt, ended, _outcome_of(seen), f"{_death(seen)}; {what}").model_copy(
        update={"commits": tuple(commits[:MAX_COMMITS])}
    )


async def _stamped(job: JobView, attempt: Attempt) -> tuple[list[Commit], list[str]]:
    """The commits that carry the attempt's stamp, and why some table's log could not be asked for them."""
    commits: list[Commit] = []
    unread: list[str] = []
    for table in _tables(job):
        try:
            found = await commits_of_run(table, job.uid, attempt.number, attempt.granted_at)
        except LogUnreadableError as error:
            unread.append(str(error))
            continue
        except Exception as error:
            # Whatever a log holds, the attempt has ended: it must not stay open, and hold its leases, for that.
            logger.exception("%s: the operator failed on the log of %s", job.key, table)
            unread.append(f"{table}: the operator failed on its log: {error!r}")
            continue
        commits += [
            Commit(table=table.text, version=c.version, statement=c.statement, operation=c.operation)
            for c in found
        ]
    return commits, unread


def _what(commits: list[Commit], unread: list[str]) -> str:
    if unread:
        more = f" beside {_versions(commits)}" if commits else ""
        return f"what it committed{more} is not known: {'; '.join(unread)}"
    if commits:
        return f"it had committed {_versions(commits)}, as the tables' logs say"
    return "it had committed nothing, as the tables' logs say"


def _tables(job: JobView) -> list[TableKey]:
    """As they were understood when the job was admitted: the configuration may have changed since."""
    return [TableKey.parse(text) for text in dict.fromkeys(table.table for table in job.status.footprint)]


def _closed(attempt: Attempt, ended: datetime, outcome: Outcome, message: str) -> Attempt:
    return attempt.model_copy(update={"ended_at": ended, "outcome": outcome, "message": message[:2048]})


def _summary(result: RunResult) -> str:
    failure = _failure(result)
    if failure is not None:
        return f"{failure}; it had committed {_versions(result.commits)}" if result.commits else failure
    if not result.commits:
        return "done; no statement had anything to commit"
    return f"committed {_versions(result.commits)}"


def _failure(result: RunResult) -> str | None:
    if result.exception is None:
        return None
    statement = f"statement {result.exception.statement}: " if result.exception.statement else ""
    return f"{statement}{result.exception.class_}: {result.exception.message}"[:_FAILURE]


def _versions(commits: tuple[Commit, ...] | list[Commit]) -> str:
    by_table: dict[str, list[int]] = {}
    for commit in commits:
        by_table.setdefault(commit.table, []).append(commit.version)
    return ", ".join(
        f"version{'s' if len(versions) > 1 else ''} {', '.join(map(str, versions))} of {table}"
        for table, versions in by_table.items()
    )


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
    return (
        f"the driver {how} (exit code {seen.exit_code}{reason}) without a result{_last_words(seen.message)}"
    )


def _last_words(log: str | None) -> str:
    """Without a result, Kubernetes gives the end of the driver's log as its message."""
    lines = [line.strip() for line in (log or "").splitlines() if line.strip()]
    return f"; its log ends with {lines[-1][:400]!r}" if lines else ""


REASONS = {
    Outcome.SUCCEEDED: ("Committed", Phase.SUCCEEDED),
    Outcome.FAILED: ("RunFailed", Phase.FAILED),
    Outcome.KILLED: ("DriverKilled", Phase.FAILED),
    Outcome.NOT_STARTED: ("DriverNotStarted", Phase.FAILED),
    Outcome.UNKNOWN: ("ResultMissing", Phase.FAILED),
}


def verdict_of(attempt: Attempt) -> tuple[Phase, str, str]:
    """The job's phase, reason and message after its last attempt."""
    if attempt.outcome is None:
        raise ValueError(f"attempt {attempt.number} has not ended")
    reason, phase = REASONS[attempt.outcome]
    if attempt.outcome is Outcome.FAILED and attempt.exception is not None:
        name = attempt.exception.class_
        reason = name if name.isidentifier() and len(name) <= 63 else reason
    return phase, reason, attempt.message or ""
