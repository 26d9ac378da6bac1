"""A footprint: what one statement's transaction will record about one table, in the terms of Delta's conflict check."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import cached_property
from operator import attrgetter

from sluice.api.job import Operation
from sluice.footprint.regions import EVERYTHING, NOTHING
from sluice.footprint.sources import NO_SOURCES, Sources
from sluice.predicates import Region, merged, to_sql
from sluice.tables import Dialect, LogStore, TableFacts, TableKey
from sluice.tables.fingerprint import fingerprint_of

__all__ = [
    "EVERYTHING",
    "NOTHING",
    "Follows",
    "JobFootprint",
    "Metadata",
    "Parts",
    "ProtocolChange",
    "StatementGroup",
    "TableFootprint",
    "unknown_footprints",
]


class Metadata(Enum):
    """Whether the commit carries a Metadata action, and what that does to jobs that began before it."""

    NONE = "none"
    IDENTITY = "identity"
    """Changes only the high-water mark of an identity column, or may do so where no facts are known."""
    SAME = "same"
    """Surely writes the same metadata as before."""
    ENABLES = "enables"
    """Only enables features (`enables`); later versions let others commit then."""
    MAY_CHANGE = "may change"
    RESTORES = "restores"
    """Writes the metadata of an older version, which is usually the same."""
    CHANGES = "changes"


class Follows(Enum):
    """Which commits to its source a stream survives: it skips or follows them instead of failing."""

    APPENDS = "appends"
    DELETES = "deletes"
    """Also commits that only remove files (ignoreDeletes)."""
    CHANGES = "changes"
    """All changes of rows (skipChangeCommits, ignoreChanges, readChangeFeed)."""


class ProtocolChange(Enum):
    NONE = "none"
    MAY_ADD = "may add"
    REMOVES = "removes"


@dataclass(frozen=True)
class Parts:
    """What the regions of a statement are made of: what would be left of them if its text were changed."""

    condition: Region = EVERYTHING
    """What it reads by its own condition."""
    unbound: bool = False
    """Whether it is taken to read all of the table because names that it selects from may be views over it."""
    sources: Region = NOTHING
    """What its query reads of the table besides."""
    brings: Region = NOTHING
    """Where it adds rows that were not there, whatever its condition finds."""
    rewrites: Region = NOTHING
    """Where else it rewrites rows, by another condition than the one that reads all of the table."""


@dataclass(frozen=True)
class TableFootprint:
    """What one statement does to one table. Regions are sets of partitions; each holds at least what is touched."""

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
    """Whether it only adds files and reads nothing: under other engines' WriteSerializable losers ignore such commits."""
    data_change: bool = True
    """False if it only rewrites the same rows; then added files are no conflict for it."""
    metadata: Metadata = Metadata.NONE
    enables: frozenset[str] = frozenset()
    protocol: ProtocolChange = ProtocolChange.NONE
    domains: frozenset[str] = frozenset()
    txn_app_id: str | None = None
    checkpoint: str | None = None
    single_attempt: bool = False
    """Whether it aborts if anything at all was committed meanwhile."""
    replaces: bool = False
    """Whether it replaces the table."""
    creates: bool = False
    """Whether it may be the first commit of the table."""
    retries_itself: bool = False
    """Whether it starts again by itself after a change of metadata that leaves the partition columns as they are (OPTIMIZE)."""
    keeps_partition_columns: bool = False
    """Whether it surely leaves each column by which the table is partitioned as it is: name, type, default and comment."""
    certain: bool = False
    """Whether it surely commits; a DML statement that matches no row does not."""
    adds_surely: bool = False
    keeps_no_row: bool = False
    """Whether it removes all rows and rewrites none: all that it adds is new."""
    ends_readers: bool = False
    """Whether no stream may go on reading the table: columns are renamed or dropped, or the change feed ends."""
    hook: bool = False
    """Whether it runs after the job's own commit, so that losing does not fail the job."""
    compacts: bool = False
    """Whether Delta compacts small files after its commit."""
    retention_hours: float | None = None
    """For VACUUM: it keeps files younger than this."""
    leaves_retention_hours: float | None = None
    """For how long VACUUM may keep the table's files once this has committed; None: as long as before."""
    is_guess: bool = False
    """Whether this is only what a job that cannot be read may do."""
    sources: Sources = NO_SOURCES
    """The tables that it selects from, perhaps including its own."""
    told_by: tuple[TableKey, ...] = ()
    """The tables whose columns tell where its rows land: where they change, the statement may land elsewhere."""
    write_serializable: bool = False
    deletes: Region | None = field(default=None, compare=False)
    """Where it deletes all rows but those that it writes; None if nowhere, or only rows that match a condition on more than
    partitions."""
    facts: TableFacts | None = field(default=None, compare=False, repr=False)
    """What was known of the table when the statement was read; None if it may be wrong by the time the statement runs."""
    table_id: str | None = None
    """The table's id in its log when the log was last read, whatever has changed since."""
    not_by_row: str | None = None
    """Why an engine with row-level concurrency does not use it for this statement."""
    previews_rows: bool = False
    """Whether the session asks for row-level concurrency where a runtime only previews it."""
    log_store: LogStore = LogStore.UNKNOWN
    lock_table: str = ""
    """Where the store keeps the entries that tell commits apart, if it keeps them outside the table."""
    widened: tuple[str, ...] = ()
    """What was not understood, so that the statement is taken to touch more."""
    not_understood: tuple[str, ...] = field(default=(), compare=False)
    """Those of `widened` that leave open what the statement does to the table at all: it is too large to be read, or reads by a
    name, a function or a part of a query that may be anything, or runs under a setting that may change anything. What isn't
    among them: a condition or a source that is read and doesn't tell partitions, and a log that can't be read."""
    reads_advice: str | None = None
    """What would make it read less with the same result."""
    writes_advice: str | None = None
    parts: Parts = field(default=Parts(), compare=False, repr=False)

    @property
    def is_blind(self) -> bool:
        return self.blind and not self.changes_metadata

    @property
    def changes_metadata(self) -> bool:
        return self.metadata not in (Metadata.NONE, Metadata.IDENTITY)

    @property
    def why_everywhere(self) -> str | None:
        """Why a DELETE or UPDATE that is wholly understood touches all partitions: nothing less has the same result."""
        if self.operation not in (Operation.DELETE, Operation.UPDATE) or not self.reads.is_everything:
            return None
        if self.facts is None or not self.facts.columns.partition_columns:
            return None
        return None if self.widened or self.reads_advice is not None else _EVERYWHERE

    @property
    def may_change_table(self) -> bool:
        """Whether what is known of the table may be wrong after it."""
        return (
            self.changes_metadata or self.protocol is not ProtocolChange.NONE or self.creates or self.replaces
        )

    @cached_property
    def only_files(self) -> bool:
        """Whether it only adds and removes files of an existing table, with no other cause of conflict: true of
        nearly all footprints."""
        return all(getattr(self, name) == plain for name, plain in _OF_PLAIN_WRITES)

    @property
    def may_commit_first(self) -> bool:
        """Whether it may create the table."""
        return self.creates or self.replaces

    @cached_property
    def reads_text(self) -> str:
        """What it reads, as a condition that people can read."""
        return _text(self.reads if self.data_change else self.reads_files)

    @cached_property
    def writes_text(self) -> str:
        """Where it adds rows, as a condition that people can read."""
        return _text(self.adds)

    @property
    def deletes_text(self) -> str | None:
        """Where it deletes all rows but those that it writes, as a condition that people can read; None as in `deletes`."""
        return None if self.deletes is None else _text(self.deletes)


_EVERYWHERE = "no condition of it names partitions, so it may change rows in all of them: other writers and it wait for each other"

BESIDE_FILES = frozenset(
    {"metadata", "protocol", "creates", "replaces", "single_attempt", "domains", "txn_app_id"}
)
"""What a commit may do besides adding and removing files. Rules about these alone are skipped for commits that do
none of them."""
_OF_PLAIN_WRITES = tuple(
    (one.name, one.default) for one in fields(TableFootprint) if one.name in BESIDE_FILES
)


_MAY_DIFFER = frozenset(
    {
        *("statement", "reads", "reads_files", "adds", "removes", "deletes", "parts", "facts"),
        *("sources", "told_by", "widened", "not_understood", "reads_advice", "writes_advice"),
    }
)
"""What no rule about two writers asks of a statement; of regions and facts, more is said in `_alike`."""
_equal_in = attrgetter(*(one.name for one in fields(TableFootprint) if one.name not in _MAY_DIFFER))
_PART = 64
"""The most statements of a part, and the most boxes that a part has exactly, or all groups of a job together."""


def _alike(one: TableFootprint) -> Hashable:
    """The same for statements of one group. Facts are compared by what they are, not by what they say."""
    return (
        _equal_in(one),
        one.table.bound,
        one.table.claimed,
        id(one.facts),
        bool(one.not_understood),
        one.reads.is_empty,
        one.reads_files.is_empty,
        one.adds.is_empty,
        one.removes.is_empty,
    )


@dataclass(frozen=True, eq=False)
class StatementGroup:
    """Statements of a job that are alike to each other job, but for the partitions that they touch."""

    statements: tuple[TableFootprint, ...]
    positions: tuple[int, ...]
    """Where the statements are among all of the job."""
    most_boxes: int

    @property
    def parts(self) -> "tuple[StatementGroup, ...]":
        """The same statements in groups of a few."""
        return self._cut if len(self.statements) > _PART else (self,)

    @cached_property
    def _cut(self) -> "tuple[StatementGroup, ...]":
        cuts = [slice(first, first + _PART) for first in range(0, len(self.statements), _PART)]
        return tuple(StatementGroup(self.statements[cut], self.positions[cut], _PART) for cut in cuts)

    @cached_property
    def as_one(self) -> TableFootprint:
        """A statement that touches at least what any of them touches; not more, unless that takes many boxes."""
        if len(self.statements) == 1:
            return self.statements[0]
        known: dict[tuple[int, ...], Region] = {}

        def together(*regions: Region) -> Region:
            same = tuple(map(id, regions))
            if same not in known:
                known[same] = merged(regions, self.most_boxes)
            return known[same]

        return replace(
            self.statements[0],
            reads=together(*(one.reads for one in self.statements)),
            reads_files=together(*(one.reads_files for one in self.statements)),
            adds=together(*(one.adds for one in self.statements)),
            removes=together(*(one.removes for one in self.statements)),
        )


@dataclass(frozen=True)
class JobFootprint:
    tables: tuple[TableFootprint, ...]
    dialect: Dialect | None = None
    """The dialect of the engine that commits; None if unknown: then only what holds under all dialects counts."""
    streams_from: tuple[TableKey, ...] = ()
    """Delta tables that its stream reads: their changes can make a batch fail although the job does not write them."""
    looks_into: tuple[TableKey, ...] = ()
    """Tables that its query joins to the rows of its source, in each batch by the columns that they had when the stream began."""
    follows: Follows = Follows.APPENDS
    streams_surely: bool = False
    """Whether its source is a Delta table; if not, it may still query the tables in `streams_from`, batch by batch."""
    reads: Sources = NO_SOURCES
    """Tables that it reads but does not write."""
    ids_of_sources: Mapping[TableKey, str] = field(default_factory=dict, compare=False, repr=False)
    """Ids of the tables that it reads, where their logs were read."""
    run: str | None = None
    """The namespace and the run key of a run that may have other jobs; None if the job is a run of its own."""

    @cached_property
    def fingerprint(self) -> bytes:
        """A fingerprint that is the same for footprints that get the same verdicts."""
        return fingerprint_of(tuple(getattr(self, one.name) for one in fields(self)))

    def prepare(self) -> None:
        """Works out what each comparison asks for, which takes long where there are many statements."""
        for group in self.groups:
            for part in (group, *group.parts):
                part.as_one  # noqa: B018 - is kept

    @cached_property
    def groups(self) -> tuple[StatementGroup, ...]:
        """Its statements in groups, in the order of each group's first."""
        found: dict[Hashable, list[int]] = {}
        for position, one in enumerate(self.tables):
            found.setdefault(_alike(one), []).append(position)
        most_boxes = max(1, _PART // len(found))
        return tuple(
            StatementGroup(tuple(self.tables[one] for one in positions), tuple(positions), most_boxes)
            for positions in found.values()
        )

    @cached_property
    def kinds(self) -> tuple[TableFootprint, ...]:
        """The first statement of each group."""
        if len(self.tables) < 2:
            return self.tables
        return tuple(group.statements[0] for group in self.groups)

    @cached_property
    def changed(self) -> frozenset[TableKey]:
        """The tables of which what is known may be wrong after it."""
        return frozenset(one.table for one in self.tables if one.may_change_table)

    @cached_property
    def vacuums(self) -> tuple[TableFootprint, ...]:
        """Its kinds that delete files older than some hours."""
        return tuple(footprint for footprint in self.kinds if footprint.retention_hours is not None)

    @cached_property
    def changes_metadata(self) -> bool:
        """Whether it may change a table's schema, properties or protocol, or put another table in its place."""
        return any(
            one.changes_metadata or one.replaces or one.protocol is not ProtocolChange.NONE
            for one in self.tables
        )

    @property
    def streamed(self) -> tuple[TableKey, ...]:
        """The tables whose changes may make a batch of its stream fail although the job does not write them."""
        return (*self.streams_from, *self.looks_into)

    @cached_property
    def keys(self) -> tuple[TableKey, ...]:
        return tuple(dict.fromkeys(footprint.table for footprint in self.tables))

    @property
    def written_at(self) -> tuple[str, ...]:
        """The tables that it writes, and of a name that may lead to several places each of these: nobody may know later where it
        led, and its driver stays where it is."""
        found: dict[str, None] = {}
        for footprint in self.tables:
            table = footprint.table
            places = sorted(table.bound | table.claimed) if table.is_name else ()
            found.update(dict.fromkeys((table.text, *places)))
        return tuple(found)

    @property
    def touched(self) -> tuple[TableKey, ...]:
        """The tables that it writes, and those that it reads, as far as they are known."""
        return tuple(dict.fromkeys((*self.keys, *self.reads.tables)))

    def may_change(self, tables: Iterable[TableKey]) -> bool:
        """Whether what is known of one of these tables may be wrong after it."""
        wanted = tuple(tables)
        return any(f.may_change_table and any(f.table.may_equal(key) for key in wanted) for f in self.tables)

    def renamed(self, table: TableKey, other: TableKey) -> "JobFootprint":
        """Returns the footprint with the table under another of its names."""
        if table == other:
            return self
        tables = (replace(f, table=other) if f.table == table else f for f in self.tables)
        return replace(self, tables=tuple(tables)).reading(table, other)

    def reading(self, source: TableKey, other: TableKey) -> "JobFootprint":
        """Returns the footprint with a source under another of its names."""

        def named(keys: Iterable[TableKey]) -> tuple[TableKey, ...]:
            return tuple(other if key == source else key for key in keys)

        return replace(
            self,
            tables=tuple(replace(f, told_by=named(f.told_by)) if f.told_by else f for f in self.tables),
            streams_from=named(self.streams_from),
            looks_into=named(self.looks_into),
            reads=replace(self.reads, tables=named(self.reads.tables)),
            ids_of_sources={
                other if key == source else key: table_id for key, table_id in self.ids_of_sources.items()
            },
        )

    @property
    def identity(self) -> tuple[tuple[object, ...], ...]:
        """What stays the same as long as the job does the same work."""
        return tuple(
            (f.table.text, f.statement, f.operation.value, f.reads_text, f.writes_text, f.metadata.value)
            for f in self.tables
        )


def unknown_footprints(tables: Iterable[TableKey]) -> tuple[TableFootprint, ...]:
    """Footprints of a job that can no longer be read. It may do anything to the tables, which takes more than one
    footprint per table, because two VACUUMs don't hurt each other."""
    return tuple(one for table in tables for one in _anything_to(table))


def _anything_to(table: TableKey) -> tuple[TableFootprint, TableFootprint]:
    anything = TableFootprint(
        table,
        statement=1,
        operation=Operation.REPLACE,
        metadata=Metadata.MAY_CHANGE,
        protocol=ProtocolChange.MAY_ADD,
        replaces=True,
        single_attempt=True,
        leaves_retention_hours=0.0,
    )
    return anything, TableFootprint(
        table, statement=1, operation=Operation.VACUUM, retention_hours=0.0, is_guess=True
    )


def _text(region: Region) -> str:
    text = to_sql(region, shorten=True)
    return text.lower() if text in ("TRUE", "FALSE") else text
