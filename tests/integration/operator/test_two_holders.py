"""Each kind of lease has one holder at a time: by the leader's decision, and by that of the next one, which finds Redis empty."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from deltalake import DeltaTable, Field, Schema
from deltalake.schema import PrimitiveType
from redis import Redis

from integration.operator.conftest import StartOperator
from integration.operator.played import Played
from integration.operator.process import OperatorProcess
from integration.waiting import eventually
from sluice.api.base import Json


@dataclass(frozen=True)
class Kind:
    """What a lease may be held on."""

    holder: Json
    rival: Json
    """What may not be held beside it."""
    beside: Json
    """What may: of the same kind, and on another part, id or run, on a table that the holder writes, too, where it can."""
    rule: str
    """By which the rival is told."""


def rows_of_a_partition(path: str) -> Kind:
    def update(day: str) -> Json:
        return {"sql": f"UPDATE delta.`{path}` SET amount = 1 WHERE date = DATE '{day}' AND id = 7"}

    return Kind(update("2026-11-19"), update("2026-11-19"), update("2026-11-20"), "added-files")


def metadata(path: str) -> Kind:
    def alter(table: str, name: str) -> Json:
        return {"sql": f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('{name}' = 'sales')"}

    return Kind(alter(path, "owner"), alter(path, "team"), alter(f"{path}-2", "owner"), "metadata-changed")


def transaction_id(path: str) -> Kind:
    def write(app_id: str, version: int) -> Json:
        source = {"sql": "SELECT 1L AS id, 10 AS amount, DATE '2026-11-18' AS date"}
        ids = {"txnAppId": app_id, "txnVersion": version}
        return {"write": {"source": source, "table": {"path": f"file:{path}"}, "mode": "Append", **ids}}

    return Kind(write("nightly", 1), write("nightly", 2), write("hourly", 1), "same-transaction-id")


def run(path: str) -> Kind:
    def append(table: str, key: str) -> Json:
        return {"sql": f"INSERT INTO delta.`{table}` VALUES (1, 2, DATE '2026-11-19')", "runKey": key}

    return Kind(append(path, "daily"), append(f"{path}-2", "daily"), append(path, "weekly"), "same-run")


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Of a table that another one like it stands beside."""
    columns = {"id": "long", "amount": "integer", "date": "date"}
    schema = Schema([Field(name, PrimitiveType(kind), nullable=True) for name, kind in columns.items()])
    for name in ("orders", "orders-2"):
        DeltaTable.create(str(tmp_path / name), schema, partition_by=["date"])
    return str(tmp_path / "orders")


@pytest.mark.parametrize("of", [rows_of_a_partition, metadata, transaction_id, run])
def test_nobody_else_holds_what_one_holds_before_it_has_ended(
    cluster: Played,
    operator: OperatorProcess,
    operators: StartOperator,
    path: str,
    of: Callable[[str], Kind],
) -> None:
    kind = of(path)
    holder, beside = cluster.apply("holder", kind.holder), cluster.apply("beside", kind.beside)
    drivers = {name: cluster.start(name) for name in ("holder", "beside")}
    for name in drivers:
        cluster.reaches(name, "Running")
    rival = cluster.apply("rival", kind.rival)
    assert by_whom(cluster, "rival") == {("holder", kind.rule)}

    assert operator.stop() == 0
    with Redis.from_url(cluster.redis_url) as redis:
        redis.flushall()
    operators("later").says("the lease table was rebuilt with 2 leases")
    late = cluster.apply("late", kind.rival)
    assert ("holder", kind.rule) in by_whom(cluster, "late")
    assert cluster.holders() == {f"{holder}/1", f"{beside}/1"}

    cluster.delete("holder")
    eventually(lambda: cluster.job("holder") is None, "the holder's job is gone, and its driver isn't")
    last = cluster.apply("last", kind.rival)
    assert "holder" in {name for name, _ in by_whom(cluster, "last")}
    assert cluster.holders() == {f"{holder}/1", f"{beside}/1"}

    drivers["holder"].container_ends(143)
    for uid, name, next_ones in ((rival, "rival", (late, last)), (late, "late", (last,)), (last, "last", ())):
        driver = cluster.start(name)
        assert cluster.holders() == {f"{uid}/1", f"{beside}/1"}
        assert [cluster.applications_of(one) for one in next_ones] == [[] for _ in next_ones]
        driver.succeeds(f"file:{path}")
        cluster.reaches(name, "Succeeded")


def by_whom(cluster: Played, name: str) -> set[tuple[str, str]]:
    """Who keeps it waiting, and by which rule."""
    blockers = cluster.reaches(name, "Waiting")["blockedBy"]
    return {(blocker["job"].partition("/")[2], blocker["rule"]) for blocker in blockers}
