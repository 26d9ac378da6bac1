"""Sets of tables that are selected from, in the terms of a footprint."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from sluice.predicates.limits import MAX_SOURCES
from sluice.tables import TableKey, key_of_path


@dataclass(frozen=True)
class Sources:
    tables: tuple[TableKey, ...] = ()
    any_table: bool = False
    """Whether it may also select from other tables, which are not known."""

    def under(self, one_key: Callable[[TableKey], TableKey]) -> "Sources":
        """Returns the sources with each table under its one key."""
        return replace(self, tables=tuple(dict.fromkeys(map(one_key, self.tables))))


NO_SOURCES = Sources()
ANY_SOURCES = Sources(any_table=True)
_PATTERN = re.compile(r"[*?{}\[\]\\]")


def files_at(location: str, *, below: bool = False) -> Sources:
    """Returns the sources for files, which may belong to a table: a pattern may match files of any table. With
    `below`, files in all folders below count as well."""
    return Sources((key_of_path(location),), any_table=below or _PATTERN.search(location) is not None)


def together(found: Iterable[Sources]) -> Sources:
    every = tuple(found)
    tables = tuple(dict.fromkeys(table for sources in every for table in sources.tables))
    return Sources(
        tables[:MAX_SOURCES], len(tables) > MAX_SOURCES or any(sources.any_table for sources in every)
    )
