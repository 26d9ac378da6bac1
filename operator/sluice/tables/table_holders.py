"""Tells whether somebody holds what may be a table, at the cost of those that are found where it is: thousands may be held."""

from collections.abc import Iterable

from sluice.tables.identity import TableKey


class TableHolders:
    def __init__(self, held: Iterable[TableKey]) -> None:
        self._looking: dict[str, list[TableKey]] = {}
        self._found: dict[str, list[TableKey]] = {}
        for key in held:
            looks, stands = key.seen
            for place in looks:
                self._looking.setdefault(place, []).append(key)
            for place in stands:
                self._found.setdefault(place, []).append(key)

    def __call__(self, table: TableKey) -> bool:
        looks, stands = table.seen
        return any(
            key.may_equal(table)
            for places, there in ((looks, self._found), (stands, self._looking))
            for place in places
            for key in there.get(place, ())
        )
