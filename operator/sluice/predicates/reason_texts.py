"""The reasons why part of a condition is not understood: "may be true for any row" helps nobody without what was not understood
and what would help."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sluice.predicates.source_text import SourceText, as_written
from sluice.predicates.syntax import SPARK

_VOLATILE = frozenset(
    {
        "curdate",
        "current_catalog",
        "current_database",
        "current_date",
        "current_schema",
        "current_time",
        "current_timestamp",
        "current_timezone",
        "current_user",
        "input_file_name",
        "localtimestamp",
        "monotonically_increasing_id",
        "now",
        "rand",
        "randn",
        "random",
        "session_user",
        "shuffle",
        "spark_partition_id",
        "unix_timestamp",
        "user",
        "uuid",
    }
)


def is_volatile(name: str) -> bool:
    """Whether Spark knows a function of this name whose value depends on when, where or by whom it runs."""
    return name.lower() in _VOLATILE


def reason(node: exp.Expr, source: SourceText | None) -> str:
    """Why the node may be true for any row. `source` is the text of its tree, if it has one."""
    for part in node.walk():
        name = part.name.lower() if isinstance(part, exp.Anonymous) else ""
        if isinstance(part, exp.Func) and not name:
            name = part.sql_name().lower()
        if name in _VOLATILE:
            return volatile(name + "()")
    if node.find(exp.Query):
        return "a subquery: may be true for any row"
    unknown = node.find(exp.Anonymous)
    if unknown is not None:
        return f"{unknown.name}(): may be true for any row"
    return f"{_snippet(node, source)}: may be true for any row"


def volatile(name: str) -> str:
    return f"{name} is known only when the statement runs: bind its value as a parameter, as in :d"


def _snippet(node: exp.Expr, source: SourceText | None) -> str:
    size: Sequence[object] = [part for part, _ in zip(node.walk(), range(40), strict=False)]
    if len(size) == 40:
        return f"a {type(node).__name__} expression"
    text = as_written(node, source) or node.sql(dialect=SPARK, comments=False)
    return text if len(text) <= 80 else text[:77] + "..."


def position(node: exp.Expr) -> tuple[int | None, int | None]:
    """Line and column where the first name below `node` starts; sqlglot keeps places for names only."""
    within = node if node.find(exp.Identifier) else node.parent or node
    for identifier in within.find_all(exp.Identifier):
        meta = identifier.meta
        if "line" in meta:
            return meta["line"], meta["col"] - (meta["end"] - meta["start"])
    return None, None
