"""Runs the statements of a job in order, each under its stamp. After a failure nothing more runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from sluice_runner import tables, targets, write
from sluice_runner.bound_names import Bound
from sluice_runner.catalogs import Catalogs, Name
from sluice_runner.failures import Failure
from sluice_runner.footprint_check import Judged
from sluice_runner.mentions import mentioned
from sluice_runner.partitions import Conditions
from sluice_runner.plan import Plan, Sql, Statement, Stream, Target, Write
from sluice_runner.promise import Gate
from sluice_runner.reported_names import Leads, Looks
from sluice_runner.result import Result, StatementResult
from sluice_runner.run_fence import fencing_of
from sluice_runner.statement_execution import Context, Prepared, failure_in, failure_of, step, tell
from sluice_runner.stream_state import StreamState
from sluice_runner.winners import Winner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class Progress:
    """How far the run has come: kept apart from the run, which may be ended at any moment and must still be reported."""

    plan: Plan
    statements: list[StatementResult] = field(default_factory=list)
    running: int | None = None
    doing: str | None = None
    """What an application says that it does."""
    leads: Leads = field(default_factory=Leads)
    stream: StreamState = field(default_factory=StreamState)
    """Of a stream, which tells no statements: it has as many as it has batches."""

    def failed(self, failure: Failure, winner: Winner | None = None) -> Result:
        return replace(
            self.succeeded(),
            failure=failure,
            failed_statement=self.running,
            winner=winner or failure.winner,
        )

    def paused(self) -> Result:
        return replace(self.succeeded(), is_paused=True)

    def succeeded(self, *, nothing_was_left: bool = False) -> Result:
        return Result(
            self.plan.attempt,
            self.statements,
            nothing_was_left=nothing_was_left,
            is_looked_at=bool(self.plan.touched),
            names=self.leads.found,
            stream=self.stream.document() if isinstance(self.plan.work, Stream) else None,
        )


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
    context = Context(spark, plan, fencing, bound, looks, gate, judged, past, past.last < last)
    for number, prepare in steps:
        progress.running = number
        began = time.monotonic()
        outcome = step(context, number, prepare)
        progress.statements.append(outcome.statement)
        tell(outcome, len(steps), time.monotonic() - began)
        if outcome.failure is not None:
            return progress.failed(outcome.failure, outcome.winner)
    progress.running = None
    failure = failure_in(plan, fencing.close)
    if failure is not None:
        return progress.failed(failure)
    return progress.succeeded(nothing_was_left=not context.something_is_left)


def _steps(spark: SparkSession, plan: Plan, bound: Bound) -> Iterator[tuple[int, Callable[[], Prepared]]]:
    """Each statement's number and what prepares it, which waits until the statements before it have run."""
    if isinstance(plan.work, Sql):
        for statement in plan.work.statements:
            yield statement.number, partial(_prepare_sql, spark, statement, bound)
    elif isinstance(plan.work, Write):
        yield 1, partial(_prepare_write, spark, plan.work, bound)


def _prepare_sql(spark: SparkSession, statement: Statement, bound: Bound) -> Prepared:
    found = targets.analyse(spark, statement.text)
    for name in found.names:
        tables.refuse_foreign_folder(spark, bound.there(name))

    return Prepared(found, partial(mentioned, spark, statement.text), partial(spark.sql, statement.text))


def _prepare_write(spark: SparkSession, work: Write, bound: Bound) -> Prepared:
    name = bound.there(write.table_name(work.table))
    if work.table.path is None and name != write.table_name(work.table):
        work = replace(work, table=Target(path=name[1], name=None))
    tables.refuse_foreign_folder(spark, name)
    return Prepared(
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
