"""What a checkpoint says that delta-rs knows and doesn't tell: clustering columns, and rows that deletion vectors delete.

A checkpoint is read by delta-rs all the same: copied to where it is the one file of a table whose log is written here.
"""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deltalake import DeltaTable, QueryBuilder

from sluice.tables.commit_files import FilesUnknownError
from sluice.tables.log_commits import Columns, clustering_of, deleted_rows_of
from sluice.tables.log_files import Checkpoint, LogFiles

LARGEST = 256 * 1024 * 1024
"""Bytes of a checkpoint that are read, in all its files."""
_MOST_VECTORS = 200_000

_COPY = "checkpoint.parquet"

_DOMAINS = 'SELECT "domainMetadata" AS action FROM c WHERE "domainMetadata" IS NOT NULL'
_SIDECARS = "SELECT sidecar AS action FROM c WHERE sidecar IS NOT NULL"
_VECTORS = 'SELECT "add" AS action FROM c WHERE "add" IS NOT NULL AND "add"."deletionVector" IS NOT NULL'
"""Whole actions: of one that is null, its fields are not, as far as queries are concerned."""


@dataclass
class AtCheckpoint:
    clustering: Columns = ()
    deleted_rows: dict[str, int] = field(default_factory=dict)
    """By files' paths; not told where nobody asks for them."""


def read_checkpoint(files: LogFiles, checkpoint: Checkpoint, *, with_deleted_rows: bool) -> AtCheckpoint:
    """Raises FilesUnknownError, or one of the errors of delta-rs."""
    reader = _Reader(files, with_deleted_rows)
    try:
        for name in checkpoint.files:
            (reader.read_json if name.endswith(".json") else reader.read_parquet)(name)
        for name in reader.sidecars if with_deleted_rows else ():
            reader.read_vectors(name)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise FilesUnknownError(
            f"the checkpoint of version {checkpoint.version} is not understood: {error!r}"
        ) from error
    return reader.found


class _Reader:
    def __init__(self, files: LogFiles, with_deleted_rows: bool) -> None:
        self.found = AtCheckpoint()
        self.sidecars: list[str] = []
        self._files = files
        self._with_deleted_rows = with_deleted_rows
        self._left = LARGEST

    def read_json(self, name: str) -> None:
        content = self._files.content(name, self._left)
        self._left -= len(content)
        for line in content.splitlines():
            action = json.loads(line)
            if action.get("domainMetadata") is not None:
                self._heed(action["domainMetadata"])
            elif action.get("sidecar") is not None:
                self._heed_sidecar(action["sidecar"]["path"])
            elif action.get("add") is not None:
                self._heed_rows(action["add"]["path"], deleted_rows_of(action["add"]))

    def read_parquet(self, name: str) -> None:
        with self._as_table(name) as table:
            for domain in _actions(table, _DOMAINS):
                self._heed(domain)
            for sidecar in _actions(table, _SIDECARS):
                self._heed_sidecar(sidecar["path"])
            self._read_vectors(table)

    def read_vectors(self, sidecar: str) -> None:
        with self._as_table(sidecar) as table:
            self._read_vectors(table)

    def _read_vectors(self, table: DeltaTable) -> None:
        if self._with_deleted_rows:
            for added in _actions(table, _VECTORS):
                self._heed_rows(added["path"], deleted_rows_of(added))

    def _heed(self, domain: dict[str, Any]) -> None:
        columns = clustering_of(domain)
        if columns is not None:
            self.found.clustering = columns

    def _heed_sidecar(self, path: str) -> None:
        if "/" in path or not path.endswith(".parquet"):
            raise FilesUnknownError(f"a checkpoint has a part, {path!r}, that is not in the log's own folder")
        self.sidecars.append(f"_sidecars/{path}")

    def _heed_rows(self, path: str, deleted_rows: int) -> None:
        if deleted_rows:
            self.found.deleted_rows[path] = deleted_rows
        if len(self.found.deleted_rows) > _MOST_VECTORS:
            raise FilesUnknownError(f"more than {_MOST_VECTORS} of its files have deletion vectors")

    @contextmanager
    def _as_table(self, name: str) -> Iterator[DeltaTable]:
        with tempfile.TemporaryDirectory(prefix="checkpoint-") as folder:
            size = self._files.fetch(name, Path(folder, _COPY), self._left)
            self._left -= size
            yield _as_table(Path(folder), size)


def _actions(table: DeltaTable, query: str) -> Iterator[dict[str, Any]]:
    for batch in QueryBuilder().register("c", table).execute(query):
        yield from batch.column("action").to_pylist()


def _as_table(folder: Path, size: int) -> DeltaTable:
    log = folder / "_delta_log"
    log.mkdir()
    actions = (
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": "checkpoint",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps(_SCHEMA),
                "partitionColumns": [],
                "configuration": {},
                "createdTime": 0,
            }
        },
        {
            "add": {
                "path": _COPY,
                "partitionValues": {},
                "size": size,
                "modificationTime": 0,
                "dataChange": True,
            }
        },
    )
    (log / f"{0:020}.json").write_text("\n".join(map(json.dumps, actions)), encoding="utf-8")
    return DeltaTable(str(folder))


def _field(name: str, kind: object) -> dict[str, object]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


def _struct(*fields: dict[str, object]) -> dict[str, object]:
    return {"type": "struct", "fields": list(fields)}


_SCHEMA = _struct(
    _field(
        "add",
        _struct(_field("path", "string"), _field("deletionVector", _struct(_field("cardinality", "long")))),
    ),
    _field(
        "domainMetadata",
        _struct(_field("domain", "string"), _field("configuration", "string"), _field("removed", "boolean")),
    ),
    _field("sidecar", _struct(_field("path", "string"))),
)
"""Of what a checkpoint has that is asked for here."""
