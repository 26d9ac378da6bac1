"""A policy's status follows a table that is really there, on a real API server: what it is, where it differs, and by whose hand.
Where nothing differs nothing is written."""

import shutil
from pathlib import Path

import pytest
from arro3.core import Array, DataType, Table
from deltalake import DeltaTable, Field, Schema, write_deltalake
from deltalake.schema import PrimitiveType

from integration.conftest import Kubectl
from integration.operator.conftest import StartOperator
from integration.operator.played import Played
from integration.operator.process import OperatorProcess
from integration.waiting import eventually
from sluice.api.base import Json

WANTED = {"delta.appendOnly": "true"}
FIELDS = [Field("id", PrimitiveType("long")), Field("day", PrimitiveType("string"))]


def create(path: Path, **configuration: str) -> DeltaTable:
    return DeltaTable.create(str(path), Schema(FIELDS), partition_by=["day"], configuration=configuration)


def append(path: Path) -> None:
    rows = Table({"id": Array([1], DataType.int64()), "day": Array(["a"], DataType.utf8())})
    write_deltalake(str(path), rows, mode="append")


def condition_of(policy: Json) -> str:
    (one,) = (one["type"] for one in policy["status"]["conditions"] if one["status"] == "True")
    return str(one)


@pytest.fixture
def looking(operators: StartOperator) -> OperatorProcess:
    started = operators(policyLook="1s")
    started.says("the lease table was rebuilt")
    return started


def test_a_policy_follows_its_table_from_before_it_is_created_until_it_is_gone(
    cluster: Played, looking: OperatorProcess, tmp_path: Path, kubectl: Kubectl
) -> None:
    table = tmp_path / "orders"
    cluster.declare("orders", {"table": {"path": str(table)}, "partitionBy": ["day"], "properties": WANTED})
    missing = cluster.policy_is("orders", "TableMissing")
    assert (condition_of(missing), "observed" in missing["status"]) == ("Reconciling", False)

    create(table, **WANTED)
    append(table)

    def is_seen() -> Json | None:
        policy = cluster.policy_is("orders", "AsWanted")
        return policy if policy["status"]["observed"]["version"] == 1 else None

    policy = eventually(is_seen, "its second version is seen")
    observed = policy["status"]["observed"]
    assert condition_of(policy) == "Ready"
    assert (observed["location"], observed["partitionBy"], observed["files"]) == (f"file:{table}", ["day"], 1)
    assert observed["properties"] == WANTED
    assert observed["protocol"] == {"reader": 1, "writer": 2}
    assert [one["operation"] for one in observed["lastCommits"]] == ["WRITE", "CREATE TABLE"]
    assert observed["foreignWriters"]["commits"] == 2
    assert observed["foreignWriters"]["last"]["engine"].startswith("delta-rs:")

    DeltaTable(str(table)).alter.set_table_properties({"delta.appendOnly": "false"})
    drifted = cluster.policy_is("orders", "Drifted")
    (difference,) = drifted["status"]["drift"]
    assert (difference["field"], difference["wanted"], difference["found"]) == (
        "properties.delta.appendOnly",
        "true",
        "false",
    )
    assert "delta-rs" in difference["by"]
    assert "version 2" in difference["by"]
    assert condition_of(drifted) == "Stalled"
    shown = kubectl("get", "dtp", "-n", cluster.namespace, "orders").stdout.splitlines()[1].split()
    assert shown[1:6] == [f"file:{table}", "False", "Drifted", "1", "Observe"]

    DeltaTable(str(table)).alter.set_table_properties(WANTED)
    again = cluster.policy_is("orders", "AsWanted")
    assert (again["status"].get("drift", []), again["status"]["driftCount"]) == ([], 0)

    shutil.rmtree(table)
    assert "observed" not in cluster.policy_is("orders", "TableMissing")["status"]


def test_a_wrong_fact_is_told_and_corrected_in_the_policy(
    cluster: Played, looking: OperatorProcess, tmp_path: Path
) -> None:
    create(tmp_path / "facts")
    cluster.declare("facts", {"table": {"path": str(tmp_path / "facts")}, "partitionBy": ["id"]})
    told = cluster.policy_is("facts", "Drifted")["status"]
    assert [(one["field"], one["wanted"], one["found"]) for one in told["drift"]] == [
        ("partitionBy", "id", "day")
    ]
    cluster.change_policy("facts", {"spec": {"partitionBy": ["day"]}})
    cluster.policy_is("facts", "Counts")


def test_a_table_that_cannot_be_read_any_more_stays_as_it_was_last_read(
    cluster: Played, looking: OperatorProcess, tmp_path: Path
) -> None:
    table = tmp_path / "broken"
    create(table, **WANTED)
    cluster.declare("broken", {"table": {"path": str(table)}, "properties": WANTED})
    before = cluster.policy_is("broken", "AsWanted")["status"]
    (table / "_delta_log" / f"{0:020}.json").write_text("this is no log", encoding="utf-8")
    unread = cluster.policy_is("broken", "TableUnread")
    assert condition_of(unread) == "Stalled"
    assert unread["status"]["observed"] == before["observed"]
    assert (
        f"status.observed has what was read at {before['observed']['readAt']}" in unread["status"]["message"]
    )
    assert "driftCount" not in unread["status"]


def test_a_folder_with_other_things_is_no_table_until_it_is_made_one(
    cluster: Played, looking: OperatorProcess, tmp_path: Path
) -> None:
    (tmp_path / "parquet").mkdir()
    (tmp_path / "parquet" / "part-0.parquet").write_bytes(b"PAR1")
    cluster.declare("parquet", {"table": {"path": str(tmp_path / "parquet")}, "properties": WANTED})
    assert condition_of(cluster.policy_is("parquet", "NotADeltaTable")) == "Stalled"
    create(tmp_path / "parquet", **WANTED)
    assert condition_of(cluster.policy_is("parquet", "AsWanted")) == "Ready"


def test_nothing_is_written_while_nothing_differs(
    cluster: Played, looking: OperatorProcess, tmp_path: Path
) -> None:
    create(tmp_path / "quiet", **WANTED)
    cluster.declare("quiet", {"table": {"path": str(tmp_path / "quiet")}, "properties": WANTED})
    before = cluster.policy_is("quiet", "AsWanted")

    def looks() -> float:
        return looking.metric('sluice_work_total{kind="policy_looks"}') or 0.0

    until = looks() + 5
    eventually(lambda: looks() >= until, "it was looked at five more times")
    assert cluster.policy("quiet") == before
