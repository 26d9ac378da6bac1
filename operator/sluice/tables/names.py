"""Tells where catalog names lead. A name and the location that it is bound to are one table, and have one key."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256

from sluice.tables.identity import TableKey, key_of_name, key_of_path

_SPARKS_SCHEMA = "default"


@dataclass(frozen=True)
class Names:
    locations: Mapping[TableKey, frozenset[TableKey]] = field(default_factory=dict)
    """Locations by name. There are several if policies contradict each other; then the name may be any of them."""
    tables: frozenset[TableKey] = frozenset()
    """Names that are known to be tables, not views."""

    def key_of(self, table: TableKey) -> TableKey:
        """The one key of a table, whether its name or its location is given."""
        if not table.is_name:
            return replace(table, bound=self._names[table]) if table in self._names else table
        locations = frozenset().union(*(self.locations.get(name, frozenset()) for name in _spelled(table)))
        if len(locations) == 1:
            return self.key_of(*locations)
        return replace(table, bound=frozenset(location.text for location in locations))

    def is_table(self, table: TableKey) -> bool:
        """Whether it is surely a table, not a view over others."""
        return not table.is_name or any(
            name in self.tables or name in self.locations for name in _spelled(table)
        )

    def differing(self, other: "Names") -> frozenset[TableKey]:
        """Names and locations about which `other` says something else."""
        named = {*self.locations, *self.tables, *other.locations, *other.tables}
        given = {*self._names, *other._names, *(name for one in named for name in _spelled(one))}
        return frozenset(key for key in given if self._about(key) != other._about(key))

    @cached_property
    def fingerprint(self) -> str:
        """A fingerprint that is the same for names that lead to the same locations."""
        led = [(name.text, sorted(key.text for key in found)) for name, found in self.locations.items()]
        told = repr((sorted(led), sorted(name.text for name in self.tables)))
        return sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def _about(self, key: TableKey) -> tuple[object, ...]:
        found = self.key_of(key)
        return found, found.bound, self.is_table(key)

    @cached_property
    def _names(self) -> dict[TableKey, frozenset[str]]:
        """The names that lead to each location."""
        found: dict[TableKey, set[str]] = {}
        for name, locations in self.locations.items():
            for location in locations:
                found.setdefault(location, set()).add(name.text)
        return {location: frozenset(names) for location, names in found.items()}


def _spelled(name: TableKey) -> tuple[TableKey, ...]:
    """The spellings of a name: with or without Spark's own schema. Not for sessions in another schema."""
    schema, dot, table = name.text.rpartition(".")
    if not dot:
        return name, TableKey(f"{_SPARKS_SCHEMA}.{table}", is_name=True)
    return (name, TableKey(table, is_name=True)) if schema == _SPARKS_SCHEMA else (name,)


def keys_of(name: str | None, path: str | None) -> tuple[TableKey | None, TableKey | None]:
    """The keys of a table's name and of its location, one of which may be missing."""
    return (
        key_of_name(name) if name is not None else None,
        key_of_path(path) if path is not None else None,
    )


def names_of(given: Iterable[tuple[TableKey | None, TableKey | None]]) -> Names:
    """Collects names from tables given by name, by location, or by both, which binds the name; what any of them says counts."""
    locations: dict[TableKey, set[TableKey]] = {}
    tables = set()
    for name, location in given:
        if name is None:
            continue
        tables.add(name)
        if location is not None:
            locations.setdefault(name, set()).add(location)
    return Names({name: frozenset(found) for name, found in locations.items()}, frozenset(tables))
