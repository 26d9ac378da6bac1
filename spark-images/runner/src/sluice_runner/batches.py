"""What runs for each batch of a stream: an append, or statements over the view `batch`, each under its stamp and number.

Delta skips what a table remembers under the number of the query and the batch. That isn't enough for several statements: a
DELETE that found nothing leaves no trace, and would find, in a batch that is run again, what a later INSERT has written. So
the first batch of an attempt, which alone can be such a batch, leaves out all up to the last statement that a table remembers.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sluice_runner import tables, targets, write
from sluice_runner.assumptions import NotAsJudgedError
from sluice_runner.bound_names import Bound
from sluice_runner.catalogs import Catalogs, Name
from sluice_runner.checkpoint import Checkpoint, Owner, owner_of, places_of
from sluice_runner.commits import Commit
from sluice_runner.earlier_attempts import Done
from sluice_runner.exception_chains import chain_of
from sluice_runner.failures import Failure
from sluice_runner.footprint_check import Judged
from sluice_runner.java_classes import java_class
from sluice_runner.mentions import mentioned
from sluice_runner.partitions import Conditions
from sluice_runner.plan import Job, Statement, Stream, Target, Write
from sluice_runner.promise import Gate
from sluice_runner.repeatable import WRITES_DELTA, refuse_in_a_batch, refuse_unrepeatable
from sluice_runner.reported_names import Looks
from sluice_runner.run_fence import APP_ID, TXN_VERSION, Unfenced
from sluice_runner.settings import set_to
from sluice_runner.statement_execution import Context, Outcome, Prepared, failure_of, step
from sluice_runner.stop_requests import Boundary
from sluice_runner.stream_state import StreamState
from sluice_runner.tables import Table
from sluice_runner.targets import RefusedStatementError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sluice_runner.job_statements import Progress

VIEW = "batch"
_LONGEST_LINE = 512
_COUNTS_ROWS = "spark.databricks.delta.stats.collect"
_EMPTY_COMMIT = "dev.sluice.delta.EmptyCommitException"


class BatchFailed(Exception):  # noqa: N818 - it only ends the query: the outcome has the failure
    """What Spark is told of a batch that failed: one line. It looks through a longer text by a regular expression of which the
    thread of the query dies, without a word of why."""


class Numbered(Unfenced):
    """Commits carry the number of the query and of the batch, by which Delta skips those that it has seen."""

    def __init__(self, spark: SparkSession, stream: Stream, query_id: str) -> None:
        self._spark = spark
        self._stream = stream
        self._query_id = query_id
        self._refused: set[tuple[str, tuple[tuple[str, ...], ...]]] = set()
        self.batch = 0

    def app_id(self, statement: int) -> str:
        """An append's is the query's own, as that of Delta's sink."""
        return self._query_id if self._stream.table is not None else f"{self._query_id}/{statement}"

    @contextmanager
    def numbered(self, statement: int) -> Iterator[None]:
        with set_to(self._spark, {APP_ID: self.app_id(statement), TXN_VERSION: str(self.batch)}):
            yield

    def refuse(self, statement: targets.ParsedStatement) -> None:
        """Refuses, once for each, what can't be done exactly once for each batch."""
        key = (statement.command, statement.names)
        if key in self._refused:
            return
        refuse_unrepeatable(statement)
        if statement.command in WRITES_DELTA:
            for name in statement.names:
                tables.refuse_another_format(self._spark, name)
        self._refused.add(key)


class Batches:
    """The function that Spark calls for each batch, and what came of it."""

    def __init__(self, progress: Progress, stream: Stream, state: StreamState, boundary: Boundary) -> None:
        self._progress = progress
        self._stream = stream
        self._state = state
        self._boundary = boundary
        self._rooms: _Rooms | None = None
        self.failed: Outcome | None = None
        """The outcome of the statement that failed."""
        self.error: Exception | None = None
        """What else ended a batch. Spark would tell it as a text."""
        self.last: int | None = None
        """Number of the last batch whose function has returned."""

    def run(self, batch: DataFrame, number: int) -> None:
        with self._boundary.inside():
            self._state.begins()
            why = self._why_not(batch, number)
            if why is not None:
                _say(f"batch {number}: {why}")
                raise BatchFailed(why)
            self.last = number

    def _why_not(self, batch: DataFrame, number: int) -> str | None:
        """Runs the batch; why it failed, in one line."""
        try:
            self._run(batch, number)
        except Exception as error:  # noqa: BLE001 - kept: whatever it is, the job ends with it
            self.error = error
            traceback.print_exception(error)
            return f"failed: {_in_one_line(failure_of(self._progress.plan, error))}"
        if self.failed is None or self.failed.failure is None:
            return None
        return f"statement {self.failed.statement.number} failed: {_in_one_line(self.failed.failure)}"

    def _run(self, batch: DataFrame, number: int) -> None:
        began = time.monotonic()
        rooms = self._rooms
        is_first = rooms is None
        if rooms is None:
            rooms = self._rooms = _Rooms(batch.sparkSession, self._progress, self._stream)
        with _kept(batch, bool(self._stream.statements)):
            own: Sequence[Commit] = ()
            is_known = not rooms.finds_out_at_the_commit
            has_rows = not (is_known and batch.isEmpty())
            if has_rows:
                rooms.numbered.batch = number
                own = self._statements(rooms, batch, rooms.done(number) if is_first else Done())
                has_rows = is_known or bool(own)
        if self.failed is not None:
            return
        if own and self._stream.table is not None and rooms.counts_rows:
            rooms.finds_out_at_the_commit = True
        if is_first:
            rooms.keep_owner()
        seconds = time.monotonic() - began
        rows = rows_of(own) if self._stream.table is not None else None
        self._state.ended(number, seconds, has_rows=has_rows, rows=rows)
        told = ", ".join(f"version {commit.version} of {commit.table}" for commit in own)
        what = "no rows" if not has_rows else f"committed {told or 'nothing'}"
        _say(f"batch {number}: {what} ({seconds:.1f} s)")

    def _statements(self, rooms: _Rooms, batch: DataFrame, past: Done) -> list[Commit]:
        steps = rooms.steps(batch)
        context = replace(rooms.context, past=past, something_is_left=past.last < steps[-1][0])
        own: list[Commit] = []
        for number, prepare in steps:
            self._progress.running = number
            outcome = step(context, number, prepare)
            for commit in outcome.statement.commits:
                self._state.committed(commit)
                own.append(commit)
            if outcome.failure is not None:
                self.failed = outcome
                return own
        self._progress.running = 1
        return own


def rows_of(own: Sequence[Commit]) -> int | None:
    """Spark counts rows twice of which somebody has asked whether there are any; an append's commit counts them once. One that
    compacts what it has written bears its stamp, too, and counts none."""
    return next((one.metrics["numOutputRows"] for one in own if "numOutputRows" in one.metrics), None)


@contextmanager
def _kept(batch: DataFrame, is_read_again: bool) -> Iterator[None]:
    """Keeps the batch's rows for as long as statements read them: each of them, and a MERGE twice, would read the source again."""
    if not is_read_again:
        yield
        return
    batch.persist()
    try:
        yield
    finally:
        batch.unpersist()


class _Rooms:
    """What all batches of an attempt share. Their session is Spark's own for the query, not the driver's."""

    def __init__(self, spark: SparkSession, progress: Progress, stream: Stream) -> None:
        plan = progress.plan
        catalogs, conditions = Catalogs(spark), Conditions(spark)
        self._spark = spark
        self._stream = stream
        self._plan = plan
        self._catalogs = catalogs
        self.finds_out_at_the_commit = False
        """Whether a batch has rows: to ask before would be to read a selective query nearly twice. Not as long as this attempt has
        committed nothing: an empty append would make a table that isn't there, and Delta may leave out a batch that was done."""
        self.counts_rows = str(spark.conf.get(_COUNTS_ROWS, "true")).lower() != "false"
        """Whether Delta counts the rows of the files that it writes: else it commits one without rows."""
        self.numbered = Numbered(spark, stream, _query_id(spark))
        self.context = Context(
            spark,
            plan,
            self.numbered,
            Bound(spark, catalogs, plan.names, progress.leads, partial(mentioned_by, spark, stream)),
            Looks(spark, catalogs, progress.leads),
            Gate(spark, (), conditions),
            Judged(spark, (), conditions),
            Done(),
            something_is_left=True,
        )

    def steps(self, batch: DataFrame) -> list[tuple[int, Callable[[], Prepared]]]:
        table = self._stream.table
        if table is not None:
            return [(1, partial(self._append, batch, table))]
        batch.createOrReplaceTempView(VIEW)
        return [(one.number, partial(self._sql, one)) for one in self._stream.statements]

    def _append(self, batch: DataFrame, table: Target) -> Prepared:
        name = self.context.bound.there(write.table_name(table))
        if table.path is None and name != write.table_name(table):
            table = Target(path=name[1], name=None)
        if not self.finds_out_at_the_commit:  # otherwise this attempt has committed to it
            tables.refuse_foreign_folder(self._spark, name)
        work = Write(table, self._stream.source, "Append", None, False, None, None)
        return Prepared(
            targets.of_write(name),
            partial(mentioned_by, self._spark, self._stream),
            partial(self._put, work, batch),
        )

    def _put(self, work: Write, batch: DataFrame) -> None:
        empty_commits = java_class(self._spark, "dev.sluice.delta.EmptyCommits")
        empty_commits.refuse(self.finds_out_at_the_commit)
        try:
            write.put(self._spark, work, lambda: batch)
        except Exception as error:
            if not any(link.class_name == _EMPTY_COMMIT for link in chain_of(error)):
                raise
        finally:
            empty_commits.refuse(False)

    def _sql(self, statement: Statement) -> Prepared:
        found = targets.analyse(self._spark, statement.text)
        for name in found.names:
            tables.refuse_foreign_folder(self._spark, self.context.bound.there(name))
        text = statement.text
        return Prepared(found, partial(mentioned, self._spark, text), partial(self._spark.sql, text))

    def done(self, batch: int) -> Done:
        """The last statement of which a table remembers that it was done for this batch. An append is left to Delta."""
        if not self._stream.statements:
            return Done()
        found = self._written()
        numbers = {one.number: self.numbered.app_id(one.number) for one in self._stream.statements}
        return Done(last_done(numbers, found, batch))

    def keep_owner(self) -> None:
        """Has the checkpoint tell whose it is."""
        found = owner(self._spark, self._plan.job, self._stream, self.context.bound, self._catalogs)
        Checkpoint(self._spark, self._stream.checkpoint).keep(found)

    def _written(self) -> list[Table]:
        """The tables that the stream may write, and those that it was judged to, as far as they are there. One that can't be
        looked at now, as while a metastore is away, may remember what was done."""
        bound = self.context.bound
        names = dict.fromkeys(_written(self._spark, self._stream, bound))
        judged = dict.fromkeys(bound.there(write.table_name(touched.table)) for touched in self._plan.touched)
        found = [table for name in names for table in tables.find_once_reachable(self._spark, name)]
        found += [table for name in judged if name not in names for table in tables.find(self._spark, name)]
        return list({table.location: table for table in found}.values())


def last_done(app_ids: Mapping[int, str], found: Sequence[Table], batch: int) -> int:
    """The last of these statements that a table remembers for the batch: a later one implies those before it."""
    return max(
        (
            number
            for number, app_id in app_ids.items()
            for version in (table.txn_version(app_id) for table in found)
            if version is not None and version >= batch
        ),
        default=0,
    )


def owner(spark: SparkSession, job: Job, stream: Stream, bound: Bound, catalogs: Catalogs) -> Owner:
    """Whose a checkpoint of this stream is."""
    names = _written(spark, stream, bound)
    return owner_of(job, stream, list(places_of(names, partial(tables.find, spark), catalogs.qualified)))


def _written(spark: SparkSession, stream: Stream, bound: Bound) -> list[Name]:
    names = [write.table_name(stream.table)] if stream.table is not None else []
    names += [name for one in stream.statements for name in targets.analyse(spark, one.text).names]
    return [bound.there(name) for name in names]


def mentioned_by(spark: SparkSession, stream: Stream) -> list[tuple[str, ...]]:
    texts = [one.text for one in stream.statements] if stream.query is None else [stream.query]
    named = [write.table_name(stream.table)] if stream.table is not None else []
    return [*named, *(name for text in texts for name in mentioned(spark, text))]


def refuse_statements(spark: SparkSession, stream: Stream) -> None:
    """Refuses before anything is read what no batch could do."""
    for one in stream.statements:
        refuse_in_a_batch(targets.analyse(spark, one.text))
    if stream.query is not None and not targets.is_query(spark, stream.query):
        raise RefusedStatementError(
            "nothing was run, because the stream's query is not a query: Spark would run it before the stream starts"
        )


def _query_id(spark: SparkSession) -> str:
    """Spark tells it to the threads of the query. Without it all streams would commit under one id, and skip others' batches."""
    found = spark.sparkContext.getLocalProperty("sql.streaming.queryId")
    if not found:
        raise NotAsJudgedError(
            "nothing was written, because Spark does not tell this batch of which query it is: let the image leave "
            "PYSPARK_PIN_THREAD as it is (true), so that a batch runs in the query's own thread"
        )
    return found


def _in_one_line(failure: Failure) -> str:
    line = failure.message.strip().partition("\n")[0]
    return f"{failure.name}: {line[:_LONGEST_LINE]}"


def _say(text: str) -> None:
    sys.stdout.write(f"sluice: {text}\n")
    sys.stdout.flush()
