"""What is not supported yet is said wherever somebody may look it up, from one list."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from generate.crds import RESOURCES, definition
from sluice.api import names
from sluice.api.job_status import Phase
from sluice.api.not_yet import JOBS_REFUSED_FOR

OPERATIONS = Path(__file__).parents[3] / "docs" / "operations.md"
LISTS = {names.JOB_KIND: JOBS_REFUSED_FOR, names.POLICY_KIND: ()}
SAID = " Not supported yet: "


def told_by_explain(schema: dict[str, Any], place: str = "") -> dict[str, str]:
    found = {place: schema["description"].partition(SAID)[2]} if SAID in schema.get("description", "") else {}
    for name, field in schema.get("properties", {}).items():
        found |= told_by_explain(field, f"{place}.{name}".removeprefix("."))
    return found


def schema_of(resource: Any) -> dict[str, Any]:
    schema: dict[str, Any] = definition(resource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def descriptions_of_what_is_supported(schema: dict[str, Any], place: str) -> Iterator[tuple[str, str]]:
    said = schema.get("description", "")
    if SAID in said:
        return
    yield place, said
    for name, field in schema.get("properties", {}).items():
        yield from descriptions_of_what_is_supported(field, f"{place}.{name}")
    for inner in ("items", "additionalProperties"):
        if isinstance(schema.get(inner), dict):
            yield from descriptions_of_what_is_supported(schema[inner], place)


def names_of_what_is_not_yet() -> set[str]:
    """As descriptions may call it: names that are words of English, too, only below spec or admission."""
    paths = [one.path for one in JOBS_REFUSED_FOR]
    last = [path.rpartition(".")[2] for path in paths]
    unmistakable = [name for name in last if name != name.lower()]
    return {
        *unmistakable,
        *(f"spec.{path}" for path in paths),
        Phase.PAUSED,
    }


def told_by_the_docs(heading: str) -> dict[str, str]:
    """Each field of the table with this heading, with the value that is excepted."""
    section = OPERATIONS.read_text(encoding="utf-8").partition("## Not yet\n")[2].partition("\n## ")[0]
    table = section.partition(heading)[2].partition("\n\n")[0]
    found: dict[str, str] = {}
    for cell in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE):
        fields, _, unless = cell.partition(", except ")
        found |= dict.fromkeys(re.findall(r"`([^`]+)`", fields), unless.strip("`"))
    return found


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.kind)
def test_kubectl_explain_says_it_of_exactly_these_fields(resource: Any) -> None:
    told = told_by_explain(schema_of(resource)["properties"]["spec"])
    assert set(told) == {one.path for one in LISTS[resource.kind]}
    for one in LISTS[resource.kind]:
        assert one.unless in told[one.path]


def test_no_field_of_a_status_stays_empty() -> None:
    told = {
        resource.kind: set(told_by_explain(schema_of(resource)["properties"]["status"]))
        for resource in RESOURCES
    }
    assert told == {names.JOB_KIND: set(), names.POLICY_KIND: set()}


def test_a_description_that_names_what_is_not_supported_yet_says_so() -> None:
    named = re.compile(
        rf"\b({'|'.join(map(re.escape, names_of_what_is_not_yet()))})\b( \(not supported yet\))?"
    )
    said = {
        (place, found[1]): bool(found[2])
        for resource in RESOURCES
        for place, text in descriptions_of_what_is_supported(schema_of(resource), resource.kind)
        for found in named.finditer(text)
    }
    assert said == {
        ("DeltaWriteJob.status.phase", "Paused"): True,
    }


def test_the_docs_list_exactly_these_fields() -> None:
    assert told_by_the_docs("| field |") == {one.path: one.unless for one in JOBS_REFUSED_FOR}
