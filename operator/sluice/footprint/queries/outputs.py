"""Counts the columns that a SELECT's list makes, and tells what each is called, where that is known."""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from sluice.footprint.sql.functions import is_generator, name_of
from sluice.footprint.sql.known import Version
from sluice.footprint.sql.nodes import PROJECTIONS, SCALARS, has_only, values_in
from sluice.footprint.sql.selected_tables import users_function


@dataclass(frozen=True)
class Output:
    """One column."""

    name: str
    """Empty where Spark makes up a name that belongs to no column."""
    node: exp.Expr | None
    """Its value; None for one of several columns that a generator makes."""


@dataclass(frozen=True)
class Expansion:
    """All columns of a table, or of all tables."""

    table: str | None
    without: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Unknown:
    """Any number of columns with any names."""


def outputs_of(query: exp.Select, spark: Version | None) -> Iterator[Output | Expansion | Unknown]:
    for projection in query.expressions:
        yield from _outputs(projection, spark)


def _outputs(node: exp.Expr, spark: Version | None) -> Iterator[Output | Expansion | Unknown]:
    match node:
        case exp.Alias() if has_only(node, PROJECTIONS):
            yield Output(node.alias, node.this.unnest())  # Spark refuses an alias for several columns
        case exp.Aliases() if has_only(node, PROJECTIONS):
            yield from (Output(name.name, None) for name in node.expressions)
        case exp.Star() | exp.Column(this=exp.Star()):
            yield _expansion(node)
        case _ if is_one_value(node, spark):
            yield Output(_name(node), node.unnest())
        case _:
            yield Unknown()


def _expansion(node: exp.Expr) -> Expansion | Unknown:
    star, table = (node, None) if isinstance(node, exp.Star) else (node.this, node.args.get("table"))
    if (
        not has_only(star, PROJECTIONS)
        or (table is not None and not has_only(node, SCALARS))
        or node.args.get("db")
    ):
        return Unknown()
    without = star.args.get("except_") or []
    if not all(isinstance(column, exp.Column) and not column.table for column in without):
        return Unknown()
    names = frozenset(column.name.lower() for column in without)
    return Expansion(None if table is None else table.name.lower(), names)


def is_one_value(node: exp.Expr, spark: Version | None) -> bool:
    """Whether it is exactly one column with exactly one value for each row."""
    return all(_is_part_of_a_value(part, spark) for part in values_in(node))


def _is_part_of_a_value(node: exp.Expr, spark: Version | None) -> bool:
    if isinstance(node, exp.Func) and type(node) not in SCALARS:
        return users_function(node, spark) is None and not _generates(node)
    return isinstance(node, exp.Query) or has_only(node, SCALARS)


def _generates(function: exp.Func) -> bool:
    name = name_of(function)
    return isinstance(function, exp.UDTF) or (name is not None and is_generator(name))


def _name(node: exp.Expr) -> str:
    node = node.unnest()
    if isinstance(node, exp.Cast):
        node = node.this
    return node.name if isinstance(node, exp.Column | exp.Dot | exp.Literal) else ""
