"""What Enforce makes of each kind of wish, and of tables that are not there yet or known by name alone: on a real API server, with
real tables. The driver is played: it does to the table what the job says."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from deltalake import DeltaTable

from integration.operator.played import Driver, Played, told_to_end
from integration.waiting import eventually
from sluice.api.base import Json
from unit.tables.lake import column, metadata, orders, protocol

APPEND_ONLY = {"delta.appendOnly": "true"}
SPARK = "Apache-Spark/4.2.0 Delta-Lake/4.4.0"


def _by_spark(table: Path, version: int, operation: str, *actions: Json) -> datetime:
    """Commits as Spark does, and returns when."""
    now = datetime.now(UTC)
    info = {"timestamp": int(now.timestamp() * 1000), "operation": operation, "engineInfo": SPARK}
    lines = ({"commitInfo": info}, *actions)
    (table / "_delta_log" / f"{version:020}.json").write_text(
        "".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8"
    )
    return now


def _clustered(*columns: str) -> Sequence[Json]:
    configuration = json.dumps({"clusteringColumns": [[one] for one in columns]})
    domain = {"domain": "delta.clustering", "configuration": configuration, "removed": False}
    return (
        protocol("appendOnly", "invariants", "domainMetadata", "clustering"),
        {"domainMetadata": domain},
    )


def _jobs(cluster: Played, policy: str) -> list[Json]:
    return [
        job
        for job in cluster.jobs()
        if any(owner["name"] == policy for owner in job["metadata"].get("ownerReferences", ()))
    ]


def _next(cluster: Played, policy: str, known: int = 0) -> Json:
    """The job that the policy makes after so many."""
    found = eventually(
        lambda: len(jobs := _jobs(cluster, policy)) > known and jobs,
        f"{policy} has made more than {known} jobs",
        show=lambda: cluster.policy(policy),
    )
    assert len(found) == known + 1
    return max(found, key=lambda job: int(job["metadata"]["name"].rpartition("-")[2]))


def _set_by(cluster: Played, job: Json, table: Path) -> None:
    """Its driver sets what APPEND_ONLY says, and ends."""
    driver = cluster.start(job["metadata"]["name"])
    DeltaTable(str(table)).alter.set_table_properties(APPEND_ONLY)
    driver.succeeds(f"file:{table}", DeltaTable(str(table)).version())


def test_properties_are_set_first_and_clustering_only_with_leave(shared: Played, tmp_path: Path) -> None:
    table = tmp_path / "clustered"
    orders(table, partition_by=())
    wishes = {"properties": APPEND_ONLY, "clusterBy": ["region"], "enforcement": "Enforce"}
    shared.declare("clustered", {"table": {"path": str(table)}, **wishes})
    _set_by(shared, _next(shared, "clustered"), table)
    held_back = shared.policy_is("clustered", "Drifted")["status"]
    (difference,) = held_back["drift"]
    assert (difference["field"], difference["heldBack"]) == ("clusterBy", True)
    assert "say allowIrreversible: true" in held_back["message"]
    assert len(_jobs(shared, "clustered")) == 1

    shared.change_policy("clustered", {"spec": {"allowIrreversible": True}})
    job = _next(shared, "clustered", known=1)
    assert job["spec"]["sql"] == f"ALTER TABLE delta.`{table}` CLUSTER BY (`region`)"
    driver = shared.start(job["metadata"]["name"])
    _by_spark(table, 2, "CLUSTER BY", *_clustered("region"))
    driver.succeeds(f"file:{table}", 2)
    done = shared.policy_is("clustered", "AsWanted")["status"]
    assert done["observed"]["clusterBy"] == ["region"]
    assert done["driftCount"] == 0
    assert len(_jobs(shared, "clustered")) == 2


def test_a_partitioned_table_is_not_clustered_and_the_policy_says_what_to_do(
    shared: Played, tmp_path: Path
) -> None:
    table = tmp_path / "partitioned"
    orders(table)
    wishes = {"clusterBy": ["region"], "enforcement": "Enforce", "allowIrreversible": True}
    shared.declare("partitioned", {"table": {"path": str(table)}, **wishes})
    told = shared.policy_is("partitioned", "Drifted")["status"]
    assert "the table is partitioned by date, and Delta clusters unpartitioned tables only" in told["message"]
    assert _jobs(shared, "partitioned") == []


def test_a_table_by_name_alone_is_changed_once_its_name_leads_somewhere(
    shared: Played, tmp_path: Path
) -> None:
    table = tmp_path / "named"
    orders(table)
    shared.declare(
        "named", {"table": {"name": "remedied.orders"}, "enforcement": "Enforce", "properties": APPEND_ONLY}
    )
    unread = shared.policy_is("named", "TableUnread")["status"]
    assert "no DeltaTablePolicy binds it to a path: add one" in unread["message"]
    assert _jobs(shared, "named") == []
    shared.declare("named-binds", {"table": {"name": "remedied.orders", "path": str(table)}})
    shared.policy_is("named-binds", "LeftOut")
    job = _next(shared, "named")
    assert job["spec"]["sql"].startswith("ALTER TABLE `remedied`.`orders` SET TBLPROPERTIES")
    _set_by(shared, job, table)
    shared.policy_is("named", "AsWanted")
    assert DeltaTable(str(table)).version() == 1


def test_a_table_that_a_job_creates_becomes_as_wanted_by_itself(shared: Played, tmp_path: Path) -> None:
    table = tmp_path / "created"
    shared.declare(
        "created", {"table": {"path": str(table)}, "enforcement": "Enforce", "properties": APPEND_ONLY}
    )
    missing = shared.policy_is("created", "TableMissing")["status"]
    assert "once somebody has created it" in missing["message"]
    shared.apply("creates", {"sql": f"CREATE TABLE delta.`{table}` (id BIGINT) USING delta"})
    driver = shared.start("creates")
    orders(table)
    driver.succeeds(f"file:{table}", 0)
    shared.reaches("creates", "Succeeded")
    _set_by(shared, _next(shared, "created"), table)
    shared.policy_is("created", "AsWanted")
    assert DeltaTable(str(table)).version() == 1


def test_what_spark_set_back_is_told_with_its_time_and_its_writer(shared: Played, tmp_path: Path) -> None:
    table = tmp_path / "by-spark"
    orders(table, partition_by=(), properties=dict(APPEND_ONLY))
    back = metadata(column("id", "long"), properties={"delta.appendOnly": "false"})
    at = _by_spark(table, 1, "SET TBLPROPERTIES", back)
    shared.declare("by-spark", {"table": {"path": str(table)}, "properties": APPEND_ONLY})
    (difference,) = shared.policy_is("by-spark", "Drifted")["status"]["drift"]
    assert SPARK in difference["by"]
    assert "version 1" in difference["by"]
    since = datetime.fromisoformat(difference["since"])
    assert abs((since - at).total_seconds()) < 1
    assert _jobs(shared, "by-spark") == []


def _behind_one_that_sets(
    shared: Played, name: str, table: Path, properties: str
) -> tuple[str, Driver, Json]:
    """Somebody's job that runs, by its uid and its driver, and the policy's job that waits for it."""
    orders(table, partition_by=())
    sql = f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ({properties})"
    uid = shared.apply(f"{name}-first", {"sql": sql})
    driver = shared.start(f"{name}-first")
    shared.reaches(f"{name}-first", "Running")
    shared.declare(name, {"table": {"path": str(table)}, "enforcement": "Enforce", "properties": APPEND_ONLY})
    job = _next(shared, name)
    shared.reaches(job["metadata"]["name"], "Waiting")
    return uid, driver, job


def _is_taken_back(shared: Played, policy: str, job: Json, table: Path) -> None:
    """It is gone without having run: the table has but the other job's commit."""
    eventually(lambda: not _jobs(shared, policy), "the needless job is gone", show=shared.jobs)
    shared.policy_is(policy, "AsWanted")
    assert shared.applications_of(job["metadata"]["uid"]) == []
    assert DeltaTable(str(table)).version() == 1
    assert "failures" not in shared.policy(policy)["status"].get("enforced", {})


def test_a_job_that_waits_for_one_that_sets_the_same_never_begins(shared: Played, tmp_path: Path) -> None:
    table = tmp_path / "set-by-another"
    _, driver, job = _behind_one_that_sets(shared, "set-by-another", table, "'delta.appendOnly' = 'true'")
    DeltaTable(str(table)).alter.set_table_properties(APPEND_ONLY)
    driver.succeeds(f"file:{table}", 1)
    shared.reaches("set-by-another-first", "Succeeded")
    _is_taken_back(shared, "set-by-another", job, table)


def test_a_job_that_waits_for_a_deleted_one_that_has_set_the_same_never_begins(
    shared: Played, tmp_path: Path
) -> None:
    table = tmp_path / "set-by-deleted"
    first, driver, job = _behind_one_that_sets(shared, "set-by-deleted", table, "'delta.appendOnly' = 'true'")
    DeltaTable(str(table)).alter.set_table_properties(APPEND_ONLY)
    shared.delete("set-by-deleted-first")
    eventually(
        lambda: "deletionTimestamp" in (shared.pod(driver.pod) or {"metadata": {}})["metadata"],
        f"{driver.pod} is being ended",
    )
    driver.container_ends(1, told_to_end())
    eventually(
        lambda: not any(holder.startswith(first) for holder in shared.holders()),
        "its lease is released",
        show=shared.holders,
    )
    shared.delete_pod(driver.pod)
    _is_taken_back(shared, "set-by-deleted", job, table)


def test_a_job_that_waits_for_one_that_sets_something_else_begins_once_the_table_was_looked_at(
    shared: Played, tmp_path: Path
) -> None:
    table = tmp_path / "set-otherwise"
    _, driver, job = _behind_one_that_sets(shared, "set-otherwise", table, "'team' = 'sales'")
    driver.succeeds(f"file:{table}", 0)
    shared.reaches("set-otherwise-first", "Succeeded")
    _set_by(shared, job, table)
    shared.policy_is("set-otherwise", "AsWanted")
    assert len(_jobs(shared, "set-otherwise")) == 1
    assert DeltaTable(str(table)).version() == 1
