"""A footprint: what one statement's transaction will record about one table, in the terms of Delta's conflict check."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import cached_property

from sluice.api.job import Operation
from sluice.footprint.regions import EVERYTHING, NOTHING
from sluice.footprint.sources import NO_SOURCES, Sources
from sluice.predicates import Region, to_sql
from sluice.tables import Dialect, LogStore, TableFacts, TableKey
from sluice.tables.fingerprint import fingerprint_of

__all__ = [
    "EVERYTHING",
    "NOTHING",
    "Follows",
    "JobFootprint",
    "Metadata",
    "Protocol",
    "TableFootprint",
    "unknown_footprints",
]


class Metadata(Enum):
    """Whether the commit carries a Metadata action, and what it does to those who began before it."""

    NONE = "none"
    IDENTITY = "identity"
    """The high-water mark of an identity column only; where no facts are known, perhaps that."""
    SAME = "same"
    """Surely the metadata that was there before."""
    ENABLES = "enables"
    """Features only (`enables`), which later versions let others commit through."""
    MAY_CHANGE = "may change"
    RESTORES = "restores"
    """That of an older version, mostly the same."""
    CHANGES = "changes"


class Follows(Enum):
    """Which commits to its source a stream passes over instead of failing at them."""

    APPENDS = "appends"
    DELETES = "deletes"
    """Also those that only take files away (ignoreDeletes)."""
    CHANGES = "changes"
    """All changes of rows (skipChangeCommits, ignoreChanges, readChangeFeed)."""


class Protocol(Enum):
    NONE = "none"
    MAY_ADD = "may add"
    REMOVES = "removes"


@dataclass(frozen=True)
class TableFootprint:
    """What one statement does to one table. Regions are sets of partitions; all of them hold at least what is touched."""

    table: TableKey
    statement: int
    operation: Operation
    reads: Region = EVERYTHING
    """Partitions whose *added* files abort it."""
    reads_files: Region = EVERYTHING
    """Partitions whose *removed* files abort it."""
    adds: Region = EVERYTHING
    """Where it may add files."""
    removes: Region = EVERYTHING
    """Where it may remove files."""
    blind: bool = False
    """It only adds files and looks at nothing: other engines' WriteSerializable lets losers ignore such."""
    data_change: bool = True
    """False for rewrites of the same rows, for which added files are no conflict."""
    metadata: Metadata = Metadata.NONE
    enables: frozenset[str] = frozenset()
    protocol: Protocol = Protocol.NONE
    domains: frozenset[str] = frozenset()
    txn_app_id: str | None = None
    checkpoint: str | None = None
    single_attempt: bool = False
    """It aborts if anything at all was committed meanwhile."""
    replaces: bool = False
    """It makes the table anew."""
    creates: bool = False
    """It may be the first commit of the table."""
    retries_itself: bool = False
    """It begins again by itself after a change of metadata (OPTIMIZE)."""
    certain: bool = False
    """It surely commits; a DML that matches no row doesn't."""
    adds_surely: bool = False
    keeps_no_row: bool = False
    """All rows go and none is written again: what it adds is new."""
    hook: bool = False
    """It runs after the job's own commit, and its loss doesn't fail the job."""
    compacts: bool = False
    """Delta compacts small files after its commit."""
    retention_hours: float | None = None
    """VACUUM: files younger than this stay."""
    is_guess: bool = False
    """Of a job that can't be read: it may do this."""
    sources: Sources = NO_SOURCES
    """What it selects from, its own table perhaps among it."""
    told_by: tuple[TableKey, ...] = ()
    """Those whose columns tell where its rows land."""
    write_serializable: bool = False
    facts: TableFacts | None = field(default=None, compare=False, repr=False)
    """What was known of the table when the statement was read; None where that may be wrong by then."""
    table_id: str | None = None
    """By its log when that was last read, whatever has changed since."""
    not_by_row: str | None = None
    """Why an engine that tells conflicts row by row does not do so for this statement."""
    previews_rows: bool = False
    """The session asks for that where a runtime only previews it."""
    log_store: LogStore = LogStore.UNKNOWN
    lock_table: str = ""
    """Of a store that tells commits apart by entries elsewhere: where they are."""
    widened: tuple[str, ...] = ()
    """What was not understood, and is therefore taken to touch more."""
    reads_advice: str | None = None
    """What would make it read less, with the same result."""
    writes_advice: str | None = None

    @property
    def is_blind(self) -> bool:
        return self.blind and not self.changes_metadata

    @property
    def changes_metadata(self) -> bool:
        return self.metadata not in (Metadata.NONE, Metadata.IDENTITY)

    @property
    def may_change_table(self) -> bool:
        """What is known of the table may be wrong after it."""
        return self.changes_metadata or self.protocol is not Protocol.NONE or self.creates or self.replaces

    @cached_property
    def only_files(self) -> bool:
        """It adds and removes files of a table that is there, and does nothing else that others could lose to, or it to them:
        nearly all footprints."""
        return all(getattr(self, name) == plain for name, plain in _OF_PLAIN_WRITES)

    @property
    def may_commit_first(self) -> bool:
        """Whether it may make a table where there is none."""
        return self.creates or self.replaces

    @cached_property
    def reads_text(self) -> str:
        """What it reads, as a condition for people."""
        return _text(self.reads if self.data_change else self.reads_files)

    @cached_property
    def writes_text(self) -> str:
        """Where it adds rows, as a condition for people."""
        return _text(self.adds)


BESIDE_FILES = frozenset(
    {"metadata", "protocol", "creates", "replaces", "single_attempt", "domains", "txn_app_id"}
)
"""What a commit does beside adding and removing files. Rules that look at nothing else are skipped where none of it is done."""
_OF_PLAIN_WRITES = tuple(
    (one.name, one.default) for one in fields(TableFootprint) if one.name in BESIDE_FILES
)


@dataclass(frozen=True)
class JobFootprint:
    tables: tuple[TableFootprint, ...]
    dialect: Dialect | None = None
    """Of the engine that commits; None if unknown: then only what holds under all of them."""
    streams_from: tuple[TableKey, ...] = ()
    """Delta tables that its stream reads, of which a batch can fail though nothing is written there."""
    follows: Follows = Follows.APPENDS
    streams_surely: bool = False
    """Its source is a Delta table; else it may only look into `streams_from`, batch by batch."""
    reads: Sources = NO_SOURCES
    """Tables that it reads but does not write."""
    ids_of_sources: Mapping[TableKey, str] = field(default_factory=dict, compare=False, repr=False)
    """By their logs, of those tables that it reads of which a log was read."""

    @cached_property
    def fingerprint(self) -> bytes:
        """The same of all of which every verdict is the same."""
        return fingerprint_of(tuple(getattr(self, one.name) for one in fields(self)))

    @cached_property
    def vacuums(self) -> tuple[TableFootprint, ...]:
        """What deletes files that are older than some hours."""
        return tuple(footprint for footprint in self.tables if footprint.retention_hours is not None)

    @property
    def keys(self) -> tuple[TableKey, ...]:
        return tuple(dict.fromkeys(footprint.table for footprint in self.tables))

    def may_change(self, tables: Iterable[TableKey]) -> bool:
        """Whether what is known of one of these tables may be wrong after it."""
        wanted = tuple(tables)
        return any(f.may_change_table and any(f.table.may_equal(key) for key in wanted) for f in self.tables)

    def renamed(self, table: TableKey, other: TableKey) -> "JobFootprint":
        """With the table under another of its names."""
        if table == other:
            return self
        tables = (replace(f, table=other) if f.table == table else f for f in self.tables)
        return replace(self, tables=tuple(tables)).reading(table, other)

    def reading(self, source: TableKey, other: TableKey) -> "JobFootprint":
        """With what it only reads under another of its names."""

        def named(keys: Iterable[TableKey]) -> tuple[TableKey, ...]:
            return tuple(other if key == source else key for key in keys)

        return replace(
            self,
            tables=tuple(replace(f, told_by=named(f.told_by)) if f.told_by else f for f in self.tables),
            streams_from=named(self.streams_from),
            reads=replace(self.reads, tables=named(self.reads.tables)),
            ids_of_sources={
                other if key == source else key: table_id for key, table_id in self.ids_of_sources.items()
            },
        )

    @property
    def identity(self) -> tuple[tuple[object, ...], ...]:
        """What stays the same as long as the job's work does."""
        return tuple(
            (f.table.text, f.statement, f.operation.value, f.reads_text, f.writes_text, f.metadata.value)
            for f in self.tables
        )


def unknown_footprints(tables: Iterable[TableKey]) -> tuple[TableFootprint, ...]:
    """Of a job that cannot be read any more: it may do anything to the tables, which no single statement can. Two VACUUMs don't
    hurt each other."""
    return tuple(one for table in tables for one in _anything_to(table))


def _anything_to(table: TableKey) -> tuple[TableFootprint, TableFootprint]:
    anything = TableFootprint(
        table,
        statement=1,
        operation=Operation.REPLACE,
        metadata=Metadata.MAY_CHANGE,
        protocol=Protocol.MAY_ADD,
        replaces=True,
        single_attempt=True,
    )
    return anything, TableFootprint(
        table, statement=1, operation=Operation.VACUUM, retention_hours=0.0, is_guess=True
    )


def _text(region: Region) -> str:
    text = to_sql(region, shorten=True)
    return text.lower() if text in ("TRUE", "FALSE") else text
