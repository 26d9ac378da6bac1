"""Tells for which statements an engine judges conflicts row by row: only for statements with plain conditions.

The limits are those that Databricks documents (D6 in docs/sources.md).
"""

from collections.abc import Collection, Iterable

from sqlglot import exp

from sluice.footprint.sql.functions import a_users
from sluice.footprint.sql.statement_context import StatementContext
from sluice.footprint.sql.tree_summary import TreeSummary
from sluice.predicates.reason_texts import is_volatile
from sluice.predicates.syntax import conjuncts

_WITHIN_A_VALUE = (exp.Dot, exp.Bracket)
_COMPLEX = ("struct", "array", "map")


def against_rows(reading: StatementContext, conditions: Iterable[exp.Expr | None]) -> str | None:
    """Why the statement's conditions are too complex; None if they are not."""
    for condition in conditions:
        if condition is None:
            continue
        survey = TreeSummary(condition)
        if any(isinstance(node, exp.Query) for node in survey.nodes):
            return "its condition has a subquery"
        if survey.strangers:
            return "a part of its condition is not understood"
        for function in survey.calls:
            if not isinstance(function, exp.Func):
                continue
            name = (function.name if isinstance(function, exp.Anonymous) else function.sql_name()).lower()
            if is_volatile(name) or a_users(function, reading.around.settings.spark) is not None:
                return f"its condition calls {name}(), which may be non-deterministic"
        if any(isinstance(node, _WITHIN_A_VALUE) for node in survey.nodes) or any(
            _is_complex(node, reading) for node in survey.nodes if isinstance(node, exp.Column)
        ):
            return "its condition uses a struct, an array or a map"
    return None


def filters_target(on: exp.Expr, names: Collection[str]) -> bool:
    """Whether a part of a MERGE's condition is about the target's columns alone."""
    folded = {name.lower() for name in names}
    for part in conjuncts(on):
        columns = list(part.find_all(exp.Column))
        if columns and all(column.table.lower() in folded for column in columns):
            return True
    return False


def _is_complex(column: exp.Column, reading: StatementContext) -> bool:
    if column.args.get("db"):
        return True  # a.b.c may be a field of a struct as well as a column of a table
    facts = reading.facts
    if facts is None:
        return False
    found = (facts.columns.find(name) for name in (column.name, column.table) if name)
    return any(one is not None and one.type.text.lower().startswith(_COMPLEX) for one in found)
