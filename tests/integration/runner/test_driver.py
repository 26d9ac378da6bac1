"""A driver process ends with a result and an exit code, whatever ends it; only kill -9 leaves none."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pyspark
import pytest

from devenv.project import ROOT
from integration.runner.freezing import Freeze, wait_for
from integration.runner.jobs import (
    SMALL_SETTINGS,
    Driver,
    arguments,
    assumed,
    at,
    class_path,
    plan,
    spark_jars,
    sql,
    start_python,
    statements,
    submit,
)
from integration.runner.operators_plan import of_job

LOG_STORE = {"spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore"}


def finished(driver: Driver, seconds: float = 500) -> str:
    stdout, _ = driver.process.communicate(timeout=seconds)
    return stdout


def test_a_driver_that_spark_submit_starts_reports_what_it_committed(tmp_path: Path) -> None:
    """Nothing about Delta is configured: the runner brings what Delta can't do without."""
    table = at(tmp_path / "orders")
    driver = submit(
        tmp_path,
        of_job(
            {
                "sql": f"CREATE TABLE {table} (id BIGINT, date DATE) USING delta; INSERT INTO {table} VALUES (1, :d)",
                "parameters": {"d": {"date": "2026-11-19"}},
            }
        ),
        {**LOG_STORE, "spark.jars": spark_jars()},
    )
    stdout = finished(driver)
    assert driver.process.returncode == 0, (tmp_path / "stderr").read_text()
    assert statements(driver.result()) == [("CREATE TABLE", "Committed", [0]), ("WRITE", "Committed", [1])]
    lines = [line for line in stdout.splitlines() if line.startswith("sluice: statement")]
    assert lines[0].startswith(
        f"sluice: statement 1 of 2: CREATE TABLE committed version 0 of file:{tmp_path}/orders ("
    )
    assert lines[1].startswith(
        f"sluice: statement 2 of 2: WRITE committed version 1 of file:{tmp_path}/orders ("
    )


def test_a_driver_that_is_ended_before_its_commit_says_so_unless_it_is_killed(tmp_path: Path) -> None:
    freezes = tmp_path / "freezes"
    freezes.mkdir()
    drivers = {}
    for name in ("ended", "killed"):
        (tmp_path / name).mkdir()
        Freeze(freezes, name)
        drivers[name] = submit(
            tmp_path / name,
            plan(sql(f"CREATE TABLE {at(tmp_path / name / 'orders')} (id BIGINT) USING delta"), run_key=name),
            {
                **LOG_STORE,
                "spark.driver.extraClassPath": class_path(),
                "spark.hadoop.sluice.test.freezeDir": str(freezes),
            },
        )
    try:
        for name, driver in drivers.items():
            wait_for(
                lambda name=name, driver=driver: (
                    (freezes / f"{name}.frozen").exists() or driver.process.poll() is not None
                ),  # type: ignore[misc]
                f"the commit of the driver to be {name}",
            )
        os.killpg(drivers["ended"].process.pid, signal.SIGTERM)
        os.killpg(drivers["killed"].process.pid, signal.SIGKILL)
        for driver in drivers.values():
            finished(driver)
    finally:
        for driver in drivers.values():
            if driver.process.poll() is None:
                os.killpg(driver.process.pid, signal.SIGKILL)
    result = drivers["ended"].result()
    assert (result["outcome"], result["exception"]["class"], result["exception"]["statement"]) == (
        "Failed",
        "Terminated",
        1,
    )
    assert drivers["ended"].process.returncode != 0
    assert drivers["killed"].termination_log.read_bytes() == b""
    assert drivers["killed"].process.returncode == -signal.SIGKILL
    assert list((tmp_path / "killed" / "orders" / "_delta_log").glob("*.json")) == []


@pytest.mark.parametrize("parameters", [[], ["--plan=%%%"], ["--other"]])
def test_a_plan_that_cannot_be_read_is_reported_without_spark(tmp_path: Path, parameters: list[str]) -> None:
    driver = start_python(tmp_path, parameters, {"JAVA_HOME": "/nonexistent"})
    finished(driver)
    assert driver.process.returncode == 1
    result = driver.result()
    assert (result["outcome"], result["attempt"], result["exception"]["class"]) == ("Failed", 0, "PlanError")


def test_a_session_that_cannot_start_is_reported(tmp_path: Path) -> None:
    driver = start_python(tmp_path, arguments(plan(sql("OPTIMIZE t"))), {"JAVA_HOME": "/nonexistent"})
    finished(driver)
    assert driver.process.returncode == 1
    result = driver.result()
    assert (result["outcome"], result["attempt"], result["statements"]) == ("Failed", 1, [])
    assert "JAVA_GATEWAY_EXITED" in result["exception"]["errorClass"]


def test_an_image_without_delta_is_reported_with_the_class_that_is_missing(tmp_path: Path) -> None:
    driver = submit(tmp_path, plan(sql("INSERT INTO t VALUES (1)")), {})
    finished(driver)
    assert driver.process.returncode == 1
    result = driver.result()
    assert result["outcome"] == "Failed"
    assert "org.apache.spark.sql.delta" in result["exception"]["message"]


def test_a_result_that_cannot_be_written_is_in_the_log(tmp_path: Path) -> None:
    nowhere = str(tmp_path / "absent" / "termination-log")
    driver = start_python(tmp_path, ["--other"], {"SLUICE_TERMINATION_LOG": nowhere})
    finished(driver)
    assert driver.process.returncode == 1
    stderr = (tmp_path / "stderr").read_text()
    assert nowhere in stderr
    assert '"outcome":"Failed"' in stderr


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"sparkConf": {}},
            r"spark\.delta\.logStore\.file\.impl is set to 'dev\.sluice\.delta\.LinkLogStore', and neither job nor profile sets it",
        ),
        (
            {"sparkVersion": "2.4.0", "deltaVersion": "1.0.0"},
            r"Spark is {spark}, and should be 2\.4\.0; Delta is \S+, and should be 1\.0\.0: name the image's versions",
        ),
    ],
)
def test_a_driver_that_is_not_what_the_job_was_judged_by_runs_nothing(
    tmp_path: Path, changes: dict[str, object], told: str
) -> None:
    settings = {**LOG_STORE, "spark.driver.extraClassPath": class_path()}
    document = plan(sql(f"CREATE TABLE {at(tmp_path / 'orders')} (id BIGINT) USING delta"))
    driver = submit(tmp_path, document, settings, {**assumed({**SMALL_SETTINGS, **settings}), **changes})
    finished(driver)
    assert driver.process.returncode == 1
    failure = driver.result()["exception"]
    assert failure["class"] == "NotAsJudgedError"
    assert re.search(told.format(spark=re.escape(pyspark.__version__)), failure["message"])
    assert not (tmp_path / "orders").exists()


def test_the_core_site_of_the_image_is_no_reason_to_run_nothing(tmp_path: Path) -> None:
    settings = {
        **LOG_STORE,
        "spark.jars": spark_jars(),
        "spark.driver.extraClassPath": str(ROOT / "spark-images" / "hadoop"),
    }
    driver = submit(
        tmp_path, plan(sql(f"CREATE TABLE {at(tmp_path / 'orders')} (id BIGINT) USING delta")), settings
    )
    finished(driver)
    assert driver.process.returncode == 0, (tmp_path / "stderr").read_text()
    assert statements(driver.result()) == [("CREATE TABLE", "Committed", [0])]


def test_a_core_site_that_leads_locations_elsewhere_runs_nothing(tmp_path: Path) -> None:
    site = tmp_path / "conf" / "core-site.xml"
    site.parent.mkdir()
    mounts = {"fs.defaultFS": "viewfs://lake", "fs.viewfs.mounttable.lake.link./a": "file:///b"}
    properties = "".join(
        f"<property><name>{k}</name><value>{v}</value></property>" for k, v in mounts.items()
    )
    site.write_text(f"<configuration>{properties}</configuration>", encoding="utf-8")
    settings = {**LOG_STORE, "spark.jars": spark_jars(), "spark.driver.extraClassPath": str(site.parent)}
    driver = submit(
        tmp_path, plan(sql(f"CREATE TABLE {at(tmp_path / 'orders')} (id BIGINT) USING delta")), settings
    )
    finished(driver)
    failure = driver.result()["exception"]
    assert failure["class"] == "NotAsJudgedError"
    assert (
        "fs.defaultFS is viewfs://lake, and locations without a scheme should be local folders"
        in failure["message"]
    )
    assert "fs.viewfs.mounttable.lake.link./a is set" in failure["message"]
