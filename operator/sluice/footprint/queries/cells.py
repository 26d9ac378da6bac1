"""What a value in a query's output says about the column that it is stored in.

Only what survives Spark's conversion on storing counts: `'05'` stored as a number is 5, and 2.7 stored as an integer is 2.
"""

from dataclasses import dataclass

from sqlglot import exp

from sluice.footprint.sql.reading import Reading
from sluice.predicates import (
    ALWAYS,
    Anything,
    Column,
    Kind,
    Predicate,
    PredicateError,
    compiled,
    conjunction,
)
from sluice.predicates.literals import Literal, LiteralKind, from_syntax


@dataclass(frozen=True)
class Constant:
    """The value is written down."""

    node: exp.Expr


@dataclass(frozen=True)
class FromTable:
    """The value of a column of a table, as far as conditions beside it say something of it alone."""

    name: str
    conditions: tuple[exp.Expr, ...]
    own: bool
    """The table is the one that is written, so that its column's type is known."""


Cell = Constant | FromTable | None

_STORED_AS_IS = {
    Kind.DATE: {LiteralKind.DATE},
    Kind.INTEGER: {LiteralKind.INTEGER},
    Kind.STRING: {LiteralKind.STRING},
    Kind.BOOLEAN: {LiteralKind.BOOLEAN},
    Kind.TIMESTAMP_NTZ: {LiteralKind.TIMESTAMP_NTZ},
}
_SAME_IN_ANY_TYPE = frozenset({Kind.DATE, Kind.INTEGER, Kind.BOOLEAN})
"""Kinds for which a value that equals a literal is stored as that literal, whatever type it had before."""


def says(cell: Cell, column: Column, reading: Reading) -> Predicate:
    """Of the target's column, if this value is stored in it."""
    if not reading.around.settings.stores_exactly:
        return Anything("spark.sql.storeAssignmentPolicy may store other values")
    if isinstance(cell, Constant):
        return _equal(column, cell.node, reading)
    if isinstance(cell, FromTable):
        return _bounded(cell, column, reading)
    return Anything(f"where rows land by {column.name} is not bounded by the statement")


def _equal(column: Column, node: exp.Expr, reading: Reading) -> Predicate:
    node = _plain(node)
    literal = _literal(node, reading)
    if literal is None:
        return Anything(f"{node.sql('spark')[:80]}: its value is known only when the statement runs")
    target = exp.column(exp.to_identifier(column.name, quoted=True))
    if literal.kind is LiteralKind.NULL:
        return reading.predicate(exp.Is(this=target, expression=exp.Null()))
    if literal.kind not in _STORED_AS_IS.get(column.type.kind, ()) and not _is_day(column, literal):
        return Anything(f"{node.sql('spark')[:80]} is converted when it is stored as {column.name}")
    found = reading.predicate(exp.EQ(this=target, expression=node.copy()))
    return ALWAYS if compiled(found).is_empty else found


def _is_day(column: Column, literal: Literal) -> bool:
    return column.type.kind is Kind.DATE and literal.kind is LiteralKind.STRING


def _bounded(cell: FromTable, column: Column, reading: Reading) -> Predicate:
    unbounded = Anything(f"where rows land by {column.name} is not bounded by the statement")
    if cell.own and cell.name.lower() != column.name.lower():
        return unbounded
    if not cell.own and column.type.kind not in _SAME_IN_ANY_TYPE:
        return unbounded
    found = [
        reading.predicate(_about(condition, column))
        for condition in cell.conditions
        if _speaks_of(condition, cell.name) and (cell.own or _is_equality(condition, column, reading))
    ]
    return conjunction(found) if found else unbounded


def _speaks_of(condition: exp.Expr, name: str) -> bool:
    columns = list(condition.find_all(exp.Column))
    return (
        bool(columns)
        and all(c.name.lower() == name.lower() for c in columns)
        and not condition.find(exp.Query)
    )


def _is_equality(condition: exp.Expr, column: Column, reading: Reading) -> bool:
    """`c = literal` or `c IN (literals)`, with literals of the column's own kind."""
    if isinstance(condition, exp.EQ):
        sides = [condition.this, condition.expression]
    elif isinstance(condition, exp.In) and condition.expressions and not condition.args.get("query"):
        sides = [condition.this, *condition.expressions]
    else:
        return False
    values = [side for side in sides if not isinstance(side, exp.Column)]
    kinds = _STORED_AS_IS[column.type.kind]
    literals = [_literal(_plain(value), reading) for value in values]
    return len(values) == len(sides) - 1 and all(
        found is not None and found.kind in kinds for found in literals
    )


def _about(condition: exp.Expr, column: Column) -> exp.Expr:
    copy = condition.copy()
    if isinstance(copy, exp.Column):
        return exp.column(exp.to_identifier(column.name, quoted=True))
    for found in list(copy.find_all(exp.Column)):
        found.replace(exp.column(exp.to_identifier(column.name, quoted=True)))
    return copy


def _plain(node: exp.Expr) -> exp.Expr:
    """Without a cast that changes nothing: CAST('eu' AS STRING), CAST(NULL AS INT), CAST(DATE '...' AS DATE)."""
    node = node.unnest()
    if isinstance(node, exp.Cast):
        inner = _plain(node.this)
        if isinstance(inner, exp.Null):
            return inner
        if node.to.this is exp.DType.TEXT and isinstance(inner, exp.Literal) and inner.is_string:
            return inner
        if isinstance(inner, exp.Cast) and inner.to == node.to:
            return inner
    return node


def _literal(node: exp.Expr, reading: Reading) -> Literal | None:
    try:
        found = from_syntax(node, reading.around.parameters)
    except PredicateError as error:
        raise reading.refused(str(error)) from error
    return found if isinstance(found, Literal) else None
