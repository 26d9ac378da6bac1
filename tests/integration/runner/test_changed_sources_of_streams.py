"""What a stream says of a Delta source that was changed under it: whether another attempt goes on, by Delta's own error class."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from integration.runner.jobs import at, place
from integration.runner.streaming import add, ids, run_stream, running, stream_of

EACH_SECOND = {"processingTime": "1 second"}
ONLY_IDS = "SELECT id FROM source"


def test_a_new_schema_ends_the_attempt_and_the_next_one_goes_on_with_it(
    spark: SparkSession, table: Path, tmp_path: Path
) -> None:
    target, checkpoint = tmp_path / "copy", tmp_path / "checkpoint"
    document = stream_of(
        table, checkpoint, table={"path": place(target)}, query=ONLY_IDS, trigger=EACH_SECOND
    )
    with running(spark, document) as stream:
        stream.wait_until("batches", 1)
        spark.sql(f"ALTER TABLE {at(table)} ADD COLUMNS (note STRING)")
        spark.sql(f"INSERT INTO {at(table)} VALUES (3, DATE'2026-11-19', 'n', 'new')")
        result = stream.result()
    assert result["outcome"] == "Failed", result
    failure = result["exception"]
    assert failure["errorClass"].startswith("DELTA_SCHEMA_CHANGED"), failure
    assert failure["retriable"], failure
    with running(spark, document) as stream:
        stream.wait_until("batches", 1)
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
    skips["stream"]["source"]["options"] = {"skipChangeCommits": "true"}
    assert run_stream(spark, skips)["outcome"] == "Succeeded"
    assert ids(spark, target) == [1, 2, 3]
