"""A job that loses to a foreign writer runs again, with all real parts: what it had committed stays, and is not done twice."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from arro3.core import Array, DataType, Table
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from held_commits import held_in
from integration.pipeline import foreign
from integration.pipeline.conftest import PROFILE, SPARK_CONF, Pipeline, Place, running_pipeline
from integration.pipeline.foreign import DeltaRs, Foreign
from integration.runner.freezing import Freeze, wait_for
from integration.warm_drivers.server import WarmDrivers
from sluice.api.base import Json
from sluice.conflicts.advice_texts import LET_IT_WAIT, OTHERS_OWN_TXN_APP_ID

pytestmark = pytest.mark.timeout(900)

HELD = "order_id"
"""A column of one table alone: commits whose statistics name it are held."""


@pytest.fixture(scope="module")
def freezes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("freezes")


@pytest.fixture(scope="module")
def pipeline(place: Place, freezes: Path) -> Iterator[Pipeline]:
    held = PROFILE | {"sparkConf": SPARK_CONF | held_in(freezes)}
    with running_pipeline(place, {"default": held}) as running:
        yield running


def _append(table: Path, column: str, rows: list[int]) -> None:
    """Another engine's commit."""
    write_deltalake(table, Table({column: Array(rows, DataType.int64())}), mode="append")


def _rows(table: Path, column: str) -> list[int]:
    found = QueryBuilder().register("t", DeltaTable(table)).execute(f"SELECT {column} FROM t").read_all()
    return sorted(found.column(column).to_pylist())


@pytest.mark.long(minutes=4)
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


@pytest.fixture(scope="module")
def engines(warm: WarmDrivers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Foreign]]:
    with foreign.running_spark(warm, SPARK_CONF, tmp_path_factory.mktemp("foreign")) as spark:
        yield {"delta-rs": DeltaRs(), "Spark": spark}


@dataclass(frozen=True)
class Losing:
    """A statement, and what another writer commits while it is held before its commit."""

    exception: str
    statement: str
    """On a table `{table}` with (1, 'a'), (2, 'a') and (3, 'b') in its column `{column}` and its partitions by day."""
    wins: Callable[[Foreign, Path, str, str], None]
    """Is given the table, its column, and the run's appId."""
    left: list[int]
    """The column's values once both are done, each exactly once."""
    advice: str = LET_IT_WAIT
    is_numbered: bool = True
    """Whether its commit bears the run's txn version: Delta gives none to ALTER and RESTORE, which their stamps prove done."""

    @property
    def column(self) -> str:
        """The table's name as well: no other table has it, so that only this statement's commit is held."""
        return self.exception.removesuffix("Exception").lower()

    def sql(self, pipeline: Pipeline, job: str) -> str:
        return self.statement.format(table=pipeline.table(f"{job}-{self.column}"), column=self.column)


APPEND = Losing(
    "ConcurrentAppendException",
    "UPDATE {table} SET {column} = {column} + 10 WHERE day = 'a'",
    lambda other, table, column, _: other.append(table, column, 5, "a"),
    [3, 11, 12, 15],
)
DELETE_READ = Losing(
    "ConcurrentDeleteReadException",
    "UPDATE {table} SET {column} = {column} + 10",
    lambda other, table, _, __: other.delete(table, "a"),
    [13],
)
DELETE_DELETE = Losing(
    "ConcurrentDeleteDeleteException",
    "INSERT OVERWRITE {table} VALUES (5, 'a'), (6, 'c')",
    lambda other, table, _, __: other.delete(table, "a"),
    [3, 5, 6],
)
METADATA = Losing(
    "MetadataChangedException",
    "INSERT INTO {table} ({column}, day) VALUES (5, 'a')",
    lambda other, table, _, __: other.add_column(table),
    [1, 2, 3, 5],
)
PROTOCOL = Losing(
    "ProtocolChangedException",
    "ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
    lambda other, table, _, __: other.add_feature(table),
    [1, 2, 3],
    is_numbered=False,
)
TRANSACTION = Losing(
    "ConcurrentTransactionException",
    "INSERT INTO {table} VALUES (5, 'a')",
    lambda other, table, column, app_id: other.append_as(app_id, table, column, 6, "b"),
    [1, 2, 3, 5, 6],
    OTHERS_OWN_TXN_APP_ID,
)
WRITE = Losing(
    "ConcurrentWriteException",
    "RESTORE TABLE {table} TO VERSION AS OF 0",
    lambda other, table, column, _: other.append(table, column, 5, "a"),
    [1, 2, 3],
    is_numbered=False,
)
DYNAMIC = "SET spark.sql.sources.partitionOverwriteMode = dynamic"
JOBS = {
    "rows": (APPEND, DELETE_READ, DELETE_DELETE),
    "tables": (TRANSACTION, METADATA, PROTOCOL),
    "restores": (WRITE,),
}
"""Statements that each lose one attempt. The transaction comes first: once a retry has fenced its table, Spark leaves out what
another writer commits under its id with a lower number."""


@pytest.mark.parametrize(
    "winners",
    [
        {"rows": "delta-rs", "tables": "Spark"},
        pytest.param(
            {"rows": "Spark", "tables": "delta-rs", "restores": "delta-rs"}, marks=pytest.mark.long(minutes=4)
        ),
    ],
    ids=lambda winners: "-".join(winners.values()),
)
def test_a_job_that_loses_each_statement_once_does_each_exactly_once(
    pipeline: Pipeline, freezes: Path, engines: dict[str, Foreign], winners: dict[str, str]
) -> None:
    """Jobs at once, which lose up to three attempts, in all of the ways that there are."""
    jobs = {f"{kind}-{winner.lower()}": (JOBS[kind], engines[winner]) for kind, winner in winners.items()}
    for job, (losing, _) in jobs.items():
        _apply(pipeline, job, losing)
    held = {one.column: Freeze(freezes, one.column) for losing, _ in jobs.values() for one in losing}
    for turn in range(3):
        for job, one, other in [(j, ways[turn], won) for j, (ways, won) in jobs.items() if turn < len(ways)]:
            wait_for(held[one.column].is_reached, f"the commit of {job} that ends in a {one.exception}")
            app_id = pipeline.status(job)["run"]["appId"]
            one.wins(other, pipeline.lake / f"{job}-{one.column}", one.column, app_id)
            held[one.column].lift()
    for job, (losing, other) in jobs.items():
        _did_each_once(pipeline, job, losing, other, pipeline.until(job, "Succeeded"))


def _apply(pipeline: Pipeline, job: str, losing: tuple[Losing, ...]) -> None:
    for one in losing:
        table = pipeline.lake / f"{job}-{one.column}"
        rows = foreign.rows(one.column, (1, "a"), (2, "a"), (3, "b"))
        write_deltalake(table, rows, partition_by=["day"])
        if one is WRITE:
            DeltaTable(table).delete("day = 'b'")
    sql = "; ".join([DYNAMIC, *(one.sql(pipeline, job) for one in losing)])
    pipeline.apply(job, {"sql": sql, "retry": {"limit": len(losing), "backoff": "1s", "on": ["Conflict"]}})


def _did_each_once(
    pipeline: Pipeline, job: str, losing: tuple[Losing, ...], other: Foreign, status: Json
) -> None:
    *lost, last = status["attempts"]
    assert [one["exception"]["class"] for one in lost] == [one.exception for one in losing]
    assert [one["outcome"] for one in status["attempts"]] == ["Failed"] * len(losing) + ["Succeeded"]
    assert status["retries"] == len(losing)
    for number, (attempt, one) in enumerate(zip(lost, losing, strict=True)):
        won = attempt["exception"]["conflictingCommit"]
        assert won["foreign"] is True
        assert won["engine"].startswith(other.engine)
        assert attempt["exception"]["statement"] == number + 2, "the first one is SET"
        assert f"{one.exception} on file:{pipeline.lake}/{job}-{one.column}" in attempt["message"]
        assert attempt["exception"]["rule"]
        assert attempt["exception"]["advice"] == one.advice
    commits = [[commit["statement"] for commit in one.get("commits", [])] for one in status["attempts"]]
    assert commits == [[], *([number] for number in range(2, len(losing) + 2))]
    for one in losing:
        table = pipeline.lake / f"{job}-{one.column}"
        assert _rows(table, one.column) == one.left
        number = len(losing) + 1 if one is losing[-1] and one.is_numbered else 0
        highest = DeltaTable(table).transaction_version(status["run"]["appId"])
        assert highest == last["token"] << 12 | number, "the last attempt's own commit, or its fence"
