"""A commit that is lost to another one is told by its class, with the partition, and with the commit and the job that won."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from integration.runner.freezing import Freeze, wait_for
from integration.runner.jobs import Document, at, plan, run_here, run_sql, sql
from sluice_runner.failures import Failure, classify
from sluice_runner.stamp import CONF
from sluice_runner.winners import winner_in

DAY = "date = DATE'2026-11-19'"
A_ROW = "VALUES (3, DATE'2026-11-19', 'c')"


def lose(spark: SparkSession, freezes: Path, run_key: str, loser: Document, winner: Document) -> Document:
    """The result of a job that is held before its commit until another job has committed."""
    with held(spark, freezes, run_key, loser) as lost:
        won = run_here(spark, plan(winner, f"{run_key}-winner"))
        assert won["outcome"] == "Succeeded", won
    return lost[0]


@contextmanager
def held(spark: SparkSession, freezes: Path, run_key: str, loser: Document) -> Iterator[list[Document]]:
    """Holds a job before its commit for as long as the block runs; the list has its result afterwards."""
    freeze = Freeze(freezes, run_key)
    result: list[Document] = []
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(run_here, spark.newSession(), plan(loser, run_key))
        try:
            wait_for(lambda: freeze.is_reached() or running.done(), "the loser's commit")
            yield result
        finally:
            freeze.lift()
        result.append(running.result(timeout=300))


def write(table: Path, rows: str, mode: str, **more: object) -> Document:
    return {"write": {"table": {"path": str(table)}, "source": {"sql": rows}, "mode": mode, **more}}


def enable(feature: str, table: Path) -> Document:
    return sql(f"ALTER TABLE {at(table)} SET TBLPROPERTIES ('delta.{feature}' = 'true')")


@pytest.mark.parametrize("class_name", ["Append", "DeleteRead", "DeleteDelete", "Write"])
def test_what_was_read_or_removed_is_lost_to_another_job(
    spark: SparkSession, freezes: Path, table: Path, class_name: str
) -> None:
    insert, delete_day = sql(f"INSERT INTO {at(table)} {A_ROW}"), sql(f"DELETE FROM {at(table)} WHERE {DAY}")
    loser, winner, code, operation, partition = {
        "Append": (delete_day, insert, "DELTA_CONCURRENT_APPEND", "WRITE", "date=2026-11-19"),
        "DeleteRead": (
            sql(f"UPDATE {at(table)} SET item = 'z' WHERE {DAY} AND id = 1"),
            delete_day,
            "DELTA_CONCURRENT_DELETE_READ",
            "DELETE",
            "date=2026-11-19",
        ),
        "DeleteDelete": (
            write(table, "SELECT 4L AS id, DATE'2026-11-19' AS date, 'd' AS item", "OverwritePartitions"),
            delete_day,
            "DELTA_CONCURRENT_DELETE_DELETE",
            "DELETE",
            "date=2026-11-19",
        ),
        "Write": (
            sql(f"RESTORE TABLE {at(table)} TO VERSION AS OF 0"),
            insert,
            "DELTA_CONCURRENT_WRITE",
            "WRITE",
            None,
        ),
    }[class_name]
    exception = lose(spark, freezes, f"lost-{class_name}", loser, winner)["exception"]
    run_key = f"lost-{class_name}"
    assert_lost(
        exception, f"Concurrent{class_name}Exception", code, run_key=run_key, version=2, operation=operation
    )
    # Up to 4.0 two deletions name the file, which lies in the folder of its partition.
    assert (exception["partition"] or "").partition("/")[0] == (partition or "")


@pytest.mark.parametrize("name", ["metadata", "protocol", "transaction", "domain", "first-commit"])
def test_what_a_job_began_with_is_changed_by_another_job(
    spark: SparkSession, freezes: Path, table: Path, tmp_path: Path, name: str
) -> None:
    version = 2
    if name == "metadata":
        expected = ("MetadataChangedException", "DELTA_METADATA_CHANGED", "SET TBLPROPERTIES")
        loser = sql(f"INSERT INTO {at(table)} {A_ROW}")
        winner = sql(f"ALTER TABLE {at(table)} SET TBLPROPERTIES ('team' = 'red')")
    elif name == "protocol":
        expected = ("ProtocolChangedException", "DELTA_PROTOCOL_CHANGED", "SET TBLPROPERTIES")
        loser, winner = enable("enableChangeDataFeed", table), enable("enableInCommitTimestamps", table)
    elif name == "transaction":
        expected = ("ConcurrentTransactionException", "DELTA_CONCURRENT_TRANSACTION", "WRITE")
        rows = "SELECT 3L AS id, DATE'2026-11-21' AS date, 'c' AS item"
        loser = write(table, rows, "Append", txnAppId="app", txnVersion=1)
        winner = write(table, rows, "Append", txnAppId="app", txnVersion=2)
    elif name == "domain":
        expected = ("ConcurrentTransactionException", "DELTA_CONCURRENT_TRANSACTION", "CLUSTER BY")
        clustered = tmp_path / "clustered"
        spark.sql(
            f"CREATE TABLE {at(clustered)} (id BIGINT, amount INT, item STRING) USING delta CLUSTER BY (id)"
        )
        loser, winner = (
            sql(f"ALTER TABLE {at(clustered)} CLUSTER BY ({column})") for column in ("amount", "item")
        )
        version = 1
    else:
        expected = ("ProtocolChangedException", "DELTA_PROTOCOL_CHANGED", "WRITE")
        loser = winner = write(tmp_path / "new", "SELECT 1L AS id", "Append")
        version = 0
    exception = lose(spark, freezes, f"changed-{name}", loser, winner)["exception"]
    class_name, code, operation = expected
    assert_lost(exception, class_name, code, run_key=f"changed-{name}", version=version, operation=operation)
    assert exception["partition"] is None


def assert_lost(
    exception: Document, class_name: str, code: str, *, run_key: str, version: int, operation: str
) -> None:
    assert (exception["class"], exception["javaClass"]) == (class_name, f"io.delta.exceptions.{class_name}")
    assert (exception["errorClass"].partition(".")[0], exception["sqlState"]) == (code, "2D521")
    assert exception["retriable"] is True
    winner = exception["conflictingCommit"]
    assert (winner["version"], winner["operation"], winner["foreign"]) == (version, operation, False)
    assert (winner["stamp"]["job"], winner["stamp"]["runKey"]) == ("sales/daily", f"{run_key}-winner")
    assert "Delta-Lake/" in winner["engine"]


def test_a_winner_without_a_stamp_is_foreign(spark: SparkSession, freezes: Path, table: Path) -> None:
    with held(spark, freezes, "foreign-wins", sql(f"DELETE FROM {at(table)} WHERE {DAY}")) as lost:
        spark.sql(f"INSERT INTO {at(table)} VALUES (4, DATE'2026-11-20', 'd')")
        spark.sql(f"INSERT INTO {at(table)} {A_ROW}")
    winner = lost[0]["exception"]["conflictingCommit"]
    assert (winner["version"], winner["operation"]) == (3, "WRITE")
    assert (winner["stamp"], winner["foreign"]) == (None, True)
    assert winner["engine"].startswith("Apache-Spark/")


def test_where_a_table_has_no_partitions(spark: SparkSession, freezes: Path, tmp_path: Path) -> None:
    path = tmp_path / "whole"
    spark.sql(f"CREATE TABLE {at(path)} USING delta AS SELECT 1L AS id")
    loser, winner = sql(f"DELETE FROM {at(path)} WHERE id = 1"), sql(f"INSERT INTO {at(path)} VALUES (2)")
    exception = lose(spark, freezes, "no-partitions", loser, winner)["exception"]
    assert exception["class"] == "ConcurrentAppendException"
    assert exception["partition"] in (None, "the root of the table")


def test_a_writer_without_conflict_commits_after_the_other(
    spark: SparkSession, freezes: Path, table: Path
) -> None:
    loser, winner = sql(f"INSERT INTO {at(table)} {A_ROW}"), sql(f"DELETE FROM {at(table)} WHERE {DAY}")
    result = lose(spark, freezes, "no-conflict", loser, winner)
    assert result["outcome"] == "Succeeded"
    assert result["statements"][0]["commits"][0]["version"] == 3


def test_deltas_python_exceptions_are_told_alike(
    spark: SparkSession, freezes: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Importing delta replaces PySpark's conversion: its classes no longer know their Java exception."""
    from pyspark.errors.exceptions import captured  # noqa: PLC0415

    monkeypatch.setattr(captured, "convert_exception", captured.convert_exception)
    import delta.exceptions  # noqa: PLC0415

    patched = captured.convert_exception
    assert "delta" in patched.__module__ or "delta" in patched.__qualname__, delta.exceptions.__file__
    loser, winner = sql(f"DELETE FROM {at(table)} WHERE {DAY}"), sql(f"INSERT INTO {at(table)} {A_ROW}")
    exception = lose(spark, freezes, "python-classes", loser, winner)["exception"]
    name, code = "ConcurrentAppendException", "DELTA_CONCURRENT_APPEND"
    assert_lost(exception, name, code, run_key="python-classes", version=2, operation="WRITE")
    assert exception["partition"] == "date=2026-11-19"


@pytest.mark.parametrize("sink", ["delta", "foreachBatch"])
def test_a_stream_that_lost_its_commit_tells_it_from_whatever_wraps_it(
    spark: SparkSession, freezes: Path, table: Path, tmp_path: Path, sink: str
) -> None:
    session, tag = spark.newSession(), f"stream-{sink}"
    session.conf.set(CONF, tag)
    rows = session.readStream.format("delta").load(str(table))
    writer = rows.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    target = tmp_path / "target"
    spark.sql(f"CREATE TABLE {at(target)} USING delta PARTITIONED BY (date) AS SELECT * FROM {at(table)}")
    freeze = Freeze(freezes, tag)

    def delete(batch: DataFrame, _number: int) -> None:
        batch.sparkSession.sql(f"DELETE FROM {at(target)} WHERE {DAY}")

    if sink == "delta":
        query = writer.format("delta").start(str(target))
        winner, class_name = (
            f"ALTER TABLE {at(target)} SET TBLPROPERTIES ('team' = 'red')",
            "MetadataChangedException",
        )
    else:
        query = writer.foreachBatch(delete).start()
        winner, class_name = f"INSERT INTO {at(target)} {A_ROW}", "ConcurrentAppendException"
    try:
        wait_for(lambda: freeze.is_reached() or not query.isActive, "the stream's commit")
        spark.sql(winner)
    finally:
        freeze.lift()
    for failure in failures_of(query):
        assert failure.java_class == f"io.delta.exceptions.{class_name}", failure
        assert (failure.sql_state, failure.retriable) == ("2D521", True)
        assert winner_in(failure.message) == failure.winner
        assert failure.winner is not None
        assert failure.winner.operation == ("SET TBLPROPERTIES" if sink == "delta" else "WRITE")
        assert failure.partition == (None if sink == "delta" else "date=2026-11-19")


def failures_of(query: StreamingQuery) -> list[Failure]:
    """What awaitTermination raises, and what the query tells afterwards."""
    with pytest.raises(Exception) as raised:  # noqa: PT011 - which class it is differs, and is not the question
        query.awaitTermination(240)
    told = query.exception()
    assert told is not None
    return [classify(raised.value), classify(told)]


@pytest.mark.parametrize(
    ("text", "error_class"),
    [
        (
            "UPDATE {} SET item = raise_error('io.delta.exceptions.ConcurrentAppendException: [DELTA_CONCURRENT_APPEND] x')",
            "USER_RAISED_EXCEPTION",
        ),
        (
            "INSERT INTO {} SELECT CAST('io.delta.exceptions.ConcurrentWriteException: x' AS BIGINT), date, item FROM {}",
            "CAST_INVALID_INPUT",
        ),
    ],
)
def test_words_of_a_conflict_in_a_statement_or_its_rows_are_none(
    spark: SparkSession, table: Path, text: str, error_class: str
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", "true")
    exception = run_sql(session, text.format(at(table), at(table)))["exception"]
    assert "io.delta.exceptions.Concurrent" in exception["message"]
    assert exception["class"].startswith("Spark") or exception["class"] == "RuntimeException"
    # Spark 3.5 has no error class for raise_error.
    assert exception["errorClass"] in (error_class, None)
    assert (exception["retriable"], exception["conflictingCommit"]) == (False, None)
