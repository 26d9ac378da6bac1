"""pydantic's JSON schema made structural: what Kubernetes accepts as the schema of a custom resource."""

from typing import Any

from sluice.api.base import Model

Schema = dict[str, Any]

_DROPPED = frozenset({"title", "additionalProperties", "$defs", "const", "default"})
_KEPT = frozenset(
    {
        *("type", "format", "description", "properties", "required", "items", "enum"),
        *("minimum", "maximum", "maxLength", "minLength", "maxItems", "maxProperties", "minProperties"),
        "pattern",
        *("x-kubernetes-validations", "x-kubernetes-preserve-unknown-fields"),
        *("x-kubernetes-list-type", "x-kubernetes-list-map-keys"),
    }
)


def structural(model: type[Model], *, defaults: bool) -> Schema:
    """The model's schema with references put in, `X | None` read as optional, and no keyword that Kubernetes refuses."""
    schema = model.model_json_schema(by_alias=True, mode="validation")
    return _convert(schema, schema.get("$defs", {}), defaults)


def _convert(schema: Schema, definitions: dict[str, Schema], defaults: bool) -> Schema:
    schema = _resolve(schema, definitions)
    unheard_of = schema.keys() - _DROPPED - _KEPT
    if unheard_of:
        raise ValueError(f"not structural: {', '.join(sorted(unheard_of))} in {schema}")
    result = {key: value for key, value in schema.items() if key in _KEPT}
    if "properties" in schema:
        result["properties"] = {
            name: _property(value, definitions, defaults) for name, value in schema["properties"].items()
        }
    elif isinstance(schema.get("additionalProperties"), dict):
        result["additionalProperties"] = _convert(schema["additionalProperties"], definitions, defaults)
    if "items" in schema:
        # kubectl merges lists as wholes: a default filled in within one would be a difference at each apply.
        result["items"] = _convert(schema["items"], definitions, defaults=False)
    if "description" in result:
        result["description"] = " ".join(result["description"].split())
    return result


def _property(schema: Schema, definitions: dict[str, Schema], defaults: bool) -> Schema:
    result = _convert(schema, definitions, defaults)
    if defaults and schema.get("default") is not None:
        result["default"] = _without_nulls(schema["default"])
    return result


def _resolve(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """Follows a reference and takes the one real branch of `X | None`; what stands beside them (the description of
    the field) wins over what stands within (that of the type)."""
    if "$ref" in schema:
        target = definitions[schema["$ref"].removeprefix("#/$defs/")]
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return _resolve(target | beside, definitions)
    if "anyOf" in schema:
        branches = [branch for branch in schema["anyOf"] if branch != {"type": "null"}]
        if len(branches) != 1:
            raise ValueError(f"not structural: more than one type in {schema['anyOf']}")
        beside = {key: value for key, value in schema.items() if key != "anyOf"}
        return _resolve(branches[0] | beside, definitions)
    return schema


def _without_nulls(default: Any) -> Any:
    if not isinstance(default, dict):
        return default
    return {key: _without_nulls(value) for key, value in default.items() if value is not None}
