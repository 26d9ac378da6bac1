"""Which commits are a statement's own: those in a table's log that carry its stamp.

The few that came while a statement ran are read from their files, down to the version that the table had before it, and
nothing is read if that is still the same. Delta's history is the way to more: it is read newest first, in pages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sluice_runner import tables
from sluice_runner.java_classes import has_class, java_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ABSENT = -1
"""The version of a table that does not exist."""

_COMMIT_INFOS = "dev.sluice.delta.CommitInfos"
_TRANSACTIONS = "dev.sluice.delta.Transactions"

_FEW = 20
"""Commits that are read one after another."""

_METRICS = frozenset(
    {
        "executionTimeMs",
        "numAddedFiles",
        "numCopiedRows",
        "numDeletedFiles",
        "numDeletedRows",
        "numDeletionVectorsAdded",
        "numDeletionVectorsRemoved",
        "numFiles",
        "numOutputBytes",
        "numOutputRows",
        "numRemovedBytes",
        "numRemovedFiles",
        "numRestoredFiles",
        "numSourceRows",
        "numTargetFilesAdded",
        "numTargetFilesRemoved",
        "numTargetRowsDeleted",
        "numTargetRowsInserted",
        "numTargetRowsUpdated",
        "numUpdatedRows",
    }
)


class TakenAwayError(Exception):
    """A table was removed, or made anew, while a statement wrote it."""


@dataclass(frozen=True)
class Commit:
    table: str
    version: int
    operation: str
    metrics: Mapping[str, int]
    user_metadata: str | None
    engine: str | None = None
    read_version: int | None = None


def file_of(commit: Commit) -> str:
    """Where it is in the table's log."""
    return _file(commit.table, commit.version)


def _file(table: str, version: int) -> str:
    return f"{table.rstrip('/')}/_delta_log/{version:020}.json"


def versions(
    spark: SparkSession, names: Sequence[Sequence[str]], *, for_sure: bool = False
) -> dict[str, int]:
    """The newest version of each table behind these names, by location. `for_sure`: a name that can't be looked up is an error."""
    find = tables.find_for_sure if for_sure else tables.find
    return {table.location: table.version for name in names for table in find(spark, name)}


def since(
    spark: SparkSession, names: Sequence[Sequence[str]], before: Mapping[str, int], *, may_move: bool = False
) -> Iterator[Commit]:
    """Every commit after those versions, oldest first within a table, including tables created since. `may_move`: whether the names
    may have come to lead elsewhere."""
    now = versions(spark, names, for_sure=True)
    for location, version in before.items():
        _refuse_another(location, version, now.get(location), may_move=may_move)
    yield from newer(spark, before, now)


def _refuse_another(location: str, before: int, now: int | None, *, may_move: bool) -> None:
    """Refuses a table that was taken away meanwhile: its log had what was committed."""
    if (now is None and not may_move) or (now is not None and now < before):
        what = (
            "is gone" if now is None else f"was made anew: it was at version {before} before, and is at {now}"
        )
        raise TakenAwayError(
            f"the table {location} {what}. Its log had told what the statement committed: find out who removed it, and look for "
            "the rows before you run the job again"
        )


def newer(spark: SparkSession, before: Mapping[str, int], now: Mapping[str, int]) -> Iterator[Commit]:
    """Every commit between these versions of tables."""
    for location, version in now.items():
        floor = before.get(location, ABSENT)
        if version > floor:
            yield from _between(spark, location, floor, version)


def _between(spark: SparkSession, location: str, floor: int, newest: int) -> list[Commit]:
    few = _few(spark, location, range(floor + 1, newest + 1)) if newest - floor <= _FEW else None
    return few if few is not None else list(reversed(_newer(spark, location, floor, newest - floor)))


def _few(spark: SparkSession, location: str, versions: Sequence[int]) -> list[Commit] | None:
    """None if one isn't a file of its version's name: a coordinator of commits may keep it elsewhere for a while. So it is where
    an application's own image doesn't have our jar."""
    if not has_class(spark, _COMMIT_INFOS):
        return None
    conf: Any = spark._jsparkSession.sessionState().newHadoopConf()
    found = java_class(spark, _COMMIT_INFOS).of([_file(location, version) for version in versions], conf)
    if found is None:
        return None
    return [
        _commit(location, version, json.loads(info)) for version, info in zip(versions, found, strict=True)
    ]


def txn_versions(
    spark: SparkSession, location: str, app_id: str, floor: int, newest: int
) -> Sequence[int] | None:
    """The txn versions that the commits after `floor` have set for an appId, oldest first; None if they are many, or as `_few`."""
    if not 0 <= newest - floor <= _FEW or not has_class(spark, _TRANSACTIONS):
        return None
    conf: Any = spark._jsparkSession.sessionState().newHadoopConf()
    files = [_file(location, version) for version in range(floor + 1, newest + 1)]
    found: Any = java_class(spark, _TRANSACTIONS).of(files, app_id, conf)
    return None if found is None else list(found)


def _commit(location: str, version: int, info: Mapping[str, Any]) -> Commit:
    """`info`: as Delta's log and its history name the parts."""
    return Commit(
        location,
        version,
        info.get("operation") or "",
        selected(info.get("operationMetrics") or {}),
        info.get("userMetadata"),
        info.get("engineInfo"),
        info.get("readVersion"),
    )


def _newer(spark: SparkSession, location: str, floor: int, expected: int) -> list[Commit]:
    newer: list[Commit] = []
    for commit in history(spark, location, expected):
        if commit.version > floor:
            newer.append(commit)
        if commit.version <= floor + 1:
            break
    return newer


def history(spark: SparkSession, location: str, page: int) -> Iterator[Commit]:
    """A table's commits, newest first, read as they are asked for: others may commit meanwhile."""
    seen: int | None = None
    limit = page
    while True:
        rows = spark.sql(
            f"DESCRIBE HISTORY {tables.quoted(tables.path_name(location))} LIMIT {limit}"
        ).collect()
        for row in rows:
            if seen is None or row["version"] < seen:
                seen = row["version"]
                yield _commit(location, row["version"], row.asDict())
        if len(rows) < limit:
            return
        limit *= 4


def selected(metrics: Mapping[str, str]) -> dict[str, int]:
    """The metrics that people ask about, as numbers: the result has room for only a few."""
    return {
        name: int(value) for name, value in sorted(metrics.items()) if name in _METRICS and value.isdecimal()
    }
