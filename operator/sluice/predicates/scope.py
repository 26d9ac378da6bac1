"""Resolves names in a condition to columns of the table, and refuses typos: whether `date` is a column decides everything."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sqlglot import exp

from sluice.predicates.coercion import zone_name
from sluice.predicates.columns import Column, Kind, Table
from sluice.predicates.errors import PredicateError, unknown_column
from sluice.predicates.literals import Widening
from sluice.predicates.reason_texts import is_volatile, position, volatile
from sluice.predicates.region import Region
from sluice.predicates.session import Session

OF_ANOTHER = " is a column of another table and bounds nothing here"


def axis_in_zone(axis: str, time_zone: str | None) -> str:
    """Timestamps are told by the clocks of a session, so that those of two zones are not compared."""
    return f"{axis} in {zone_name(time_zone or 'no zone')}"


def is_told_in(region: Region, time_zone: str | None) -> bool:
    """Whether all that a region says of timestamps is said by the clocks of this zone."""
    zone = axis_in_zone("", time_zone)
    return all(
        column.axis.endswith(zone) for column in region.columns.values() if column.type.kind is Kind.TIMESTAMP
    )


class Scope:
    """The columns that a condition may name, and the names it may use."""

    def __init__(
        self, table: Table, session: Session, names: Collection[str], others: Collection[str] | None
    ) -> None:
        self._table = table
        self._session = session
        self._names = [tuple(name.lower().split(".")) for name in names]
        self._others = None if others is None else {tuple(name.lower().split(".")) for name in others}

    def column(self, node: exp.Column) -> Column | Widening:
        """The column of the table that the node names; a Widening for names of other relations and fields; raises for
        unknown names."""
        found = self._resolved(node)
        if isinstance(found, Column) and found.type.kind is Kind.TIMESTAMP:
            return replace(found, axis=axis_in_zone(found.axis, self._session.time_zone))
        return found

    def _resolved(self, node: exp.Column) -> Column | Widening:
        name = node.name
        qualifier = tuple(part.lower() for part in (node.catalog, node.db, node.table) if part)
        if not qualifier or any(known[-len(qualifier) :] == qualifier for known in self._names):
            found = self._find(name)
            if found is not None:
                return found
            if not qualifier and (self._others is None or self._others):
                return Widening(f"{name}{OF_ANOTHER}")
            if not qualifier and is_volatile(name):
                return Widening(volatile(name))
            if name.lower() != "_metadata":
                raise unknown_column(name, (c.name for c in self._table.columns), *position(node))
        dotted = ".".join((*qualifier, name))
        if self._others is None or any(known[-len(qualifier) :] == qualifier for known in self._others):
            return Widening(f"{dotted}{OF_ANOTHER}")
        if any(self._find(part) for part in qualifier) or "_metadata" in (*qualifier, name):
            return Widening(f"{dotted} is a field within a column")
        known = ", ".join(".".join(parts) for parts in self._names) or "no names"
        raise PredicateError(
            f"{dotted}: there is no table {'.'.join(qualifier)} here, only {known}", *position(node)
        )

    def _find(self, name: str) -> Column | None:
        return self._table.find(name, case_sensitive=self._session.case_sensitive)
