"""A step of a program is done once, whatever becomes of its drivers; what a step may hold is checked before it is committed."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from held_commits import held_in
from integration.runner import program_of_steps
from integration.runner.freezing import Freeze, wait_for
from integration.runner.jobs import Document, Driver, at, statements
from integration.runner.programs import Drivers, program, retried, stamps, submit_program, with_key
from integration.warm_drivers.server import WarmDrivers
from sluice_runner.earlier_attempts import HistoryLost
from sluice_runner.steps import StepError, Steps

SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore",
}
PROGRAM = Path(program_of_steps.__file__)
STEPS = ["clean", "load", "mark", "load more"]
EXPECTED = [(1, "a"), (2, "b"), (3, "c!"), (4, "d")]
ALL_DONE = [
    ("UNKNOWN", "NoCommit", []),
    ("WRITE", "Committed", [2]),
    ("UPDATE", "Committed", [3]),
    ("WRITE", "Committed", [4]),
]


def rows(spark: SparkSession, table: Path) -> list[tuple[int, str]]:
    return [tuple(row) for row in spark.sql(f"SELECT id, item FROM {at(table)} ORDER BY ALL").collect()]


def commits(table: Path) -> int:
    return len(list((table / "_delta_log").glob("*.json")))


def run_program(drivers: Drivers, table: Path, document: Document) -> Document:
    drivers.prepare(document)
    program_of_steps.load(drivers.spark, str(table))
    return drivers.result()


def insert(spark: SparkSession, table: Path, number: int) -> None:
    spark.sql(f"INSERT INTO {at(table)} VALUES ({number}, DATE'2026-11-19', 'x')")


def test_steps_are_numbered_stamped_and_reported_by_themselves(
    spark: SparkSession, table: Path, drivers: Drivers
) -> None:
    result = run_program(drivers, table, retried(1, table))
    assert (result["outcome"], statements(result)) == ("Succeeded", ALL_DONE)
    assert [statement["number"] for statement in result["statements"]] == [2, 3, 4, 5]
    found = [(stamp["statement"], stamp["step"]) for stamp in stamps(table) if stamp is not None]
    assert found == [(3, "load"), (4, "mark"), (5, "load more")]
    assert rows(spark, table) == EXPECTED


def test_what_is_written_outside_of_steps_is_told_apart(
    spark: SparkSession, table: Path, drivers: Drivers
) -> None:
    def work(run: Steps) -> None:
        insert(spark, table, 3)
        run.once("load", lambda: insert(spark, table, 4))
        insert(spark, table, 5)

    drivers.run(retried(1, table), work)
    result = drivers.result()
    assert [statement["number"] for statement in result["statements"]] == [1, 2]
    assert statements(result) == [("APPLICATION", "Committed", [2, 4]), ("WRITE", "Committed", [3])]


@pytest.mark.parametrize("ends_before", [*STEPS, None])
def test_a_retry_does_what_is_missing(
    spark: SparkSession, table: Path, drivers: Drivers, ends_before: str | None
) -> None:
    drivers.prepare(retried(1, table))
    with suppress(program_of_steps.EndedError):
        program_of_steps.load(spark, str(table), ends_before)
    result = run_program(drivers, table, retried(2, table))
    assert result["outcome"] == ("AlreadyCommitted" if ends_before is None else "Succeeded")
    assert rows(spark, table) == EXPECTED
    assert commits(table) == 2 + 3 + 1, "three that change rows, and the retry's fence"


def test_what_came_before_a_step_that_failed_is_told_as_well(
    spark: SparkSession, table: Path, drivers: Drivers
) -> None:
    def work(run: Steps) -> None:
        insert(spark, table, 3)
        run.once("load", lambda: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        drivers.run(retried(1, table), work)
    result = drivers.result()
    assert statements(result) == [("APPLICATION", "Committed", [2]), ("UNKNOWN", "Failed", [])]
    assert result["exception"]["statement"] == 2


def test_a_run_with_a_key_ends_a_program_that_comes_again(
    spark: SparkSession, table: Path, drivers: Drivers
) -> None:
    run_program(drivers, table, with_key(1, table, run_key="night"))
    before = commits(table)
    with pytest.raises(SystemExit) as ended:
        run_program(drivers, table, with_key(1, table, run_key="night", token=(1 << 32) + 9))
    assert ended.value.code == 0
    result = drivers.result()
    assert result["outcome"] == "AlreadyCommitted"
    assert [version for _, _, versions in statements(result) for version in versions] == [2, 3, 4]
    assert commits(table) == before
    assert rows(spark, table) == EXPECTED


def test_a_second_write_in_a_step_is_refused_before_its_commit(
    spark: SparkSession, table: Path, drivers: Drivers
) -> None:
    def write() -> None:
        insert(spark, table, 3)
        insert(spark, table, 4)

    def work(run: Steps) -> None:
        run.once("load", write)

    with pytest.raises(StepError, match="step load writes a second time"):
        drivers.run(retried(1, table), work)
    result = drivers.result()
    assert (result["exception"]["class"], result["exception"]["statement"]) == ("StepError", 2)
    assert statements(result) == [("WRITE", "Failed", [2])]
    assert [number for number, _ in rows(spark, table)] == [1, 2, 3]


def test_a_write_after_a_step_carries_nothing_of_it(
    spark: SparkSession, table: Path, drivers: Drivers
) -> None:
    def work(run: Steps) -> None:
        run.once("load", lambda: insert(spark, table, 3))
        insert(spark, table, 4)
        insert(spark, table, 5)

    drivers.run(retried(1, table), work)
    assert [number for number, _ in rows(spark, table)] == [1, 2, 3, 4, 5]
    stamped = [stamp["statement"] for stamp in stamps(table) if stamp is not None]
    assert stamped == [2, 1, 1]


def test_other_steps_than_those_of_an_earlier_attempt_are_refused(
    spark: SparkSession, table: Path, drivers: Drivers
) -> None:
    run_program(drivers, table, retried(1, table))
    before = commits(table)

    def work(run: Steps) -> None:
        run.once("prepare", lambda: insert(spark, table, 7))
        run.once("clean", lambda: insert(spark, table, 7))
        run.once("load", lambda: insert(spark, table, 8))

    with pytest.raises(
        StepError, match="step clean was not begun, because an earlier attempt had other steps"
    ):
        drivers.run(retried(2, table), work)
    assert commits(table) == before + 1, "the fence alone"


def test_a_step_that_failed_is_not_gone_over(spark: SparkSession, table: Path, drivers: Drivers) -> None:
    def work(run: Steps) -> None:
        with pytest.raises(ZeroDivisionError):
            run.once("load", lambda: 1 / 0)

    with pytest.raises(StepError, match="step load has failed, and the program has gone on without it"):
        drivers.run(retried(1, table), work)
    assert drivers.result()["outcome"] == "Failed"


def test_a_later_attempt_that_nothing_tells_what_was_done_begins_no_step(
    spark: SparkSession, table: Path, drivers: Drivers
) -> None:
    def work(run: Steps) -> None:
        run.once("load", lambda: insert(spark, table, 3))

    with pytest.raises(HistoryLost, match="the plan names no run"):
        drivers.run(program(2, table), work)
    assert commits(table) == 2


@contextmanager
def driver_of(folder: Path, table: Path, document: Document) -> Iterator[Driver]:
    settings = {**SETTINGS, **held_in(folder)}
    driver = submit_program(folder, PROGRAM, [str(table)], document, settings)
    try:
        yield driver
    finally:
        if driver.process.poll() is None:
            os.killpg(driver.process.pid, signal.SIGKILL)
        driver.process.communicate()


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(number, marks=() if number == 1 else pytest.mark.long(minutes=0.5))
        for number in range(16)
    ],
)
def test_what_a_killed_program_left_is_done_once_by_its_retry(
    spark: SparkSession, table: Path, tmp_path: Path, drivers: Drivers, moment: int
) -> None:
    chance = random.Random(moment)  # noqa: S311 - not a secret
    before, done = commits(table), (moment + 1) % 4
    with driver_of(tmp_path, table, retried(1, table)) as driver:
        wait_for(
            lambda: commits(table) >= before + done or driver.process.poll() is not None, f"{done} commits"
        )
        time.sleep(chance.uniform(0, 0.3))
        os.killpg(driver.process.pid, signal.SIGKILL)
        driver.process.wait(60)
    left = commits(table) - before
    result = run_program(drivers, table, retried(2, table))
    assert result["outcome"] in ("Succeeded", "AlreadyCommitted"), (left, result)
    assert rows(spark, table) == EXPECTED, (left, result)


def program_on(warm: WarmDrivers, folder: Path, table: Path, document: Document) -> Driver:
    settings = {**SETTINGS, **held_in(folder)}
    return submit_program(folder, PROGRAM, [str(table)], document, settings, command=[warm.spark_submit])


def test_a_program_that_was_held_while_it_was_replaced_writes_no_step_more(
    spark: SparkSession, warm: WarmDrivers, table: Path, tmp_path: Path, drivers: Drivers
) -> None:
    freeze = Freeze(tmp_path, "load")
    driver = program_on(warm, tmp_path, table, retried(1, table))
    wait_for(lambda: freeze.is_reached() or driver.process.poll() is not None, "the commit of step load")
    result = run_program(drivers, table, retried(2, table))
    after = commits(table)
    freeze.lift()
    assert driver.ended() == 1
    assert result["outcome"] == "Succeeded"
    replaced = driver.result()
    assert (replaced["outcome"], replaced["exception"]["class"]) == ("Failed", "Superseded"), replaced
    assert commits(table) == after
    assert rows(spark, table) == EXPECTED


def test_a_program_as_a_process_leaves_its_result(
    spark: SparkSession, warm: WarmDrivers, table: Path, tmp_path: Path
) -> None:
    driver = program_on(warm, tmp_path, table, program(1, table))
    stdout, _ = driver.process.communicate(timeout=500)
    assert driver.process.returncode == 0
    assert statements(driver.result()) == ALL_DONE
    assert "sluice: step load committed version 2 of " in stdout
    assert rows(spark, table) == EXPECTED
