"""One table, one key, however it is spelled: two spellings of one location must never look like two tables.

Where Hadoop, which Spark's paths go through, keeps apart what looks alike, so do the keys: `%20` in a path is three
characters of a folder's name, not a blank. Where symbolic links lead is not known here, but the log that is read
through one tells its table's id.
"""

import re
from dataclasses import dataclass, field

from sluice.tables.locations import location_of, may_be_one, may_lie_in, scheme_of


@dataclass(frozen=True, order=True)
class TableKey:
    """A location, or a catalog name that is not bound to one."""

    text: str
    is_name: bool = False
    bound: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """Of a location: the names that lead to it. Of a name: the locations of which it may be any."""
    without_scheme: bool = field(default=False, compare=False, repr=False)
    """Of a location: it was written so, and taken for a folder."""
    scheme: str = field(default="", compare=False, repr=False)
    """Of a location: the scheme that it was written with, of those that lead to one store; empty if that isn't known."""
    in_sparks_catalog: bool = field(default=False, compare=False, repr=False)
    """Of a name: it says so itself, whatever catalog the session looks into by default."""

    def __str__(self) -> str:
        return self.text

    @classmethod
    def parse(cls, text: str) -> "TableKey":
        """The key that `text` was written from."""
        return cls(text, is_name=re.match(r"^[a-z][a-z0-9+.-]*:/", text) is None)

    def may_equal(self, other: "TableKey") -> bool:
        """An unbound name may stand for any location that is not another name's. Two names are two tables, as in a
        catalog, unless one of them leaves to the session what the other says: its catalog, or its schema. Two locations
        may be one where a configuration decides what they mean."""
        if self.is_name and other.is_name:
            return _ends_alike(self.text, other.text)
        if self.is_name:
            return self._may_lie_at(other)
        if other.is_name:
            return other._may_lie_at(self)
        return may_be_one(self.text, other.text)

    def may_hold(self, other: "TableKey") -> bool:
        """Whether what lies at a location may be one of the table's own files or folders."""
        if other.is_name or (self.is_name and not self.bound):
            return self.may_equal(other)
        folders = self.bound if self.is_name else (self.text,)
        return any(may_lie_in(folder, other.text) for folder in folders)

    def _may_lie_at(self, location: "TableKey") -> bool:
        if self.bound:
            return any(TableKey(text).may_equal(location) for text in self.bound)
        return not location.bound or any(_ends_alike(self.text, name) for name in location.bound)


def key_of_name(name: str) -> TableKey:
    """Catalog names are case-insensitive; the default catalog's own name changes nothing."""
    written = name.replace("`", "").lower()
    text = written.removeprefix("spark_catalog.")
    return TableKey(text, is_name=True, in_sparks_catalog=text != written)


def in_catalog(name: TableKey, catalog: str) -> TableKey:
    """Of a session that looks names up there which say no catalog themselves."""
    says_one = name.in_sparks_catalog or name.text.count(".") > 1
    return name if says_one else key_of_name(f"{catalog}.{name.text}")


def key_of_path(path: str) -> TableKey:
    scheme = scheme_of(path)
    return TableKey(location_of(path), without_scheme=scheme is None, scheme=scheme or "file")


def _ends_alike(one: str, other: str) -> bool:
    mine, theirs = one.split("."), other.split(".")
    shared = min(len(mine), len(theirs))
    return mine[-shared:] == theirs[-shared:]
