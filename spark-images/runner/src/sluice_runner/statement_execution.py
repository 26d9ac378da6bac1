"""Runs one prepared statement under its stamp, and finds what it committed.

What a failed statement had committed before it failed is still looked up: an OPTIMIZE commits in batches, and a hook may fail
after the commit that it follows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from sluice_runner import commits, stores, targets
from sluice_runner.assumptions import refuse_another_connector, refuse_another_day
from sluice_runner.bound_names import Bound, may_lead_its_name_elsewhere
from sluice_runner.catalogs import Name
from sluice_runner.commits import Commit
from sluice_runner.earlier_attempts import Done
from sluice_runner.failures import Failure, classify
from sluice_runner.footprint_check import Judged
from sluice_runner.plan import Plan
from sluice_runner.promise import Gate
from sluice_runner.repeatable import WRITES_ONE_TABLE
from sluice_runner.reported_names import Looks
from sluice_runner.result import (
    ALREADY_COMMITTED,
    COMMITTED,
    FAILED,
    NO_COMMIT,
    StatementResult,
)
from sluice_runner.run_fence import Unfenced
from sluice_runner.secrets_in_text import mask_of
from sluice_runner.stamp import stamp, stamped
from sluice_runner.winners import Winner, completed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class Prepared:
    """A statement that is ready to run."""

    statement: targets.ParsedStatement
    mentioned: Callable[[], Sequence[Name]]
    execute: Callable[[], object]


@dataclass(frozen=True)
class Context:
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
class Outcome:
    statement: StatementResult
    failure: Failure | None = None
    winner: Winner | None = None


def step(context: Context, number: int, prepare: Callable[[], Prepared]) -> Outcome:
    names: Sequence[tuple[str, ...]] = ()
    try:
        prepared = prepare()
        found = prepared.statement
        names = found.names
        if number <= context.past.last and not (found.is_of_session and context.something_is_left):
            return Outcome(_looked_at(context, found, _left_out(number, found, context.past)))
        refuse_another_connector(context.spark)
        context.fencing.refuse(found)
        context.bound.refuse(found, prepared.mentioned)
        context.looks.at(prepared.mentioned)
        before = commits.versions(context.spark, names)
        stores.refuse_unsafe(context.spark, context.plan.assumed.spark_conf, found, before)
        if found.writes_all or found.command in WRITES_ONE_TABLE:
            context.fencing.refuse_others(before)
    except Exception as error:  # noqa: BLE001 - whatever it is, the job ended with it
        return Outcome(
            StatementResult(number, FAILED, _UNKNOWN), failure_of(context.plan, error).about(names)
        )
    return _executed(context, number, prepared, before)


def _executed(context: Context, number: int, prepared: Prepared, before: Mapping[str, int]) -> Outcome:
    spark, plan, fencing, statement = context.spark, context.plan, context.fencing, prepared.statement
    text = stamp(plan, number)
    failure: Failure | None = None
    try:
        context.gate.hold(statement)
        refuse_another_day(spark, plan.assumed)
        with stamped(spark, text), fencing.numbered(number):
            prepared.execute()
    except Exception as error:  # noqa: BLE001 - whatever it is, the job ended with it
        failure = failure_of(plan, error).about(statement.names)
    if may_lead_its_name_elsewhere(statement):
        context.looks.again_at(statement.names[0])
    if statement.setting is not None:
        context.looks.after_setting(statement.setting)
    found, unread = _commits_since(spark, plan, statement, before)
    own = [commit for commit in found if commit.user_metadata == text]
    failure = failure or failure_in(plan, partial(context.gate.refuse_unchecked, own))
    operation = _operation(statement, own)
    if not statement.is_of_session:
        # A later attempt's fence explains whatever came of the statement: Delta aborts what was under way, and skips,
        # without a word, what comes later.
        failure = failure_in(plan, partial(fencing.look, statement.names)) or failure
    if failure is None and unread is None:
        result = StatementResult(number, COMMITTED if own else NO_COMMIT, operation, own)
        return Outcome(_looked_at(context, statement, result))
    winner = completed(failure.winner, found) if failure is not None and failure.has_winner else None
    result = StatementResult(number, FAILED, operation, own)
    if unread is None:
        result = _looked_at(context, statement, result)
    else:
        result = replace(result, unlooked="what it committed could not be read")
    return Outcome(result, _told_together(number, failure, unread), winner)


def _looked_at(
    context: Context, statement: targets.ParsedStatement, result: StatementResult
) -> StatementResult:
    """Adds what of its commits lies elsewhere than the job was judged to touch. Whatever that is, they are made."""
    if statement.has_options:
        return replace(result, unlooked="its options may keep its commits from being known as its own")
    try:
        return replace(result, strayed=context.judged.strayed(result.number, result.commits))
    except Exception as error:  # noqa: BLE001 - reported: it changes nothing of what was done
        return replace(result, unlooked=failure_of(context.plan, error).message)


def _left_out(number: int, statement: targets.ParsedStatement, past: Done) -> StatementResult:
    own = past.of(number)
    return StatementResult(number, ALREADY_COMMITTED, _operation(statement, own), own)


def _operation(statement: targets.ParsedStatement, own: Sequence[Commit]) -> str:
    return statement.operation or (own[0].operation if own else statement.command)


def failure_in(plan: Plan, step: Callable[[], None]) -> Failure | None:
    try:
        step()
    except Exception as error:  # noqa: BLE001 - whatever it is, the job ended with it
        return failure_of(plan, error)
    return None


def _commits_since(
    spark: SparkSession, plan: Plan, statement: targets.ParsedStatement, before: Mapping[str, int]
) -> tuple[list[Commit], Failure | None]:
    may_move = may_lead_its_name_elsewhere(statement)
    try:
        return list(commits.since(spark, statement.names, before, may_move=may_move)), None
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


def tell(outcome: Outcome, total: int, seconds: float) -> None:
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


def failure_of(plan: Plan, error: BaseException) -> Failure:
    """What went wrong, without the secrets that the plan brought into the driver."""
    return classify(error).without(mask_of(plan))
