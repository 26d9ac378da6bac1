"""What one look at a table's log tells: one version of the table, its files, and what commits have said so far."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sluice.tables.facts import TableFacts

CLUSTERING = "clusterBy"
"""The key of `LogHistory.changed_by` under which the clustering columns stand; all others are names of properties."""

Partition = Mapping[str, str | None]
"""The values of its columns, as a log writes them, under the names that the table's schema gives the columns."""


@dataclass(frozen=True)
class TableState:
    """One version of the table. As in its log: names of properties, columns and features in the case that they have there."""

    exists: bool = True
    unread: str | None = None
    """Why the log could not be read; then nothing else is known."""
    holds: str | None = None
    """Where there is no table: the name of something else that lies in its place, if that is known."""
    version: int | None = None
    table_id: str | None = None
    reader_version: int = 1
    writer_version: int = 2
    reader_features: frozenset[str] = frozenset()
    writer_features: frozenset[str] = frozenset()
    properties: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] | None = ()
    """A field within a column as `column.field`. None: the table is clustered, and the columns could not be read."""
    columns: tuple[str, ...] | None = None
    """The schema's own columns, in order. None: not known."""


@dataclass(frozen=True, slots=True)
class File:
    partition: Partition
    size: int
    """Bytes."""
    rows: int | None = None
    """Those that are deleted included. None: the log doesn't say."""
    deleted_rows: int = 0
    """As its deletion vector says."""


@dataclass(frozen=True)
class Removals:
    """When commits of a table removed files."""

    at: tuple[datetime, ...]
    known_since: datetime | None = None
    """From when on all of them are known. None: since the table was created."""


@dataclass(frozen=True)
class LastVacuum:
    """The last one that came to its end."""

    at: datetime
    retention: timedelta


@dataclass(frozen=True)
class CommitSummary:
    version: int
    at: datetime
    operation: str | None
    """As the log names it, such as MERGE. None: the commit says nothing of itself."""
    engine: str | None
    """As the log names it, such as delta-rs:1.6.6."""
    job: str | None
    """The job that made it, as namespace/name. None: it is foreign."""


@dataclass(frozen=True)
class LogHistory:
    """What commits told that were read one after another, each once. What is older than `since` is not known."""

    since: datetime | None = None
    """None: all commits since the table was created are known."""
    last_by_operation: Mapping[str, CommitSummary] = field(default_factory=dict)
    foreign_commits: int = 0
    last_foreign: CommitSummary | None = None
    changed_by: Mapping[str, CommitSummary] = field(default_factory=dict)
    """The commit that last changed a property, or the clustering columns."""
    removals: Removals = field(default_factory=lambda: Removals(at=()))
    last_vacuum: LastVacuum | None = None


@dataclass(frozen=True)
class TableObservation:
    at: datetime
    """When the read began."""
    state: TableState
    facts: TableFacts
    files: tuple[File, ...] | None = None
    """None: not known, or too many to be kept."""
    size: int | None = None
    """Bytes of the files of this version."""
    count: int | None = None
    """How many files this version has."""
    history: LogHistory = field(default_factory=LogHistory)
