"""DataFrame writes replace what their mode says, by path and by name, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.runner.jobs import BUCKET_FOLDER, Document, at, place, plan, run_here, statements
from integration.runner.operators_plan import of_job

NEW_ROW = "SELECT 9L AS id, DATE'2026-11-20' AS date, 'new' AS item"


@pytest.fixture(params=["path"] if BUCKET_FOLDER in os.environ else ["path", "name"])
def target(request: pytest.FixtureRequest, spark: SparkSession, table: Path) -> Iterator[Document]:
    """A partitioned table with a row on each of two days, by its path or by its name. Tables by name are in no bucket."""
    if request.param == "path":
        yield {"table": {"path": place(table)}, "sql_name": at(table)}
        return
    spark.sql(f"CREATE TABLE default.orders USING delta LOCATION '{table}'")
    yield {"table": {"name": "default.orders"}, "sql_name": "default.orders"}
    spark.sql("DROP TABLE default.orders")


def write(spark: SparkSession, target: Document, source: str = NEW_ROW, **fields: object) -> Document:
    return run_here(spark, plan({"write": {"table": target["table"], "source": {"sql": source}, **fields}}))


def content(spark: SparkSession, target: Document) -> list[tuple[int, str]]:
    rows = spark.table(target["sql_name"]).collect()
    return sorted((row["id"], str(row["date"])) for row in rows)


@pytest.mark.parametrize(
    ("fields", "rows"),
    [
        ({}, [(1, "2026-11-19"), (2, "2026-11-20"), (9, "2026-11-20")]),
        ({"mode": "Overwrite"}, [(9, "2026-11-20")]),
        ({"mode": "OverwritePartitions"}, [(1, "2026-11-19"), (9, "2026-11-20")]),
        (
            {"mode": "Overwrite", "replaceWhere": "date = DATE'2026-11-20' AND id > 0"},
            [(1, "2026-11-19"), (9, "2026-11-20")],
        ),
    ],
    ids=["Append", "Overwrite", "OverwritePartitions", "replaceWhere"],
)
def test_each_mode_replaces_what_it_says(
    spark: SparkSession, target: Document, fields: Document, rows: list[tuple[int, str]]
) -> None:
    result = write(spark, target, **fields)
    assert statements(result) == [("WRITE", "Committed", [2])], result
    # Never as CREATE OR REPLACE, which would make every concurrent writer abort.
    assert result["statements"][0]["commits"][0]["operation"] == "WRITE"
    assert content(spark, target) == rows


def test_overwrite_replaces_all_whatever_the_session_says_of_partitions(
    spark: SparkSession, target: Document
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    result = write(session, target, mode="Overwrite")
    assert result["outcome"] == "Succeeded", result
    assert content(spark, target) == [(9, "2026-11-20")]


@pytest.mark.parametrize("mode", ["Append", "Overwrite"])
def test_a_new_column_needs_schema_evolution(spark: SparkSession, target: Document, mode: str) -> None:
    source = NEW_ROW + ", 5 AS extra"
    refused = write(spark, target, source, mode=mode)
    assert refused["outcome"] == "Failed"
    assert statements(refused) == [("WRITE", "Failed", [])]
    evolved = write(spark, target, source, mode=mode, schemaEvolution=True)
    assert evolved["outcome"] == "Succeeded", evolved
    assert spark.table(target["sql_name"]).columns == ["id", "date", "item", "extra"]


def test_a_transaction_that_the_table_has_seen_is_not_written_again(
    spark: SparkSession, target: Document
) -> None:
    first = write(spark, target, txnAppId="nightly", txnVersion=7)
    again = write(spark, target, txnAppId="nightly", txnVersion=7)
    assert statements(first) == [("WRITE", "Committed", [2])]
    assert statements(again) == [("WRITE", "NoCommit", [])]
    assert len(content(spark, target)) == 3


def test_a_source_of_a_format_takes_options_also_from_the_environment(
    spark: SparkSession, target: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rows.csv").write_text("7;2026-11-21;c\n")
    source = {
        "format": "csv",
        "path": str(tmp_path / "rows.csv"),
        "options": {"schema": "ignored"},
        "optionsFromEnv": {"sep": "SLUICE_OPTION_0"},
    }
    document = plan({"write": {"table": target["table"], "source": source}})
    monkeypatch.delenv("SLUICE_OPTION_0", raising=False)
    missing = run_here(spark, document)
    assert missing["exception"]["class"] == "MissingSecretError"
    assert "SLUICE_OPTION_0" in missing["exception"]["message"]
    monkeypatch.setenv("SLUICE_OPTION_0", ";")
    source["options"] = {"inferSchema": "false"}
    failed = run_here(spark, document)
    # Read with that separator there are three columns; they have no names that the table knows.
    assert failed["outcome"] == "Failed"
    assert "_c2" in failed["exception"]["message"]


def test_the_first_write_makes_the_table(spark: SparkSession, tmp_path: Path) -> None:
    result = write(spark, {"table": {"path": place(tmp_path / "new")}}, mode="Overwrite")
    assert statements(result) == [("WRITE", "Committed", [0])]
    named = write(spark, {"table": {"name": "fresh"}})
    assert [commit["version"] for commit in named["statements"][0]["commits"]] == [0]
    spark.sql("DROP TABLE fresh")


@pytest.mark.parametrize(
    "fields", [{"mode": "OverwritePartitions"}, {"mode": "Overwrite", "replaceWhere": "id = 1"}]
)
def test_a_part_of_a_table_that_is_not_there_cannot_be_replaced(
    spark: SparkSession, tmp_path: Path, fields: Document
) -> None:
    result = write(spark, {"table": {"path": place(tmp_path / "absent")}}, **fields)
    assert result["exception"]["class"] == "MissingTableError"
    assert not (tmp_path / "absent").exists()


def test_a_folder_of_other_files_is_refused_and_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "exports").mkdir()
    (tmp_path / "exports" / "report.csv").write_text("id\n1\n")
    result = write(spark, {"table": {"path": place(tmp_path / "exports")}}, mode="Overwrite")
    assert result["exception"]["class"] == "NotADeltaTableError"
    assert [entry.name for entry in (tmp_path / "exports").iterdir()] == ["report.csv"]


def test_a_table_of_another_format_is_refused(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE sheets (id BIGINT) USING parquet")
    result = write(spark, {"table": {"name": "sheets"}})
    assert result["exception"]["class"] == "NotADeltaTableError"
    spark.sql("DROP TABLE sheets")


def test_parameters_reach_the_query_of_a_write(spark: SparkSession, target: Document) -> None:
    source = {"sql": "SELECT :n AS id, :d AS date, 'p' AS item"}
    result = run_here(
        spark,
        of_job(
            {
                "write": {"table": target["table"], "source": source},
                "parameters": {"n": {"integer": 5}, "d": {"date": "2026-11-22"}},
            }
        ),
    )
    assert result["outcome"] == "Succeeded", result
    assert (5, "2026-11-22") in content(spark, target)


@pytest.mark.parametrize(
    ("sql", "exception"),
    [("SELEC 1 AS id", "ParseException"), ("CREATE VIEW v AS SELECT 1 AS id", "RefusedStatementError")],
)
def test_what_is_no_query_writes_nothing(
    spark: SparkSession, target: Document, sql: str, exception: str
) -> None:
    job = {"write": {"table": target["table"], "source": {"sql": sql}}}
    result = run_here(spark, of_job(job))
    assert result["exception"]["class"] == exception, result
    assert result["statements"][0]["commits"] == []
