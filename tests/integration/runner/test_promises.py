"""A job that promised where it adds rows (spec.writes) makes no commit that adds them elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from integration.runner.jobs import (
    DELTA_SETTINGS,
    Document,
    at,
    place,
    plan,
    run_here,
    run_sql,
    sql,
    statements,
    store_settings,
    submit,
)
from integration.warm_drivers.server import WarmDrivers

TODAY = ["date = DATE'2026-11-19'"]
MIDNIGHT = "TIMESTAMP'2026-11-19 00:00:00'"
NEW = "(9, DATE'2026-11-{day}', 'new')"


def versions(table: Path) -> int:
    return len(list((table / "_delta_log").glob("*.json")))


def days(spark: SparkSession, table: Path) -> list[tuple[int, str]]:
    return sorted((row["id"], str(row["date"])) for row in spark.table(at(table)).collect())


MERGE = (
    "MERGE INTO {t} t USING (SELECT 9L AS id, DATE'2026-11-{day}' AS date, 'new' AS item) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET item = 'seen' WHEN NOT MATCHED THEN INSERT *"
)


@pytest.mark.parametrize(
    "text",
    [
        f"INSERT INTO {{t}} VALUES {NEW}",
        f"INSERT OVERWRITE {{t}} VALUES {NEW}",
        f"INSERT INTO {{t}} REPLACE WHERE date = DATE'2026-11-{{day}}' VALUES {NEW}",
        MERGE,
        "UPDATE {t} SET date = DATE'2026-11-{day}' WHERE id = 1",
    ],
)
def test_rows_are_added_where_the_job_promised_and_nowhere_else(
    spark: SparkSession, table: Path, text: str
) -> None:
    before, rows = versions(table), days(spark, table)
    broken = run_sql(spark, text.format(t=at(table), day=21), writes=TODAY)
    assert (broken["outcome"], broken["exception"]["class"]) == ("Failed", "PromiseBrokenException"), broken
    assert "rows to date=2026-11-21" in broken["exception"]["message"]
    assert "promised for all its rows: date = DATE'2026-11-19'" in broken["exception"]["message"]
    assert (versions(table), days(spark, table)) == (before, rows)
    kept = run_sql(spark, text.format(t=at(table), day=19), writes=TODAY)
    assert kept["outcome"] == "Succeeded", kept
    assert versions(table) == before + 1


@pytest.mark.parametrize("mode", ["Append", "Overwrite", "OverwritePartitions"])
def test_a_write_is_held_to_it_in_each_mode(spark: SparkSession, table: Path, mode: str) -> None:
    def write(day: int) -> Document:
        rows = f"SELECT 9L AS id, DATE'2026-11-{day}' AS date, 'new' AS item"
        return {"write": {"table": {"path": place(table)}, "source": {"sql": rows}, "mode": mode}}

    before = versions(table)
    broken = run_here(spark, plan(write(20), writes=TODAY))
    assert (broken["outcome"], broken["exception"]["class"]) == ("Failed", "PromiseBrokenException"), broken
    assert versions(table) == before
    assert run_here(spark, plan(write(19), writes=TODAY))["outcome"] == "Succeeded"


REWRITES = (
    "DELETE FROM {t} WHERE item = 'c'",
    "UPDATE {t} SET item = 'x' WHERE id = 2",
    "MERGE INTO {t} t USING (SELECT 2L AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET item = 'x'",
    "OPTIMIZE {t}",
    "ALTER TABLE {t} SET TBLPROPERTIES ('a' = 'b')",
)


@pytest.mark.parametrize(
    ("text", "vectors"),
    [
        *((text, "true") for text in REWRITES),
        (REWRITES[0], "false"),
        # Without vectors, an UPDATE and a MERGE write the same actions as a DELETE; the others know no vectors.
        *(pytest.param(text, "false", marks=pytest.mark.long) for text in REWRITES[1:]),
    ],
)
def test_rows_that_are_only_written_again_stay_where_they_are(
    spark: SparkSession, table: Path, text: str, vectors: str
) -> None:
    spark.sql(f"ALTER TABLE {at(table)} SET TBLPROPERTIES ('delta.enableDeletionVectors' = '{vectors}')")
    spark.sql(f"INSERT INTO {at(table)} VALUES (3, DATE'2026-11-20', 'c'), (4, null, 'c'), (5, null, 'd')")
    result = run_sql(spark, text.format(t=at(table)), writes=TODAY)
    assert result["outcome"] == "Succeeded", result
    assert result["statements"][0]["state"] == "Committed"


@pytest.mark.parametrize(
    ("partition", "conditions", "values"),
    [
        ("`a b` STRING", ["`a b` IN ('x', 'it''s')"], ("'it''s'", "'y'")),
        ("p STRING", ["p LIKE 'eu%'", "p <> 'eu-1'"], ("'eu-2'", "'eu-1'")),
        ("p STRING", ["p IS NULL"], ("''", "'x'")),
        ("p STRING", ["p = 'x'"], ("'x'", "null")),
        ("p INT", ["p BETWEEN 9 AND 10"], ("10", "100")),
        ("p DECIMAL(5, 2)", ["p < 1.5"], ("1.49", "1.50")),
        ("p TIMESTAMP", [f"p >= {MIDNIGHT}"], (MIDNIGHT, "TIMESTAMP'2026-11-18 23:59:59'")),
        ("p BOOLEAN", ["p"], ("true", "false")),
        ("p DATE", ["year(p) = 2026"], ("DATE'2026-01-01'", "DATE'2025-12-31'")),
    ],
)  # fmt: skip
def test_what_a_promise_means_spark_tells(
    spark: SparkSession, tmp_path: Path, partition: str, conditions: list[str], values: tuple[str, str]
) -> None:
    path, (inside, outside) = tmp_path / "t", values
    name = partition[: partition.index(" ", 4)] if partition.startswith("`") else "p"
    mapping = "name" if name != "p" else "none"
    spark.sql(
        f"CREATE TABLE {at(path)} (id BIGINT, {partition}) USING delta PARTITIONED BY ({name}) "
        f"TBLPROPERTIES ('delta.columnMapping.mode' = '{mapping}')"
    )
    broken = run_sql(spark, f"INSERT INTO {at(path)} VALUES (1, {outside})", writes=conditions)
    assert (broken["outcome"], broken["exception"]["class"]) == ("Failed", "PromiseBrokenException"), broken
    kept = run_sql(spark, f"INSERT INTO {at(path)} VALUES (1, {inside})", writes=conditions)
    assert kept["outcome"] == "Succeeded", kept


def test_a_promise_means_what_it_does_when_the_job_begins(spark: SparkSession, tmp_path: Path) -> None:
    """Other jobs are let in beside it for that, whatever its own statements set since. Delta 3.3 logs a moment as the
    statement's clocks show it, and whoever reads it takes it by his own: so does the promise."""
    path = tmp_path / "moments"
    spark.sql(f"CREATE TABLE {at(path)} (id INT, t TIMESTAMP) USING delta PARTITIONED BY (t)")
    texts = (
        "SET TIME ZONE 'America/New_York'",
        f"INSERT INTO {at(path)} VALUES (1, TIMESTAMP'2026-11-19 03:00:00Z')",
    )
    try:
        result = run_sql(spark, *texts, writes=[f"t < {MIDNIGHT}"])
    finally:
        spark.sql("SET TIME ZONE 'UTC'")
    assert spark.table(at(path)).where(f"NOT t < {MIDNIGHT}").count() == 0
    if pyspark.__version__ >= "4":
        assert (result["outcome"], result["exception"]["class"]) == ("Failed", "PromiseBrokenException"), (
            result
        )


@pytest.mark.skipif(pyspark.__version__ < "4.2", reason="Spark reads INSERT ... WITH since 4.2")
def test_a_statement_with_options_is_not_run_under_a_promise(spark: SparkSession, table: Path) -> None:
    text = f"INSERT OVERWRITE {at(table)} WITH ('dataChange' = 'false') VALUES (9, DATE'2026-11-20', 'new')"
    before = versions(table)
    result = run_sql(spark, text, writes=TODAY)
    assert (result["outcome"], result["exception"]["class"]) == ("Failed", "UncheckedPromiseError"), result
    assert "WITH (...)" in result["exception"]["message"]
    assert versions(table) == before


def test_files_that_are_told_more_of_are_no_new_rows(spark: SparkSession, table: Path) -> None:
    text = f"ALTER TABLE {at(table)} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')"
    result = run_sql(spark, text, writes=["date = DATE'2020-01-01'"])
    assert result["outcome"] == "Succeeded", result
    operations = [row["operation"] for row in spark.sql(f"DESCRIBE HISTORY {at(table)}").collect()]
    assert "ROW TRACKING BACKFILL" in operations


def test_a_table_whose_partition_columns_change_breaks_the_promise(spark: SparkSession, table: Path) -> None:
    text = f"CREATE OR REPLACE TABLE {at(table)} USING delta PARTITIONED BY (item) AS SELECT 1L AS id, 'a' AS item"
    result = run_sql(spark, text, writes=TODAY)
    assert (result["outcome"], result["exception"]["class"]) == ("Failed", "PromiseBrokenException"), result
    assert "partition column date" in result["exception"]["message"]


def test_the_statements_before_the_broken_one_stay_committed(spark: SparkSession, table: Path) -> None:
    work = sql(
        f"CREATE TABLE IF NOT EXISTS {at(table)} (id BIGINT) USING delta",
        f"INSERT INTO {at(table)} VALUES (8, DATE'2026-11-19', 'x')",
        f"SELECT * FROM {at(table)}",
        f"INSERT INTO {at(table)} VALUES (9, DATE'2026-11-21', 'x')",
        f"INSERT INTO {at(table)} VALUES (10, DATE'2026-11-19', 'x')",
    )
    result = run_here(spark, plan(work, writes=TODAY))
    assert [item["state"] for item in result["statements"]] == ["NoCommit", "Committed", "NoCommit", "Failed"]
    assert result["exception"]["statement"] == 4
    assert [row for row in days(spark, table) if row[0] > 2] == [(8, "2026-11-19")]


@pytest.mark.parametrize(
    ("conditions", "why"),
    [
        (["id > 5"], "(date) alone"),
        (["date IN (SELECT max(date) FROM {t})"], "without subqueries"),
        (["rand() < 0.5"], "without subqueries and chance"),
        (["date = DATE'2026-11-19' AND rand() < 0.5"], "without subqueries and chance"),
        (["uuid() = date"], "without subqueries and chance"),
        (["date = "], "can't be checked"),
    ],
)
def test_a_promise_that_can_not_be_checked_runs_nothing(
    spark: SparkSession, table: Path, conditions: list[str], why: str
) -> None:
    before = versions(table)
    given = [condition.format(t=at(table)) for condition in conditions]
    result = run_sql(spark, f"INSERT INTO {at(table)} VALUES (9, DATE'2026-11-19', 'x')", writes=given)
    assert (result["outcome"], result["exception"]["class"]) == ("Failed", "UncheckedPromiseError"), result
    assert why in result["exception"]["message"]
    assert versions(table) == before


def test_a_table_that_the_statement_would_create_is_not_created(spark: SparkSession, tmp_path: Path) -> None:
    new = tmp_path / "new"
    text = f"CREATE TABLE {at(new)} USING delta PARTITIONED BY (date) AS SELECT 1L AS id, DATE'2026-11-19' AS date"
    result = run_sql(spark, text, writes=TODAY)
    assert (result["outcome"], result["exception"]["class"]) == ("Failed", "PromiseBrokenException"), result
    assert "create it first" in result["exception"]["message"]
    assert not list(new.glob("_delta_log/*.json"))


@pytest.mark.parametrize("store", ["dev.sluice.delta.LinkLogStore", None])
def test_a_driver_puts_the_gate_in_front_of_its_log_store(
    spark: SparkSession, warm: WarmDrivers, table: Path, tmp_path: Path, store: str | None
) -> None:
    spark.sql(f"ALTER TABLE {at(table)} SET TBLPROPERTIES ('a' = 'b')")
    settings = {**DELTA_SETTINGS, **store_settings()}
    if store is None:
        del settings["spark.delta.logStore.file.impl"]
    document = plan(
        sql(
            f"INSERT INTO {at(table)} VALUES (8, DATE'2026-11-19', 'x')",
            f"INSERT INTO {at(table)} VALUES (9, DATE'2026-11-21', 'x')",
        ),
        writes=TODAY,
    )
    driver = submit(tmp_path, document, settings, command=[warm.spark_submit])
    assert driver.ended() == 1
    result = driver.result()
    assert result["exception"]["class"] == "PromiseBrokenException", result
    assert statements(result) == [("WRITE", "Committed", [3]), ("WRITE", "Failed", [])]


def test_a_commit_that_went_around_the_gate_is_told(
    spark: SparkSession, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where Delta takes another LogStore than the settings say."""
    monkeypatch.setattr("sluice_runner.promise.file_of", lambda commit: json.dumps(commit.version))
    result = run_sql(spark, f"INSERT INTO {at(table)} VALUES (9, DATE'2026-11-19', 'x')", writes=TODAY)
    assert (result["outcome"], result["exception"]["class"]) == ("Failed", "UncheckedPromiseError"), result
    assert statements(result) == [("WRITE", "Failed", [2])], "what it committed is told all the same"
