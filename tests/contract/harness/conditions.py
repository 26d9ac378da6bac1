"""Conditions on the grid's columns that are both SQL text and something that can be asked of a row.

The recorder must know which partitions a generated job addresses without asking the oracle, so each condition is
evaluated here, in three-valued logic: None is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Value = str | int | None
Cells = Mapping[str, Value]
Truth = bool | None


@dataclass(frozen=True)
class Condition:
    template: str
    """SQL in which {p} stands before each column: nothing, or the alias of a MERGE target."""
    holds: Callable[[Cells], Truth]
    on_partitions: bool = True
    """Whether it speaks of partition columns only."""

    def text(self, prefix: str = "") -> str:
        return self.template.replace("{p}", prefix)


def literal(column: str, value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return str(value)
    return f"DATE '{value}'" if column == "date" else f"'{value}'"


_COMPARISONS: Mapping[str, Callable[[int], bool]] = {
    "=": lambda order: order == 0,
    "<>": lambda order: order != 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}
COMPARISONS = tuple(_COMPARISONS)


def _order(left: Value, right: Value) -> int | None:
    if left is None or right is None:
        return None
    return (left > right) - (left < right)  # type: ignore[operator]  # both are of the column's type


def compare(column: str, operator: str, value: Value) -> Condition:
    def holds(row: Cells) -> Truth:
        order = _order(row[column], value)
        return None if order is None else _COMPARISONS[operator](order)

    return Condition(f"{{p}}{column} {operator} {literal(column, value)}", holds, column != "k")


def null_safe(column: str, value: Value) -> Condition:
    return Condition(f"{{p}}{column} <=> {literal(column, value)}", lambda row: row[column] == value)


def is_null(column: str, negated: bool) -> Condition:
    word = "IS NOT NULL" if negated else "IS NULL"
    return Condition(f"{{p}}{column} {word}", lambda row: (row[column] is None) != negated)


def is_in(column: str, values: Sequence[Value], negated: bool) -> Condition:
    def holds(row: Cells) -> Truth:
        cell = row[column]
        if cell is None:
            return None
        return (cell in values) != negated

    listed = ", ".join(literal(column, value) for value in values)
    return Condition(f"{{p}}{column} {'NOT IN' if negated else 'IN'} ({listed})", holds)


def between(column: str, low: Value, high: Value) -> Condition:
    low_end, high_end = compare(column, ">=", low), compare(column, "<=", high)
    text = f"{{p}}{column} BETWEEN {literal(column, low)} AND {literal(column, high)}"
    return Condition(text, lambda row: _and(low_end.holds(row), high_end.holds(row)))


def begins(column: str, prefix: str) -> Condition:
    def holds(row: Cells) -> Truth:
        cell = row[column]
        return None if cell is None else str(cell).startswith(prefix)

    return Condition(f"{{p}}{column} LIKE '{prefix}%'", holds)


def both(left: Condition, right: Condition) -> Condition:
    return Condition(
        f"({left.template} AND {right.template})",
        lambda row: _and(left.holds(row), right.holds(row)),
        left.on_partitions and right.on_partitions,
    )


def either(left: Condition, right: Condition) -> Condition:
    return Condition(
        f"({left.template} OR {right.template})",
        lambda row: _or(left.holds(row), right.holds(row)),
        left.on_partitions and right.on_partitions,
    )


def negated(inner: Condition) -> Condition:
    def holds(row: Cells) -> Truth:
        found = inner.holds(row)
        return None if found is None else not found

    return Condition(f"NOT ({inner.template})", holds, inner.on_partitions)


def _and(left: Truth, right: Truth) -> Truth:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left: Truth, right: Truth) -> Truth:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False
