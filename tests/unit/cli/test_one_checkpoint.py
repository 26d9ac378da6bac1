"""Of jobs that have one checkpoint it is said, before anything runs, that all but one would be refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from unit.cli.folders import job, sluice, write


def stream(name: str, table: str, checkpoint: str, **spec: Any) -> str:
    given = {
        "source": {"format": "rate"},
        "table": {"path": f"s3://lake/{table}"},
        "checkpoint": checkpoint,
        "trigger": {"availableNow": True},
    }
    return json.dumps(json.loads(job(name, "")) | {"spec": {"stream": given, **spec}})


CHECKPOINT = "s3://lake/_checkpoints/orders"
SAME = "s3a://lake//_checkpoints/orders/"


@pytest.mark.parametrize("table", ["orders", "elsewhere"])
def test_two_jobs_of_one_checkpoint_are_not_said_to_wait_for_each_other(table: str, tmp_path: Path) -> None:
    write(tmp_path, a=stream("a", "orders", CHECKPOINT), b=stream("b", table, SAME))
    files = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    told = " ".join(sluice("explain", *files).stdout.split())
    assert told.startswith(
        f"✗ a and b have one checkpoint, {CHECKPOINT}: as long as one of them has not ended, the other is refused"
    )
    found = json.loads(sluice("explain", *files, "-o", "json").stdout)
    assert found["oneCheckpoint"] == [{"checkpoint": CHECKPOINT, "jobs": ["a", "b"]}]


def test_a_plan_names_all_of_them_once(tmp_path: Path) -> None:
    names = [f"job-{number}" for number in range(8)]
    write(tmp_path, **{name: stream(name, name, CHECKPOINT) for name in names})
    write(tmp_path, other=stream("other", "other", "s3://lake/_checkpoints/other"))
    found = json.loads(sluice("plan", tmp_path, "-o", "json").stdout)
    assert found["oneCheckpoint"] == [{"checkpoint": CHECKPOINT, "jobs": names}]
    told = " ".join(sluice("plan", tmp_path).stdout.split())
    assert f"Who would be refused {', '.join(names[:5])} and 3 more have one checkpoint, {CHECKPOINT}" in told
    assert "the others are refused (CheckpointInUse)" in told


def test_a_checkpoint_beside_a_declared_footprint_counts_too(tmp_path: Path) -> None:
    declared = [{"table": {"path": "s3://lake/b"}, "operation": "Stream"}]
    write(tmp_path, a=stream("a", "a", CHECKPOINT), b=stream("b", "b", SAME, footprint=declared))
    found = json.loads(sluice("plan", tmp_path, "-o", "json").stdout)
    assert found["oneCheckpoint"] == [{"checkpoint": CHECKPOINT, "jobs": ["a", "b"]}]


def test_jobs_with_checkpoints_of_their_own_are_not_named(tmp_path: Path) -> None:
    write(tmp_path, a=stream("a", "a", CHECKPOINT), b=stream("b", "b", f"{CHECKPOINT}-2"))
    assert json.loads(sluice("plan", tmp_path, "-o", "json").stdout)["oneCheckpoint"] == []
