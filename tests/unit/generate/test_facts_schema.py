"""The schema of files of facts says what the command line takes, and nothing that it doesn't."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from generate import facts_schema
from sluice.offline.knowledge import FACTS
from unit.cli.folders import PINNED_DELETE, complaints, job, sluice, write

SCHEMA: dict[str, Any] = json.loads(facts_schema.render())
FIELDS: dict[str, Any] = SCHEMA["properties"]
COLUMNS = [
    {"name": "id", "type": "bigint"},
    {"name": "date", "type": "date"},
    {"name": "at", "type": "timestamp"},
]


def told(folder: Path, facts: dict[str, Any]) -> str:
    write(folder, facts=json.dumps(facts), job=job("job", PINNED_DELETE))
    return complaints(sluice("footprint", folder / "job.yaml", "--table", folder / "facts.yaml"))


def stated() -> Iterator[tuple[str, Any]]:
    for name, field in FIELDS.items():
        yield from ((name, value) for value in (*field.get("examples", ()), *field.get("enum", ())))
    for one in FIELDS["dialect"]["oneOf"]:
        yield "dialect", {"name": one["properties"]["name"]["const"]}


def test_it_names_each_fact_that_there_is() -> None:
    assert set(FIELDS) == {*FACTS, "$schema"}
    assert all(FIELDS[name]["examples"] for name in FACTS)


@pytest.mark.parametrize(("name", "value"), list(stated()))
def test_whatever_it_offers_is_taken(name: str, value: object, tmp_path: Path) -> None:
    facts = {"$schema": "facts.schema.json", "path": "s3://lake/orders", "schema": COLUMNS}
    assert told(tmp_path, facts | {name: value}) == ""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("partitionColums", ["date"]),
        ("logStore", "S3"),
        ("dialect", {"name": "spark"}),
        ("partitionColumns", "date"),
        ("properties", ["a"]),
        ("schema", [{"name": "id"}]),
    ],
)
def test_what_it_underlines_is_refused(name: str, value: object, tmp_path: Path) -> None:
    assert name in told(tmp_path, {"path": "s3://lake/orders", "schema": COLUMNS, name: value})
