"""Tables that earlier statements of a script changed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sluice.tables import TableKey

_Places = Mapping[str, tuple[TableKey, ...]]


@dataclass(frozen=True)
class ChangedTables:
    """A set of tables by where they look for others and are found: asking each of them would take ever longer."""

    keys: frozenset[TableKey] = frozenset()
    _looking: _Places = field(default_factory=dict, repr=False)
    _found: _Places = field(default_factory=dict, repr=False)

    def with_tables(self, tables: Iterable[TableKey]) -> "ChangedTables":
        keys, looking, found = set(self.keys), dict(self._looking), dict(self._found)
        for table in tables:
            if table in keys:
                continue
            keys.add(table)
            looks, stands = table.seen
            for places, seen in ((looking, looks), (found, stands)):
                places.update({place: (*places.get(place, ()), table) for place in seen})
        return ChangedTables(frozenset(keys), looking, found)

    def may_hold(self, table: TableKey) -> bool:
        """Whether one of them may be this table."""
        if not self.keys:
            return False
        looks, stands = table.seen
        near = (self._found.get(place, ()) for place in looks)
        nearer = (self._looking.get(place, ()) for place in stands)
        return table in self.keys or any(
            table.may_equal(other) for places in (near, nearer) for others in places for other in others
        )
