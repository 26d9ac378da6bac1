"""A look at a table's log tells what Spark wrote there, by commits and by checkpoints alike, of both versions of Delta."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from contract.harness.tables import Asked, Question
from sluice.tables import key_of_path
from sluice.tables.table_observation import CLUSTERING, TableObservation
from sluice.tables.table_observer import TableObserver

_NUMBERS = count(1)


def _done(asked: Asked, table: str, *statements: str) -> Path:
    answer = asked(Question(table, statements=statements))
    assert answer.refused is None
    return asked.folder / table


def _look(looks: TableObserver, table: Path) -> TableObservation:
    look = looks.look(key_of_path(str(table)))
    assert look.state.unread is None
    return look


def _deleted_rows(look: TableObservation) -> list[tuple[int | None, int]]:
    assert look.files is not None
    return sorted((file.rows, file.deleted_rows) for file in look.files)


def _cleaned_up(table: Path, to: Path) -> Path:
    """A copy, as Delta leaves it once commits are older than the log's retention: without those before the last checkpoint."""
    shutil.copytree(table, to)
    last = json.loads((to / "_delta_log" / "_last_checkpoint").read_text("utf-8"))["version"]
    assert last > 0
    for version in range(last):
        (to / "_delta_log" / f"{version:020}.json").unlink()
    return to


def test_clustering_and_deleted_rows_by_commits_and_by_checkpoints(asked: Asked, tmp_path: Path) -> None:
    name = f"looked-at-{next(_NUMBERS)}"
    table = _done(
        asked,
        name,
        "CREATE TABLE {table} (id BIGINT, s STRUCT<a: BIGINT>, item STRING) USING delta CLUSTER BY (id, s.a) TBLPROPERTIES ("
        "'delta.enableDeletionVectors' = 'true', 'delta.columnMapping.mode' = 'name', 'delta.checkpointInterval' = '3')",
        "INSERT INTO {table} SELECT id, named_struct('a', id), 'x' FROM range(100)",
        "DELETE FROM {table} WHERE id < 10",
        "ALTER TABLE {table} RENAME COLUMN id TO key",
    )
    looks = TableObserver()
    first = _look(looks, table)
    assert first.state.cluster_by == ("key", "s.a")
    assert first.state.columns == ("key", "s", "item")
    assert _deleted_rows(first) == [(100, 10)]
    _done(asked, name, "DELETE FROM {table} WHERE key < 20")
    followed = _look(looks, table)
    assert _deleted_rows(followed) == [(100, 20)]
    assert followed.history.since is None
    assert followed.history.foreign_commits == len(first.history.last_by_operation) + 1
    by_checkpoint = _look(TableObserver(), _cleaned_up(table, tmp_path / "cleaned-up"))
    assert by_checkpoint.state == followed.state
    assert by_checkpoint.files == followed.files
    assert by_checkpoint.history.since is not None
    _done(asked, name, "ALTER TABLE {table} CLUSTER BY (item)")
    assert _look(looks, table).state.cluster_by == ("item",)
    _done(asked, name, "ALTER TABLE {table} CLUSTER BY NONE")
    clustered = _look(looks, table)
    assert clustered.state.cluster_by == ()
    assert "clustering" in clustered.state.writer_features
    assert clustered.history.changed_by[CLUSTERING].operation == "CLUSTER BY"
    assert "Delta-Lake" in str(clustered.history.changed_by[CLUSTERING].engine)


def test_partitions_and_deleted_rows_by_checkpoints_of_the_second_version(
    asked: Asked, tmp_path: Path
) -> None:
    name = f"looked-at-{next(_NUMBERS)}"
    table = _done(
        asked,
        name,
        "CREATE TABLE {table} (id BIGINT, day DATE, region STRING, price DECIMAL(10, 2), open BOOLEAN) USING delta "
        "PARTITIONED BY (day, region, price, open) TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', "
        "'delta.columnMapping.mode' = 'name', 'delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '3')",
        "INSERT INTO {table} SELECT id, DATE'2026-11-19', 'a b', 3, true FROM range(50)",
        "INSERT INTO {table} SELECT id, DATE'2026-11-20', NULL, 2.5, NULL FROM range(20)",
        "DELETE FROM {table} WHERE id < 5 AND day = DATE'2026-11-19'",
        "ALTER TABLE {table} RENAME COLUMN region TO area",
    )
    followed = _look(TableObserver(), table)
    assert followed.state.partition_by == ("day", "area", "price", "open")
    assert _deleted_rows(followed) == [(20, 0), (50, 5)]
    assert followed.files is not None
    assert sorted((dict(file.partition) for file in followed.files), key=lambda one: str(one["day"])) == [
        {"day": "2026-11-19", "area": "a b", "price": "3.00", "open": "true"},
        {"day": "2026-11-20", "area": None, "price": "2.50", "open": None},
    ]
    by_checkpoint = _look(TableObserver(), _cleaned_up(table, tmp_path / "cleaned-up"))
    assert by_checkpoint.state == followed.state
    assert by_checkpoint.files == followed.files


def test_a_vacuum_that_ended_with_what_the_table_had_it_keep(asked: Asked) -> None:
    name, begun = f"looked-at-{next(_NUMBERS)}", datetime.now(UTC)
    table = _done(
        asked,
        name,
        "CREATE TABLE {table} (id BIGINT) USING delta TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval 9 hours')",
        "INSERT INTO {table} VALUES (1)",
        "DELETE FROM {table}",
        "ALTER TABLE {table} SET TBLPROPERTIES ('delta.appendOnly' = 'false')",
        "VACUUM {table}",
    )
    look = _look(TableObserver(), table)
    last = look.history.last_vacuum
    assert last is not None
    assert begun - timedelta(seconds=1) <= last.at <= look.at
    assert last.retention == timedelta(hours=9)
    (removed,) = look.history.removals.at
    assert removed <= last.at
    assert look.history.changed_by["delta.appendOnly"].operation == "SET TBLPROPERTIES"
    assert look.files == ()
