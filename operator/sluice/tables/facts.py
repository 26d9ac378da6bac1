"""What the oracle must know of a table beside the jobs: without its partition columns every write touches all of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property

from sluice.predicates import Table
from sluice.tables.dialect import Dialect
from sluice.tables.fingerprint import fingerprint_of
from sluice.tables.log_store import LogStore


@dataclass(frozen=True)
class TableFacts:
    columns: Table
    clustering_columns: tuple[str, ...] | None = ()
    """None: it has the feature, but its columns stand where they could not be read."""
    properties: Mapping[str, str] = field(default_factory=dict)
    identity_columns: frozenset[str] = frozenset()
    """Lower-cased names."""
    generated_columns: Mapping[str, str] = field(default_factory=dict)
    """Expressions by column: setting a column that one of them names moves rows, too."""
    write_serializable: bool = False
    """The level that the log holds; open-source Delta cannot set it but honours it."""
    serializable: bool = False
    """The log holds this level, or one that isn't known. Where it holds none, each engine has a default of its own."""
    exists: bool = True
    table_id: str | None = None
    """By its log, wherever that is reached: over a symbolic link, or under a name. A copied folder has its original's."""
    dialect: Dialect | None = None
    """Of writers that do not say so themselves."""
    log_store: LogStore | None = None
    unread: str | None = None
    """Why the table's log could not be read. Then nothing else is known but what a policy declares."""

    @cached_property
    def fingerprint(self) -> bytes:
        """The same of all that say the same."""
        return fingerprint_of(tuple(getattr(self, one.name) for one in fields(self)))

    @property
    def declares(self) -> tuple[Dialect | None, LogStore | None]:
        """What no log says."""
        return self.dialect, self.log_store

    def unlike_now(self, reason: str) -> "TableFacts":
        """Of the table as it will be after changes that aren't known: only what no log says stays, and which log it is."""
        return TableFacts(
            columns=Table.of([]),
            table_id=self.table_id,
            dialect=self.dialect,
            log_store=self.log_store,
            unread=reason,
        )

    def is_write_serializable(self, dialect: Dialect | None) -> bool:
        """To this engine: Databricks takes it for the default."""
        by_default = dialect is not None and dialect.is_databricks and not self.serializable
        return self.write_serializable or by_default

    def enabled(self, name: str) -> bool:
        return self.properties.get(name, "").lower() == "true"


def absent() -> TableFacts:
    """Of a location where there is no table."""
    return TableFacts(columns=Table.of([]), exists=False)


def unread(reason: str) -> TableFacts:
    return TableFacts(columns=Table.of([]), unread=reason)
