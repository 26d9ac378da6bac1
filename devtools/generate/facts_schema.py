"""The schema of files of facts about a table, by which editors complete them and underline what is not known."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sluice.api.policy import LogStoreKind
from sluice.offline.given_facts import VERSION
from sluice.offline.known_facts import FACTS
from sluice.predicates.columns import TYPES

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string", "minLength": 1}
_NAMES: Schema = {"type": "array", "items": _TEXT}
_VERSION: Schema = {"type": ["string", "null"], "pattern": VERSION.pattern}
"""No number, which YAML makes of it without quotes: 4.10 would be 4.1."""


def _closed(properties: Mapping[str, Schema], required: Sequence[str], **more: Any) -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": dict(properties),
        **more,
    }


def _dialect(name: str, **properties: Schema) -> Schema:
    return _closed({"name": {"const": name}, **properties}, ["name"])


_COLUMN: Schema = {
    "type": "object",
    "required": ["name", "type"],
    "properties": {
        "name": _TEXT,
        "type": {
            "type": ["string", "object"],
            "description": f"A type as Spark writes it ({TYPES}), or as a table's log has it.",
        },
    },
}
_FIELDS: Mapping[str, Schema] = {
    "path": _TEXT | {"description": "Where the table is.", "examples": ["s3://lake/orders"]},
    "name": _TEXT | {"description": "Its name in the catalog.", "examples": ["lake.sales.orders"]},
    "schema": {
        "type": "array",
        "items": _COLUMN,
        "minItems": 1,
        "description": "Its columns.",
        "examples": [[{"name": "id", "type": "bigint"}, {"name": "date", "type": "date"}]],
    },
    "partitionColumns": _NAMES
    | {"description": "Columns that it is partitioned by.", "examples": [["date"]]},
    "clusteringColumns": _NAMES
    | {"description": "Columns that it is clustered by (CLUSTER BY).", "examples": [["id"]]},
    "properties": {
        "type": "object",
        "additionalProperties": {"type": ["string", "number", "boolean"]},
        "description": "Its TBLPROPERTIES.",
        "examples": [{"delta.appendOnly": "true"}],
    },
    "identityColumns": _NAMES
    | {"description": "Columns whose values Delta counts up.", "examples": [["id"]]},
    "generatedColumns": {
        "type": "object",
        "additionalProperties": _TEXT,
        "description": "The expressions of columns that are generated from others.",
        "examples": [{"date": "CAST(at AS DATE)"}],
    },
    "isolationLevel": {
        "enum": ["Serializable", "WriteSerializable"],
        "description": "If it is not said, that of delta.isolationLevel in its properties.",
        "examples": ["Serializable"],
    },
    "dialect": {
        "oneOf": [
            _dialect("oss", version=_VERSION),
            _dialect("databricks", runtime=_VERSION, photon={"type": ["boolean", "null"]}),
            _dialect("delta-rs", version=_VERSION),
        ],
        "description": "Whose rules hold: the engine that writes it.",
        "examples": [
            {"name": "oss", "version": "4.4.0"},
            {"name": "databricks", "runtime": "15.4", "photon": True},
        ],
    },
    "logStore": {
        "enum": [kind.value for kind in LogStoreKind],
        "description": "How its commits are kept apart.",
        "examples": ["S3Conditional"],
    },
}
_ABOUT_IT: dict[str, Schema] = {
    "$schema": {"type": "string", "description": "Where an editor finds this schema."}
}


def render() -> str:
    fields = {name: _FIELDS[name] for name in FACTS}
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Facts about a Delta table, as sluice --table takes them",
        "description": "Made by ./dev generate from devtools/generate/facts_schema.py.",
        **_closed(_ABOUT_IT | fields, ["schema"]),
    }
    return json.dumps(schema, indent=2) + "\n"
