"""A job whose input is wrong says what happened, to which table or file, and what to do, and what it had committed by then."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.runner.jobs import Document, at, plan, run_here, run_sql, sql, statements

A_ROW = "VALUES (3, DATE'2026-11-19', 'c')"
CLOSED = "hdfs://127.0.0.1:9/lake/orders"


def write(table: Path | str, source: Document, mode: str = "Append") -> Document:
    return {"write": {"table": {"path": str(table)}, "source": source, "mode": mode}}


def failed(spark: SparkSession, work: Document) -> Document:
    """The exception of a job that committed nothing."""
    result = run_here(spark, plan(work))
    assert result["outcome"] == "Failed"
    assert [statement["commits"] for statement in result["statements"]] == [[]]
    exception: Document = result["exception"]
    assert (exception["statement"], exception["retriable"]) == (1, False)
    assert exception["conflictingCommit"] is None
    return exception


@pytest.mark.parametrize("kind", ["reader", "writer"])
def test_a_table_newer_than_the_library(spark: SparkSession, table: Path, tmp_path: Path, kind: str) -> None:
    newer = tmp_path / "newer"
    shutil.copytree(table, newer)
    protocol: Document = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["fromTheFuture"]}
    if kind == "reader":
        protocol |= {"minReaderVersion": 3, "readerFeatures": ["fromTheFuture"]}
    first = newer / "_delta_log" / f"{0:020}.json"
    actions = [line for line in first.read_text().splitlines() if '"protocol"' not in line]
    first.write_text("\n".join([*actions, json.dumps({"protocol": protocol})]) + "\n")
    for checksum in (newer / "_delta_log").glob("*.crc"):
        checksum.unlink()
    for checksum in (newer / "_delta_log").glob(".*.crc"):
        checksum.unlink()
    exception = failed(spark, sql(f"INSERT INTO {at(newer)} {A_ROW}"))
    assert exception["class"] == "DeltaUnsupportedTableFeatureException"
    of = {"reader": "READ", "writer": "WRITE"}[kind]
    assert exception["errorClass"] == f"DELTA_UNSUPPORTED_FEATURES_FOR_{of}"
    message = exception["message"]
    assert f'"file:{newer}" requires {kind} table feature(s)' in message
    assert "fromTheFuture" in message
    assert message.endswith("(spec.runtime.deltaVersion), or drop them from the table.")


@pytest.mark.parametrize(
    ("source", "error_class", "advice"),
    [
        ({"sql": "SELECT * FROM nowhere"}, "TABLE_OR_VIEW_NOT_FOUND", "Verify the spelling"),
        ({"sql": "SELECT * FROM parquet.`{}/nothing`"}, "PATH_NOT_FOUND", "Check the path"),
        ({"sql": "SELECT * FROM delta.`{}/nothing`"}, None, "Check the path"),
        ({"format": "parquet", "path": "{}/nothing"}, "PATH_NOT_FOUND", "Check the path"),
    ],
)
def test_a_source_that_is_not_there(
    spark: SparkSession, table: Path, *, source: Document, error_class: str | None, advice: str
) -> None:
    source = {key: value.format(table.parent) for key, value in source.items()}
    named = "nothing" if "nothing" in str(source) else "nowhere"
    exceptions = [failed(spark, write(table, source))]
    if "sql" in source:
        exceptions.append(failed(spark, sql(f"INSERT INTO {at(table)} {source['sql']}")))
    for exception in exceptions:
        assert exception["errorClass"] == error_class or error_class is None
        assert named in exception["message"]
        assert advice in exception["message"]


def test_a_source_that_is_a_folder_of_other_files(spark: SparkSession, table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "report.csv").write_text("id\n1\n")
    exception = failed(spark, sql(f"INSERT INTO {at(table)} SELECT * FROM {at(folder)}"))
    assert exception["errorClass"] in (
        "DELTA_TABLE_NOT_FOUND",
        "DELTA_PATH_DOES_NOT_EXIST",
        "DELTA_MISSING_DELTA_TABLE",
    )
    assert str(folder) in exception["message"]


@pytest.mark.parametrize(
    ("rows", "error_class", "says"),
    [
        ("SELECT 3L AS id, 'x' AS other", "DELTA_METADATA_MISMATCH", "spec.write.schemaEvolution: true"),
        (
            "SELECT 'x' AS id, DATE'2026-11-19' AS date, 'c' AS item",
            "DELTA_FAILED_TO_MERGE_FIELDS",
            "Cast this column of the source",
        ),
    ],
)
def test_rows_that_do_not_fit_the_table(
    spark: SparkSession, table: Path, rows: str, error_class: str, says: str
) -> None:
    exception = failed(spark, write(table, {"sql": rows}))
    # Up to 4.0 other columns have no error class with a name.
    assert exception["errorClass"] in (error_class, "_LEGACY_ERROR_TEMP_DELTA_0007")
    assert says in exception["message"]
    assert str(table) in exception["message"]


def test_a_statement_with_too_few_columns(spark: SparkSession, table: Path) -> None:
    exception = failed(spark, sql(f"INSERT INTO {at(table)} VALUES (3)"))
    assert exception["errorClass"].startswith(
        ("DELTA_INSERT_COLUMN_ARITY_MISMATCH", "INSERT_COLUMN_ARITY_MISMATCH")
    )
    assert str(table) in exception["message"]


@pytest.mark.parametrize("work", ["sql", "write"])
@pytest.mark.parametrize(
    ("location", "name", "advice"),
    [
        (CLOSED, "ConnectException", "The storage could not be reached"),
        ("s3a://lake/orders", "ClassNotFoundException", "The image has no jar for this storage"),
        ("nope://lake/orders", "UnsupportedFileSystemException", "The image knows no such storage"),
    ],
)
def test_storage_that_cannot_be_reached(
    spark: SparkSession, work: str, location: str, name: str, advice: str
) -> None:
    if work == "sql":
        exception = failed(spark, sql(f"INSERT INTO delta.`{location}` VALUES (1)"))
    else:
        exception = failed(spark, write(location, {"sql": "SELECT 1 AS id"}))
    assert exception["class"] == "UnreachableStorageError"
    said, _, rest = exception["message"].partition("\n")
    assert said == f"it could not be looked up whether {location} is a Delta table. Nothing was run"
    cause, _, told = rest.partition("\n")
    assert cause.startswith(f"caused by {name}: ")
    assert told.startswith(advice)


def test_a_source_that_cannot_be_reached(spark: SparkSession, table: Path) -> None:
    exception = failed(spark, write(table, {"format": "parquet", "path": CLOSED}))
    assert "The storage could not be reached" in exception["message"]
    assert str(table) in exception["message"]


def test_what_was_committed_before_a_failure_is_told(
    spark: SparkSession, table: Path, tmp_path: Path
) -> None:
    """A statement that fails midway may have committed, too: here to the first of its two tables."""
    other = tmp_path / "other"
    spark.sql(f"CREATE TABLE {at(other)} (id BIGINT) USING delta")
    result = run_sql(
        spark,
        f"INSERT INTO {at(table)} {A_ROW}",
        f"FROM (SELECT 4L AS id, DATE'2026-11-19' AS date, 'd' AS item) INSERT INTO {at(table)} SELECT id, date, item "
        f"INSERT INTO {at(other)} SELECT CAST(raise_error('broken') AS BIGINT)",
        f"INSERT INTO {at(table)} {A_ROW}",
    )
    assert result["outcome"] == "Failed"
    assert [(state, versions) for _, state, versions in statements(result)] == [
        ("Committed", [2]),
        ("Failed", [3]),
    ]
    assert "broken" in result["exception"]["message"]
    assert result["exception"]["statement"] == 2
    assert spark.sql(f"SELECT count(*) AS n FROM {at(table)}").collect()[0]["n"] == 4
