"""Delta tables for tests: made by delta-rs where it can, else written commit by commit."""

import json
from pathlib import Path
from typing import Any

from deltalake import DeltaTable, Field, Schema
from deltalake.schema import PrimitiveType

from sluice.api.base import Json

PLAIN = {"minReaderVersion": 1, "minWriterVersion": 2}


def orders(
    path: Path, *, partition_by: tuple[str, ...] = ("date",), properties: dict[str, str | None] | None = None
) -> DeltaTable:
    """id BIGINT, date DATE, region STRING"""
    columns = {"id": "long", "date": "date", "region": "string"}
    fields = [Field(name, PrimitiveType(kind), nullable=True) for name, kind in columns.items()]
    return DeltaTable.create(
        str(path), Schema(fields), partition_by=list(partition_by), configuration=properties
    )


def column(name: str, kind: Any, **metadata: Any) -> Json:
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def metadata(
    *columns: Json, partition_by: tuple[str, ...] = (), properties: dict[str, str] | None = None
) -> Json:
    return {
        "metaData": {
            "id": "test",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": list(columns)}),
            "partitionColumns": list(partition_by),
            "configuration": properties or {},
            "createdTime": 1,
        }
    }


def protocol(*features: str) -> Json:
    if not features:
        return {"protocol": PLAIN}
    return {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": list(features)}}


def commit(path: Path, version: int, *actions: Json) -> None:
    """Adds a commit to the table's log, as any writer would."""
    log = path / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    lines = ({"commitInfo": {"timestamp": version, "operation": "WRITE"}}, *actions)
    (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
