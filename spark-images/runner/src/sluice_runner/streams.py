"""A stream: starts its query, follows it, and stops it between two batches when it is asked to."""

from __future__ import annotations

import json
import sys
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from sluice_runner.batches import Batches, mentioned_by, owner, refuse_statements
from sluice_runner.bound_names import Bound
from sluice_runner.catalogs import Catalogs
from sluice_runner.checkpoint import Checkpoint
from sluice_runner.failures import Terminated
from sluice_runner.plan import Stream
from sluice_runner.result import Result
from sluice_runner.statement_execution import failure_of
from sluice_runner.stop_requests import Boundary, Stop
from sluice_runner.targets import RefusedStatementError
from sluice_runner.write import options_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from sluice_runner.job_statements import Progress

VIEW = "source"
_LOOKS_EACH = 0.5
_COMMITS_WITHIN = 5.0
"""Seconds from the end of a batch's function until Spark has written that the batch is done. If it is stopped before, the batch
is run again, and finds that it is done."""
_ENDS_WITHIN = 15.0
"""Seconds that a batch has once the driver is ended: it is killed after 30."""


_STOPS_WITHIN = 60.0
"""Seconds that Spark has to stop a query that is at no batch: it waits for whatever the query's thread waits for."""


class StreamStoppedError(Exception):
    """Spark ended the stream without an exception, though nobody had asked for it."""


def run(spark: SparkSession, progress: Progress, stream: Stream, stop: Stop) -> Result:
    if stop.is_asked():
        return progress.paused()
    try:
        return _Run(spark, progress, stream, stop).result()
    except Exception as error:  # noqa: BLE001 - whatever it is, the job ended with it
        return progress.failed(failure_of(progress.plan, error))


class _Run:
    def __init__(self, spark: SparkSession, progress: Progress, stream: Stream, stop: Stop) -> None:
        self._spark = spark
        self._progress = progress
        self._stream = stream
        self._stop = stop
        self._state = progress.stream
        self._boundary = Boundary()
        self._read_last: tuple[int, str] | None = None
        """Of which batch progress was read, and when that was made."""
        self._batches = Batches(progress, stream, self._state, self._boundary)

    def result(self) -> Result:
        spark, plan = self._spark, self._progress.plan
        mentioned = partial(mentioned_by, spark, self._stream)
        catalogs = Catalogs(spark)
        bound = Bound(spark, catalogs, plan.names, self._progress.leads, mentioned)
        refuse_statements(spark, self._stream)
        whose = owner(spark, plan.job, self._stream, bound, catalogs)
        checkpoint = Checkpoint(spark, self._stream.checkpoint)
        checkpoint.refuse(whose)
        rows = self._rows()
        checkpoint.claim(whose)
        query = self._started(rows)
        self._state.query_id = query.id
        self._progress.running = 1
        try:
            was_stopped = self._followed(query)
        except Terminated:
            self._end_between_batches(query)
            raise
        return self._told(query, was_stopped)

    def _started(self, rows: DataFrame) -> StreamingQuery:
        stream = self._stream
        writer = rows.writeStream.foreachBatch(self._batches.run)
        writer = writer.option("checkpointLocation", stream.checkpoint).queryName(
            self._progress.plan.job.name
        )
        if stream.every is None:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=stream.every).start()

    def _rows(self) -> DataFrame:
        stream, source = self._stream, self._stream.source
        reader = self._spark.readStream.format(source.format or "").options(**options_of(source))
        if stream.schema is not None:
            reader = reader.schema(stream.schema)
        rows = reader.load(source.path) if source.path is not None else reader.load()
        if stream.query is None:
            return rows
        rows.createOrReplaceTempView(VIEW)
        found = self._spark.sql(stream.query)
        if not found.isStreaming:
            raise RefusedStatementError(
                f"nothing was run, because the stream's query does not read the view {VIEW}, so that its rows would never come to "
                f"an end: select from {VIEW}"
            )
        return found

    def _followed(self, query: StreamingQuery) -> bool:
        """Until the query has ended; whether it ended between two batches because it was asked to."""
        while query.isActive:
            self._look(query)
            if self._stop.is_asked(within=_LOOKS_EACH) and self._boundary.close(_LOOKS_EACH):
                return self._stop_after_commit(query)
        return False

    def _look(self, query: StreamingQuery) -> None:
        jvm_query: Any = query._jsq
        progress, status = jvm_query.lastProgress(), jvm_query.status()
        self._state.look(self._read(progress), json.loads(status.json()))

    def _read(self, progress: Any) -> Any:
        """None if it was read before: that of thousands of partitions is long, and stays the same while a stream waits."""
        if progress is None:
            return None
        moment = (progress.batchId(), progress.timestamp())
        if moment == self._read_last:
            return None
        self._read_last = moment
        return json.loads(progress.json())

    def _stop_after_commit(self, query: StreamingQuery) -> bool:
        """No batch is inside, and none begins. What Spark still writes is that the last one is done. False: the query has ended of
        itself just before, and who was asked to stop has not paused but failed, or done all there was."""
        last, deadline = self._batches.last, time.monotonic() + _COMMITS_WITHIN
        while last is not None and query.isActive and time.monotonic() < deadline:
            progress = query._jsq.lastProgress()
            if progress is not None and progress.batchId() >= last:
                break
            time.sleep(0.02)
        self._look(query)
        was_active = query.isActive
        stopping = threading.Thread(target=_stop, args=(query,), daemon=True)
        stopping.start()
        stopping.join(_STOPS_WITHIN)
        if stopping.is_alive():
            sys.stderr.write(
                f"sluice: Spark has not stopped the stream within {_STOPS_WITHIN:.0f} s, as where a source does not answer: the "
                "driver ends without that, because no batch begins any more\n"
            )
        return was_active or self._boundary.has_refused

    def _end_between_batches(self, query: StreamingQuery) -> None:
        """In a thread of its own: SIGTERM may have come while this one waited for an answer of the JVM's."""
        ending = threading.Thread(target=self._close_and_stop, args=(query,), daemon=True)
        ending.start()
        ending.join(_ENDS_WITHIN + _COMMITS_WITHIN)

    def _close_and_stop(self, query: StreamingQuery) -> None:
        try:
            if self._boundary.close(_ENDS_WITHIN):
                self._stop_after_commit(query)
        except Exception as error:  # noqa: BLE001 - told: the driver is ended, and Spark may be gone already
            sys.stderr.write(f"sluice: the stream did not come to the end of a batch: {error}\n")

    def _told(self, query: StreamingQuery, was_stopped: bool) -> Result:
        progress, failed, error = self._progress, self._batches.failed, self._batches.error
        if failed is not None and failed.failure is not None:
            return progress.failed(failed.failure, failed.winner)
        if error is not None:
            return progress.failed(failure_of(progress.plan, error))
        if was_stopped:
            return progress.paused()
        query.awaitTermination()  # raises what ended the query
        self._look(query)
        if self._stream.every is None:
            return progress.succeeded()
        raise StreamStoppedError(
            "Spark ended the stream without an exception, though nobody had asked for it: look into the driver's log"
        )


def _stop(query: StreamingQuery) -> None:
    try:
        query.stop()
    except Exception as error:  # noqa: BLE001 - told: no batch begins any more, whatever becomes of the query
        sys.stderr.write(f"sluice: Spark did not stop the stream: {error}\n")
