"""One table, one key, however it is spelled: two spellings of one location must never look like two tables.

Keys distinguish what Hadoop, which Spark's paths go through, distinguishes: `%20` in a path is three characters of a
folder's name, not a blank. It is not known here where symbolic links lead, but a log that is read through one tells
its table's id.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from sluice.tables.locations import folders_of, location_of, may_be_one, may_lie_in, scheme_of, seen_from

Seen = tuple[frozenset[str], frozenset[str]]
"""Where a table looks for others, and where others find it."""


@dataclass(frozen=True, order=True)
class TableKey:
    """A location, or a catalog name that is not bound to one."""

    text: str
    is_name: bool = False
    bound: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """For a location, the names that lead to it; for a name, the locations that it may stand for."""
    claimed: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """Where a name leads by the word of those who have no say in it: it may lie there as well, and nobody is led there."""
    without_scheme: bool = field(default=False, compare=False, repr=False)
    """Whether a location was written without a scheme and is taken for a local folder."""
    scheme: str = field(default="", compare=False, repr=False)
    """The scheme that a location was written with, among those that lead to one store; empty if that isn't known."""
    in_sparks_catalog: bool = field(default=False, compare=False, repr=False)
    """Whether a name itself says that it is in Spark's catalog, whatever the session's default catalog is."""

    def __str__(self) -> str:
        return self.text

    @classmethod
    def parse(cls, text: str) -> "TableKey":
        """Returns the key whose text this is."""
        return cls(text, is_name=re.match(r"^[a-z][a-z0-9+.-]*:/", text) is None)

    def may_equal(self, other: "TableKey") -> bool:
        """Whether the two may be one table. An unbound name may stand for any location that no other name is bound
        to. Two names are two tables, as in a catalog, unless one omits the catalog or schema that the other names, or both
        may lead to one place. Two locations may be one where a configuration decides what they mean."""
        if self.is_name and other.is_name:
            return _ends_alike(self.text, other.text) or self._may_lie_where(other)
        if self.is_name:
            return self._may_lie_at(other)
        if other.is_name:
            return other._may_lie_at(self)
        return may_be_one(self.text, other.text)

    def may_hold(self, other: "TableKey") -> bool:
        """Whether what lies at a location may be one of the table's own files or folders."""
        if other.is_name or (self.is_name and not self.bound):
            return self.may_equal(other)
        folders = self.bound | self.claimed if self.is_name else (self.text,)
        return any(may_lie_in(folder, other.text) for folder in folders)

    @property
    def seen(self) -> Seen:
        """Where it looks and is found: of two tables that `may_equal` each other, one looks where the other is found;
        for other pairs this is rare."""
        if not self.is_name:
            found = [seen_from(self.text), *map(_seen_name, self.bound)]
            return _together(found if self.bound else [*found, _FOUND_BY_NAMES])
        where = [*map(seen_from, self.bound | self.claimed), *(() if self.bound else (_LOOKS_BY_NAME,))]
        return _together([_seen_name(self.text), *where])

    @property
    def seen_below(self) -> Seen:
        """Where something held by a table looks and is found: of two keys related by `may_hold`, one looks where the
        other is found."""
        if self.is_name:
            return self.seen
        return _together([self.seen, *map(seen_from, folders_of(self.text)[1:])])

    def _may_lie_where(self, other: "TableKey") -> bool:
        """Whether two names may lead to one place, as far as anybody says where they lead."""
        theirs = other.bound | other.claimed
        return any(may_be_one(mine, one) for mine in self.bound | self.claimed for one in theirs)

    def _may_lie_at(self, location: "TableKey") -> bool:
        if any(TableKey(text).may_equal(location) for text in self.claimed):
            return True
        if self.bound:
            return any(TableKey(text).may_equal(location) for text in self.bound)
        return not location.bound or any(_ends_alike(self.text, name) for name in location.bound)


def key_of_name(name: str) -> TableKey:
    """The key of a catalog name. Names are case-insensitive, and the default catalog's own name changes nothing."""
    written = name.replace("`", "").lower()
    text = written.removeprefix("spark_catalog.")
    return TableKey(text, is_name=True, in_sparks_catalog=text != written)


def in_catalog(name: TableKey, catalog: str) -> TableKey:
    """The key of a name in a session whose default catalog this is."""
    says_one = name.in_sparks_catalog or name.text.count(".") > 1
    return name if says_one else key_of_name(f"{catalog}.{name.text}")


def key_of_path(path: str) -> TableKey:
    scheme = scheme_of(path)
    return TableKey(location_of(path), without_scheme=scheme is None, scheme=scheme or "file")


_AT_NO_NAME = "at no name"
_LOOKS_BY_NAME: Seen = (frozenset({_AT_NO_NAME}), frozenset())
_FOUND_BY_NAMES: Seen = (frozenset(), frozenset({_AT_NO_NAME}))


def _seen_name(name: str) -> Seen:
    parts = name.split(".")
    endings = (f"name {'.'.join(parts[first:])}" for first in range(len(parts)))
    return frozenset({f"name {name}"}), frozenset(endings)


def _together(found: Iterable[Seen]) -> Seen:
    looks, stands = zip(*found, strict=True)
    return frozenset().union(*looks), frozenset().union(*stands)


def _ends_alike(one: str, other: str) -> bool:
    mine, theirs = one.split("."), other.split(".")
    shared = min(len(mine), len(theirs))
    return mine[-shared:] == theirs[-shared:]
