"""What becomes of streams where nobody keeps others from them: why Sluice pauses them, and what no pause would help."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from contract.conftest import FreezingSpark
from contract.harness.session import activate
from contract.harness.streams import Feed, Running, appended_to, merged_into, until
from sluice_runner import failures

pytestmark = pytest.mark.timeout(600)

ROUNDS = 20


@contextmanager
def held(freezing: FreezingSpark, tag: str) -> Iterator[Path]:
    """Whoever commits under this tag stands before its commit until the end of this."""
    freezing.freezes.mkdir(exist_ok=True)
    freeze = freezing.freezes / f"{tag}.freeze"
    freeze.touch()
    try:
        yield freeze.with_suffix(".frozen")
    finally:
        freeze.unlink()
        freeze.with_suffix(".frozen").unlink(missing_ok=True)


def _sql(session: SparkSession, text: str) -> None:
    activate(session)
    session.sql(text)


def _loses(session: SparkSession, text: str) -> bool:
    try:
        _sql(session, text)
    except Exception as error:
        if failures.classify(error).name.startswith("Concurrent"):
            return True
        raise
    return False


def _rows(table: Path) -> int:
    """The rows that were appended, by the log."""
    lines = (
        line
        for commit in (table / "_delta_log").glob("*.json")
        for line in commit.read_text("utf-8").splitlines()
    )
    return sum(
        json.loads(action["add"]["stats"])["numRecords"]
        for line in lines
        if "add" in (action := json.loads(line))
    )


@pytest.mark.parametrize(
    "case",
    [
        ("ADD COLUMNS (extra INT)", "DELTA_SCHEMA_CHANGED_WITH_VERSION"),
        ("SET TBLPROPERTIES ('team' = 'sales')", None),
        ("SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')", None),
    ],
    ids=["add-column", "set-property", "enable-change-feed"],
)
def test_a_change_of_metadata_aborts_the_batch_under_way_and_a_new_column_ends_who_reads(
    freezing: FreezingSpark,
    session: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    case: tuple[str, str | None],
) -> None:
    change, reader_fails = case
    table, copy = tmp_path / "table", tmp_path / "copy"
    _sql(session, f"CREATE TABLE delta.`{table}` (id BIGINT, v STRING) USING delta")
    feeds = [Feed(tmp_path / name) for name in ("one", "two")]
    tags = [f"{tmp_path.name}-{feed.folder.name}" for feed in feeds]
    one, two = (
        Running(freezing.spark, tmp_path, tag, feed.folder, None, appended_to(table, tag))
        for feed, tag in zip(feeds, tags, strict=True)
    )
    reader = Running(
        freezing.spark, tmp_path, f"{tmp_path.name}-reader", table, {}, appended_to(copy, "reader")
    )
    try:
        for feed in feeds:
            feed.give()
        until(lambda: _rows(copy) == 2, "the streams do not work")
        with held(freezing, tags[0]) as frozen:
            feeds[0].give()
            until(frozen.exists, "the first stream came to no commit")
            _sql(session, f"ALTER TABLE delta.`{table}` {change}")
        until(lambda: one.has_failed, "the stream that was held goes on")
        feeds[1].give()
        until(lambda: _rows(table) == 3, "the stream that was idle does not go on")
        if reader_fails is None:
            until(lambda: _rows(copy) == 3, "the reader does not go on")
        else:
            until(lambda: reader.has_failed, "the reader goes on")
        with capsys.disabled():
            print(
                f"\nwithout Sluice, {change}: the stream with a batch under way: {one.failure}; the idle one: "
                f"{two.failure or 'goes on'}; the one that reads: {reader.failure or 'goes on'}"
            )
        assert one.failure is not None
        assert one.failure.startswith("MetadataChangedException")
        assert two.failure is None
        assert (reader.failure is None) if reader_fails is None else (reader_fails in (reader.failure or ""))
    finally:
        for stream in (one, two, reader):
            stream.stop()


def test_a_merge_of_each_batch_loses_to_an_optimize_that_commits_meanwhile(
    freezing: FreezingSpark, session: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, feed, tag = tmp_path / "table", Feed(tmp_path / "rows"), f"{tmp_path.name}-merge"
    _sql(session, f"CREATE TABLE delta.`{table}` (id BIGINT, v STRING) USING delta")
    for number in (1000, 1001):
        _sql(session, f"INSERT INTO delta.`{table}` VALUES ({number}, 'x')")
    stream = Running(freezing.spark, tmp_path, tag, feed.folder, None, merged_into(table))
    try:
        with held(freezing, tag) as frozen:
            feed.give(1000)
            until(frozen.exists, "the stream came to no commit")
            _sql(session, f"OPTIMIZE delta.`{table}`")
        until(lambda: stream.has_failed, "the stream goes on")
        with capsys.disabled():
            print(f"\nwithout Sluice, OPTIMIZE: the stream that merges: {stream.failure}")
        assert stream.failure is not None
        assert stream.failure.startswith(("ConcurrentAppendException", "ConcurrentDeleteReadException"))
    finally:
        stream.stop()


@pytest.mark.long(minutes=3)
def test_without_anybody_s_doing_some_of_twenty_rounds_are_lost(
    freezing: FreezingSpark, session: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """delta-io/delta#1449: the MERGE loses where OPTIMIZE commits first, and OPTIMIZE where the MERGE does."""
    table, feed = tmp_path / "table", Feed(tmp_path / "rows")
    _sql(session, f"CREATE TABLE delta.`{table}` (id BIGINT, v STRING) USING delta")
    merges, optimizes = 0, 0
    stream = Running(freezing.spark, tmp_path, "merge", feed.folder, None, merged_into(table))
    try:
        for _ in range(ROUNDS):
            done = stream.batches
            for _ in range(3):
                feed.give()
            optimizes += _loses(session, f"OPTIMIZE delta.`{table}`")
            stream.until_more_than(done)
            if stream.has_failed:
                assert "Concurrent" in (stream.failure or "")
                merges += 1
                stream = Running(freezing.spark, tmp_path, "merge", feed.folder, None, merged_into(table))
    finally:
        stream.stop()
    with capsys.disabled():
        print(f"\nwithout Sluice, {ROUNDS} rounds: the stream lost {merges}, OPTIMIZE {optimizes}")
    assert merges + optimizes > 0


def _read(batch: DataFrame, _number: int) -> None:
    batch.collect()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ("ALTER TABLE {t} RENAME COLUMN v TO w", "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG"),
        ("ALTER TABLE {t} DROP COLUMN v", "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG"),
        (
            "CREATE OR REPLACE TABLE {t} USING delta AS SELECT 1L AS id",
            "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
        ),
    ],
    ids=["rename", "drop", "replace"],
)
def test_no_restart_helps_a_reader_whose_table_is_another_or_lacks_a_column(
    freezing: FreezingSpark, session: SparkSession, tmp_path: Path, change: str, error: str
) -> None:
    table, skips = tmp_path / "table", {"skipChangeCommits": "true"}
    mapped = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    _sql(session, f"CREATE TABLE delta.`{table}` (id BIGINT, v STRING) USING delta {mapped}")
    _sql(session, f"INSERT INTO delta.`{table}` VALUES (1, 'x')")
    first = Running(freezing.spark, tmp_path, "reader", table, skips, _read)
    until(lambda: first.batches > 0, "no batch")
    _sql(session, change.format(t=f"delta.`{table}`"))
    _sql(session, f"INSERT INTO delta.`{table}` (id) VALUES (2)")
    until(lambda: first.has_failed, "the reader goes on")
    assert error in (first.failure or "")
    again = Running(freezing.spark, tmp_path, "reader", table, skips, _read)
    until(lambda: again.has_failed, "the reader goes on once it is started again")
    assert error in (again.failure or "")
