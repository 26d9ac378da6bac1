"""Which tables are selected from, in the terms of a footprint."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from sluice.tables import TableKey, key_of_path

MANY = 64


@dataclass(frozen=True)
class Sources:
    tables: tuple[TableKey, ...] = ()
    any_table: bool = False
    """It may select from others, too, of which nothing can be told."""

    def under(self, one_key: Callable[[TableKey], TableKey]) -> "Sources":
        """Each by the one key that it has."""
        return replace(self, tables=tuple(dict.fromkeys(map(one_key, self.tables))))


NO_SOURCES = Sources()
ANY_SOURCES = Sources(any_table=True)
_PATTERN = re.compile(r"[*?{}\[\]\\]")


def files_at(location: str, *, below: bool = False) -> Sources:
    """Of files, which may be a table's: a pattern may match those of any. `below`: those in all folders below, too."""
    return Sources((key_of_path(location),), any_table=below or _PATTERN.search(location) is not None)


def together(found: Iterable[Sources]) -> Sources:
    every = tuple(found)
    tables = tuple(dict.fromkeys(table for sources in every for table in sources.tables))
    return Sources(tables[:MANY], len(tables) > MANY or any(sources.any_table for sources in every))
