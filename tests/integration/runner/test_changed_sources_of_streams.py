"""What a stream says of a Delta source that was changed under it: whether another attempt goes on, by Delta's own error class.

The classes stand in a file of their own, which the operator's list of them is held against as well (tests/unit/lifecycle).
"""

from __future__ import annotations

import csv
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from integration.runner.freezing import wait_for
from integration.runner.jobs import Document, at, place
from integration.runner.streaming import ONCE, Running, add, ids, run_stream, running, stream_of

EACH_SECOND = {"processingTime": "1 second"}
ONLY_IDS = "SELECT id FROM source"
MAPPED = "'delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5'"
FEED = "'delta.enableChangeDataFeed' = 'true'"
WIDENS = "'delta.enableTypeWidening' = 'true'"
SKIPS = {"skipChangeCommits": "true"}
BY_FEED = {"readChangeFeed": "true"}
LATER = (9, 10)

PROPERTIES = {
    "a column is renamed": MAPPED,
    "a column is dropped": MAPPED,
    "column mapping is taken away": MAPPED,
    "a column gets a wider type": WIDENS,
    "a column gets a wider type and the feature is dropped": WIDENS,
    "its change feed is ended": FEED,
    "its change feed is read and a column added": FEED,
}
OPTIONS = {
    "a column is renamed": SKIPS,
    "a column is dropped": SKIPS,
    "column mapping is taken away": SKIPS,
    "its change feed is ended": BY_FEED,
    "its change feed is read and a column added": BY_FEED,
    "rows are changed that it skips": SKIPS,
    "it is emptied and the stream ignores deletes": {"ignoreDeletes": "true"},
    "it is restored and the stream skips changes": SKIPS,
    "a column is added and it is restored": SKIPS,
}
ADD = "ALTER TABLE {t} ADD COLUMNS (note STRING)"
RESTORE = "RESTORE TABLE {t} TO VERSION AS OF 1"
ON_35 = pyspark.__version__.startswith("3.")
EMPTY = "DELETE FROM {t}" if ON_35 else "TRUNCATE TABLE {t}"
CHANGES: dict[str, Sequence[str]] = {
    "a column is added": [ADD],
    "a column is added twice": [ADD, "INSERT INTO {t} (id) VALUES (8)", ADD.replace("note", "more")],
    "a column gets a wider type": ["ALTER TABLE {t} ALTER COLUMN n TYPE BIGINT"],
    "its change feed is read and a column added": [ADD],
    "properties are set": [f"ALTER TABLE {{t}} SET TBLPROPERTIES ({FEED}, 'team' = 'sales')"],
    "it is compacted": ["OPTIMIZE {t}"],
    "column mapping begins": [f"ALTER TABLE {{t}} SET TBLPROPERTIES ({MAPPED})"],
    "a column is renamed": ["ALTER TABLE {t} RENAME COLUMN item TO thing"],
    "a column is dropped": ["ALTER TABLE {t} DROP COLUMN item"],
    "column mapping is taken away": [
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')"
    ],
    "its change feed is ended": [
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')"
    ],
    "rows are changed": ["UPDATE {t} SET item = 'z' WHERE id = 1"],
    "rows are changed that it skips": ["UPDATE {t} SET item = 'z' WHERE id = 1"],
    "rows are deleted": ["DELETE FROM {t} WHERE date = DATE'2026-11-20'"],
    "it is emptied and filled again": [EMPTY, "INSERT INTO {t} (id) VALUES (8)"],
    "it is emptied and the stream ignores deletes": [EMPTY, "INSERT INTO {t} (id) VALUES (8)"],
    "it is restored": [RESTORE],
    "it is restored and the stream skips changes": [RESTORE],
    "a column is added and it is restored": [ADD, RESTORE],
    "a column gets a wider type and the feature is dropped": [
        "ALTER TABLE {t} ALTER COLUMN n TYPE BIGINT",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'false')",
        "ALTER TABLE {t} DROP FEATURE typeWidening",
    ],
    "its folder is deleted and it is made anew": [],
}

CUT_OFF = {
    "its log is cut off before the stream begins": {"startingVersion": "1"},
    "its log is cut off before the stream has read its first state": {"maxFilesPerTrigger": "1"},
    "its log is cut off behind the stream": {},
}
"""The options of the stream."""

WIDENING = {"a column gets a wider type", "a column gets a wider type and the feature is dropped"}
"""Of INT Delta 3.3 makes nothing wider."""
HERE = [change for change in CHANGES if change not in WIDENING or not ON_35]

NOT_SURELY_SEEN = "*"
"""An attempt that doesn't look while the table is gone goes on with the other one, and only the next attempt tells."""


def _classes() -> dict[str, tuple[str, str]]:
    """By what happens: how an attempt ends that runs meanwhile, and how each one after it. Empty: it goes on."""
    with (Path(__file__).parent / "changed_sources.tsv").open(encoding="utf-8") as file:
        return {row["change"]: (row["running"], row["after"]) for row in csv.DictReader(file, delimiter="\t")}


CLASSES = _classes()


def _create(spark: SparkSession, table: Path, properties: str) -> None:
    told = f"TBLPROPERTIES ({properties})" if properties else ""
    spark.sql(
        f"CREATE TABLE {at(table)} (id BIGINT, date DATE, item STRING, n INT) USING delta PARTITIONED BY (date) {told}"
    )
    spark.sql(f"INSERT INTO {at(table)} VALUES (1, DATE'2026-11-19', 'a', 1), (2, DATE'2026-11-19', 'b', 2)")
    spark.sql(f"INSERT INTO {at(table)} VALUES (3, DATE'2026-11-20', 'c', 3)")


def _change(spark: SparkSession, table: Path, change: str) -> None:
    for text in CHANGES[change]:
        spark.sql(text.format(t=at(table)))
    if not CHANGES[change]:
        shutil.rmtree(table)
        spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]
        _create(spark, table, "")


def _ended_by(result: Document) -> str:
    failure = result.get("exception")
    return "" if failure is None else str(failure["errorClass"]).partition(".")[0]


def _waits(stream: Running) -> None:
    wait_for(lambda: "idleSince" in stream.told or stream.has_ended(), "a stream with nothing to do")


def test_each_change_has_its_class() -> None:
    assert list(CLASSES) == [*CHANGES, *CUT_OFF]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(change, marks=() if change == "a column is added" else pytest.mark.long(minutes=0.5))
        for change in HERE
    ],
)
def test_an_attempt_that_runs_and_those_after_it_end_as_the_file_says(
    spark: SparkSession, tmp_path: Path, change: str
) -> None:
    table, target = tmp_path / "table", tmp_path / "copy"
    _create(spark, table, PROPERTIES.get(change, ""))
    source: Document = {"format": "delta", "path": place(table), "options": OPTIONS.get(change, {})}
    append: Document = {"source": source, "table": {"path": place(target)}, "query": ONLY_IDS}
    assert run_stream(spark, stream_of(table, tmp_path / "paused", **append))["outcome"] == "Succeeded"
    with running(spark, stream_of(table, tmp_path / "running", trigger=EACH_SECOND, **append)) as stream:
        stream.wait_until("batches", 1)
        _waits(stream)
        _change(spark, table, change)
        spark.sql(f"INSERT INTO {at(table)} (id) VALUES ({LATER[0]})")
        wait_for(lambda: stream.has_ended() or ids(spark, target).count(LATER[0]) == 1, "an end or a batch")
        stream.stop.ask()
        while_it_ran = _ended_by(stream.result())
    spark.sql(f"INSERT INTO {at(table)} (id) VALUES ({LATER[1]})")
    seen = [
        _ended_by(run_stream(spark, stream_of(table, tmp_path / checkpoint, **append)))
        for checkpoint in ("running", "running", "paused", "paused")
    ]
    expected_then, expected_after = CLASSES[change]
    assert seen == [expected_after] * 4
    if expected_then == NOT_SURELY_SEEN:
        return
    assert while_it_ran == expected_then
    # Of the two streams each has read what came later, once; or neither.
    assert [ids(spark, target).count(one) for one in LATER] == ([0, 0] if expected_after else [2, 2])


@pytest.mark.parametrize("joined", ["rename", "add"])
@pytest.mark.long(minutes=0.5)
def test_a_new_schema_of_a_joined_table_is_met_by_a_restart(
    spark: SparkSession, table: Path, tmp_path: Path, joined: str
) -> None:
    other, target = tmp_path / "joined", tmp_path / "copy"
    spark.sql(f"CREATE TABLE {at(other)} (id BIGINT, v STRING) USING delta TBLPROPERTIES ({MAPPED})")
    spark.sql(f"INSERT INTO {at(other)} SELECT id, 'v' FROM {at(table)}")
    spark.sql(f"INSERT INTO {at(other)} (id) VALUES (3)")
    query = f"SELECT s.id FROM source s JOIN {at(other)} o ON s.id = o.id"
    document = stream_of(
        table, tmp_path / "checkpoint", table={"path": place(target)}, query=query, trigger=EACH_SECOND
    )
    with running(spark, document) as stream:
        stream.wait_until("batches", 1)
        text = "RENAME COLUMN v TO w" if joined == "rename" else "ADD COLUMNS (w INT)"
        spark.sql(f"ALTER TABLE {at(other)} {text}")
        add(spark, table, 3)
        wait_for(lambda: stream.has_ended() or 3 in ids(spark, target), "an end or a batch")
        stream.stop.ask()
        result = stream.result()
    assert _ended_by(result) == ("DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS" if joined == "rename" else "")
    after = run_stream(spark, document | {"stream": {**document["stream"], "trigger": ONCE}})
    assert after["outcome"] == "Succeeded", after
    assert ids(spark, target) == [1, 2, 3]


def test_changed_rows_end_it_for_good_unless_they_are_skipped(
    spark: SparkSession, table: Path, tmp_path: Path
) -> None:
    target, checkpoint = tmp_path / "copy", tmp_path / "checkpoint"
    document = stream_of(table, checkpoint, table={"path": place(target)}, query=ONLY_IDS)
    assert run_stream(spark, document)["outcome"] == "Succeeded"
    spark.sql(f"UPDATE {at(table)} SET item = 'z' WHERE id = 1")
    failure = run_stream(spark, document)["exception"]
    assert failure["errorClass"] in ("DELTA_SOURCE_TABLE_IGNORE_CHANGES", "DELTA_SOURCE_IGNORE_DELETE"), (
        failure
    )
    assert failure["retriable"] is False
    add(spark, table, 3)
    skips = stream_of(table, checkpoint, table={"path": place(target)}, query=ONLY_IDS)
    skips["stream"]["source"]["options"] = SKIPS
    assert run_stream(spark, skips)["outcome"] == "Succeeded"
    assert ids(spark, target) == [1, 2, 3]


@pytest.mark.parametrize("stopped", CUT_OFF)
@pytest.mark.long(minutes=0.5)
def test_a_log_that_no_longer_has_what_the_stream_is_to_read_ends_it_for_good(
    spark: SparkSession, tmp_path: Path, stopped: str
) -> None:
    """As a short logRetentionDuration has it be: Delta deletes log files of days ago once a checkpoint follows them."""
    table, checkpoint = tmp_path / "table", tmp_path / "checkpoint"
    short = ", ".join(
        f"'delta.{name}RetentionDuration' = 'interval 1 days'" for name in ("log", "deletedFile")
    )
    _create(spark, table, f"{short}, 'delta.checkpointInterval' = '2'")
    source: Document = {"format": "delta", "path": place(table), "options": CUT_OFF[stopped]}
    append: Document = {"source": source, "table": {"path": place(tmp_path / "copy")}, "query": ONLY_IDS}
    if stopped == "its log is cut off before the stream has read its first state":
        with running(spark, stream_of(table, checkpoint, trigger=EACH_SECOND, **append)) as stream:
            stream.wait_until("batches", 1)
            stream.stop.ask()
            stream.result()
    elif stopped == "its log is cut off behind the stream":
        assert run_stream(spark, stream_of(table, checkpoint, **append))["outcome"] == "Succeeded"
    for number in range(11, 18):
        spark.sql(f"INSERT INTO {at(table)} (id) VALUES ({number})")
    for file in (table / "_delta_log").glob("*.*"):
        os.utime(file, (time.time() - 40 * 86400,) * 2)
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]
    for number in range(18, 22):
        spark.sql(f"INSERT INTO {at(table)} (id) VALUES ({number})")
    assert not (table / "_delta_log" / f"{4:020}.json").exists()
    seen = [_ended_by(run_stream(spark, stream_of(table, checkpoint, **append))) for _ in range(2)]
    assert seen == [CLASSES[stopped][1]] * 2
