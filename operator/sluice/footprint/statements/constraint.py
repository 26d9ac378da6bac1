"""Bounds the rows that Delta lets REPLACE WHERE and replaceWhere write: it checks them only against the parts of the condition
that name a column. For SQL's REPLACE WHERE that is the condition after Spark's optimizer, which may leave only
`false`."""

from sqlglot import exp

from sluice.footprint.sql.statement_context import StatementContext, partitions
from sluice.predicates import Kind, Predicate, Region, compiled, conjunction
from sluice.predicates.syntax import condition_in, conjuncts

_COMPARED_AS_THEY_ARE = frozenset(
    {Kind.BOOLEAN, Kind.INTEGER, Kind.STRING, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ}
)
"""Kinds that Spark compares unchanged. For other types Spark may find that a column cannot have the value where
Sluice does not."""


def where_rows_may_land(
    reading: StatementContext, condition: str | exp.Expr, predicate: Predicate, lands: Region
) -> Region:
    """Returns where rows may land; `lands` is where the query's rows would land without the condition."""
    if isinstance(condition, str):
        held = _held(reading, condition)
        return lands if held is None else partitions(held)
    return partitions(predicate) if _is_never_folded_to_false(predicate) else lands


def _held(reading: StatementContext, condition: str) -> Predicate | None:
    """The parts of the option's condition that name a column, as they are written; None if there are none."""
    tree = condition_in(condition)
    if isinstance(tree, str):
        return None
    named = [part for part in conjuncts(tree) if part.find(exp.Column) is not None]
    return conjunction(reading.predicate(part, names=reading.own_names) for part in named) if named else None


def _is_never_folded_to_false(predicate: Predicate) -> bool:
    """Whether some row without NULL surely matches: for a column that cannot be NULL the optimizer rules NULL out."""
    rows = compiled(predicate)
    return (
        not rows.reasons
        and all(column.type.kind in _COMPARED_AS_THEY_ARE for column in rows.columns.values())
        and any(all(values.has_values for values in box.values()) for box in rows.boxes)
    )
