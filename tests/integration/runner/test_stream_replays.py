"""A batch that is run again takes effect once, wherever its driver was ended: what that leaves is made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.runner.jobs import Document, at, place
from integration.runner.streaming import add, ids, run_stream, stream_of


@pytest.fixture
def target(spark: SparkSession, tmp_path: Path) -> Path:
    path = tmp_path / "copy"
    spark.sql(f"CREATE TABLE {at(path)} (id BIGINT, date DATE, item STRING) USING delta")
    return path


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


def forget(checkpoint: Path, batch: int) -> None:
    """As if the driver had been ended before Spark wrote that the batch is done."""
    (checkpoint / "commits" / str(batch)).unlink()
    (checkpoint / "commits" / f".{batch}.crc").unlink(missing_ok=True)


def versions(table: Path) -> int:
    return len(list((table / "_delta_log").glob("*.json")))


def replaced(target: Path) -> tuple[str, str, str]:
    """The DELETE finds nothing in the first batch. Run again after the INSERT, it would destroy what that has written, and the
    INSERT would be skipped."""
    table = at(target)
    return (
        f"DELETE FROM {table} WHERE id <= 2",
        f"INSERT INTO {table} SELECT * FROM batch",
        f"UPDATE {table} SET item = item || '!' WHERE id <= 2",
    )


def rows(spark: SparkSession, table: Path) -> list[tuple[int, str]]:
    return [tuple(row) for row in spark.sql(f"SELECT id, item FROM {at(table)} ORDER BY id").collect()]


@pytest.mark.parametrize("done", [0, 1, 2, 3])
def test_a_batch_of_which_so_many_statements_were_done_is_completed(
    spark: SparkSession, table: Path, target: Path, checkpoint: Path, done: int
) -> None:
    texts = replaced(target)
    first = texts[:done] or ("SELECT 1",)
    assert run_stream(spark, stream_of(table, checkpoint, *first))["outcome"] == "Succeeded"
    forget(checkpoint, 0)
    result = run_stream(spark, stream_of(table, checkpoint, *texts))
    assert result["outcome"] == "Succeeded", result
    assert rows(spark, target) == [(1, "a!"), (2, "b!")]
    add(spark, table, 3)
    assert run_stream(spark, stream_of(table, checkpoint, *texts))["outcome"] == "Succeeded"
    assert rows(spark, target) == [(3, "n")]


@pytest.mark.parametrize("is_replayed", [False, True])
def test_a_stream_that_deltas_own_sink_began_goes_on_without_a_lost_or_doubled_row(
    spark: SparkSession, table: Path, target: Path, checkpoint: Path, is_replayed: bool
) -> None:
    source = spark.readStream.format("delta").load(str(table))
    sink = source.writeStream.format("delta").option("checkpointLocation", str(checkpoint))
    query = sink.trigger(availableNow=True).start(str(target))
    query.awaitTermination()
    if is_replayed:
        forget(checkpoint, 0)
    before = versions(target)
    add(spark, table, 3)
    result = run_stream(spark, stream_of(table, checkpoint, table={"path": place(target)}))
    assert result["stream"]["queryId"] == query.id, result
    assert ids(spark, target) == [1, 2, 3]
    assert versions(target) == before + 1


def test_a_batch_without_rows_commits_nothing(
    spark: SparkSession, table: Path, target: Path, checkpoint: Path
) -> None:
    before = versions(target)
    append: Document = {"table": {"path": place(target)}, "query": "SELECT * FROM source WHERE id > 5"}
    result = run_stream(spark, stream_of(table, checkpoint, **append))
    assert (result["outcome"], result["stream"]["batch"], result["stream"]["batches"]) == ("Succeeded", 0, 0)
    assert versions(target) == before
    add(spark, table, 6)
    assert run_stream(spark, stream_of(table, checkpoint, **append))["stream"]["batches"] == 1
    assert ids(spark, target) == [6]
