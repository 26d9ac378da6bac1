"""Every schema of ours is one that Kubernetes takes, with bounds from which it can tell what a rule costs."""

import re

import pytest
from pydantic import Field

from generate.crds import RESOURCES, Resource
from generate.structural import structural
from sluice.api.base import Model
from unit.api.schemas import Schema, root_of, rules_in, walk

ANY_TEMPLATE = ".spec.application.template"
ROOT_FIELDS = (".apiVersion", ".kind", ".metadata")


def _schemas() -> list[tuple[str, Schema]]:
    return [
        (path, schema)
        for resource in RESOURCES
        for path, schema in walk(root_of(resource))
        if path not in ROOT_FIELDS
    ]


def test_every_string_list_and_map_is_bounded() -> None:
    """But for the template of an application: that one is bounded by the size of a request alone."""
    unbounded = []
    for path, schema in _schemas():
        match schema["type"]:
            case "string":
                bounded = schema.keys() & {"maxLength", "enum"} or schema.get("format") == "date-time"
            case "array":
                bounded = "maxItems" in schema
            case "object":
                is_closed = not schema.get("x-kubernetes-preserve-unknown-fields")
                bounded = ("properties" in schema and is_closed) or "maxProperties" in schema
            case "integer":
                bounded = schema.get("format") in ("int32", "int64")
            case _:
                bounded = schema["type"] in ("boolean", "number")
        if not bounded:
            unbounded.append(path)
    assert unbounded == [ANY_TEMPLATE]


def test_the_keys_of_every_map_in_a_spec_are_bounded_by_a_rule() -> None:
    for path, schema in _schemas():
        if "additionalProperties" in schema and path.startswith(".spec"):
            rules = " ".join(rule["rule"] for rule in schema["x-kubernetes-validations"])
            assert re.search(r"size\(key\) <= \d+|key[.]matches\('\^.*\{0,\d+\}\$'\)", rules), path


def test_every_field_teaches_in_explain() -> None:
    silent = [
        f"{path}.{name}"
        for path, schema in _schemas()
        for name, field in schema.get("properties", {}).items()
        if len(field.get("description", "")) < 4 and f"{path}.{name}" not in ROOT_FIELDS
    ]
    assert not silent


def test_every_rule_has_words_of_its_own() -> None:
    for resource in RESOURCES:
        for rule in rules_in(resource):
            assert rule.keys() == {"rule", "message"}
            assert len(rule["message"]) > 20


def test_no_default_is_filled_in_within_a_list() -> None:
    """kubectl merges lists as wholes, so that each apply would find a difference."""
    assert not [path for path, schema in _schemas() if "[]" in path and "default" in schema]


def test_a_status_has_no_defaults() -> None:
    assert not [path for path, schema in _schemas() if path.startswith(".status") and "default" in schema]


def test_unknown_fields_are_kept_in_a_template_alone() -> None:
    assert [path for path, schema in _schemas() if schema.get("x-kubernetes-preserve-unknown-fields")] == [
        ANY_TEMPLATE
    ]


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.kind)
def test_only_the_spec_is_required(resource: Resource) -> None:
    assert root_of(resource)["required"] == ["spec"]


class Inner(Model):
    """What the type says."""

    number: int = 5
    """A number."""


class Outer(Model):
    """Outer."""

    inner: Inner = Inner()
    """What the field says."""
    inners: tuple[Inner, ...] | None = None
    """Several."""
    named: dict[str, Inner] | None = None
    """By name."""


def test_references_are_put_in_and_the_field_speaks_before_the_type() -> None:
    schema = structural(Outer, defaults=True)
    assert schema["properties"]["inner"] == {
        "type": "object",
        "description": "What the field says.",
        "properties": {"number": {"type": "integer", "description": "A number.", "default": 5}},
        "default": {"number": 5},
    }
    assert schema["properties"]["named"]["additionalProperties"]["description"] == "What the type says."
    assert "$defs" not in schema


def test_lists_lose_their_defaults() -> None:
    assert structural(Outer, defaults=True)["properties"]["inners"]["items"]["properties"]["number"] == {
        "type": "integer",
        "description": "A number.",
    }


class OfTwoTypes(Model):
    value: int | str


class WithKeyword(Model):
    value: int = Field(multiple_of=3)


@pytest.mark.parametrize(("model", "why"), [(OfTwoTypes, "more than one type"), (WithKeyword, "multipleOf")])
def test_what_kubernetes_would_not_take_is_refused_here(model: type[Model], why: str) -> None:
    with pytest.raises(ValueError, match=f"not structural: .*{why}"):
        structural(model, defaults=True)


def test_all_the_sql_of_a_job_fits_the_annotation_in_which_kubectl_keeps_it() -> None:
    longest = [schema["maxLength"] for path, schema in _schemas() if path.endswith((".sql", ".query"))]
    assert max(longest) <= 200 * 1024
