"""A stream that is asked to stop does so between two batches, whatever it is doing."""

from __future__ import annotations

import time
from pathlib import Path

from pyspark.sql import SparkSession

from integration.runner.freezing import Freeze, wait_for
from integration.runner.jobs import Document, place
from integration.runner.streaming import Running, add, ids, run_stream, running, stream_of

AT_ONCE = {"processingTime": "0 seconds"}
ONE_BY_ONE = {"maxFilesPerTrigger": "1"}


def test_a_stream_that_has_a_batch_after_the_other_stops_between_two_of_them(
    spark: SparkSession, table: Path, target: Path, checkpoint: Path
) -> None:
    for number in range(3, 11):
        add(spark, table, number)
    source = {"format": "delta", "path": place(table), "options": ONE_BY_ONE}
    append: Document = {"table": {"path": place(target)}, "source": source}
    with running(spark, stream_of(table, checkpoint, trigger=AT_ONCE, **append)) as stream:
        stream.wait_until("batches", 2)
        stream.stop.ask()
        result = stream.result()
    assert result["outcome"] == "Paused", result
    assert "exception" not in result
    last = result["stream"]["batch"]
    assert (checkpoint / "commits" / str(last)).exists(), "the next attempt has no batch to run again"
    resumed = run_stream(spark, stream_of(table, checkpoint, **append))
    assert resumed["outcome"] == "Succeeded", resumed
    assert ids(spark, target) == list(range(1, 11))


def test_a_batch_under_way_comes_to_its_end_however_often_the_stream_is_asked_to_stop(
    spark: SparkSession, table: Path, target: Path, checkpoint: Path, freezes: Path
) -> None:
    freeze = Freeze(freezes, "under-way")
    document = stream_of(
        table, checkpoint, run_key="under-way", trigger=AT_ONCE, table={"path": place(target)}
    )
    with running(spark, document) as stream:
        try:
            wait_for(lambda: freeze.is_reached() or stream.has_ended(), "the batch's commit")
            stream.stop.ask()
            time.sleep(2)
            assert not stream.has_ended()
            assert not (checkpoint / "commits" / "0").exists()
            stream.stop.ask()
        finally:
            freeze.lift()
        result = stream.result()
    assert (result["outcome"], result["stream"]["batch"]) == ("Paused", 0), result
    assert (checkpoint / "commits" / "0").exists()
    assert ids(spark, target) == [1, 2]


def test_a_stream_that_is_asked_to_stop_before_it_starts_does_not_start(
    spark: SparkSession, table: Path, target: Path, checkpoint: Path
) -> None:
    stream = Running(spark, stream_of(table, checkpoint, trigger=AT_ONCE, table={"path": place(target)}))
    stream.stop.ask()
    result = stream.start().result()
    assert (result["outcome"], result["stream"]) == ("Paused", {"batches": 0})
    assert not checkpoint.exists()
    assert not target.exists()
