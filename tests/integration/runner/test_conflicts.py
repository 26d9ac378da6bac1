"""A commit that is lost to another job is told by its class, and with the commit and the job that won."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.runner.freezing import Freeze, wait_for
from integration.runner.jobs import Document, at, run_sql


def lose(spark: SparkSession, freezes: Path, run_key: str, loser: str, winner: str) -> Document:
    """The result of a job that is held before its commit until another job has committed."""
    freeze = Freeze(freezes, run_key)
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(run_sql, spark.newSession(), loser, run_key=run_key)
        wait_for(lambda: freeze.is_reached() or running.done(), "the loser's commit")
        won = run_sql(spark, winner, run_key=f"{run_key}-winner")
        freeze.lift()
        result = running.result(timeout=300)
    assert won["outcome"] == "Succeeded", won
    return result


def test_an_append_to_what_a_delete_reads(spark: SparkSession, freezes: Path, table: Path) -> None:
    result = lose(
        spark,
        freezes,
        "append-wins",
        f"DELETE FROM {at(table)} WHERE date = DATE'2026-11-19'",
        f"INSERT INTO {at(table)} VALUES (3, DATE'2026-11-19', 'c')",
    )
    assert result["outcome"] == "Failed"
    exception = result["exception"]
    assert exception["class"] == "ConcurrentAppendException"
    assert exception["javaClass"] == "io.delta.exceptions.ConcurrentAppendException"
    assert exception["errorClass"].startswith("DELTA_CONCURRENT_APPEND")
    assert "date=2026-11-19" in exception["message"]
    assert exception["conflictingCommit"]["version"] == 2
    assert exception["conflictingCommit"]["operation"] == "WRITE"
    assert exception["conflictingCommit"]["stamp"]["runKey"] == "append-wins-winner"


def test_a_change_of_metadata(spark: SparkSession, freezes: Path, table: Path) -> None:
    result = lose(
        spark,
        freezes,
        "metadata-wins",
        f"INSERT INTO {at(table)} VALUES (3, DATE'2026-11-19', 'c')",
        f"ALTER TABLE {at(table)} SET TBLPROPERTIES ('team' = 'red')",
    )
    exception = result["exception"]
    assert (exception["class"], exception["errorClass"]) == (
        "MetadataChangedException",
        "DELTA_METADATA_CHANGED",
    )
    assert exception["conflictingCommit"]["version"] == 2
    assert exception["conflictingCommit"]["stamp"]["runKey"] == "metadata-wins-winner"


def test_a_writer_without_conflict_commits_after_the_other(
    spark: SparkSession, freezes: Path, table: Path
) -> None:
    result = lose(
        spark,
        freezes,
        "no-conflict",
        f"INSERT INTO {at(table)} VALUES (3, DATE'2026-11-19', 'c')",
        f"DELETE FROM {at(table)} WHERE date = DATE'2026-11-19'",
    )
    assert result["outcome"] == "Succeeded"
    assert result["statements"][0]["commits"][0]["version"] == 3


def test_deltas_python_exceptions_are_told_alike(
    spark: SparkSession, freezes: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Importing delta replaces PySpark's conversion: its classes no longer know their Java exception."""
    from pyspark.errors.exceptions import captured  # noqa: PLC0415

    monkeypatch.setattr(captured, "convert_exception", captured.convert_exception)
    import delta.exceptions  # noqa: PLC0415

    patched = captured.convert_exception
    assert "delta" in patched.__module__ or "delta" in patched.__qualname__, delta.exceptions.__file__
    result = lose(
        spark,
        freezes,
        "python-classes",
        f"DELETE FROM {at(table)} WHERE date = DATE'2026-11-19'",
        f"INSERT INTO {at(table)} VALUES (3, DATE'2026-11-19', 'c')",
    )
    exception = result["exception"]
    assert exception["class"] == "ConcurrentAppendException"
    assert exception["javaClass"] == "io.delta.exceptions.ConcurrentAppendException"
    assert exception["errorClass"].startswith("DELTA_CONCURRENT_APPEND")
    assert exception["conflictingCommit"]["version"] == 2
