"""Logs of few bytes on disk or in one line that take much memory to read."""

import shutil
from pathlib import Path
from typing import Any

from arro3.core import Array, DataType, Table
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from unit.tables.lake import PLAIN, column, commit, metadata, orders

_PIECE = 100_000
_TEXTS = {"type": "map", "keyType": "string", "valueType": "string", "valueContainsNull": True}


def equal_rows_in_checkpoint(path: Path, rows: int) -> None:
    """Writes a table whose log is a checkpoint that adds the same file over and over: 4,000,000 of them take 250 KB of Parquet."""
    orders(path, partition_by=())
    add = {"path": "a.parquet", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    commit(path, 1, {"add": add})
    DeltaTable(str(path)).create_checkpoint()
    log, parts = path / "_delta_log", path / "parts"
    (checkpoint,) = log.glob("*.checkpoint.parquet")
    commit(
        parts, 0, {"protocol": PLAIN}, metadata(*_COLUMNS), {"add": add | {"size": checkpoint.stat().st_size}}
    )
    shutil.copy(checkpoint, parts / "a.parquet")
    actions = QueryBuilder().register("c", DeltaTable(str(parts))).execute("SELECT * FROM c")
    (batch,) = Table.from_arrow(actions).combine_chunks().to_batches()
    added = [row is not None and row["path"] is not None for row in batch.column("add").to_pylist()]
    others = Array([at for at, is_added in enumerate(added) if not is_added], DataType.int32())
    piece = batch.take(Array([added.index(True)] * _PIECE, DataType.int32()))
    write_deltalake(
        str(path / "whole"), Table.from_batches([batch.take(others), *[piece] * (rows // _PIECE)])
    )
    (whole,) = (path / "whole").glob("*.parquet")
    whole.replace(checkpoint)
    for commit_file in log.glob("*.json"):
        commit_file.unlink()
    shutil.rmtree(parts)
    shutil.rmtree(path / "whole")


def large_line_in_commit(path: Path, mebibytes: int) -> None:
    """Writes a table whose second commit says so much of itself in one line."""
    orders(path)
    with (path / "_delta_log" / f"{1:020}.json").open("w", encoding="utf-8") as log:
        log.write('{"commitInfo":{"operation":"')
        for _ in range(mebibytes):
            log.write("x" * (1 << 20))
        log.write('"}}\n')


def _struct(**fields: Any) -> dict[str, object]:
    return {"type": "struct", "fields": [column(name, kind) for name, kind in fields.items()]}


_COLUMNS = (
    column("protocol", _struct(minReaderVersion="integer", minWriterVersion="integer")),
    column(
        "metaData",
        _struct(
            id="string",
            format=_struct(provider="string", options=_TEXTS),
            schemaString="string",
            partitionColumns={"type": "array", "elementType": "string", "containsNull": True},
            configuration=_TEXTS,
            createdTime="long",
        ),
    ),
    column(
        "add",
        _struct(
            path="string", partitionValues=_TEXTS, size="long", modificationTime="long", dataChange="boolean"
        ),
    ),
)
