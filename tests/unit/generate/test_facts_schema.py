"""The schema of files of facts says what the command line takes, and nothing that it doesn't."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from generate import facts_schema
from sluice.offline.given_facts import UnusableError, facts_of
from sluice.offline.known_facts import FACTS
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


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(
        ["oss", "databricks", "delta-rs", "spark", "4.4.0", "15.4", "4", "x4.4", "", 4.4, 15, [], {}]
    ),
)
DIALECTS = st.dictionaries(st.sampled_from(["name", "version", "runtime", "photon", "vesion"]), VALUES)


@given(DIALECTS)
@example({"name": "oss", "version": 4.10})
@example({"name": "oss", "version": "4.4.0"})
@example({"name": "databricks", "runtime": "15.4", "photon": True})
def test_of_an_engine_it_says_what_the_reader_says(dialect: dict[str, Any]) -> None:
    try:
        facts_of({"schema": COLUMNS, "dialect": dialect})
        taken = True
    except UnusableError:
        taken = False
    assert taken is any(_fits(dialect, one) for one in FIELDS["dialect"]["oneOf"])


def _fits(given: dict[str, Any], engine: dict[str, Any]) -> bool:
    assert set(engine) == {"type", "additionalProperties", "required", "properties"}
    known = engine["properties"]
    return (
        given.keys() <= known.keys()
        and all(name in given for name in engine["required"])
        and all(_is_one(value, known[name]) for name, value in given.items())
    )


def _is_one(value: object, field: dict[str, Any]) -> bool:
    if "const" in field:
        return bool(value == field["const"])
    kinds = {"string": str, "boolean": bool, "null": type(None)}
    fits = isinstance(value, tuple(kinds[kind] for kind in field["type"]))
    return fits and (not isinstance(value, str) or re.search(field.get("pattern", ""), value) is not None)
