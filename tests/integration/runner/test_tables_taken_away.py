"""What a statement committed is never told as nothing, where it can't be looked up."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.runner.jobs import Document, at, run_sql
from sluice_runner import commits

Meanwhile = Callable[[Callable[[], object]], None]


@pytest.fixture
def before_the_look(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Runs a fault between a statement's commit and the look for it."""
    since = commits.since

    def happens(what: Callable[[], object]) -> None:
        def then(*args: object, **more: object) -> object:
            what()
            return since(*args, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(commits, "since", then)

    return happens


def told(result: Document) -> str:
    assert (result["outcome"], result["statements"][0]["state"]) == ("Failed", "Failed")
    message: str = result["exception"]["message"]
    return message


def test_a_table_that_is_removed_before_the_look_is_told_with_what_to_do(
    spark: SparkSession, table: Path, before_the_look: Meanwhile
) -> None:
    before_the_look(lambda: shutil.rmtree(table))
    message = told(run_sql(spark, f"DELETE FROM {at(table)} WHERE id = 1"))
    assert message.startswith("statement 1 ran without an error, but what it committed could not be read")
    assert f"{table} is gone" in message
    assert "find out who removed it, and look for the rows before you run the job again" in message


def test_a_table_that_is_made_anew_before_the_look_is_told(
    spark: SparkSession, table: Path, before_the_look: Meanwhile
) -> None:
    def anew() -> None:
        shutil.rmtree(table)
        spark.range(1).write.format("delta").save(str(table))

    spark.sql(f"INSERT INTO {at(table)} VALUES (3, DATE'2026-11-21', 'c')")
    before_the_look(anew)
    message = told(run_sql(spark, f"DELETE FROM {at(table)} WHERE id = 1"))
    assert f"{table} was made anew: it was at version 2 before, and is at 0" in message


def test_a_name_of_which_spark_cannot_tell_where_it_leads_is_not_taken_for_no_table(
    spark: SparkSession, table: Path, before_the_look: Meanwhile
) -> None:
    def leads_nowhere() -> None:
        spark.sql("DROP TABLE followed")
        spark.sql(f"CREATE TABLE followed_base USING delta AS SELECT * FROM {at(table)}")
        spark.sql("CREATE VIEW followed AS SELECT * FROM followed_base")
        spark.sql("DROP TABLE followed_base")
        spark.sql("CREATE TABLE followed_base (other INT) USING delta")

    spark.sql(f"CREATE TABLE followed USING delta LOCATION '{table}'")
    before_the_look(leads_nowhere)
    try:
        message = told(run_sql(spark, "DELETE FROM followed WHERE id = 1"))
    finally:
        spark.sql("DROP VIEW IF EXISTS followed")
        spark.sql("DROP TABLE IF EXISTS followed_base")
    assert "INCOMPATIBLE_VIEW_SCHEMA_CHANGE" in message


def test_a_table_that_the_statement_itself_takes_away_is_none_that_is_missing(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE moves (id BIGINT) USING delta")
    result = run_sql(spark, "ALTER TABLE moves RENAME TO moved", "DROP TABLE moved")
    assert [one["state"] for one in result["statements"]] == ["NoCommit", "NoCommit"]
