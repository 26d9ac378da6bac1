"""A batch that is run again takes effect once, wherever its driver was ended: what that leaves is made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.runner.jobs import Document, at, place
from integration.runner.streaming import add, ids, run_stream, stream_of
from sluice_runner.settings import set_to


def forget(checkpoint: Path, batch: int) -> None:
    """As if the driver had been ended before Spark wrote that the batch is done."""
    (checkpoint / "commits" / str(batch)).unlink()
    (checkpoint / "commits" / f".{batch}.crc").unlink(missing_ok=True)


def versions(table: Path) -> int:
    return len(list((table / "_delta_log").glob("*.json")))


def replaced(made: Path) -> tuple[str, str, str]:
    """The DELETE finds nothing in the first batch. Run again after the INSERT, it would destroy what that has written, and the
    INSERT would be skipped."""
    table = at(made)
    return (
        f"DELETE FROM {table} WHERE id <= 2",
        f"INSERT INTO {table} SELECT * FROM batch",
        f"UPDATE {table} SET item = item || '!' WHERE id <= 2",
    )


def rows(spark: SparkSession, table: Path) -> list[tuple[int, str]]:
    return [tuple(row) for row in spark.sql(f"SELECT id, item FROM {at(table)} ORDER BY id").collect()]


@pytest.mark.parametrize(
    "done", [pytest.param(0, marks=pytest.mark.long), pytest.param(1, marks=pytest.mark.long), 2, 3]
)
def test_a_batch_of_which_so_many_statements_were_done_is_completed(
    spark: SparkSession, table: Path, made: Path, checkpoint: Path, done: int
) -> None:
    """After none and after one it is the same: the first commits nothing. test_stream_drivers.py kills a driver there."""
    texts = replaced(made)
    first = texts[:done] or (f"DELETE FROM {at(made)} WHERE false",)
    assert run_stream(spark, stream_of(table, checkpoint, *first))["outcome"] == "Succeeded"
    forget(checkpoint, 0)
    result = run_stream(spark, stream_of(table, checkpoint, *texts))
    assert result["outcome"] == "Succeeded", result
    assert rows(spark, made) == [(1, "a!"), (2, "b!")]
    add(spark, table, 3)
    assert run_stream(spark, stream_of(table, checkpoint, *texts))["outcome"] == "Succeeded"
    assert rows(spark, made) == [(3, "n")]


@pytest.mark.parametrize("is_replayed", [False, True])
def test_a_stream_that_deltas_own_sink_began_goes_on_without_a_lost_or_doubled_row(
    spark: SparkSession, table: Path, made: Path, checkpoint: Path, is_replayed: bool
) -> None:
    source = spark.readStream.format("delta").load(str(table))
    sink = source.writeStream.format("delta").option("checkpointLocation", str(checkpoint))
    query = sink.trigger(availableNow=True).start(str(made))
    query.awaitTermination()
    if is_replayed:
        forget(checkpoint, 0)
    before = versions(made)
    add(spark, table, 3)
    result = run_stream(spark, stream_of(table, checkpoint, table={"path": place(made)}))
    assert result["stream"]["queryId"] == query.id, result
    assert ids(spark, made) == [1, 2, 3]
    assert versions(made) == before + 1


@pytest.mark.parametrize("rows_are_counted", [True, False])
def test_a_batch_without_rows_commits_nothing_and_is_not_run_again(
    spark: SparkSession, table: Path, target: Path, checkpoint: Path, *, rows_are_counted: bool
) -> None:
    """Of the first ones it is asked whether they have any, and of those after the first commit it turns out at theirs, unless Delta
    would commit a file without rows."""
    add(spark, table, 6)
    add(spark, table, 3)
    add(spark, table, 7)
    source = {"format": "delta", "path": place(table), "options": {"maxFilesPerTrigger": "1"}}
    append: Document = {
        "table": {"path": place(target)},
        "query": "SELECT * FROM source WHERE id > 5",
        "source": source,
    }
    with set_to(spark, {"spark.databricks.delta.stats.collect": str(rows_are_counted)}):
        result = run_stream(spark, stream_of(table, checkpoint, **append))
    told = result["stream"]
    assert (result["outcome"], told["batch"], told["batches"]) == ("Succeeded", 4, 2), result
    assert ids(spark, target) == [6, 7]
    assert versions(target) == 2
    assert told["lastCommit"]["version"] == 1
    add(spark, table, 4)
    again = run_stream(spark, stream_of(table, checkpoint, **append))["stream"]
    assert (again["batch"], again["batches"]) == (5, 0)
    assert versions(target) == 2
