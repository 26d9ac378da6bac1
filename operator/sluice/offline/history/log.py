"""Reads the commits of a `_delta_log` folder.

Checkpoints hold a table's state, not who made which commit: what was cleaned up from the log can no longer be told, and the
answer says how much that is.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sluice.api.base import Json
from sluice.offline.history.commit_reads import Bounds, bounds_of
from sluice.offline.history.writers import writer_of

Partition = tuple[str | None, ...]

_COMMIT = re.compile(r"^(\d{20})\.json$")
_DYNAMIC = "isDynamicPartitionOverwrite"


class LogNotFoundError(LookupError):
    """There is no log to read."""


@dataclass(frozen=True, slots=True)
class HistoryCommit:
    version: int
    timestamp: int
    """The time, in milliseconds."""
    writer: str
    operation: str
    read_version: int | None
    reads: Bounds | None
    """What was read; None: nothing."""
    adds: frozenset[Partition]
    removes: frozenset[Partition]
    data_change: bool
    metadata: bool
    took: int | None = None
    """How long its statement ran by its own metrics, in milliseconds: MERGE, UPDATE and DELETE say so."""
    engine: str = ""
    """What it says of the engine that made it, such as `Apache-Spark/4.2.0 Delta-Lake/4.4.0`."""
    is_named: bool = True
    """Whether its writer has a name of its own."""

    @property
    def touches(self) -> frozenset[Partition]:
        return self.adds | self.removes


@dataclass
class Log:
    location: str
    partition_columns: tuple[str, ...]
    commits: list[HistoryCommit] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    checkpoints: int = 0
    """Checkpoints, which are not read: they hold the table's state, not who made which commit."""
    missing: int = 0
    """How many versions between the first and the last are missing."""


def read_log(table: Path) -> Log:
    """Reads the log. `table`: a table's folder, its `_delta_log`, or a copy of one."""
    folder = table if table.name == "_delta_log" else table / "_delta_log"
    if not folder.is_dir():
        raise LogNotFoundError(_no_log(table))
    names = sorted(path.name for path in folder.iterdir())
    files = [folder / name for name in names if _COMMIT.match(name)]
    checkpoints = sum(".checkpoint" in name for name in names)
    if not files:
        why = f"there are no commits in it (files such as {0:020}.json)"
        if checkpoints:
            why += (
                ", only checkpoints, which do not say who made which commit: the commits were not copied, or cleaned up "
                "(delta.logRetentionDuration)"
            )
        raise LogNotFoundError(f"{folder}: {why}")
    versions = [int(file.name[:20]) for file in files]
    missing = versions[-1] - versions[0] + 1 - len(versions)
    log = Log(str(table), (), checkpoints=checkpoints, missing=missing)
    columns: tuple[str, ...] | None = None
    for file in files:
        try:
            actions = [json.loads(line) for line in file.read_bytes().splitlines() if line.strip()]
            columns = _partition_columns(actions) or columns
            if columns is None:
                columns = _named_by_files(actions)
            log.commits.append(_commit(int(file.name[:20]), actions, columns or ()))
        except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
            log.unreadable.append(f"{file.name}: {_why_unreadable(error)}")
    if not log.commits:
        raise LogNotFoundError(f"{folder}: no commit can be read, such as {log.unreadable[0]}")
    log.partition_columns = columns or ()
    return log


def _why_unreadable(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"the file cannot be read: {error.strerror or error}"
    if isinstance(error, UnicodeDecodeError):
        return "this is not UTF-8 text, as a commit is: copy the file again"
    if isinstance(error, json.JSONDecodeError):
        return "this is not JSON, as a commit is: copy the file again"
    return "this is JSON, but not a commit as Delta writes it: copy the file again"


def _no_log(table: Path) -> str:
    scheme, _, rest = str(table).partition(":/")
    if not rest:
        return (
            f"{table}: there is no _delta_log folder here. If the table is in an object store, copy its log, such as: "
            "aws s3 sync s3://bucket/table/_delta_log ./table/_delta_log"
        )
    place = f"{scheme}://{rest.lstrip('/').removesuffix('/_delta_log')}"
    copied = f"./{table.parent.name if table.name == '_delta_log' else table.name}"
    then = f"sluice explain --history {copied}"
    copies = None
    if scheme.startswith("s3"):
        copies = f'aws s3 sync s3://{place.partition("://")[2]}/_delta_log {copied}/_delta_log --exclude "*" --include "*.json"'
    if scheme == "gs":
        copies = f"gcloud storage rsync {place}/_delta_log {copied}/_delta_log"
    how = f"Copy the log, then replay the copy: {copies} && {then}"
    if copies is None:
        how = f"Copy {place}/_delta_log to {copied}/_delta_log, then replay the copy: {then}"
    return f"{place}: only local folders are read. {how}"


def _partition_columns(actions: list[Json]) -> tuple[str, ...] | None:
    for action in actions:
        if "metaData" in action:
            return tuple(action["metaData"].get("partitionColumns") or ())
    return None


def _named_by_files(actions: list[Json]) -> tuple[str, ...] | None:
    """The partition columns that files name, where the commit that made the table is gone."""
    for action in actions:
        values = (action.get("add") or action.get("remove") or {}).get("partitionValues")
        if values is not None:
            return tuple(values)
    return None


def _commit(version: int, actions: list[Json], columns: tuple[str, ...]) -> HistoryCommit:
    info: Json = next((action["commitInfo"] for action in actions if "commitInfo" in action), {})
    adds = [action["add"] for action in actions if "add" in action]
    removes = [action["remove"] for action in actions if "remove" in action]
    app_ids = [action["txn"]["appId"] for action in actions if "txn" in action]
    removed = frozenset(_partition(file, columns) for file in removes)
    added = frozenset(_partition(file, columns) for file in adds)
    writer = writer_of(info, app_ids)
    return HistoryCommit(
        version=version,
        timestamp=int(info.get("inCommitTimestamp") or info.get("timestamp") or 0),
        writer=writer.name,
        operation=str(info.get("operation") or "unknown"),
        read_version=None if info.get("readVersion") is None else int(info["readVersion"]),
        reads=_reads(info, columns, removed) if version > 0 and (added or removed) else None,
        adds=added,
        removes=removed,
        data_change=any(file.get("dataChange", True) for file in (*adds, *removes)),
        metadata=version > 0 and any("metaData" in action or "protocol" in action for action in actions),
        took=_took(info),
        engine=str(info.get("engineInfo") or ""),
        is_named=writer.is_named,
    )


def _took(info: Json) -> int | None:
    metrics = info.get("operationMetrics")
    text = str(metrics.get("executionTimeMs") or "") if isinstance(metrics, dict) else ""
    return int(text) if text.isascii() and text.isdigit() else None


def _partition(file: Mapping[str, Any], columns: tuple[str, ...]) -> Partition:
    values = file.get("partitionValues")
    if values is None:
        values = dict(_from_path(str(file.get("path", ""))))
    return tuple(values.get(name) for name in columns)


def _from_path(path: str) -> Iterator[tuple[str, str | None]]:
    """The partition as a file's path says it: old writers don't repeat a removed file's partition."""
    for part in unquote(path).split("/")[:-1]:
        name, equals, value = part.partition("=")
        if equals:
            yield name, None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value)


def _reads(info: Json, columns: tuple[str, ...], removed: frozenset[Partition]) -> Bounds | None:
    parameters = info.get("operationParameters") or {}
    operation = str(info.get("operation") or "")
    if operation == "OPTIMIZE" or str(parameters.get(_DYNAMIC, "")).lower() == "true":
        return Bounds(only=removed)  # what it rewrites is all that it looks at
    blind = info.get("isBlindAppend")
    appends = parameters.get("mode", parameters.get("outputMode")) == "Append"
    if blind or (blind is None and appends and not removed):
        return None
    return bounds_of(parameters, columns)
