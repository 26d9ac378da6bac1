"""What one commit's file says: of itself, of the table's metadata, and which files it removed or gave a deletion vector."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sluice.tables.commit_files import FilesUnknownError
from sluice.tables.log_files import LogFiles

CLUSTERING_DOMAIN = "delta.clustering"

Json = Mapping[str, Any]
Columns = tuple[tuple[str, ...], ...]
"""Clustering columns, each as the names on the way to it, as files spell them."""


@dataclass(frozen=True)
class ReadCommit:
    version: int
    size: int
    """Bytes of its file."""
    info: Json
    """What it says of itself; empty: nothing."""
    properties: Mapping[str, str] | None
    """None: it leaves the table's metadata as they were."""
    clustering: Columns | None
    """None: it leaves them as they were."""
    deleted_rows: Mapping[str, int] = field(default_factory=dict)
    """Of the files that it gave a deletion vector, by their paths."""
    removed: tuple[str, ...] = ()
    """The paths of files that it removed."""

    @property
    def at(self) -> datetime | None:
        """When it was made, as it says itself."""
        for name in ("inCommitTimestamp", "timestamp"):
            told = self.info.get(name)
            if type(told) is int:
                try:
                    return datetime.fromtimestamp(told / 1000, UTC)
                except (OverflowError, ValueError, OSError):
                    continue
        return None


def read_commit(files: LogFiles, version: int) -> ReadCommit:
    """Raises FilesUnknownError, or one of the errors of delta-rs."""
    content = files.commit(version)
    try:
        return _of_lines(version, content)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise FilesUnknownError(f"its file is not understood: {error!r}") from error


def _of_lines(version: int, content: bytes) -> ReadCommit:
    info: Json = {}
    properties: Mapping[str, str] | None = None
    clustering: Columns | None = None
    removed: list[str] = []
    deleted_rows: dict[str, int] = {}
    for line in content.splitlines():
        # Most lines of large commits tell of files without.
        if line.startswith(b'{"add":') and b'"deletionVector"' not in line:
            continue
        action = json.loads(line) if line.strip() else {}
        if action.get("commitInfo") is not None:
            info = dict(action["commitInfo"])
        elif action.get("metaData") is not None:
            properties = _texts(action["metaData"].get("configuration") or {})
        elif action.get("domainMetadata") is not None:
            found = clustering_of(action["domainMetadata"])
            clustering = clustering if found is None else found
        elif action.get("remove") is not None:
            removed.append(str(action["remove"]["path"]))
        elif action.get("add") is not None:
            count = deleted_rows_of(action["add"])
            if count:
                deleted_rows[str(action["add"]["path"])] = count
    return ReadCommit(version, len(content), info, properties, clustering, deleted_rows, tuple(removed))


def clustering_of(domain: Json) -> Columns | None:
    """The columns that a domain's metadata names; None if it is another domain. Raises ValueError, TypeError or KeyError."""
    if domain["domain"] != CLUSTERING_DOMAIN:
        return None
    if domain.get("removed") is True:
        return ()
    columns = json.loads(domain["configuration"])["clusteringColumns"]
    paths = tuple(tuple(path) for path in columns)
    if not all(path and all(isinstance(name, str) for name in path) for path in paths):
        raise ValueError("clusteringColumns are no names")
    return paths


def deleted_rows_of(add: Json) -> int:
    vector = add.get("deletionVector")
    return 0 if vector is None else int(vector["cardinality"])


def _texts(properties: Json) -> dict[str, str]:
    return {str(name): str(value) for name, value in properties.items()}
