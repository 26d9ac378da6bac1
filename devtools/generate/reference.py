"""The reference of both resources.

It says what `kubectl explain` says, from the same schemas, for people who have no cluster at hand.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from generate.crds import RESOURCES, Resource, definition
from sluice.api import names
from sluice.api.reasons import EventReason, PolicyReason, Reason

HEADER = f"""<!-- Generated from operator/sluice/api by `./dev generate`: change the models, not this file. -->
# The resources of `{names.API_VERSION}`

What each field means, its bounds, its default, and which fields go together; required ones are bold. `kubectl explain`
says the same on a cluster (`kubectl explain dwj.spec.admission`). [examples/](../examples)
has manifests to start from.

Two kinds of text have rules of their own: durations are hours, minutes and seconds such as `1h30m`; predicates are
conditions in Spark SQL on a table's columns such as `date = DATE '2026-11-19'`, with parameters as `:day`.

The size of a manifest as a whole is bounded by what the API server takes in one request, and with `kubectl apply` by
the 256 KiB of the annotation that holds its last copy; `spec.application.template` has no other bound than that.
"""


@cache
def render() -> str:
    return "\n".join((HEADER, *(_resource(resource) for resource in RESOURCES), *_words()))


def _resource(resource: Resource) -> str:
    schema = definition(resource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    lines = [f"## {resource.kind}", "", schema["description"], "", *_rules(schema)]
    for part in ("spec", "status"):
        lines += _object(part, schema["properties"][part])
    return "\n".join(lines)


def _words() -> Iterator[str]:
    yield f"## Reasons of a {names.JOB_KIND}"
    yield ""
    yield "All words that `status.reason` and the reasons of its conditions can be, with the phases that have them."
    yield ""
    yield from _listed(Reason)
    yield f"## Events about a {names.JOB_KIND}"
    yield ""
    yield (
        "All reasons of Events about a job, and of those about a policy, where it is said. In its ordinary life a job has at most "
        "four: Queued if it has to wait, Admitted, Started and Succeeded."
    )
    yield ""
    yield from _listed(EventReason)
    yield f"## Reasons of a {names.POLICY_KIND}"
    yield ""
    yield "All words that `status.reason` and the reasons of its conditions can be, with the condition that is True then."
    yield ""
    yield from _listed(PolicyReason)


def _listed(words: type[Reason] | type[EventReason] | type[PolicyReason]) -> Iterator[str]:
    yield "| reason | meaning |"
    yield "| --- | --- |"
    for word in words:
        yield f"| `{word.value}` | {_cell(word.meaning)} |"
    yield ""


def _object(path: str, schema: dict[str, Any]) -> Iterator[str]:
    yield f"### {path}"
    yield ""
    yield schema["description"]
    yield ""
    yield from _rules(schema)
    required = schema.get("required", [])
    yield "| field | type | meaning |"
    yield "| --- | --- | --- |"
    for name, field in schema["properties"].items():
        bold = f"**`{name}`**" if name in required else f"`{name}`"
        yield f"| {bold} | {_type(field)} | {_cell(_meaning(field))} |"
    yield ""
    for name, field in schema["properties"].items():
        nested, suffix = _nested(field)
        if nested is not None:
            yield from _object(f"{path}.{name}{suffix}", nested)


def _nested(schema: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """The object with fields of its own that the field is, lists or maps to."""
    candidates = (schema, ""), (schema.get("items"), "[]"), (schema.get("additionalProperties"), "{}")
    for candidate, suffix in candidates:
        if candidate and "properties" in candidate:
            return candidate | {"description": schema["description"]}, suffix
    return None, ""


def _type(schema: dict[str, Any]) -> str:
    if "items" in schema:
        return f"list of {_type(schema['items'])}; at most {schema['maxItems']} of them"
    if "additionalProperties" in schema:
        return f"map to {_type(schema['additionalProperties'])}; at most {schema['maxProperties']} of them"
    if "enum" in schema:
        return " \\| ".join(f"`{value}`" for value in schema["enum"])
    if "maxLength" in schema:
        return f"string of at most {schema['maxLength']:,}"
    if "minimum" in schema:
        upper = f" to {schema['maximum']:,}" if "maximum" in schema else " or more"
        return f"{schema['type']}, {schema['minimum']:,}{upper}"
    return str(schema.get("format") or schema["type"])


def _meaning(schema: dict[str, Any]) -> str:
    meaning = str(schema["description"])
    default = schema.get("default")
    if default is not None and not isinstance(default, dict):
        meaning += f" Default: `{str(default).lower() if isinstance(default, bool) else default}`."
    return meaning


def _rules(schema: dict[str, Any]) -> Iterator[str]:
    """The validation rules for what may stand together; what may change is said in words, once."""
    rules = schema.get("x-kubernetes-validations", [])
    messages = [rule["message"] for rule in rules if "oldSelf" not in rule["rule"]]
    if messages:
        yield "Refused unless it obeys:"
        yield ""
        yield from (f"- {message}" for message in messages)
        yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
