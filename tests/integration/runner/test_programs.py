"""A program of a job's own says `with attempt(spark):`, and its commits are stamped, looked at and reported."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.runner.freezing import Freeze, wait_for
from integration.runner.jobs import Document, at, location
from integration.runner.programs import TOKEN, Drivers, program, retried, stamps
from sluice_runner import attempt
from sluice_runner.application import SecondAttemptError
from sluice_runner.assumptions import NotAsJudgedError
from sluice_runner.failures import Terminated
from sluice_runner.fields import PlanError
from sluice_runner.steps import Steps

CONF = "spark.databricks.delta.commitInfo.userMetadata"
NINETEENTH = "date = DATE '2026-11-19'"


def write(spark: SparkSession, table: Path, *ids: int, mode: str = "append") -> None:
    rows = spark.createDataFrame([(i, "x") for i in ids], "id BIGINT, item STRING")
    dated = rows.selectExpr("id", "DATE'2026-11-19' AS date", "item")
    dated.write.format("delta").mode(mode).save(str(table))


def merge(spark: SparkSession, table: Path) -> None:
    from delta.tables import DeltaTable  # noqa: PLC0415 - the package looks for a session when it is imported

    source = spark.sql("SELECT 1L AS id, DATE'2026-11-19' AS date, 'merged' AS item")
    known = DeltaTable.forPath(spark, str(table)).alias("t")
    known.merge(source.alias("s"), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()


def stream(spark: SparkSession, table: Path) -> None:
    """A batch of a stream is written in a session of its own, which inherits the settings."""
    source = table.with_name("source")
    spark.sql(f"CREATE TABLE {at(source)} USING delta AS SELECT 7L AS id")
    rows = spark.readStream.format("delta").load(str(source))
    query = rows.selectExpr("id", "DATE'2026-11-19' AS date", "'s' AS item").writeStream.foreachBatch(
        lambda batch, _: batch.write.format("delta").mode("append").save(str(table))
    )
    started = (
        query.option("checkpointLocation", str(table.with_name("state"))).trigger(availableNow=True).start()
    )
    started.awaitTermination()


WRITES: dict[str, Callable[[SparkSession, Path], object]] = {
    "append": lambda spark, table: write(spark, table, 3),
    "overwrite": lambda spark, table: write(spark, table, 3, mode="overwrite"),
    "SQL": lambda spark, table: spark.sql(f"UPDATE {at(table)} SET item = 'y'"),
    "merge": merge,
    "foreachBatch": stream,
}


@pytest.mark.parametrize("kind", WRITES)
def test_each_way_to_write_is_stamped_and_reported(
    spark: SparkSession, table: Path, drivers: Drivers, kind: str
) -> None:
    with drivers.attempt(program(2, table)):
        WRITES[kind](spark, table)
    *_, stamp = stamps(table)
    assert stamp is not None
    assert (stamp["job"], stamp["uid"], stamp["attempt"], stamp["token"], stamp["statement"]) == (
        "sales/nightly",
        "of-program",
        2,
        TOKEN + 2,
        1,
    )
    result = drivers.result()
    assert (result["outcome"], result["attempt"]) == ("Succeeded", 2)
    [statement] = result["statements"]
    assert (statement["number"], statement["state"], statement["operation"]) == (
        1,
        "Committed",
        "APPLICATION",
    )
    assert [(c["table"], c["version"]) for c in statement["commits"]] == [(location(table), 2)]
    assert statement["commits"][0]["metrics"]
    assert result["footprint"] == {"strayed": [], "unlooked": None}


def test_without_sluice_nothing_is_done(spark: SparkSession, table: Path, drivers: Drivers) -> None:
    with drivers.attempt(None) as run:
        write(spark, table, 3)
        assert run.once("load", lambda: write(spark, table, 4))
    assert stamps(table) == [None] * 4
    assert not drivers.log.exists()
    assert spark.conf.get(CONF, None) is None


def test_the_programs_own_setting_is_put_back(spark: SparkSession, table: Path, drivers: Drivers) -> None:
    spark.conf.set(CONF, "mine")
    try:
        with drivers.attempt(program(1, table)):
            write(spark, table, 3)
        assert spark.conf.get(CONF) == "mine"
        write(spark, table, 4)
    finally:
        spark.conf.unset(CONF)
    [statement] = drivers.result()["statements"]
    assert [c["version"] for c in statement["commits"]] == [2]


def test_commits_of_others_are_not_reported(spark: SparkSession, table: Path, drivers: Drivers) -> None:
    with drivers.attempt(program(1, table)):
        write(spark.newSession(), table, 3)
        write(spark, table, 4)
        write(spark.newSession(), table, 5)
    [statement] = drivers.result()["statements"]
    assert [c["version"] for c in statement["commits"]] == [3]


def test_a_program_that_commits_nothing_says_so(drivers: Drivers, table: Path) -> None:
    with drivers.attempt(program(1, table)):
        pass
    [statement] = drivers.result()["statements"]
    assert (statement["state"], statement["commits"]) == ("NoCommit", [])


def test_what_the_program_raises_is_reported_and_goes_on(
    spark: SparkSession, table: Path, drivers: Drivers
) -> None:
    def fail(_run: Steps) -> None:
        write(spark, table, 3)
        _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        drivers.run(program(1, table), fail)
    result = drivers.result()
    assert (result["outcome"], result["exception"]["class"]) == ("Failed", "ZeroDivisionError")
    [statement] = result["statements"]
    assert (statement["state"], [c["version"] for c in statement["commits"]]) == ("Failed", [2])
    assert spark.conf.get(CONF, None) is None


@pytest.mark.parametrize(("code", "outcome"), [(0, "Succeeded"), (None, "Succeeded"), (3, "Failed")])
def test_a_program_may_end_itself(table: Path, drivers: Drivers, code: int | None, outcome: str) -> None:
    with pytest.raises(SystemExit), drivers.attempt(program(1, table)):
        raise SystemExit(code)
    assert drivers.result()["outcome"] == outcome
    assert drivers.spark.conf.get(CONF, None) is None


def test_a_conflict_names_the_foreign_commit_that_won(
    spark: SparkSession, table: Path, drivers: Drivers, freezes: Path
) -> None:
    own = spark.newSession()

    def delete() -> None:
        with replace(drivers, spark=own).attempt(program(1, table, run_key="lost-program")):
            own.sql(f"DELETE FROM {at(table)} WHERE {NINETEENTH}")

    freeze = Freeze(freezes, "lost-program")
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(delete)
        try:
            wait_for(lambda: freeze.is_reached() or running.done(), "the program's commit")
            write(spark, table, 3)
        finally:
            freeze.lift()
        with pytest.raises(Exception, match="DELTA_CONCURRENT_APPEND"):
            running.result(timeout=300)
    lost = drivers.result()["exception"]
    assert lost["class"] == "ConcurrentAppendException"
    assert lost["errorClass"].partition(".")[0] == "DELTA_CONCURRENT_APPEND"
    assert (lost["partition"], lost["retriable"], lost["statement"]) == ("date=2026-11-19", True, 1)
    winner = lost["conflictingCommit"]
    assert (winner["version"], winner["operation"], winner["foreign"]) == (2, "WRITE", True)


def test_what_lies_outside_of_the_footprint_is_told(
    spark: SparkSession, table: Path, drivers: Drivers
) -> None:
    footprint = {"statement": None, "table": {"path": str(table)}, "adds": "date = DATE '2026-11-20'"}
    with drivers.attempt(program(1, table, touched=[footprint])):
        write(spark, table, 3)
    found = drivers.result()["footprint"]
    assert found["strayed"] == [f"statement 1: version 2 of {location(table)} adds to date=2026-11-19"]


def test_a_second_attempt_in_one_driver_is_refused(table: Path, drivers: Drivers) -> None:
    with drivers.attempt(program(1, table)), pytest.raises(SecondAttemptError), attempt(drivers.spark):
        pass
    with pytest.raises(SecondAttemptError), attempt(drivers.spark):
        pass
    assert drivers.result()["outcome"] == "Succeeded"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"version": 3}, "understands version 2"),
        ({"more": 1}, "unknown field more"),
        ({"application": None, "sql": {"statements": [{"number": 1, "text": "OPTIMIZE t"}]}}, "the runner's work"),
        ({"writes": ["date = 1"]}, "can be kept only by the runner"),
    ],
)  # fmt: skip
def test_a_plan_that_is_not_understood_ends_the_program_before_it_begins(
    table: Path, drivers: Drivers, changes: Document, told: str
) -> None:
    assumed = {"sparkVersion": "4.2.0"}
    with (
        pytest.raises(PlanError, match=told),
        drivers.attempt(program(1, table, **{"assumed": assumed, **changes})),
    ):
        raise AssertionError("the program has begun")
    result = drivers.result()
    assert (result["attempt"], result["exception"]["class"]) == (0, "PlanError")


def test_secrets_of_the_environment_are_in_no_result(
    table: Path, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "s3cr3t-4711")
    with pytest.raises(ValueError, match="s3cr3t"), drivers.attempt(program(1, table)):
        raise ValueError("could not log in with s3cr3t-4711")
    assert drivers.result()["exception"]["message"] == "could not log in with ***"


def test_sigterm_is_reported_and_ends_the_program(spark: SparkSession, table: Path, drivers: Drivers) -> None:
    # Spark may be gone by then, so that the session stays as it is.
    drivers = replace(drivers, spark=spark.newSession())

    def end(_run: Steps) -> None:
        write(drivers.spark, table, 3)
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()

    with pytest.raises(Terminated):
        drivers.run(program(1, table), end)
    assert drivers.result()["exception"]["class"] == "Terminated"
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_the_programs_own_way_to_end_stays(table: Path, drivers: Drivers) -> None:
    came = []
    signal.signal(signal.SIGTERM, lambda *_: came.append(True))
    try:
        with drivers.attempt(program(1, table)):
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    assert came
    assert drivers.result()["outcome"] == "Succeeded"


def test_what_other_versions_were_expected_is_told_and_ends_nothing(
    spark: SparkSession, table: Path, drivers: Drivers, capsys: pytest.CaptureFixture[str]
) -> None:
    with drivers.attempt(program(1, table, assumed={"sparkVersion": "2.4.0"})):
        write(spark, table, 3)
    assert drivers.result()["outcome"] == "Succeeded"
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("sluice: not known")]
    told = f"whether the job was judged rightly: Spark is {spark.version}, and should be 2.4.0"
    assert line == f"sluice: not known: {told}"


def test_commits_that_would_bear_no_stamp_are_warned_of_and_begin_no_step(
    spark: SparkSession, table: Path, drivers: Drivers, capsys: pytest.CaptureFixture[str]
) -> None:
    setting = "spark.databricks.delta.v2.enableMode"
    drivers = replace(drivers, spark=spark.newSession())
    drivers.spark.conf.set(setting, "STRICT")

    def work(run: Steps) -> None:
        run.once("load", lambda: write(drivers.spark, table, 3))

    with pytest.raises(NotAsJudgedError, match=f"{setting} is STRICT"):
        drivers.run(retried(1, table), work)
    assert (
        f"sluice: not known: which commits are the attempt's own: {setting} is STRICT"
        in capsys.readouterr().out
    )
