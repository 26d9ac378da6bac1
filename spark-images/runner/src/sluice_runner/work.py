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

from sluice_runner import commits, stores, tables, targets, write
from sluice_runner.assumptions import refuse_another_connector
from sluice_runner.bound import Bound, may_lead_its_name_elsewhere
from sluice_runner.catalogs import Catalogs, Name
from sluice_runner.commits import Commit
from sluice_runner.failures import Failure, classify
from sluice_runner.fencing import Unfenced, fencing_of
from sluice_runner.judged import Judged
from sluice_runner.leads import Leads, Looks
from sluice_runner.masking import mask_of
from sluice_runner.mentions import mentioned
from sluice_runner.partitions import Conditions
from sluice_runner.past import Done
from sluice_runner.plan import Plan, Sql, Statement, Target, Write
from sluice_runner.promise import Gate
from sluice_runner.repeatable import WRITES_ONE_TABLE
from sluice_runner.result import (
    ALREADY_COMMITTED,
    COMMITTED,
    FAILED,
    NO_COMMIT,
    Result,
    StatementResult,
)
from sluice_runner.stamp import stamp, stamped
from sluice_runner.winners import Winner, completed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_UNKNOWN = "UNKNOWN"


@dataclass
class Progress:
    """How far the run has come: kept apart from the run, which may be ended at any moment and must still be reported."""

    plan: Plan
    statements: list[StatementResult] = field(default_factory=list)
    running: int | None = None
    doing: str | None = None
    """What an application says that it does."""
    leads: Leads = field(default_factory=Leads)

    def failed(self, failure: Failure, winner: Winner | None = None) -> Result:
        return Result(
            self.plan.attempt,
            self.statements,
            failure,
            self.running,
            winner or failure.winner,
            is_looked_at=bool(self.plan.touched),
            names=self.leads.found,
        )

    def succeeded(self, *, nothing_was_left: bool) -> Result:
        return Result(
            self.plan.attempt,
            self.statements,
            nothing_was_left=nothing_was_left,
            is_looked_at=bool(self.plan.touched),
            names=self.leads.found,
        )


@dataclass(frozen=True)
class _Prepared:
    """A statement that is ready to run."""

    statement: targets.Statement
    mentioned: Callable[[], Sequence[Name]]
    execute: Callable[[], object]


@dataclass(frozen=True)
class _Context:
    """What all statements of the run share."""

    spark: SparkSession
    plan: Plan
    fencing: Unfenced
    bound: Bound
    looks: Looks
    gate: Gate
    judged: Judged
    past: Done
    something_is_left: bool


@dataclass(frozen=True)
class _Outcome:
    statement: StatementResult
    failure: Failure | None = None
    winner: Winner | None = None


def run(spark: SparkSession, progress: Progress) -> Result:
    plan = progress.plan
    fencing = fencing_of(spark, plan)
    try:
        catalogs = Catalogs(spark)
        bound = Bound(spark, catalogs, plan.names, progress.leads, partial(_all_mentioned, spark, plan))
        steps = list(_steps(spark, plan, bound))
        last = steps[-1][0]
        past = fencing.begin(last)
    except Exception as error:  # noqa: BLE001 - whatever it is, the job ended with it
        return progress.failed(failure_of(plan, error))
    conditions = Conditions(spark)
    gate, judged = Gate(spark, plan.writes, conditions), Judged(spark, plan.touched, conditions)
    looks = Looks(spark, catalogs, progress.leads)
    context = _Context(spark, plan, fencing, bound, looks, gate, judged, past, past.last < last)
    for number, prepare in steps:
        progress.running = number
        began = time.monotonic()
        outcome = _step(context, number, prepare)
        progress.statements.append(outcome.statement)
        _tell(outcome, len(steps), time.monotonic() - began)
        if outcome.failure is not None:
            return progress.failed(outcome.failure, outcome.winner)
    progress.running = None
    failure = _failure_in(plan, fencing.close)
    if failure is not None:
        return progress.failed(failure)
    return progress.succeeded(nothing_was_left=not context.something_is_left)


def failure_of(plan: Plan, error: BaseException) -> Failure:
    """What went wrong, without the secrets that the plan brought into the driver."""
    return classify(error).without(mask_of(plan))


def _steps(spark: SparkSession, plan: Plan, bound: Bound) -> Iterator[tuple[int, Callable[[], _Prepared]]]:
    """Each statement's number and what prepares it, which waits until the statements before it have run."""
    if isinstance(plan.work, Sql):
        for statement in plan.work.statements:
            yield statement.number, partial(_prepare_sql, spark, statement, bound)
    elif isinstance(plan.work, Write):
        yield 1, partial(_prepare_write, spark, plan.work, bound)


def _prepare_sql(spark: SparkSession, statement: Statement, bound: Bound) -> _Prepared:
    found = targets.analyse(spark, statement.text)
    for name in found.names:
        tables.refuse_foreign_folder(spark, bound.there(name))

    return _Prepared(found, partial(mentioned, spark, statement.text), partial(spark.sql, statement.text))


def _prepare_write(spark: SparkSession, work: Write, bound: Bound) -> _Prepared:
    name = bound.there(write.table_name(work.table))
    if work.table.path is None and name != write.table_name(work.table):
        work = replace(work, table=Target(path=name[1], name=None))
    tables.refuse_foreign_folder(spark, name)
    return _Prepared(
        targets.of_write(name), partial(_mentioned_by, spark, work, name), partial(write.run, spark, work)
    )


def _all_mentioned(spark: SparkSession, plan: Plan) -> Iterator[Name]:
    if isinstance(plan.work, Sql):
        for statement in plan.work.statements:
            yield from mentioned(spark, statement.text)
    elif isinstance(plan.work, Write):
        yield from _mentioned_by(spark, plan.work, write.table_name(plan.work.table))


def _mentioned_by(spark: SparkSession, work: Write, name: Name) -> Sequence[Name]:
    return [name, *(mentioned(spark, work.source.sql) if work.source.sql is not None else ())]


def _step(context: _Context, number: int, prepare: Callable[[], _Prepared]) -> _Outcome:
    names: Sequence[tuple[str, ...]] = ()
    try:
        prepared = prepare()
        found = prepared.statement
        names = found.names
        if number <= context.past.last and not (found.is_of_session and context.something_is_left):
            return _Outcome(_looked_at(context, found, _left_out(number, found, context.past)))
        refuse_another_connector(context.spark)
        context.fencing.refuse(found)
        context.bound.refuse(found, prepared.mentioned)
        context.looks.at(prepared.mentioned)
        before = commits.versions(context.spark, names)
        stores.refuse_unsafe(context.spark, context.plan.assumed.spark_conf, found, before)
        if found.writes_all or found.command in WRITES_ONE_TABLE:
            context.fencing.refuse_others(before)
    except Exception as error:  # noqa: BLE001 - whatever it is, the job ended with it
        return _Outcome(
            StatementResult(number, FAILED, _UNKNOWN), failure_of(context.plan, error).about(names)
        )
    return _executed(context, number, prepared, before)


def _executed(context: _Context, number: int, prepared: _Prepared, before: Mapping[str, int]) -> _Outcome:
    spark, plan, fencing, statement = context.spark, context.plan, context.fencing, prepared.statement
    text = stamp(plan, number)
    failure: Failure | None = None
    try:
        context.gate.hold(statement)
        with stamped(spark, text), fencing.numbered(number):
            prepared.execute()
    except Exception as error:  # noqa: BLE001 - whatever it is, the job ended with it
        failure = failure_of(plan, error).about(statement.names)
    if may_lead_its_name_elsewhere(statement):
        context.looks.again_at(statement.names[0])
    if statement.setting is not None:
        context.looks.after_setting(statement.setting)
    found, unread = _commits_since(spark, plan, statement.names, before)
    own = [commit for commit in found if commit.user_metadata == text]
    failure = failure or _failure_in(plan, partial(context.gate.refuse_unchecked, own))
    operation = _operation(statement, own)
    if not statement.is_of_session:
        # A later attempt's fence explains whatever came of the statement: Delta aborts what was under way, and skips,
        # without a word, what comes later.
        failure = _failure_in(plan, partial(fencing.look, statement.names)) or failure
    if failure is None and unread is None:
        result = StatementResult(number, COMMITTED if own else NO_COMMIT, operation, own)
        return _Outcome(_looked_at(context, statement, result))
    winner = completed(failure.winner, found) if failure is not None and failure.has_winner else None
    result = StatementResult(number, FAILED, operation, own)
    if unread is None:
        result = _looked_at(context, statement, result)
    else:
        result = replace(result, unlooked="what it committed could not be read")
    return _Outcome(result, _told_together(number, failure, unread), winner)


def _looked_at(context: _Context, statement: targets.Statement, result: StatementResult) -> StatementResult:
    """Adds what of its commits lies elsewhere than the job was judged to touch. Whatever that is, they are made."""
    if statement.has_options:
        return replace(result, unlooked="its options may keep its commits from being known as its own")
    try:
        return replace(result, strayed=context.judged.strayed(result.number, result.commits))
    except Exception as error:  # noqa: BLE001 - reported: it changes nothing of what was done
        return replace(result, unlooked=failure_of(context.plan, error).message)


def _left_out(number: int, statement: targets.Statement, past: Done) -> StatementResult:
    own = past.of(number)
    return StatementResult(number, ALREADY_COMMITTED, _operation(statement, own), own)


def _operation(statement: targets.Statement, own: Sequence[Commit]) -> str:
    return statement.operation or (own[0].operation if own else statement.command)


def _failure_in(plan: Plan, step: Callable[[], None]) -> Failure | None:
    try:
        step()
    except Exception as error:  # noqa: BLE001 - whatever it is, the job ended with it
        return failure_of(plan, error)
    return None


def _commits_since(
    spark: SparkSession, plan: Plan, names: Sequence[tuple[str, ...]], before: Mapping[str, int]
) -> tuple[list[Commit], Failure | None]:
    try:
        return list(commits.since(spark, names, before)), None
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


def _tell(outcome: _Outcome, total: int, seconds: float) -> None:
    statement = outcome.statement
    versions = ", ".join(f"version {commit.version} of {commit.table}" for commit in statement.commits)
    if outcome.failure is not None:
        reason = outcome.failure.message.strip().partition("\n")[0]
        what = f"failed: {outcome.failure.name}: {reason}" + (
            f"; it had committed {versions}" if versions else ""
        )
    elif statement.state == ALREADY_COMMITTED:
        what = "was done by an earlier attempt" + (f": {versions}" if versions else "")
    else:
        what = f"committed {versions}" if versions else "committed nothing"
    sys.stdout.write(
        f"sluice: statement {statement.number} of {total}: {statement.operation} {what} ({seconds:.1f} s)\n"
    )
    sys.stdout.flush()
