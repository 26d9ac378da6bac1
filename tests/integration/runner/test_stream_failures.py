"""What ends a stream is told as it is, and not as what Spark or py4j wrap it in."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.runner.jobs import Document, at, place
from integration.runner.streaming import add, run_stream, running, stream_of

AT_ONCE = {"processingTime": "0 seconds"}


def exception(result: Document) -> tuple[str, str | None, int | None]:
    found = result["exception"]
    return found["class"], found["errorClass"], found["statement"]


def test_an_update_of_the_source_ends_a_stream_that_does_not_skip_it(
    spark: SparkSession, table: Path, target: Path, checkpoint: Path
) -> None:
    document = stream_of(table, checkpoint, table={"path": place(target)})
    assert run_stream(spark, document)["outcome"] == "Succeeded"
    spark.sql(f"UPDATE {at(table)} SET item = 'x' WHERE id = 1")
    result = run_stream(spark, document)
    name, code, _ = exception(result)
    assert (name, code) == ("DeltaUnsupportedOperationException", "DELTA_SOURCE_TABLE_IGNORE_CHANGES")
    assert result["exception"]["retriable"] is False
    assert result["stream"]["queryId"]


def test_a_column_that_the_source_gets_ends_a_stream_that_another_attempt_goes_on_with(
    spark: SparkSession, table: Path, target: Path, checkpoint: Path
) -> None:
    document = stream_of(
        table, checkpoint, trigger=AT_ONCE, table={"path": place(target)}, query="SELECT id FROM source"
    )
    with running(spark, document) as stream:
        stream.wait_until("batches", 1)
        spark.sql(f"ALTER TABLE {at(table)} ADD COLUMNS (price DOUBLE)")
        result = stream.result()
    name, code, _ = exception(result)
    assert (name, str(code).partition(".")[0]) == (
        "DeltaIllegalStateException",
        "DELTA_SCHEMA_CHANGED_WITH_VERSION",
    )
    assert result["exception"]["retriable"] is True, result
    with running(spark, document) as stream:
        spark.sql(f"INSERT INTO {at(table)} VALUES (3, DATE'2026-11-19', 'c', 1.5)")
        stream.wait_until("batches", 1)
    assert sorted(row[0] for row in spark.sql(f"SELECT id FROM {at(target)}").collect()) == [1, 2, 3]


def test_a_statement_that_fails_in_a_batch_is_told_with_its_number_and_error_class(
    spark: SparkSession, table: Path, checkpoint: Path
) -> None:
    merge = f"MERGE INTO {at(table)} t USING (SELECT 1 AS id FROM batch) b ON t.id = b.id WHEN MATCHED THEN UPDATE SET item = 'x'"
    result = run_stream(spark, stream_of(table, checkpoint, f"DELETE FROM {at(table)} WHERE id = 5", merge))
    assert result["outcome"] == "Failed"
    name, code, number = exception(result)
    assert (name, number) == ("DeltaUnsupportedOperationException", 2)
    assert str(code).startswith("DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE")
    assert not (checkpoint / "commits" / "0").exists()
    assert "batch" not in result["stream"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"query": "SELECT 1 AS id"}, "does not read the view source"),
        ({"query": "CREATE VIEW v AS SELECT 1"}, "the stream's query is not a query"),
        ({"table": None, "statements": [{"number": 1, "text": "CACHE TABLE batch"}]}, "CacheTable"),
        ({"table": None, "statements": [{"number": 1, "text": "OPTIMIZE orders"}]}, "OptimizeTableCommand"),
        (
            {"table": None, "statements": [{"number": 1, "text": "ALTER TABLE orders ADD COLUMNS (x INT)"}]},
            "AddColumns: let a job of its own do it",
        ),
        (
            {"table": None, "statements": [{"number": 1, "text": "SET spark.sql.ansi.enabled = false"}]},
            "SetCommand",
        ),
    ],
)
def test_what_could_not_be_done_once_for_each_batch_is_refused_before_anything_is_read(
    spark: SparkSession, table: Path, checkpoint: Path, change: Document, told: str
) -> None:
    changed = {"table": {"path": place(table.parent / "copy")}, **change}
    given = {name: value for name, value in changed.items() if value is not None}
    result = run_stream(spark, stream_of(table, checkpoint, **given))
    assert exception(result)[0] == "RefusedStatementError"
    assert told in result["exception"]["message"]
    assert not checkpoint.exists()


def test_a_folder_of_other_files_is_no_table_to_append_to(
    spark: SparkSession, table: Path, target: Path, checkpoint: Path
) -> None:
    target.mkdir()
    (target / "rows.csv").write_text("1")
    result = run_stream(spark, stream_of(table, checkpoint, table={"path": place(target)}))
    assert exception(result)[0] == "NotADeltaTableError"
    add(spark, table, 3)
    assert [path.name for path in target.iterdir()] == ["rows.csv"]


def test_a_column_that_a_merge_of_a_batch_does_not_find_is_told_by_deltas_error_class(
    spark: SparkSession, table: Path, checkpoint: Path
) -> None:
    """Spark has no words for it, and called it an internal error of its own, which a stream would try again for ever."""
    merge = f"MERGE INTO {at(table)} t USING batch b ON t.id = b.id WHEN MATCHED THEN UPDATE SET item = b.itm"
    result = run_stream(spark, stream_of(table, checkpoint, merge))
    assert exception(result) == ("AnalysisException", "DELTA_MERGE_UNRESOLVED_EXPRESSION", 1)
    assert "of the view batch" in result["exception"]["message"]
