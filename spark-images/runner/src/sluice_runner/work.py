"""Runs the statements of a job in order, each under its stamp, and finds what each one committed.

After a failure nothing more runs. What the failed statement had committed before it failed is still looked up: an
OPTIMIZE commits in batches, and a hook may fail after the commit that it follows.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from sluice_runner import commits, tables, targets, write
from sluice_runner.commits import Commit
from sluice_runner.failures import Failure, Winner, classify
from sluice_runner.parameters import bind
from sluice_runner.plan import Plan, Sql, Statement, Write
from sluice_runner.result import COMMITTED, FAILED, NO_COMMIT, Result, StatementResult
from sluice_runner.stamp import stamp, stamped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_UNKNOWN = "UNKNOWN"


@dataclass
class Progress:
    """How far the run has come: kept apart from the run, which may be ended at any moment and must still be reported."""

    plan: Plan
    statements: list[StatementResult] = field(default_factory=list)
    running: int | None = None

    def failed(self, failure: Failure, winner: Winner | None = None) -> Result:
        return Result(self.plan.attempt, self.statements, failure, self.running, winner or failure.winner)

    def succeeded(self) -> Result:
        return Result(self.plan.attempt, self.statements)


@dataclass(frozen=True)
class _Prepared:
    """A statement that is ready to run: its name, and the names of the tables that it may commit to."""

    operation: str | None
    command: str
    names: Sequence[tuple[str, ...]]
    execute: Callable[[], object]


@dataclass(frozen=True)
class _Outcome:
    statement: StatementResult
    failure: Failure | None = None
    winner: Winner | None = None


def run(spark: SparkSession, progress: Progress) -> Result:
    steps = list(_steps(spark, progress.plan))
    for number, prepare in steps:
        progress.running = number
        began = time.monotonic()
        outcome = _run_step(spark, progress.plan, number, prepare)
        progress.statements.append(outcome.statement)
        _tell(outcome, len(steps), time.monotonic() - began)
        if outcome.failure is not None:
            return progress.failed(outcome.failure, outcome.winner)
    return progress.succeeded()


def failure_of(plan: Plan, error: BaseException) -> Failure:
    """What went wrong, without the secrets that the plan brought into the driver."""
    return classify(error).without(write.secrets(plan.work) if isinstance(plan.work, Write) else [])


def _steps(spark: SparkSession, plan: Plan) -> Iterator[tuple[int, Callable[[], _Prepared]]]:
    """Each statement's number and what prepares it, which waits until the statements before it have run."""
    if isinstance(plan.work, Sql):
        for statement in plan.work.statements:
            yield statement.number, partial(_prepare_sql, spark, statement, plan)
    else:
        yield 1, partial(_prepare_write, spark, plan.work, plan)


def _prepare_sql(spark: SparkSession, statement: Statement, plan: Plan) -> _Prepared:
    found = targets.analyse(spark, statement.text)
    for name in found.names:
        tables.refuse_foreign_folder(spark, name)

    def execute() -> None:
        if plan.parameters:
            spark.sql(statement.text, args=bind(plan.parameters))
        else:
            spark.sql(statement.text)

    return _Prepared(found.operation, found.command, found.names, execute)


def _prepare_write(spark: SparkSession, work: Write, plan: Plan) -> _Prepared:
    name = write.table_name(work.table)
    return _Prepared("WRITE", "WRITE", [name], partial(write.run, spark, work, plan.parameters))


def _run_step(spark: SparkSession, plan: Plan, number: int, prepare: Callable[[], _Prepared]) -> _Outcome:
    try:
        prepared = prepare()
        before = commits.versions(spark, prepared.names)
    except Exception as error:  # noqa: BLE001 - whatever it is, the job ended with it
        return _Outcome(StatementResult(number, FAILED, _UNKNOWN), failure_of(plan, error))
    text = stamp(plan, number)
    failure: Failure | None = None
    try:
        with stamped(spark, text):
            prepared.execute()
    except Exception as error:  # noqa: BLE001 - whatever it is, the job ended with it
        failure = failure_of(plan, error)
    found, unread = _commits_since(spark, plan, prepared, before)
    own = [commit for commit in found if commit.user_metadata == text]
    operation = prepared.operation or (own[0].operation if own else prepared.command)
    if failure is None and unread is None:
        return _Outcome(StatementResult(number, COMMITTED if own else NO_COMMIT, operation, own))
    winner = _completed(failure.winner, found) if failure is not None else None
    return _Outcome(
        StatementResult(number, FAILED, operation, own), _told_together(number, failure, unread), winner
    )


def _commits_since(
    spark: SparkSession, plan: Plan, prepared: _Prepared, before: Mapping[str, int]
) -> tuple[list[Commit], Failure | None]:
    try:
        return list(commits.since(spark, prepared.names, before)), None
    except Exception as error:  # noqa: BLE001 - reported: the statement's own outcome must not be lost over it
        return [], failure_of(plan, error)


def _told_together(number: int, failure: Failure | None, unread: Failure | None) -> Failure:
    """The outcome of a statement and of reading its commits: if they can't be read it counts as failed, because
    nothing may build on it unseen."""
    if unread is None and failure is not None:
        return failure
    assert unread is not None  # noqa: S101 - the caller has one of the two
    if failure is None:
        return replace(
            unread,
            message=f"statement {number} ran without an error, but what it committed could not be read: {unread.message}",
        )
    return replace(
        failure, message=f"{failure.message}\n(and the table's log could not be read: {unread.message})"
    )


def _completed(winner: Winner | None, found: Sequence[Commit]) -> Winner | None:
    """Completes the winning commit from the log where the exception omits something and only one commit can be meant."""
    if winner is None:
        return None
    if winner.version is not None:
        matching = [commit for commit in found if commit.version == winner.version]
    else:
        matching = [
            commit
            for commit in found
            if commit.operation == winner.operation and commit.user_metadata == winner.user_metadata
        ]
    if len(matching) != 1:
        return winner
    return Winner(matching[0].version, matching[0].operation, matching[0].user_metadata)


def _tell(outcome: _Outcome, total: int, seconds: float) -> None:
    statement = outcome.statement
    versions = ", ".join(f"version {commit.version} of {commit.table}" for commit in statement.commits)
    if outcome.failure is not None:
        reason = outcome.failure.message.strip().partition("\n")[0]
        what = f"failed: {outcome.failure.name}: {reason}" + (
            f"; it had committed {versions}" if versions else ""
        )
    else:
        what = f"committed {versions}" if versions else "committed nothing"
    sys.stdout.write(
        f"sluice: statement {statement.number} of {total}: {statement.operation} {what} ({seconds:.1f} s)\n"
    )
    sys.stdout.flush()
