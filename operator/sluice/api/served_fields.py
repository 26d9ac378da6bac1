"""Which fields of our resources a cluster's definitions lack: what the operator writes there, it drops without a word."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from sluice.api import names
from sluice.api.base import Json, Model
from sluice.api.job import DeltaWriteJob
from sluice.api.policy import DeltaTablePolicy

KINDS: Mapping[str, type[Model]] = {names.JOB_KIND: DeltaWriteJob, names.POLICY_KIND: DeltaTablePolicy}
_PARTS = ("spec", "status")
_KEEPS_ALL = "x-kubernetes-preserve-unknown-fields"


def missing_in(kind: str, served: Json) -> tuple[str, ...]:
    """The fields, and values of fields, that the served schema of this kind does not have, where it drops what it lacks."""
    kept = [place for place, schema in _schemas("", served, {}) if schema.get(_KEEPS_ALL)]
    lacking = _of_model(kind) - _fields_in(served)
    return tuple(sorted(field for field in lacking if not any(_is_below(field, place) for place in kept)))


def unknown_in(kind: str, served: Json) -> tuple[str, ...]:
    """The fields, and values of fields, that this version does not know."""
    return tuple(sorted(_fields_in(served) - _of_model(kind)))


@cache
def _of_model(kind: str) -> frozenset[str]:
    return _fields_in(KINDS[kind].model_json_schema(by_alias=True))


def _fields_in(schema: Json) -> frozenset[str]:
    definitions = schema.get("$defs") or {}
    parts = schema.get("properties") or {}
    return frozenset(
        found
        for part in _PARTS
        for place, within in _schemas(part, parts.get(part) or {}, definitions)
        for found in (
            *(f"{place}={value}" for value in within.get("enum", ())),
            *(f"{place}.{name}" for name in within.get("properties") or ()),
        )
    )


def _is_below(field: str, place: str) -> bool:
    return not place or (field.startswith(place) and field[len(place) :][:1] in (".", "[", "{", "="))


def _schemas(
    place: str, schema: Any, definitions: Json, within: frozenset[str] = frozenset()
) -> Iterator[tuple[str, Json]]:
    """The schema and all schemas in it, each with its place."""
    if not isinstance(schema, dict):
        return
    yield place, schema
    reference = str(schema.get("$ref", "")).rpartition("/")[2]
    if reference in definitions and reference not in within:
        yield from _schemas(place, definitions[reference], definitions, within | {reference})
    for one in (*schema.get("anyOf", ()), *schema.get("allOf", ())):
        yield from _schemas(place, one, definitions, within)
    yield from _schemas(f"{place}[]", schema.get("items"), definitions, within)
    yield from _schemas(f"{place}{{}}", schema.get("additionalProperties"), definitions, within)
    for name, field in (schema.get("properties") or {}).items():
        yield from _schemas(f"{place}.{name}" if place else name, field, definitions, within)
