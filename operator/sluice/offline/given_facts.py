"""Facts about a table, as a file or a line gives them."""

import json
import re
from collections.abc import Mapping
from typing import Any

from sluice.api.base import Json
from sluice.predicates import Table
from sluice.predicates.columns import TYPES, UNKNOWN, is_type
from sluice.tables import Dialect, LogStore, TableFacts, databricks, delta_rs, oss
from sluice.tables.policy_facts import LOG_STORES

_LOG_STORES = {
    **{store.value: store for store in LogStore},
    **{kind.value.lower(): store for kind, store in LOG_STORES.items()},
    "catalog-managed": LogStore.SAFE,
}

VERSION = re.compile(r"^[0-9]+[.][0-9]+")


class UnusableError(Exception):
    """What was given can't be used; the message says where and why. `at`: the place within the facts."""

    def __init__(self, why: str, *at: int | str) -> None:
        super().__init__(why)
        self.why, self.at = why, at

    def __str__(self) -> str:
        return self.said()

    def said(self, line: int | None = None) -> str:
        """Says it with the field as the file spells it and, where it is known, the field's line."""
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.at)
        where = f"{place.removeprefix('.')} (line {line})" if line is not None else place.removeprefix(".")
        return f"{where} {self.why}".strip()


def facts_of(table: Mapping[str, Any]) -> TableFacts:
    schema = _list(table.get("schema"), "schema")
    columns = [_column(column, "schema", number) for number, column in enumerate(schema)]
    partitions = [str(name) for name in _list(table.get("partitionColumns"), "partitionColumns")]
    properties = object_in(table.get("properties") or {}, "properties")
    level = table.get("isolationLevel") or properties.get("delta.isolationLevel")
    return TableFacts(
        columns=Table.of(columns, partitions),
        clustering_columns=tuple(
            str(name) for name in _list(table.get("clusteringColumns"), "clusteringColumns")
        ),
        properties={str(key): str(value) for key, value in properties.items()},
        identity_columns=frozenset(
            str(name).lower() for name in _list(table.get("identityColumns"), "identityColumns")
        ),
        generated_columns={
            str(name): str(text)
            for name, text in object_in(table.get("generatedColumns") or {}, "generatedColumns").items()
        },
        write_serializable=str(level).lower() == "writeserializable",
        serializable=level is not None and str(level).lower() != "writeserializable",
        exists=bool(columns),
        dialect=_dialect(table.get("dialect")),
        log_store=_log_store(table.get("logStore")),
    )


def _column(value: object, *at: int | str) -> tuple[str, str]:
    given = object_in(value, *at)
    if not isinstance(given.get("name"), str) or given.get("type") is None:
        raise UnusableError(f"must have a name and a type: this column is {json.dumps(given)[:80]}", *at)
    return given["name"], _type(given["type"], *at, "type")


def _type(value: object, *at: int | str) -> str:
    text = value if isinstance(value, str) else str(object_in(value, *at).get("type", UNKNOWN))
    if not is_type(text):
        raise UnusableError(f"must be a type of Spark ({TYPES}), not {text[:60]!r}", *at)
    return text


_SAID_OF: Mapping[str, tuple[str, ...]] = {
    "oss": ("name", "version"),
    "databricks": ("name", "runtime", "photon"),
    "delta-rs": ("name", "version"),
}
"""What may be said of each engine."""


def _dialect(value: object) -> Dialect | None:
    if value is None:
        return None
    given = object_in(value, "dialect")
    name = given.get("name")
    if not isinstance(name, str) or name not in _SAID_OF:
        raise UnusableError(f"must be oss, databricks or delta-rs, not {name!r}", "dialect", "name")
    for field in given:
        if field not in _SAID_OF[name]:
            raise UnusableError(
                f"is nothing that is said of {name}: only {', '.join(_SAID_OF[name])}", "dialect", field
            )
    if name == "databricks":
        return databricks(_version(given, "runtime"), photon=_flag(given.get("photon")))
    of_version = oss if name == "oss" else delta_rs
    return of_version(_version(given, "version"))


def _version(given: Json, field: str) -> str | None:
    value = given.get(field)
    if value is None:
        return None
    if not isinstance(value, str) or VERSION.match(value) is None:
        quotes = ": put it in quotes" if isinstance(value, int | float) else ""
        raise UnusableError(
            f"must be text such as '15.4', not {json.dumps(value)[:60]}{quotes}", "dialect", field
        )
    return value


def _flag(value: object) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise UnusableError(f"must be true or false, not {value!r}", "dialect", "photon")


def _log_store(value: object) -> LogStore | None:
    if value is None:
        return None
    found = _LOG_STORES.get(str(value).lower())
    if found is None:
        raise UnusableError(
            f"must be S3Conditional, S3DynamoDB, Safe or S3SingleDriver, not {value!r}", "logStore"
        )
    return found


def object_in(value: object, *at: int | str) -> Json:
    if not isinstance(value, dict):
        raise UnusableError("must be an object", *at)
    return value


def _list(value: object, place: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise UnusableError("must be a list", place)
    return value
