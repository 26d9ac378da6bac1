"""A checkpoint of another stream, or one that doesn't last, is refused before anything is read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.runner.jobs import Document, at, place
from integration.runner.streaming import add, ids, run_stream, stream_of


def refusal(result: Document, name: str) -> str:
    assert result["exception"]["class"] == name, result
    assert result["stream"] == {"batches": 0}
    return str(result["exception"]["message"])


def test_a_checkpoint_of_another_stream_is_refused_and_tells_whose_it_is(
    spark: SparkSession, table: Path, target: Path, checkpoint: Path, tmp_path: Path
) -> None:
    append: Document = {"table": {"path": place(target)}}
    assert run_stream(spark, stream_of(table, checkpoint, **append))["outcome"] == "Succeeded"
    other = tmp_path / "other"
    spark.sql(f"CREATE TABLE {at(other)} SHALLOW CLONE {at(table)}")
    told = refusal(
        run_stream(spark, stream_of(table, checkpoint, table={"path": place(other)})),
        "CheckpointOfAnotherStreamError",
    )
    assert (
        f"is of another stream (job sales/daily), which writes file:{target}, and this one file:{other}"
        in told
    )
    assert f"delete {checkpoint}/sluice.json" in told
    told = refusal(
        run_stream(spark, stream_of(other, checkpoint, **append)), "CheckpointOfAnotherStreamError"
    )
    assert f"which reads {table}, and this one {other}" in told
    (checkpoint / "sluice.json").write_text("{")
    (checkpoint / ".sluice.json.crc").unlink()
    told = refusal(
        run_stream(spark, stream_of(table, checkpoint, **append)), "CheckpointOfAnotherStreamError"
    )
    assert "can't be read" in told
    (checkpoint / "sluice.json").unlink()
    add(spark, table, 3)
    assert run_stream(spark, stream_of(table, checkpoint, **append))["outcome"] == "Succeeded"
    assert json.loads((checkpoint / "sluice.json").read_text())["job"] == "sales/daily"
    assert ids(spark, target) == [1, 2, 3]


def test_a_copy_of_a_checkpoint_is_refused_until_somebody_says_that_it_takes_its_place(
    spark: SparkSession, table: Path, target: Path, checkpoint: Path
) -> None:
    append: Document = {"table": {"path": place(target)}}
    assert run_stream(spark, stream_of(table, checkpoint, **append))["outcome"] == "Succeeded"
    copy = checkpoint.with_name("copy of it")
    shutil.copytree(checkpoint, copy)
    add(spark, table, 3)
    told = refusal(run_stream(spark, stream_of(table, copy, **append)), "CheckpointOfAnotherStreamError")
    assert f"the checkpoint {copy} is a copy of file:{checkpoint} (job sales/daily)" in told
    assert ids(spark, target) == [1, 2]
    (copy / "sluice.json").unlink()
    assert run_stream(spark, stream_of(table, copy, **append))["outcome"] == "Succeeded"
    assert ids(spark, target) == [1, 2, 3]


def test_a_checkpoint_tells_whose_it_is_before_its_first_batch_and_nothing_before_that_counts(
    spark: SparkSession, table: Path, made: Path, checkpoint: Path, tmp_path: Path
) -> None:
    fails = f"INSERT INTO {at(made)} SELECT id, date, raise_error('x') FROM batch"
    checkpoint.mkdir()
    (checkpoint / "sluice.json").write_text("{")
    assert run_stream(spark, stream_of(table, checkpoint, fails))["exception"]["statement"] == 1
    other = tmp_path / "other"
    spark.sql(f"CREATE TABLE {at(other)} SHALLOW CLONE {at(table)}")
    told = refusal(run_stream(spark, stream_of(other, checkpoint, fails)), "CheckpointOfAnotherStreamError")
    assert f"which reads {table}, and this one {other}" in told


def test_a_checkpoint_that_does_not_tell_whose_it_is_is_gone_on_from_and_that_is_said(
    spark: SparkSession, table: Path, target: Path, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    append: Document = {"table": {"path": place(target)}}
    run_stream(spark, stream_of(table, checkpoint, **append))
    assert "does not tell whose it is" not in capsys.readouterr().out
    (checkpoint / "sluice.json").unlink()
    assert run_stream(spark, stream_of(table, checkpoint, **append))["outcome"] == "Succeeded"
    assert f"the checkpoint {checkpoint} does not tell whose it is" in capsys.readouterr().out


@pytest.mark.parametrize("below", [".", "state", "_delta_log/state", "_change_data/c", "_part=1/c"])
def test_a_checkpoint_among_a_tables_files_is_refused(spark: SparkSession, table: Path, below: str) -> None:
    document = stream_of(table, table / below, table={"path": place(table.parent / "copy")})
    told = refusal(run_stream(spark, document), "CheckpointInATableError")
    assert f"lies in the folder of the table file:{table}, where VACUUM" in told


def test_a_checkpoint_below_a_hidden_folder_of_a_table_is_taken(
    spark: SparkSession, table: Path, target: Path
) -> None:
    document = stream_of(table, table / "_checkpoints" / "copy", table={"path": place(target)})
    assert run_stream(spark, document)["outcome"] == "Succeeded"


def test_a_checkpoint_on_storage_that_is_not_there_is_told(
    spark: SparkSession, table: Path, target: Path
) -> None:
    document = stream_of(table, target, table={"path": place(target)})
    document["stream"]["checkpoint"] = "nowhere://lake/checkpoint"
    told = refusal(run_stream(spark, document), "UnreachableStorageError")
    assert "the checkpoint nowhere://lake/checkpoint could not be looked into" in told
    assert 'No FileSystem for scheme "nowhere"' in told
