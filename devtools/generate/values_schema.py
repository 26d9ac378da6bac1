"""The schema of the chart's values: a name that isn't there is a typo, and Helm says so before it installs anything."""

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from sluice.api.engine_kind import EngineKind
from sluice.api.runtime import Image
from sluice.controller.process.configuration import OperatorConfig
from sluice.engines.profile import Profiles, RuntimeProfile
from sluice.templates.permissions import RESTRICTED_VOLUMES

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string", "default": ""}
_FLAG: Schema = {"type": "boolean"}
_OBJECT: Schema = {"type": "object", "default": {}}
_OBJECTS: Schema = {"type": "array", "items": {"type": "object"}, "default": []}
"""What Kubernetes itself describes is left to the API server, which refuses what it doesn't know."""


def _closed(properties: Mapping[str, Schema], **more: Any) -> Schema:
    """An object of these names. Those without a default are required: Helm takes away what a file of values leaves empty, and
    the templates would stumble over it."""
    required = [name for name, value in properties.items() if "default" not in value]
    needs = {"required": required} if required else {}
    return {"type": "object", "additionalProperties": False, "properties": dict(properties), **needs, **more}


def _matching(pattern: str, *, longest: int | None = None) -> Schema:
    return {"type": "string", "pattern": f"^{pattern}$"} | ({"maxLength": longest} if longest else {})


def _or_empty(schema: Schema) -> Schema:
    inner = schema["pattern"].removeprefix("^").removesuffix("$")
    return schema | {"pattern": f"^({inner})?$", "default": ""}


_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME = _matching(rf"{_LABEL}(\.{_LABEL})*", longest=253)
_NAMES: Schema = {"type": "array", "items": _NAME, "default": []}
_NAMESPACE = _matching(_LABEL, longest=63)
_NAMESPACES: Schema = {"type": "array", "items": _NAMESPACE, "uniqueItems": True}
_SHARED_NAMESPACES: Schema = {
    "type": "array",
    "items": _matching(rf"([*]|{_LABEL})", longest=63),
    "uniqueItems": True,
    "default": [],
}

_PATTERNS: Schema = {
    "type": "array",
    "items": {"type": "string", "minLength": 1, "maxLength": 256},
    "maxItems": 256,
    "uniqueItems": True,
    "default": ["*"],
}
_JOB_PERMISSIONS: Schema = {
    "type": "array",
    "maxItems": 1000,
    "default": [],
    "items": _closed(
        {
            "namespaces": _PATTERNS | {"minItems": 1},
            "templates": {"type": "boolean", "default": True},
            "serviceAccounts": _PATTERNS,
            "volumes": _PATTERNS | {"default": list(RESTRICTED_VOLUMES)},
            "settings": _PATTERNS,
            "podSecurity": {"enum": ["restricted", "privileged"], "default": "restricted"},
        }
    ),
}
_DRIVER_ACCOUNTS: Schema = {
    "type": "array",
    "items": _matching(rf"([*]|{_LABEL}):{_LABEL}(\.{_LABEL})*", longest=317),
    "uniqueItems": True,
    "default": [],
}
_TABLE_OWNERS: Schema = {
    "type": "array",
    "maxItems": 1000,
    "items": _closed(
        {
            "namespaces": _NAMESPACES | {"minItems": 1},
            "paths": {
                "type": "array",
                "items": _matching(r"(/|[a-zA-Z][a-zA-Z0-9+.-]*:/)[^\x00-\x1f\x7f]*", longest=1024),
                "uniqueItems": True,
                "default": [],
            },
            "names": {
                "type": "array",
                "items": _matching(r"[A-Za-z0-9_*-]+([.][A-Za-z0-9_*-]+){0,2}", longest=386),
                "uniqueItems": True,
                "default": [],
            },
        },
        anyOf=[{"required": [name], "properties": {name: {"minItems": 1}}} for name in ("paths", "names")],
    ),
    "default": [],
}
_KEY = _matching(r"\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*", longest=253)

_WORD = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_PREFIX = rf"{_LABEL}(\.{_LABEL})*/"


def _map_of(key: str, value: Schema) -> Schema:
    """Not by propertyNames: Helm names a wrong place for what these refuse."""
    keys = {"patternProperties": {f"^{key}$": value}, "additionalProperties": False}
    return {"type": "object", **keys, "default": {}}


_LABELS = _map_of(f"({_PREFIX})?{_WORD}", _matching(f"({_WORD})?"))
_ANNOTATIONS = _map_of(f"({_PREFIX.replace('a-z', 'A-Za-z')})?{_WORD}", {"type": "string"})


def _objects_with(*texts: str) -> Schema:
    """What the chart itself compares with its own; the rest of them is left to the API server."""
    named = {text: {"type": "string", "minLength": 1} for text in texts}
    return {
        "type": "array",
        "items": {"type": "object", "properties": named, "required": [*texts]},
        "default": [],
    }


_SOURCE = _closed({"name": _NAME, "optional": _FLAG | {"default": False}})
_SOURCES: Schema = {
    "type": "array",
    "items": {
        **_closed(
            {
                "prefix": _TEXT,
                "secretRef": _SOURCE | {"default": {}},
                "configMapRef": _SOURCE | {"default": {}},
            }
        ),
        "oneOf": [{"required": ["secretRef"]}, {"required": ["configMapRef"]}],
    },
    "default": [],
}
"""Variables from Secrets and ConfigMaps: a misspelt one would leave the operator without credentials, and nobody would be told."""

_UNIT = "([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?"
_QUANTITY: Schema = {
    "type": ["string", "number"],
    "pattern": rf"^([0-9]+(\.[0-9]*)?|\.[0-9]+){_UNIT}$",
    "minimum": 0,
}
_SIZE: Schema = {
    "type": ["string", "number"],
    "pattern": rf"^(0*[1-9][0-9]*(\.[0-9]*)?|0*\.0*[1-9][0-9]*){_UNIT}$",
    "exclusiveMinimum": 0,
}
_QUANTITIES: Schema = {"type": "object", "additionalProperties": _QUANTITY, "default": {}}
_RESOURCES = _closed({"requests": _QUANTITIES, "limits": _QUANTITIES, "claims": _OBJECTS})

_HOST = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(:[0-9]+)?"
_PATH = "[a-z0-9]+([._-]+[a-z0-9]+)*"
_URL = _matching(rf"https?://{_HOST}(/[A-Za-z0-9._~/-]*)?")
_REGISTRY = _matching(f"{_HOST}(/{_PATH})*/?")
_IMAGE = _closed(
    {
        "repository": _matching(f"({_HOST}/)?{_PATH}(/{_PATH})*"),
        "tag": _or_empty(_matching("[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")),
        "digest": _or_empty(_matching("sha256:[0-9a-f]{64}")),
        "pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
    }
)
_DURATION = _matching("([0-9]+y)?([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?") | {
    "minLength": 1
}
_PLACEMENT: Mapping[str, Schema] = {
    "nodeSelector": _LABELS,
    "tolerations": _OBJECTS,
    "affinity": _OBJECT,
    "priorityClassName": _or_empty(_NAME),
    "podAnnotations": _ANNOTATIONS,
    "podLabels": _LABELS,
}


def _from_config(field: str) -> Schema:
    """What the operator takes, in the words of its own configuration."""
    schema: Schema = OperatorConfig.model_json_schema(by_alias=True)["properties"][field]
    dropped = {"title", "description"} | ({"default"} if schema.get("default") is not None else set())
    return {name: value for name, value in schema.items() if name not in dropped}


_RULES = "x-kubernetes-validations"
_MATCHES = re.compile(r"self\.matches\('(?P<pattern>(?:[^'\\]|\\.)*)'\)")


def _with_patterns(part: Any) -> Any:
    """Helm knows no rules of the API server: those that ask for a pattern become one."""
    if isinstance(part, list):
        return [_with_patterns(one) for one in part]
    if not isinstance(part, dict):
        return part
    changed = {name: _with_patterns(value) for name, value in part.items() if name != _RULES}
    rules = part.get(_RULES, ())
    return changed | ({"allOf": [{"pattern": _pattern(one["rule"])} for one in rules]} if rules else {})


def _pattern(rule: str) -> str:
    found = _MATCHES.fullmatch(rule)
    if found is None:
        raise ValueError(f"the rule {rule} asks for more than a pattern, which Helm cannot check")
    return re.sub(r"\\(.)", r"\1", found["pattern"])


def schema() -> Schema:
    profiles = _with_patterns(TypeAdapter(Profiles).json_schema(by_alias=True))
    parts = profiles.pop("$defs")
    profile = parts[RuntimeProfile.__name__]
    profile["required"].append("image")  # which only the local engine does without
    profile["properties"]["image"] = _with_patterns(TypeAdapter(Image).json_schema()) | {"minLength": 1}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$comment": "Generated by ./dev generate: change devtools/generate/values_schema.py, not this file.",
        "$defs": parts,
        **_closed(
            {
                "global": _OBJECT,  # Helm gives it to each chart that is part of another
                "imageRegistry": _or_empty(_REGISTRY),
                "imagePullSecrets": _NAMES,
                "deployment": _or_empty(_matching("[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")),
                "watchNamespaces": _NAMESPACES,
                "sharedNamespaces": _SHARED_NAMESPACES,
                "tableOwners": _TABLE_OWNERS,
                "jobPermissions": _JOB_PERMISSIONS,
                "engines": {
                    "type": "array",
                    "items": {"enum": [engine.value for engine in EngineKind]},
                    "minItems": 1,
                    "uniqueItems": True,
                },
                "ttlSecondsAfterFinished": _from_config("ttlSecondsAfterFinished"),
                "apiQps": _from_config("apiQps"),
                "ageAfter": _from_config("ageAfter"),
                "policyLook": _from_config("policyLook"),
                "apiBurst": _from_config("apiBurst"),
                "runtimes": profiles | {"required": ["default"]},
                "jobServiceAccount": _closed(
                    {
                        "create": _FLAG,
                        "name": _NAME,
                        "namespaces": _NAMESPACES | {"default": []},
                        "annotations": _ANNOTATIONS,
                    }
                ),
                "admissionPolicy": _closed({"enabled": _FLAG, "driverAccounts": _DRIVER_ACCOUNTS}),
                "operator": _closed(
                    {
                        "replicas": {
                            "type": ["integer", "null"],
                            "minimum": 1,
                            "maximum": 5,
                            "default": None,
                        },
                        "image": _IMAGE,
                        "resources": _RESOURCES,
                        "verbose": _FLAG,
                        "extraEnv": _objects_with("name"),
                        "extraEnvFrom": _SOURCES,
                        "extraVolumes": _objects_with("name"),
                        "extraVolumeMounts": _objects_with("name", "mountPath"),
                        "serviceAccount": _closed(
                            {"name": _or_empty(_NAME), "create": _FLAG, "annotations": _ANNOTATIONS}
                        ),
                        **_PLACEMENT,
                    }
                ),
                "redis": _closed(
                    {
                        "install": _FLAG,
                        "image": _IMAGE,
                        "maxMemory": _matching("[1-9][0-9]*[kmg]b"),
                        "existingSecret": _or_empty(_NAME),
                        "key": _KEY,
                        "userId": {"type": ["integer", "null"], "minimum": 1, "default": None},
                        "persistence": _closed(
                            {"enabled": _FLAG, "size": _SIZE, "storageClass": _or_empty(_NAME)}
                        ),
                        "resources": _RESOURCES,
                        "url": _TEXT,  # the chart says what form it has
                        "existingUrl": _closed({"secret": _or_empty(_NAME), "key": _KEY}),
                        **_PLACEMENT,
                    }
                ),
                "crds": _closed({"install": _FLAG, "keep": _FLAG}),
                "rbac": _closed({"create": _FLAG, "aggregate": _FLAG}),
                "hooks": _closed({"refuseUninstall": _FLAG}),
                "networkPolicies": _closed({"enabled": _FLAG}),
                "monitoring": _closed(
                    {
                        "serviceMonitor": _closed(
                            {"enabled": _FLAG, "interval": _DURATION, "labels": _LABELS}
                        ),
                        "prometheusRule": _closed(
                            {"enabled": _FLAG, "docs": _or_empty(_URL), "labels": _LABELS}
                        ),
                        "dashboard": _closed({"enabled": _FLAG, "labels": _LABELS}),
                    }
                ),
            }
        ),
    }


def render() -> str:
    return json.dumps(schema(), indent=2) + "\n"
