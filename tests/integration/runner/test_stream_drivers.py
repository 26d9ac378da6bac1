"""Drivers of streams as processes of their own: killed, ended, and two on one checkpoint."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from held_commits import held_in
from integration.runner.freezing import Freeze, wait_for
from integration.runner.jobs import Document, Driver, at, place, submit
from integration.runner.streaming import (
    DRIVER_SETTINGS,
    add,
    driver_held_at_its_commit,
    ids,
    run_stream,
    running,
    stream_of,
)
from integration.warm_drivers.server import WarmDrivers
from sluice.api.job_status import Attempt, Outcome
from sluice.engines import Observation, Stage
from sluice.lifecycle.streams.stream_outcome import closed_stream

EACH_SECOND = {"processingTime": "1 second"}


Hold = Callable[[Document], AbstractContextManager[tuple[Driver, Freeze]]]


@pytest.fixture
def hold(tmp_path: Path, freezes: Path) -> Hold:
    """A driver that is held at its commit."""
    return partial(driver_held_at_its_commit, tmp_path, freezes)


def test_what_a_killed_driver_had_begun_takes_effect_once_in_the_next(
    spark: SparkSession, table: Path, made: Path, checkpoint: Path, hold: Hold
) -> None:
    """The DELETE finds nothing, so that the commit which is held is the INSERT's."""
    texts = (
        f"DELETE FROM {at(made)} WHERE id <= 2",
        f"INSERT INTO {at(made)} SELECT * FROM batch",
        f"UPDATE {at(made)} SET item = item || '!' WHERE id <= 2",
    )
    document = stream_of(table, checkpoint, *texts, run_key="killed-stream")
    with hold(document) as (driver, freeze):
        os.killpg(driver.process.pid, signal.SIGKILL)
        driver.process.communicate()
        freeze.lift()
    assert driver.process.returncode == -signal.SIGKILL
    assert driver.termination_log.read_bytes() == b"", "only a driver that is killed leaves no result"
    assert (checkpoint / "offsets" / "0").exists()
    assert ids(spark, made) == []
    assert run_stream(spark, stream_of(table, checkpoint, *texts))["outcome"] == "Succeeded"
    rows = spark.sql(f"SELECT id, item FROM {at(made)} ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [(1, "a!"), (2, "b!")]


def test_of_two_drivers_on_one_checkpoint_one_commits_and_the_other_is_told_that_it_lost(
    spark: SparkSession, warm: WarmDrivers, table: Path, made: Path, freezes: Path
) -> None:
    checkpoint = table.parent / "checkpoint"
    append: Document = {"table": {"path": place(made)}}
    held = stream_of(table, checkpoint, run_key="first-stream", trigger=EACH_SECOND, **append)
    freeze = Freeze(freezes, "first-stream")
    driver = submit(table.parent, held, held_in(freezes), command=[warm.spark_submit])
    wait_for(lambda: freeze.is_reached() or driver.process.poll() is not None, "the driver's commit")
    with running(spark, stream_of(table, checkpoint, trigger=EACH_SECOND, **append)) as second:
        second.wait_until("batches", 1)
        freeze.lift()
        assert driver.ended() == 1
        second.stop.ask()
        assert second.result()["outcome"] == "Paused"
    result = driver.result()
    failure = result["exception"]
    assert (failure["class"], failure["retriable"]) == ("ConcurrentTransactionException", True), result
    assert ids(spark, made) == [1, 2]


@pytest.mark.parametrize("told", [pytest.param("all processes", marks=pytest.mark.long), "the JVM alone"])
def test_a_driver_that_is_ended_lets_its_batch_come_to_its_end(
    spark: SparkSession, table: Path, made: Path, hold: Hold, told: str
) -> None:
    """A pod's first process is told of its end, which is the JVM, or in our image one that tells all."""
    checkpoint = table.parent / "checkpoint"
    append: Document = {"table": {"path": place(made)}}
    document = stream_of(table, checkpoint, run_key=f"ended-{len(told)}", trigger=EACH_SECOND, **append)
    with hold(document) as (driver, freeze):
        (os.kill if told == "the JVM alone" else os.killpg)(driver.process.pid, signal.SIGTERM)
        time.sleep(2)
        assert driver.process.poll() is None
        freeze.lift()
        driver.process.communicate(timeout=120)
    result = driver.result()
    assert (result["outcome"], result["exception"]["class"]) == ("Failed", "Terminated"), result
    assert result["stream"]["batch"] == 0
    assert (checkpoint / "commits" / "0").exists()
    add(spark, table, 3)
    assert run_stream(spark, stream_of(table, checkpoint, **append))["stream"]["batch"] == 1
    assert ids(spark, made) == [1, 2, 3]


@pytest.mark.long
def test_a_driver_whose_python_outlives_its_jvm_has_died_as_its_container_says(
    table: Path, made: Path, checkpoint: Path, hold: Hold
) -> None:
    """A kernel that is out of memory kills the largest process, and the others of a container a moment later."""
    with hold(stream_of(table, checkpoint, run_key="dies", table={"path": place(made)})) as (driver, _):
        os.kill(driver.process.pid, signal.SIGKILL)
        driver.process.communicate(timeout=60)
        left: list[str] = []  # once: it may be written again
        wait_for(lambda: bool(driver_left(driver, left)), "what its Python leaves")
    assert json.loads(left[-1])["exception"]["class"] == "Terminated"
    ended = ended_as_told(left[-1], 137, "OOMKilled")
    assert (ended.outcome, ended.exception) == (Outcome.KILLED, None)
    assert "(exit code 137, OOMKilled): it needed more memory than its pod may have" in (ended.message or "")


@pytest.mark.long
def test_a_driver_whose_heap_is_full_is_told_how_to_give_it_more(
    table: Path, made: Path, checkpoint: Path, tmp_path: Path
) -> None:
    """Spark works out what is the same for each row before it runs a statement."""
    text = f"INSERT INTO {at(made)} SELECT id, date, repeat('x', 1500000000) FROM batch"
    driver = submit(tmp_path, stream_of(table, checkpoint, text, trigger=EACH_SECOND), DRIVER_SETTINGS)
    driver.process.communicate(timeout=240)
    ended = ended_as_told(driver.termination_log.read_text(), driver.process.returncode, "Error")
    assert (ended.outcome, ended.exit_code) == (Outcome.FAILED, 1)
    assert ended.exception is not None
    assert ended.exception.class_ == "OutOfMemoryError"
    assert "runtime.driver.memory" in (ended.exception.advice or "")


def driver_left(driver: Driver, seen: list[str]) -> str:
    seen.append(driver.termination_log.read_text())
    return seen[-1]


def ended_as_told(left: str, exit_code: int, reason: str) -> Attempt:
    """What the operator makes of the driver's end, of which its container says this."""
    seen = Observation(Stage.ENDED, exit_code=exit_code, detail=reason, message=left)
    begun = datetime.now(UTC)
    attempt = Attempt(number=1, token=1, hash="x", application="a-1", granted_at=begun, started_at=begun)
    return closed_stream(attempt, seen, None, begun)


@pytest.mark.long
def test_a_driver_whose_jvm_leaves_signals_alone_runs_and_tells_what_ends_at_once(
    spark: SparkSession, table: Path, made: Path, checkpoint: Path, tmp_path: Path
) -> None:
    settings = {**DRIVER_SETTINGS, "spark.driver.extraJavaOptions": "-Xrs"}
    driver = submit(tmp_path, stream_of(table, checkpoint, table={"path": place(made)}), settings)
    told, _ = driver.process.communicate(timeout=240)
    assert driver.result()["outcome"] == "Succeeded"
    assert "remove -Xrs from spark.driver.extraJavaOptions" in told
    assert ids(spark, made) == [1, 2]
