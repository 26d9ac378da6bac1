"""Which commits are a statement's own: those in a table's log that carry its stamp.

Delta's history is the public way to the log, whoever keeps it. It is read newest first, in pages, down to the version
that the table had before the statement, and not at all if the version is still the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluice_runner import tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ABSENT = -1
"""The version of a table that does not exist."""

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
    return f"{commit.table.rstrip('/')}/_delta_log/{commit.version:020}.json"


def versions(spark: SparkSession, names: Sequence[Sequence[str]]) -> dict[str, int]:
    """The newest version of each table behind these names, by location."""
    return {table.location: table.version for name in names for table in tables.find(spark, name)}


def since(spark: SparkSession, names: Sequence[Sequence[str]], before: Mapping[str, int]) -> Iterator[Commit]:
    """Every commit after those versions, oldest first within a table, including tables created since."""
    for location, version in versions(spark, names).items():
        floor = before.get(location, ABSENT)
        if version > floor:
            yield from reversed(_newer(spark, location, floor, version - floor))


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
                metrics = selected(row["operationMetrics"] or {})
                yield Commit(
                    location,
                    row["version"],
                    row["operation"],
                    metrics,
                    row["userMetadata"],
                    row["engineInfo"],
                    row["readVersion"],
                )
        if len(rows) < limit:
            return
        limit *= 4


def selected(metrics: Mapping[str, str]) -> dict[str, int]:
    """The metrics that people ask about, as numbers: the result has room for only a few."""
    return {
        name: int(value) for name, value in sorted(metrics.items()) if name in _METRICS and value.isdecimal()
    }
