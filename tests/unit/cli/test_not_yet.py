"""Who asks offline is told which fields the operator refuses for now, beside the answer."""

import json
from pathlib import Path
from typing import Any

import pytest

from unit.cli.folders import PINNED_DELETE, complaints, job, sluice, write

LATE = {
    "stream": {
        "source": {"format": "delta", "path": "s3://lake/raw"},
        "table": {"path": "s3://lake/orders"},
        "checkpoint": "s3://lake/checkpoint",
        "trigger": {"availableNow": True},
    }
}
FIELDS = ("spec.stream",)


def _stream(name: str) -> str:
    return json.dumps(json.loads(job(name, PINNED_DELETE)) | {"spec": LATE})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, late=_stream("late"), other=job("other", PINNED_DELETE))
    return tmp_path


def asked(command: str, folder: Path) -> list[object]:
    if command == "explain":
        return [command, folder / "late.yaml", folder / "other.yaml"]
    return [command, folder]


@pytest.mark.parametrize("command", ["explain", "plan", "footprint"])
def test_each_field_that_is_refused_is_a_line_of_its_own(command: str, folder: Path) -> None:
    result = sluice(*asked(command, folder))
    assert result.exit_code == 0, result.output
    told = [line.partition(": not supported yet: ")[0] for line in complaints(result).splitlines()]
    assert told == [f"! late: {field}" for field in FIELDS]


@pytest.mark.parametrize("command", ["explain", "plan", "footprint"])
def test_programs_read_them_for_each_job(command: str, folder: Path) -> None:
    found: Any = json.loads(sluice(*asked(command, folder), "-o", "json").stdout)
    if command == "explain":
        told = found["notYet"]
    elif command == "plan":
        told = {one["name"]: one["notYet"] for one in found["jobs"]}
    else:
        told = {one["job"]: one["notYet"] for one in found}
    assert [why.partition(":")[0] for why in told["late"]] == list(FIELDS)
    assert told["other"] == []


def test_what_asks_for_what_is_done_anyway_is_not_told(tmp_path: Path) -> None:
    write(tmp_path, a=job("a", PINNED_DELETE, retry={"limit": 0}, admission={"risk": "Strict"}))
    assert sluice("footprint", tmp_path).stderr == ""
