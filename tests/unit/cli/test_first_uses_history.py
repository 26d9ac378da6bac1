"""A newcomer, who has installed nothing, asks a table's own log who writes it."""

from pathlib import Path

import pytest

from unit.cli.folders import sluice

deltalake = pytest.importorskip("deltalake")
transaction = pytest.importorskip("deltalake.transaction")

FIRST_STREAM, SECOND_STREAM = "31903704-77f5-4e8f-aa6e-0f7886555cd7", "84ac0ec1-77f5-4e8f-aa6e-0f7886555cd7"


def appended(table: Path, day: str, *, name: str | None = None, stream: str | None = None) -> None:
    opened = deltalake.DeltaTable(str(table))
    number = opened.version() + 1
    file = transaction.AddAction(
        f"date={day}/{number}.parquet", 1, {"date": day}, 1, data_change=True, stats="{}"
    )
    properties = deltalake.CommitProperties(
        custom_metadata={"userMetadata": name} if name else None,
        app_transactions=[deltalake.Transaction(stream, number)] if stream else None,
    )
    opened.create_write_transaction([file], "append", opened.schema(), ["date"], commit_properties=properties)


def test_from_a_log_to_who_writes_and_how_to_give_the_others_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = pytest.importorskip("unit.tables.lake")
    monkeypatch.chdir(tmp_path)
    lake.orders(Path("orders"))
    table = tmp_path / "orders"
    appended(table, "2026-11-18", name="nightly 2026-11-18")
    appended(table, "2026-11-19", name="nightly 2026-11-19")
    appended(table, "2026-11-19", stream=FIRST_STREAM)
    appended(table, "2026-11-19", stream=SECOND_STREAM)
    appended(table, "2026-11-19")

    result = sluice("explain", "--history", "orders")
    assert result.exit_code == 0, result.stderr
    rows = {" ".join(line.split()) for line in result.stdout.splitlines()}
    assert {"nightly *: WRITE 2 2 0", "stream 31903704: WRITE 1 1 0", "stream 84ac0ec1: WRITE 1 1 0"} <= rows
    told = " ".join(result.stdout.split())
    assert "6 commits (versions 0 to 5, " in told
    assert "; partitioned by date." in told
    assert "No two writers were in each other's way." in told
    assert "may be many writers" in told
    assert "--conf spark.databricks.delta.commitInfo.userMetadata=NAME of spark-submit" in told

    result = sluice("explain", "--history", "order")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "order: there is no _delta_log folder here." in " ".join(result.stderr.split())
