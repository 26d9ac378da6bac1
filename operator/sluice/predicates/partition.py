"""One partition, as a log writes its values, as a region: so that it can be held against what a condition speaks of."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sluice.predicates.columns import Column, Kind, Table
from sluice.predicates.condition_parser import parse
from sluice.predicates.errors import PredicateError
from sluice.predicates.region import Region, compiled
from sluice.predicates.session import Session
from sluice.predicates.text import quoted
from sluice.predicates.tree import ALWAYS, Predicate, conjunction

_PLAIN = {
    Kind.BOOLEAN: re.compile(r"true|false"),
    Kind.INTEGER: re.compile(r"-?[0-9]+"),
    Kind.DECIMAL: re.compile(r"-?[0-9]+(\.[0-9]+)?"),
}
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def partition_region(values: Mapping[str, str | None], table: Table) -> tuple[Region, frozenset[str]]:
    """The rows of a partition, and the axes on which its values are not known: timestamps and numbers with a floating point are
    written in ways that depend on who writes."""
    found: list[Predicate] = []
    unknown: set[str] = set()
    for column in table.partition_columns:
        condition = _condition(column, values[column.name]) if column.name in values else None
        if condition is None:
            unknown.add(column.axis)
            continue
        try:
            found.append(parse(condition, table, session=Session(case_sensitive=True)))
        except PredicateError:
            unknown.add(column.axis)
    return compiled(conjunction(found) if found else ALWAYS), frozenset(unknown)


def _condition(column: Column, value: str | None) -> str | None:
    name = "`" + column.name.replace("`", "``") + "`"
    kind = column.type.kind
    if value is None or (value == "" and column.loses_empty_strings):
        return f"{name} IS NULL"
    if kind is Kind.STRING:
        return f"{name} = {quoted(value)}"
    if kind is Kind.DATE:
        return f"{name} = DATE '{value}'" if _DATE.fullmatch(value) else None
    plain = _PLAIN.get(kind)
    return f"{name} = {value}" if plain is not None and plain.fullmatch(value) else None
