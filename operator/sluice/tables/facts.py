"""The facts that the oracle must know of a table besides the jobs: without its partition columns every write touches all of it."""

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
    """None if the table has the feature but its columns could not be read."""
    properties: Mapping[str, str] = field(default_factory=dict)
    identity_columns: frozenset[str] = frozenset()
    """Lower-cased names."""
    generated_columns: Mapping[str, str] = field(default_factory=dict)
    """Expressions by column: setting a column that an expression names also moves rows."""
    write_serializable: bool = False
    """Whether the log holds this level; open-source Delta cannot set it but honours it."""
    serializable: bool = False
    """Whether the log holds this level, or one that isn't known. If it holds none, each engine has its own default."""
    exists: bool = True
    table_id: str | None = None
    """The id in the table's log, however the log is reached: through a symbolic link or by a name. A copied folder
    has its original's id."""
    dialect: Dialect | None = None
    """The dialect of writers that do not say so themselves."""
    log_store: LogStore | None = None
    unread: str | None = None
    """Why the table's log could not be read; then nothing is known but what a policy declares."""

    @cached_property
    def fingerprint(self) -> bytes:
        """A fingerprint that is the same for facts that say the same."""
        return fingerprint_of(tuple(getattr(self, one.name) for one in fields(self)))

    @property
    def declares(self) -> tuple[Dialect | None, LogStore | None]:
        """What only a declaration says, and no log."""
        return self.dialect, self.log_store

    def unlike_now(self, reason: str) -> "TableFacts":
        """Facts about the table after changes that aren't known: only its id and what no log says remain."""
        return TableFacts(
            columns=Table.of([]),
            table_id=self.table_id,
            dialect=self.dialect,
            log_store=self.log_store,
            unread=reason,
        )

    def is_write_serializable(self, dialect: Dialect | None) -> bool:
        """Whether the level is WriteSerializable for this engine: on Databricks it is the default."""
        by_default = dialect is not None and dialect.is_databricks and not self.serializable
        return self.write_serializable or by_default

    def enabled(self, name: str) -> bool:
        return self.properties.get(name, "").lower() == "true"


def absent() -> TableFacts:
    """Facts about a location where there is no table."""
    return TableFacts(columns=Table.of([]), exists=False)


def unread(reason: str) -> TableFacts:
    return TableFacts(columns=Table.of([]), unread=reason)
