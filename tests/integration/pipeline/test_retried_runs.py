"""A job that loses to a foreign writer runs again, with all real parts: what it had committed stays, and is not done twice."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from arro3.core import Array, DataType, Table
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from devenv.stack import Stack
from integration.conftest import Kubectl
from integration.pipeline.conftest import PROFILE, SPARK_CONF, Pipeline, namespace_of, running_pipeline
from integration.runner.freezing import Freeze, wait_for

pytestmark = pytest.mark.timeout(900)

FREEZES = "spark.hadoop.sluice.test.freezeDir"
HELD = "order_id"
"""A column of one table alone: commits whose statistics name it are held."""


@pytest.fixture(scope="module")
def freezes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("freezes")


@pytest.fixture(scope="module")
def pipeline(
    stack: Stack,
    kubectl: Kubectl,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
    freezes: Path,
) -> Iterator[Pipeline]:
    held = PROFILE | {"sparkConf": SPARK_CONF | {FREEZES: str(freezes)}}
    folder = tmp_path_factory.mktemp("pipeline")
    with running_pipeline(stack, kubectl, folder, namespace_of(request), {"default": held}) as running:
        yield running


def _append(table: Path, column: str, rows: list[int]) -> None:
    """Another engine's commit."""
    write_deltalake(table, Table({column: Array(rows, DataType.int64())}), mode="append")


def _rows(table: Path, column: str) -> list[int]:
    found = QueryBuilder().register("t", DeltaTable(table)).execute(f"SELECT {column} FROM t").read_all()
    return sorted(found.column(column).to_pylist())


def test_who_loses_to_a_foreign_writer_does_what_is_left_and_nothing_twice(
    pipeline: Pipeline, freezes: Path
) -> None:
    """The second of three statements loses: the first has committed by then."""
    orders, journal = pipeline.lake / "orders", pipeline.lake / "journal"
    _append(orders, HELD, [1, 2, 3])
    _append(journal, "n", [0])
    sql = (
        f"INSERT INTO {pipeline.table('journal')} VALUES (1); "
        f"DELETE FROM {pipeline.table('orders')} WHERE {HELD} <= 2; "
        f"INSERT INTO {pipeline.table('journal')} SELECT count(*) + 100 FROM {pipeline.table('orders')}"
    )
    freeze = Freeze(freezes, HELD)
    pipeline.apply("loses", {"sql": sql, "retry": {"limit": 2, "backoff": "1s"}})
    wait_for(freeze.is_reached, "the commit of the second statement")
    run = pipeline.status("loses")["run"]
    _append(orders, HELD, [1, 4])
    freeze.lift()

    status = pipeline.until("loses", "Succeeded")
    assert [one["outcome"] for one in status["attempts"]] == ["Failed", "Succeeded"]
    first, second = status["attempts"]
    assert first["exception"]["class"] == "ConcurrentAppendException"
    assert first["exception"]["conflictingCommit"]["foreign"] is True
    assert [one["statement"] for one in first["commits"]] == [1]
    assert [one["statement"] for one in second["commits"]] == [2, 3]
    assert _rows(orders, HELD) == [3, 4]
    assert _rows(journal, "n") == [0, 1, 102], "each statement once, and the last one after the second"
    assert run == {"appId": "sluice/slot/1", "firstToken": first["token"]}
    assert DeltaTable(orders).transaction_version(run["appId"]) == second["token"] << 12 | 2
    assert status["retries"] == 1
