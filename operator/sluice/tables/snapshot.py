"""Facts from a table as delta-rs has read it."""

import json
from collections.abc import Mapping
from typing import Any

from deltalake import DeltaTable

from sluice.predicates import Table
from sluice.tables.address import LogUnreadableError
from sluice.tables.catalog_managed_tables import refuse_managed
from sluice.tables.facts import TableFacts

MOST_COLUMNS = 10_000
MOST_PARTITION_COLUMNS = 100
"""Each statement is compared with each column, and where rows land is told by each partition column."""
_CHAR_OR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"
_COLLATIONS = "__COLLATIONS"
_GENERATED = "delta.generationExpression"
_IDENTITY = "delta.identity."
_CLUSTERING = "clustering"
_ISOLATION = "delta.isolationlevel"


def facts_of(table: DeltaTable) -> TableFacts:
    """Returns the facts. Raises ValueError or PredicateError for a log that contradicts itself, LogUnreadableError
    for an incomplete one."""
    metadata, protocol = table.metadata(), table.protocol()
    refuse_managed((*(protocol.reader_features or ()), *(protocol.writer_features or ())))
    fields: list[dict[str, Any]] = json.loads(table.schema().to_json())["fields"]
    _refuse_more_than(MOST_COLUMNS, "columns", len(fields))
    _refuse_more_than(MOST_PARTITION_COLUMNS, "partition columns", len(metadata.partition_columns))
    properties = dict(metadata.configuration)
    isolation = {value.lower() for key, value in properties.items() if key.lower() == _ISOLATION}
    return TableFacts(
        columns=Table.of(
            [(field["name"], spark_type(field)) for field in fields], metadata.partition_columns
        ),
        clustering_columns=None if _CLUSTERING in (protocol.writer_features or ()) else (),
        properties=properties,
        identity_columns=frozenset(
            field["name"].lower()
            for field in fields
            if any(name.startswith(_IDENTITY) for name in field["metadata"])
        ),
        generated_columns={
            field["name"]: str(field["metadata"][_GENERATED])
            for field in fields
            if _GENERATED in field["metadata"]
        },
        write_serializable=isolation == {"writeserializable"},
        serializable=bool(isolation - {"writeserializable"}),
        table_id=str(metadata.id),
    )


def _refuse_more_than(most: int, of: str, given: int) -> None:
    if given > most:
        raise LogUnreadableError(f"the table has {given} {of}, and Sluice understands at most {most}")


def spark_type(field: Mapping[str, Any]) -> str:
    """The column's type as Spark knows it: the log calls char, varchar and strings with collations plain strings, and
    says elsewhere how they compare."""
    metadata, kind = field["metadata"], field["type"]
    if not isinstance(kind, str):
        return str(kind.get("type", "unknown"))
    if _CHAR_OR_VARCHAR in metadata:
        return str(metadata[_CHAR_OR_VARCHAR])
    if kind == "string" and _COLLATIONS in metadata:
        return "string collate otherwise"
    return kind
