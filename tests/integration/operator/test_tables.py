"""What is known of tables that are really there decides who runs beside whom, and is never older than the job."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, Field, Schema
from deltalake.schema import PrimitiveType

from integration.operator.played import Played
from integration.operator.process import OperatorProcess
from integration.waiting import eventually
from sluice.api.base import Json


@pytest.fixture
def orders(tmp_path: Path) -> DeltaTable:
    """id BIGINT, amount INT, date DATE, partitioned by date"""
    columns = {"id": "long", "amount": "integer", "date": "date"}
    fields = [Field(name, PrimitiveType(kind), nullable=True) for name, kind in columns.items()]
    return DeltaTable.create(str(tmp_path / "orders"), Schema(fields), partition_by=["date"])


@pytest.fixture
def path(orders: DeltaTable, tmp_path: Path) -> str:
    return str(tmp_path / "orders")


def update(path: str, day: str, column: str = "amount", **more: Any) -> Json:
    sql = f"UPDATE delta.`{path}` SET {column} = 1 WHERE date = DATE '{day}' AND id = 7"
    return {"sql": sql, **more}


def merge(path: str, day: str) -> Json:
    return {
        "sql": f"MERGE INTO delta.`{path}` t USING (SELECT 1 AS id, 2 AS amount) s\n"
        f"ON t.id = s.id AND t.date = DATE '{day}' WHEN MATCHED THEN UPDATE SET t.amount = s.amount"
    }


def test_changes_of_different_partitions_run_together(shared: Played, path: str) -> None:
    shared.apply("update-19", update(path, "2026-11-19"))
    first = shared.start("update-19")
    shared.apply("merge-20", merge(path, "2026-11-20"))
    second = shared.start("merge-20")
    status = shared.reaches("merge-20", "Running")
    (understood,) = status["footprint"]
    assert understood["reads"] == "date = DATE '2026-11-20'"
    assert shared.reaches("update-19", "Running")
    shared.apply("again-20", update(path, "2026-11-20"))
    status = shared.reaches("again-20", "Waiting")
    assert [blocker["job"] for blocker in status["blockedBy"]] == [f"{shared.namespace}/merge-20"]
    assert status["blockedBy"][0]["overlap"] == "date = DATE '2026-11-20'"
    second.succeeds(f"file:{path}", 1)
    third = shared.start("again-20")
    first.succeeds(f"file:{path}", 2)
    third.succeeds(f"file:{path}", 3)
    for name in ("update-19", "merge-20", "again-20"):
        shared.reaches(name, "Succeeded")


def test_a_table_partitioned_otherwise_meanwhile_tells_nobody_apart(shared: Played, path: str) -> None:
    shared.apply("before", update(path, "2026-11-19"))
    first = shared.start("before")
    shared.apply("waits", update(path, "2026-11-19"))
    shared.reaches("waits", "Waiting")
    _partition(path, [])
    shared.apply("after", update(path, "2026-11-20"))
    status = shared.reaches("after", "Waiting")
    assert status["footprint"][0]["reads"] == "true"
    assert f"{shared.namespace}/before" in {blocker["job"] for blocker in status["blockedBy"]}
    first.succeeds(f"file:{path}")
    shared.start("waits").succeeds(f"file:{path}", 2)
    shared.start("after").succeeds(f"file:{path}", 3)
    shared.reaches("after", "Succeeded")
    assert shared.status("waits")["footprint"][0]["reads"] == "true"


def test_a_column_is_only_missing_if_nobody_is_about_to_add_it(
    shared: Played, orders: DeltaTable, path: str
) -> None:
    shared.apply("too-early", update(path, "2026-11-19", "note"))
    status = shared.reaches("too-early", "Failed")
    assert status["reason"] == "NotUnderstood"
    assert "there is no column note: the table has id, amount, date" in status["message"]

    shared.apply("add-note", {"sql": f"ALTER TABLE delta.`{path}` ADD COLUMNS (note INT)"})
    driver = shared.start("add-note")
    shared.apply("note-in-time", update(path, "2026-11-19", "note"))
    status = shared.reaches("note-in-time", "Waiting")
    assert status["footprint"][0]["reads"] == "true"
    assert "there is no column note" in status["footprint"][0]["widened"][0]
    orders.alter.add_columns([Field("note", PrimitiveType("integer"), nullable=True)])
    driver.succeeds(f"file:{path}")
    driver = shared.start("note-in-time")
    assert shared.reaches("note-in-time", "Running")["footprint"][0]["reads"] == "date = DATE '2026-11-19'"
    driver.succeeds(f"file:{path}", 2)
    shared.reaches("note-in-time", "Succeeded")


def test_a_name_that_a_policy_binds_to_a_path_is_the_table_at_that_path(
    cluster: Played, operator: OperatorProcess, path: str
) -> None:
    """The test has a cluster of its own: a name that leads nowhere yet may be any table of other tests."""

    def named(day: str) -> Json:
        return {"sql": f"UPDATE sales.orders SET amount = 1 WHERE date = DATE '{day}'"}

    cluster.apply("named-19", named("2026-11-19"))
    first = cluster.start("named-19")
    cluster.apply("named-20", named("2026-11-20"))
    status = cluster.reaches("named-20", "Waiting")
    assert "DeltaTablePolicy" in status["blockedBy"][0]["advice"]
    cluster.declare("orders", {"table": {"path": path, "name": "sales.orders"}})
    eventually(lambda: _reads(cluster, "named-20") == "date = DATE '2026-11-20'", "the name leads to the log")
    first.succeeds(
        "sales.orders", 1
    )  # that was admitted when nothing was known, so the other waited for all of it
    second = cluster.start("named-20")
    cluster.apply("named-21", named("2026-11-21"))
    third = cluster.start("named-21")
    cluster.apply("placed-22", {"sql": named("2026-11-22")["sql"].replace("sales.orders", f"delta.`{path}`")})
    fourth = cluster.start("placed-22")
    cluster.apply("placed-21", {"sql": named("2026-11-21")["sql"].replace("sales.orders", f"delta.`{path}`")})
    status = cluster.reaches("placed-21", "Waiting")
    assert [one["job"].rpartition("/")[2] for one in status["blockedBy"]] == ["named-21"]
    assert cluster.reaches("named-20", "Running")["footprint"][0]["table"] == f"file:{path}"
    second.succeeds("sales.orders", 2)
    third.succeeds("sales.orders", 3)
    fourth.succeeds(f"file:{path}", 4)
    cluster.start("placed-21").succeeds(f"file:{path}", 5)
    cluster.reaches("placed-21", "Succeeded")


def _reads(cluster: Played, name: str) -> str:
    return str(cluster.status(name)["footprint"][0]["reads"])


def _partition(path: str, columns: list[str]) -> None:
    """Partitions the table anew, as a foreign writer's REPLACE TABLE would."""
    log = Path(path, "_delta_log")
    latest = max(log.glob("*.json"))
    lines = [json.loads(line) for line in latest.read_text(encoding="utf-8").splitlines()]
    metadata = next(line for line in lines if "metaData" in line)
    metadata["metaData"]["partitionColumns"] = columns
    info = {"commitInfo": {"timestamp": int(time.time() * 1000), "operation": "REPLACE TABLE"}}
    text = "\n".join(json.dumps(line) for line in (info, metadata)) + "\n"
    (log / f"{int(latest.stem) + 1:020}.json").write_text(text, encoding="utf-8")
