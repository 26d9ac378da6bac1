"""Tells where catalog names lead. A name and the location that it is bound to are one table, and have one key."""

from collections.abc import Collection, Iterable, Mapping
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
    claims: Mapping[TableKey, frozenset[TableKey]] = field(default_factory=dict)
    """Locations by name, by the word of those who have no say in where it leads."""
    reported: Mapping[TableKey, frozenset[TableKey]] = field(default_factory=dict)
    """Locations by name, as runs reported them. They count for names that no policy binds, and a location has no name by them: it
    may have others in the catalog."""
    reported_claims: Mapping[TableKey, frozenset[TableKey]] = field(default_factory=dict)

    def with_reports(
        self,
        reported: Mapping[TableKey, frozenset[TableKey]],
        claims: Mapping[TableKey, frozenset[TableKey]] | None = None,
    ) -> "Names":
        return replace(self, reported=reported, reported_claims=claims or {})

    @cached_property
    def by_policies(self) -> "Names":
        """The names as policies alone have them, for those whose driver compares nothing with what runs reported."""
        return self.with_reports({}) if self.reported or self.reported_claims else self

    def is_reported(self, name: TableKey) -> bool:
        """Whether only runs say where the name leads."""
        return not _of_any(self.locations, spelled(name)) and bool(_of_any(self.reported, spelled(name)))

    def as_granted(self, held: Collection[str]) -> "Names":
        """The names for the driver of a job that was granted these: where it holds a place that runs reported of a name, and not
        the name itself, it may be led to no place that was reported since."""
        fewer = {
            name: frozenset(one for one in self.reported[name] if one.text in held)
            for name in {name for place in held for name in self._reported_at.get(place, ())}
            if not any(one.text in held for one in spelled(name))
        }
        if not fewer:
            return self
        claims = {name: places for name, places in self.reported_claims.items() if name not in fewer}
        granted = self.with_reports({**self.reported, **fewer}, claims)
        granted.__dict__["_by_last_part"] = self._by_last_part  # of the same names
        return granted

    def ending_in(self, parts: Iterable[str]) -> set[TableKey]:
        """Names with one of these last parts that lead anywhere, by the word of policies or of runs."""
        return {name for part in parts for name in self._by_last_part.get(part, ())}

    def key_of(self, table: TableKey) -> TableKey:
        """The one key of a table, whether its name or its location is given."""
        if not table.is_name:
            return replace(table, bound=self._names[table]) if table in self._names else table
        all_spelled = spelled(table)
        locations = _of_any(self.locations, all_spelled)
        if len(locations) == 1:
            return self.key_of(*locations)
        if not locations:
            locations = _of_any(self.reported, all_spelled)
            if len(locations) == 1:
                there = self.key_of(*locations)
                return replace(there, bound=there.bound | _texts(all_spelled))
        claimed = _of_any(self.claims, all_spelled) | _of_any(self.reported_claims, all_spelled)
        return replace(table, bound=_texts(locations), claimed=_texts(claimed))

    def is_table(self, table: TableKey) -> bool:
        """Whether it is surely a table, not a view over others."""
        return not table.is_name or any(
            name in self.tables or name in self.locations for name in spelled(table)
        )

    def differing(self, other: "Names") -> frozenset[TableKey]:
        """Names and locations about which `other` says something else."""
        if self.locations == other.locations and self.tables == other.tables and self.claims == other.claims:
            named = self._told_otherwise(other)
            given = {name for one in named for name in spelled(one)}
        else:
            named = {name for told in (self, other) for name in told._all_names}
            given = {*self._names, *other._names, *(name for one in named for name in spelled(one))}
        return frozenset(key for key in given if self._about(key) != other._about(key))

    @property
    def _all_names(self) -> set[TableKey]:
        return {*self.locations, *self.tables, *self.claims, *self.reported, *self.reported_claims}

    def _told_otherwise(self, other: "Names") -> set[TableKey]:
        """Names of which runs reported something else. There may be thousands of others."""
        pairs = ((self.reported, other.reported), (self.reported_claims, other.reported_claims))
        return {
            name for mine, theirs in pairs for name in {*mine, *theirs} if mine.get(name) != theirs.get(name)
        }

    @cached_property
    def fingerprint(self) -> str:
        """A fingerprint that is the same for names that policies lead to the same locations. What runs report since changes nothing
        for those who hold: they keep the places where they were judged to be."""
        claims = (_in_order(self.claims),) if self.claims else ()
        told = repr((_in_order(self.locations), sorted(name.text for name in self.tables), *claims))
        return sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def _about(self, key: TableKey) -> tuple[object, ...]:
        found = self.key_of(key)
        return found, found.bound, found.claimed, self.is_table(key)

    @cached_property
    def _reported_at(self) -> dict[str, list[TableKey]]:
        """The names that runs reported of each location, by its text."""
        found: dict[str, list[TableKey]] = {}
        for name, locations in self.reported.items():
            for location in locations:
                found.setdefault(location.text, []).append(name)
        return found

    @cached_property
    def _by_last_part(self) -> dict[str, list[TableKey]]:
        found: dict[str, list[TableKey]] = {}
        for name in {*self.locations, *self.reported}:
            found.setdefault(name.text.rpartition(".")[2], []).append(name)
        return found

    @cached_property
    def _names(self) -> dict[TableKey, frozenset[str]]:
        """The names that lead to each location."""
        found: dict[TableKey, set[str]] = {}
        for name, locations in self.locations.items():
            for location in locations:
                found.setdefault(location, set()).add(name.text)
        return {location: frozenset(names) for location, names in found.items()}


_Locations = Mapping[TableKey, frozenset[TableKey]]


def _of_any(locations: _Locations, names: Iterable[TableKey]) -> frozenset[TableKey]:
    return frozenset().union(*(locations.get(name, frozenset()) for name in names))


def _texts(keys: Iterable[TableKey]) -> frozenset[str]:
    return frozenset(key.text for key in keys)


def _in_order(locations: _Locations) -> list[tuple[str, list[str]]]:
    return sorted((name.text, sorted(_texts(found))) for name, found in locations.items())


def spelled(name: TableKey) -> tuple[TableKey, ...]:
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


NameAndLocation = tuple[TableKey | None, TableKey | None]


def names_of(given: Iterable[NameAndLocation], claimed: Iterable[NameAndLocation] = ()) -> Names:
    """Collects names from tables given by name, by location, or by both, which binds the name; what any of them says counts. What
    is only claimed binds no name, but makes two tables of nothing that may be one."""
    told = list(given)
    tables = frozenset(name for name, _ in told if name is not None)
    return Names(_by_name(told), tables, _by_name(claimed))


def _by_name(given: Iterable[NameAndLocation]) -> dict[TableKey, frozenset[TableKey]]:
    found: dict[TableKey, set[TableKey]] = {}
    for name, location in given:
        if name is not None and location is not None:
            found.setdefault(name, set()).add(location)
    return {name: frozenset(locations) for name, locations in found.items()}
