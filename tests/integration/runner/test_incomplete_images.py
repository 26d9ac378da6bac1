"""Images that lack Delta or our jar: a plan fails, and a program runs all the same and says what isn't known."""

from __future__ import annotations

from pathlib import Path

from integration.runner import program_of_one_write
from integration.runner.jobs import DELTA_SETTINGS, location, plan, sql, submit
from integration.runner.programs import program, submit_program
from integration.warm_drivers.server import WarmDrivers
from sluice.engines.result import parse
from sluice_runner.declared_tables import NO_JAR
from spark_jars import spark_jars

FILE = Path(program_of_one_write.__file__)
WITHOUT_DELTA = {"spark.driver.extraClassPath": ""}


def test_without_our_jar_commits_are_reported_and_the_footprint_is_left_to_the_operator(
    tmp_path: Path,
) -> None:
    table = tmp_path / "orders"
    settings = {name: value for name, value in DELTA_SETTINGS.items() if "logStore" not in name}
    deltas = [jar for jar in spark_jars().split(",") if "sluice-logstore" not in jar]
    settings["spark.driver.extraClassPath"] = ":".join(deltas)
    driver = submit_program(tmp_path, FILE, [str(table), "delta"], program(1, table), settings)
    stdout, _ = driver.process.communicate(timeout=500)
    assert driver.process.returncode == 0, (tmp_path / "stderr").read_text()
    result = driver.result()
    assert result["outcome"] == "Succeeded"
    [statement] = result["statements"]
    assert [(commit["table"], commit["version"]) for commit in statement["commits"]] == [(location(table), 0)]
    assert result["footprint"] == {"strayed": [], "unlooked": f"statement 1: {NO_JAR}"}
    assert f"sluice: not known: whether commits keep to the footprint can't be looked at: {NO_JAR}" in stdout


def test_without_delta_nothing_is_said_of_commits(warm: WarmDrivers, tmp_path: Path) -> None:
    table = tmp_path / "orders"
    driver = submit_program(
        tmp_path, FILE, [str(table), "parquet"], program(1, table), WITHOUT_DELTA, command=[warm.spark_submit]
    )
    stdout, _ = driver.process.communicate(timeout=500)
    assert driver.process.returncode == 0, (tmp_path / "stderr").read_text()
    result = driver.result()
    assert result["outcome"] == "Succeeded"
    [statement] = result["statements"]
    assert "commits" not in statement
    assert "sluice: not known: what is committed can't be looked up" in stdout
    read = parse(driver.termination_log.read_text())
    assert read is not None
    assert (read.commits_left_out, read.has_kept_to_footprint) == (True, None)


def test_without_delta_a_plan_fails_with_the_class_that_is_missing(warm: WarmDrivers, tmp_path: Path) -> None:
    work = plan(sql("INSERT INTO t VALUES (1)"))
    driver = submit(tmp_path, work, WITHOUT_DELTA, command=[warm.spark_submit])
    assert driver.ended() == 1
    result = driver.result()
    assert result["outcome"] == "Failed"
    assert "org.apache.spark.sql.delta" in result["exception"]["message"]
