"""Streams on real Spark: each batch takes effect once, whatever ends the stream, and it stops between two batches."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from integration.runner.jobs import at, location, place
from integration.runner.streaming import add, ids, run_stream, running, stream_of

EACH_SECOND = {"processingTime": "1 second"}
AT_ONCE = {"processingTime": "0 seconds"}


def test_available_now_appends_what_is_there_and_ends(
    spark: SparkSession, table: Path, target: Path, checkpoint: Path
) -> None:
    document = stream_of(table, checkpoint, table={"path": place(target)})
    result = run_stream(spark, document)
    assert (result["outcome"], result["statements"]) == ("Succeeded", []), result
    told = result["stream"]
    assert (told["batch"], told["batches"], told["rows"], told["lastCommit"]) == (
        0,
        1,
        2,
        {"table": location(target), "version": 0},
    )
    add(spark, table, 3)
    again = run_stream(spark, document)["stream"]
    assert (again["batch"], again["queryId"], again["lastCommit"]["version"]) == (1, told["queryId"], 1)
    assert ids(spark, target) == [1, 2, 3]
    assert "lastCommit" not in run_stream(spark, document)["stream"]


def test_a_query_chooses_the_rows_that_are_appended(
    spark: SparkSession, table: Path, target: Path, checkpoint: Path
) -> None:
    query = "SELECT id, upper(item) AS item FROM source WHERE id > 1"
    result = run_stream(spark, stream_of(table, checkpoint, table={"path": place(target)}, query=query))
    assert result["outcome"] == "Succeeded", result
    assert [tuple(row) for row in spark.sql(f"SELECT * FROM {at(target)}").collect()] == [(2, "B")]


def test_statements_run_for_each_batch(
    spark: SparkSession, table: Path, target: Path, checkpoint: Path
) -> None:
    spark.sql(f"CREATE TABLE {at(target)} (id BIGINT, date DATE, item STRING) USING delta")
    merge = f"MERGE INTO {at(target)} t USING batch b ON t.id = b.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    result = run_stream(spark, stream_of(table, checkpoint, merge, f"DELETE FROM {at(target)} WHERE id = 1"))
    assert result["outcome"] == "Succeeded", result
    assert result["stream"]["lastCommit"]["version"] == 2
    assert (result["stream"]["rows"], ids(spark, target)) == (2, [2])


def test_an_idle_stream_stops_at_once_when_it_is_asked_to(
    spark: SparkSession, table: Path, target: Path, checkpoint: Path
) -> None:
    document = stream_of(table, checkpoint, table={"path": place(target)}, trigger=EACH_SECOND)
    with running(spark, document) as stream:
        stream.wait_until("batches", 1)
        add(spark, table, 3)
        stream.wait_until("batches", 2)
        stream.stop.ask()
        result = stream.result()
    assert (result["outcome"], result["stream"]["batch"]) == ("Paused", 1), result
    with running(spark, document) as stream:
        add(spark, table, 4)
        stream.wait_until("batches", 1)
    assert ids(spark, target) == [1, 2, 3, 4]
