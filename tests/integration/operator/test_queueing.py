"""Who goes next: whom a waiting job lets pass until it has aged, how many write a table, who takes which risk."""

from datetime import datetime, timedelta
from pathlib import Path

from deltalake import DeltaTable, Field, Schema
from deltalake.schema import PrimitiveType

from integration.operator.played import Played, append, rewrite
from sluice.api.base import Json
from sluice.engines.plan import plan_from_arguments
from sluice.footprint import Days

COLUMNS = Schema([Field("id", PrimitiveType("integer")), Field("day", PrimitiveType("integer"))])


def _by_day(folder: Path) -> str:
    DeltaTable.create(folder, COLUMNS, partition_by=["day"])
    return str(folder)


def _delete(table: str, where: str) -> Json:
    return {"sql": f"DELETE FROM delta.`{table}` WHERE {where}"}


def _on_day(table: str, day: int) -> Json:
    return _delete(table, f"day = {day} AND id = 1")


def test_a_job_is_overtaken_by_what_conflicts_with_it_until_it_has_aged(
    shared: Played, tmp_path: Path
) -> None:
    table = _by_day(tmp_path / "aging")
    shared.apply("aging-1", _on_day(table, 1))
    drivers = {"aging-1": shared.start("aging-1")}
    shared.apply("aging-all", _delete(table, "id = 1"))
    shared.reaches("aging-all", "Waiting")
    shared.apply("aging-2", _on_day(table, 2))
    drivers["aging-2"] = shared.start("aging-2")
    shared.declare("aging", {"table": {"path": table}, "admission": {"ageAfter": "0s"}})
    shared.policy_is("aging", "Counts")
    shared.apply("aging-3", {**_on_day(table, 3), "priority": 1000})
    status = shared.reaches("aging-3", "Waiting")
    assert [blocker["job"] for blocker in status["blockedBy"]] == [f"{shared.namespace}/aging-all"]
    assert "which is ahead of it in the queue" in status["message"]
    for version, driver in enumerate(drivers.values(), start=1):
        driver.succeeds(f"file:{table}", version)
    shared.start("aging-all").succeeds(f"file:{table}", 3)
    shared.start("aging-3").succeeds(f"file:{table}", 4)
    shared.reaches("aging-3", "Succeeded")


def test_no_more_write_a_table_than_its_policy_says(shared: Played, tmp_path: Path) -> None:
    table = _by_day(tmp_path / "narrow")
    shared.declare("narrow", {"table": {"path": table}, "admission": {"maxWriters": 1}})
    shared.policy_is("narrow", "Counts")
    shared.apply("narrow-1", append(table))
    driver = shared.start("narrow-1")
    shared.apply("narrow-2", append(table))
    status = shared.reaches("narrow-2", "Waiting")
    (blocker,) = status["blockedBy"]
    assert (blocker["job"], blocker["rule"]) == (f"{shared.namespace}/narrow-1", "max-writers")
    assert status["message"].endswith("this job starts once there is a place for it")
    shared.change_policy("narrow", {"spec": {"admission": {"maxWriters": 2}}})
    other = shared.start("narrow-2")
    driver.succeeds(f"file:{table}")
    other.succeeds(f"file:{table}", 2)
    shared.reaches("narrow-2", "Succeeded")


def test_jobs_that_take_the_risk_run_together_and_both_say_so(shared: Played, tmp_path: Path) -> None:
    table = _by_day(tmp_path / "risky")
    shared.declare("risky", {"table": {"path": table}, "admission": {"risk": "Optimistic"}})
    shared.policy_is("risky", "Counts")
    shared.apply("risky-1", _delete(table, "id = 1"))
    drivers = [shared.start("risky-1")]
    shared.apply("risky-2", {**_delete(table, "id = 2"), "admission": {"risk": "Optimistic"}})
    drivers.append(shared.start("risky-2"))
    for name, other in (("risky-1", "risky-2"), ("risky-2", "risky-1")):
        (beside,) = shared.keeps(name, "runsBeside")
        assert beside["job"] == f"{shared.namespace}/{other}"
        assert beside["verdict"] == "may"
        assert beside["exception"].startswith("Concurrent")
    shared.apply("risky-strict", {**_delete(table, "id = 3"), "admission": {"risk": "Strict"}})
    shared.reaches("risky-strict", "Waiting")
    for version, driver in enumerate(drivers, start=1):
        driver.succeeds(f"file:{table}", version)
    shared.start("risky-strict").succeeds(f"file:{table}", 3)
    assert "runsBeside" not in shared.reaches("risky-strict", "Succeeded")


def test_what_deletes_old_days_runs_beside_what_writes_today_and_on_no_later_day(
    shared: Played, tmp_path: Path
) -> None:
    dated = Schema([Field("id", PrimitiveType("integer")), Field("date", PrimitiveType("date"))])
    DeltaTable.create(tmp_path / "kept", dated, partition_by=["date"])
    table = str(tmp_path / "kept")
    shared.apply("old", _delete(table, "date < current_date() - INTERVAL 90 DAYS"))
    shared.apply("today", _delete(table, "date = current_date()"))
    old, today = shared.start("old"), shared.start("today")
    job = shared.job("old")
    assert job is not None
    days = Days(datetime.fromisoformat(job["metadata"]["creationTimestamp"]).date())
    (touched,) = job["status"]["footprint"]
    assert touched["reads"] == f"date <= DATE '{days.all[-1] - timedelta(days=91)}'"
    application = shared.application(old.application)
    assert application is not None
    plan = plan_from_arguments(application["spec"]["arguments"])
    assert plan["assumed"]["days"] == {"first": days.first.isoformat(), "last": days.last.isoformat()}
    for version, driver in enumerate((old, today), start=1):
        driver.succeeds(f"file:{table}", version)
    shared.reaches("today", "Succeeded")


def test_a_risk_that_no_policy_takes_is_refused(shared: Played) -> None:
    uid = shared.apply("daring", {**rewrite("/lake/daring"), "admission": {"risk": "Optimistic"}})
    status = shared.reaches("daring", "Failed")
    assert status["reason"] == "RiskNotAllowed"
    assert "needs a DeltaTablePolicy for file:/lake/daring" in status["message"]
    assert shared.applications_of(uid) == []
