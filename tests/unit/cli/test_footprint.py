"""`sluice footprint` tells what a stream reads, and whose checkpoint it is, beside what it writes."""

import json
from pathlib import Path
from typing import Any

import pytest

from unit.cli.folders import job, sluice

TABLE = {"path": "s3://lake/mart/orders"}


def stream(source: dict[str, Any], **more: Any) -> str:
    given = {
        "source": source,
        "table": TABLE,
        "checkpoint": "s3a://lake//_checkpoints/reads/",
        "trigger": {"availableNow": True},
    }
    body = {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "DeltaWriteJob",
        "metadata": {"name": "reads"},
        "spec": {"stream": given | more},
    }
    return json.dumps(body)


def shown(folder: Path, manifest: str) -> tuple[str, dict[str, Any]]:
    file = folder / "job.json"
    file.write_text(manifest)
    text, known = sluice("footprint", file), sluice("footprint", file, "-o", "json")
    return " ".join(text.stdout.split()), json.loads(known.stdout)


@pytest.mark.parametrize(
    ("options", "follows", "told"),
    [
        ({}, "appends", "rewriting or deleting rows there would break it for good"),
        ({"ignoreDeletes": "true"}, "deletes", "rewriting rows there would break it for good"),
        ({"skipChangeCommits": "true"}, "changes", "whatever is done to rows there"),
    ],
)
def test_the_tables_that_a_stream_reads_are_shown_with_what_would_break_it(
    options: dict[str, str], follows: str, told: str, tmp_path: Path
) -> None:
    source = {"format": "delta", "path": "s3://lake/sales/orders", "options": options}
    text, known = shown(tmp_path, stream(source, readsTables=[{"name": "lake.sales.more"}]))
    assert f"streams from s3://lake/sales/orders; {told}" in text
    assert known["streamsFrom"] == [
        {"table": "s3://lake/sales/orders", "follows": follows},
        {"table": "lake.sales.more", "follows": follows},
    ]


def test_tables_that_its_query_joins_and_its_checkpoint_are_shown(tmp_path: Path) -> None:
    query = "SELECT s.id, c.name FROM source s JOIN delta.`s3://lake/customers` c ON s.id = c.id"
    text, known = shown(tmp_path, stream({"format": "rate"}, query=query))
    assert "joins s3://lake/customers, by the columns that it has when the stream begins" in text
    assert "checkpoint s3://lake/_checkpoints/reads" in text
    assert (known["streamsFrom"], known["joins"]) == ([], ["s3://lake/customers"])
    assert known["checkpoints"] == ["s3://lake/_checkpoints/reads"]


def test_a_checkpoint_is_the_streams_own_beside_a_declared_footprint_too(tmp_path: Path) -> None:
    manifest = json.loads(stream({"format": "rate"}))
    manifest["spec"]["footprint"] = [{"table": TABLE, "operation": "Stream"}]
    _, known = shown(tmp_path, json.dumps(manifest))
    assert known["checkpoints"] == ["s3://lake/_checkpoints/reads"]


@pytest.mark.parametrize(
    ("sql", "told", "deletes"),
    [
        ("INSERT OVERWRITE delta.`s3://lake/t` VALUES (1)", "deletes all of the table", "true"),
        (
            "SET spark.sql.sources.partitionOverwriteMode = dynamic; INSERT OVERWRITE delta.`s3://lake/t` VALUES (1)",
            "deletes each partition that it writes",
            "true",
        ),
        ("DELETE FROM delta.`s3://lake/t` WHERE id = 1", None, None),
    ],
)
def test_what_is_deleted_as_a_whole_is_shown(
    sql: str, told: str | None, deletes: str | None, tmp_path: Path
) -> None:
    text, known = shown(tmp_path, job("deletes", sql))
    assert (told is None and "deletes all" not in text) or str(told) in text
    assert known["tables"][0]["deletes"] == deletes


@pytest.mark.parametrize(
    ("sql", "is_told"),
    [
        ("INSERT INTO delta.`/lake/t` VALUES (1)", True),
        ("DELETE FROM delta.`/lake/t` WHERE id IN (SELECT id FROM delta.`/lake/gone`)", True),
        ("INSERT INTO delta.`/lake/t` SELECT * FROM Batch", False),
        ("INSERT INTO delta.`/lake/t` SELECT * FROM `batch`", False),
        ("DELETE FROM delta.`/lake/t`; INSERT INTO delta.`/lake/t` SELECT * FROM batch", False),
        ("INSERT INTO delta.`/lake/t` SELECT * FROM IDENTIFIER('batch')", False),
        ("WITH b AS (SELECT * FROM batch) INSERT INTO delta.`/lake/t` SELECT * FROM b", False),
    ],
)
def test_statements_that_leave_out_what_a_batch_has_are_warned_of(
    sql: str, is_told: bool, tmp_path: Path
) -> None:
    manifest = json.loads(stream({"format": "rate"}, sql=sql))
    del manifest["spec"]["stream"]["table"]
    text, known = shown(tmp_path, json.dumps(manifest))
    plan = json.loads(sluice("plan", tmp_path / "job.json", "-o", "json").stdout)
    assert ("warning no statement of spec.stream.sql reads the view batch" in text) == is_told
    assert (len(known["warnings"]), len(plan["warnings"])) == (is_told, is_told)
    assert ("nobody is likely to want" in sluice("plan", tmp_path / "job.json").stdout) == is_told
