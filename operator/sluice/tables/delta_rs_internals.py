"""What delta-rs knows of a version and doesn't tell: clustering columns, and rows that deletion vectors delete."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from deltalake import DeltaTable

from sluice.tables.checkpoints import read_checkpoint
from sluice.tables.commit_files import FilesUnknownError
from sluice.tables.log_commits import Columns, ReadCommit
from sluice.tables.log_files import LogFiles
from sluice.tables.table_observation import TableState

_CLUSTERING, _VECTORS = "clustering", "deletionVectors"
_PHYSICAL = "delta.columnMapping.physicalName"


@dataclass
class DeltaRsInternals:
    """None: not known."""

    clustering: Columns | None = ()
    """As files spell them."""
    deleted_rows: dict[str, int] | None = field(default_factory=dict)
    """By files' paths."""

    def follow(self, commits: Sequence[ReadCommit]) -> None:
        for commit in commits:
            if commit.clustering is not None:
                self.clustering = commit.clustering
            if self.deleted_rows is not None:
                # A file whose deletion vector changes is removed and added again by one commit.
                for path in commit.removed:
                    self.deleted_rows.pop(path, None)
                self.deleted_rows.update(commit.deleted_rows)


def hidden_in(
    state: TableState, files: LogFiles, commits: Sequence[ReadCommit], before: DeltaRsInternals | None
) -> DeltaRsInternals:
    """Of the version that the state is of. The commits are its latest, and all since `before`. What they don't tell is taken from
    a checkpoint. Raises one of the errors of delta-rs."""
    found = _begun(commits, before)
    found.follow(commits)
    if _CLUSTERING not in state.writer_features:
        found.clustering = ()
    if _VECTORS not in state.writer_features:
        found.deleted_rows = {}
    if found.clustering is None or found.deleted_rows is None:
        told = _by_checkpoint(
            state.version or 0, files, commits, with_deleted_rows=found.deleted_rows is None
        )
        found.clustering = told.clustering if found.clustering is None else found.clustering
        found.deleted_rows = told.deleted_rows if found.deleted_rows is None else found.deleted_rows
    return found


def _begun(commits: Sequence[ReadCommit], before: DeltaRsInternals | None) -> DeltaRsInternals:
    if before is not None:
        rows = before.deleted_rows
        return DeltaRsInternals(before.clustering, None if rows is None else dict(rows))
    return DeltaRsInternals() if commits and commits[0].version == 0 else DeltaRsInternals(None, None)


def _by_checkpoint(
    version: int, files: LogFiles, commits: Sequence[ReadCommit], *, with_deleted_rows: bool
) -> DeltaRsInternals:
    """By the last one, if all commits since are there."""
    checkpoint = files.last_checkpoint()
    if checkpoint is None or not version - len(commits) <= checkpoint.version <= version:
        return DeltaRsInternals(None, None)
    try:
        read = read_checkpoint(files, checkpoint, with_deleted_rows=with_deleted_rows)
    except FilesUnknownError:
        return DeltaRsInternals(None, None)
    found = DeltaRsInternals(read.clustering, read.deleted_rows)
    found.follow([commit for commit in commits if commit.version > checkpoint.version])
    return found


def logical(columns: Columns | None, table: DeltaTable) -> tuple[str, ...] | None:
    """As the schema names them. None: not known."""
    if columns is None:
        return None
    fields: list[dict[str, Any]] = json.loads(table.schema().to_json())["fields"]
    named = [".".join(_names_on(path, fields)) for path in columns]
    return None if "" in named else tuple(named)


def _names_on(path: tuple[str, ...], fields: list[dict[str, Any]]) -> Iterator[str]:
    """Nothing, if the schema has no such column."""
    names = []
    for step in path:
        found = next((one for one in fields if one["metadata"].get(_PHYSICAL, one["name"]) == step), None)
        if found is None:
            return
        names.append(found["name"])
        kind = found["type"]
        fields = kind["fields"] if isinstance(kind, dict) and kind.get("type") == "struct" else []
    yield from names
