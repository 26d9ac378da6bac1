"""A driver process ends with a result and an exit code, by any end."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pyspark
import pytest

from devenv.project import ROOT
from held_commits import held_in
from integration.runner.freezing import Freeze, wait_for
from integration.runner.jobs import (
    SMALL_SETTINGS,
    Driver,
    arguments,
    assumed,
    at,
    plan,
    sql,
    start_python,
    statements,
    submit,
)
from integration.runner.operators_plan import of_job
from integration.warm_drivers.server import WarmDrivers

SETTINGS = {"spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore"}


def finished(driver: Driver, seconds: float = 500) -> str:
    stdout, _ = driver.process.communicate(timeout=seconds)
    return stdout


def test_a_driver_that_spark_submit_starts_reports_what_it_committed(tmp_path: Path) -> None:
    """Nothing about Delta is configured: the runner brings what Delta can't do without. The image's core-site.xml is no reason to
    run nothing."""
    table = at(tmp_path / "orders")
    driver = submit(
        tmp_path,
        of_job(
            {
                "sql": f"CREATE TABLE {table} (id BIGINT, date DATE) USING delta; INSERT INTO {table} VALUES (1, :d)",
                "parameters": {"d": {"date": "2026-11-19"}},
            }
        ),
        SETTINGS,
        variables={"HADOOP_CONF_DIR": str(ROOT / "spark-images" / "hadoop")},
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


def test_a_driver_that_is_ended_before_its_commit_says_so(tmp_path: Path) -> None:
    freeze = Freeze(tmp_path, "ended")
    driver = submit(
        tmp_path,
        plan(sql(f"CREATE TABLE {at(tmp_path / 'orders')} (id BIGINT) USING delta"), run_key="ended"),
        {**SETTINGS, **held_in(tmp_path)},
    )
    try:
        wait_for(lambda: freeze.is_reached() or driver.process.poll() is not None, "the driver's commit")
        os.killpg(driver.process.pid, signal.SIGTERM)
        finished(driver)
    finally:
        if driver.process.poll() is None:
            os.killpg(driver.process.pid, signal.SIGKILL)
    result = driver.result()
    assert (result["outcome"], result["exception"]["class"], result["exception"]["statement"]) == (
        "Failed",
        "Terminated",
        1,
    )
    assert driver.process.returncode != 0


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
    warm: WarmDrivers, tmp_path: Path, changes: dict[str, object], told: str
) -> None:
    document = plan(sql(f"CREATE TABLE {at(tmp_path / 'orders')} (id BIGINT) USING delta"))
    assumes = {**assumed({**SMALL_SETTINGS, **SETTINGS}), **changes}
    driver = submit(tmp_path, document, SETTINGS, assumes=assumes, command=[warm.spark_submit])
    assert driver.ended() == 1
    failure = driver.result()["exception"]
    assert failure["class"] == "NotAsJudgedError"
    assert re.search(told.format(spark=re.escape(pyspark.__version__)), failure["message"])
    assert not (tmp_path / "orders").exists()


def test_a_core_site_that_leads_locations_elsewhere_runs_nothing(tmp_path: Path) -> None:
    site = tmp_path / "conf" / "core-site.xml"
    site.parent.mkdir()
    mounts = {"fs.defaultFS": "viewfs://lake", "fs.viewfs.mounttable.lake.link./a": "file:///b"}
    properties = "".join(
        f"<property><name>{k}</name><value>{v}</value></property>" for k, v in mounts.items()
    )
    site.write_text(f"<configuration>{properties}</configuration>", encoding="utf-8")
    document = plan(sql(f"CREATE TABLE {at(tmp_path / 'orders')} (id BIGINT) USING delta"))
    driver = submit(tmp_path, document, SETTINGS, variables={"HADOOP_CONF_DIR": str(site.parent)})
    finished(driver)
    failure = driver.result()["exception"]
    assert failure["class"] == "NotAsJudgedError"
    assert (
        "fs.defaultFS is viewfs://lake, and locations without a scheme should be local folders"
        in failure["message"]
    )
    assert "fs.viewfs.mounttable.lake.link./a is set" in failure["message"]
