"""Walks schemas of the CRDs."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from generate.crds import Resource, definition

Schema = dict[str, Any]


@cache
def root_of(resource: Resource) -> Schema:
    schema: Schema = definition(resource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def walk(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every schema within, with its path; items as [], the values of a map as {}."""
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from walk(child, f"{path}.{name}")
    if isinstance(schema.get("items"), dict):
        yield from walk(schema["items"], f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from walk(schema["additionalProperties"], f"{path}{{}}")


def rules_in(resource: Resource) -> Iterator[dict[str, str]]:
    for _, schema in walk(root_of(resource)):
        yield from schema.get("x-kubernetes-validations", [])
