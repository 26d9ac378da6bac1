"""Drivers of streams as processes of their own: killed, ended, and two on one checkpoint."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.runner.jobs import Document, Driver, at, place
from integration.runner.streaming import (
    add,
    driver_held_at_its_commit,
    ids,
    run_stream,
    running,
    stream_of,
)

EACH_SECOND = {"processingTime": "1 second"}


@pytest.fixture
def target(spark: SparkSession, tmp_path: Path) -> Path:
    path = tmp_path / "copy"
    spark.sql(f"CREATE TABLE {at(path)} (id BIGINT, date DATE, item STRING) USING delta")
    return path


def python_of(driver: Driver) -> int:
    """The driver's own process, which the JVM of spark-submit has started."""
    listed = subprocess.run(
        ["pgrep", "--parent", str(driver.process.pid), "-f", "run.py"],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(listed.stdout.split()[0])


def test_what_a_killed_driver_had_begun_takes_effect_once_in_the_next(
    spark: SparkSession, table: Path, target: Path, tmp_path: Path, freezes: Path
) -> None:
    """The DELETE finds nothing, so that the commit which is held is the INSERT's."""
    checkpoint = tmp_path / "checkpoint"
    texts = (
        f"DELETE FROM {at(target)} WHERE id <= 2",
        f"INSERT INTO {at(target)} SELECT * FROM batch",
        f"UPDATE {at(target)} SET item = item || '!' WHERE id <= 2",
    )
    document = stream_of(table, checkpoint, *texts, run_key="killed-stream")
    with driver_held_at_its_commit(tmp_path, freezes, document) as (driver, freeze):
        os.killpg(driver.process.pid, signal.SIGKILL)
        driver.process.communicate()
        freeze.lift()
    assert (checkpoint / "offsets" / "0").exists()
    assert ids(spark, target) == []
    assert run_stream(spark, stream_of(table, checkpoint, *texts))["outcome"] == "Succeeded"
    rows = spark.sql(f"SELECT id, item FROM {at(target)} ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [(1, "a!"), (2, "b!")]


def test_of_two_drivers_on_one_checkpoint_one_commits_and_the_other_is_told_that_it_lost(
    spark: SparkSession, table: Path, target: Path, tmp_path: Path, freezes: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    append: Document = {"table": {"path": place(target)}}
    held = stream_of(table, checkpoint, run_key="first-stream", trigger=EACH_SECOND, **append)
    with driver_held_at_its_commit(tmp_path, freezes, held) as (driver, freeze):
        with running(spark, stream_of(table, checkpoint, trigger=EACH_SECOND, **append)) as second:
            second.wait_until("batches", 1)
            freeze.lift()
            driver.process.communicate(timeout=240)
            second.stop.ask()
            assert second.result()["outcome"] == "Paused"
        result = driver.result()
    assert driver.process.returncode == 1
    failure = result["exception"]
    assert (failure["class"], failure["retriable"]) == ("ConcurrentTransactionException", True), result
    assert ids(spark, target) == [1, 2]


def test_a_driver_that_is_ended_lets_its_batch_come_to_its_end(
    spark: SparkSession, table: Path, target: Path, tmp_path: Path, freezes: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    append: Document = {"table": {"path": place(target)}}
    document = stream_of(table, checkpoint, run_key="ended-stream", trigger=EACH_SECOND, **append)
    with driver_held_at_its_commit(tmp_path, freezes, document) as (driver, freeze):
        os.kill(python_of(driver), signal.SIGTERM)
        freeze.lift()
        driver.process.communicate(timeout=120)
    result = driver.result()
    assert (result["outcome"], result["exception"]["class"]) == ("Failed", "Terminated"), result
    assert result["stream"]["batch"] == 0
    assert (checkpoint / "commits" / "0").exists()
    add(spark, table, 3)
    assert run_stream(spark, stream_of(table, checkpoint, **append))["stream"]["batch"] == 1
    assert ids(spark, target) == [1, 2, 3]
