"""Parts of expressions and queries that Spark's grammar requires and the SQL parser does not: Spark refuses the text
if a node's parts don't fit."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from sqlglot import exp

_Check = Callable[[exp.Expr], bool]

_UNQUOTED = re.compile(r"\w+")
_UNITS = frozenset(
    f"{unit}{plural}"
    for unit in (
        *("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"),
        *("MILLISECOND", "MICROSECOND", "NANOSECOND"),
    )
    for plural in ("", "S")
)
_NAMES_NOTHING = frozenset(
    {
        *(
            "AND",
            "AS",
            "BETWEEN",
            "CASE",
            "FROM",
            "HAVING",
            "IN",
            "INTO",
            "IS",
            "JOIN",
            "LIKE",
            "NOT",
            "ON",
            "OR",
        ),
        *("SELECT", "THEN", "UNION", "USING", "WHEN", "WHERE", "WITH"),
    }
)
"""Words that statements are made of: as names they need backticks."""
_PREDICATES = (exp.Is, exp.Between, exp.In, exp.Like, exp.ILike, exp.RegexpLike)
_BESIDE_A_FUNCTION = (exp.IgnoreNulls, exp.RespectNulls, exp.Filter, exp.WithinGroup)
_OF_GROUPS = (exp.GroupingSets, exp.Rollup, exp.Cube, exp.Group)


def missing_in(node: exp.Expr) -> str | None:
    """Why Spark refuses the text of this node by itself; None if nothing is known against it."""
    check = _CHECKED.get(type(node))
    return None if check is None or check[0](node) else check[1].format(node.sql("spark")[:60])


def _is_name(node: exp.Expr) -> bool:
    if node.args.get("quoted"):
        return True
    return _may_be_name(node.name)


@lru_cache(4096)
def _may_be_name(text: str) -> bool:
    name = text.upper()
    return _UNQUOTED.fullmatch(name) is not None and not name.isdigit() and name not in _NAMES_NOTHING


def _names_columns(node: exp.Expr) -> bool:
    return all(isinstance(column, exp.Identifier) for column in node.args.get("columns") or ())


def _is_of_a_set(node: exp.Expr) -> bool:
    return bool(node.expressions or node.args.get("query")) and not node.args.get("field")


def _is_row(node: exp.Expr) -> bool:
    return bool(node.expressions) or isinstance(node.parent, _OF_GROUPS)


def _has_unit(node: exp.Expr) -> bool:
    unit = node.args.get("unit")
    if unit is None:
        return isinstance(node.this, exp.Literal) and any(map(str.isalpha, node.this.name))
    return isinstance(unit, exp.IntervalSpan) or unit.name.upper() in _UNITS


def _is_over_a_function(node: exp.Expr) -> bool:
    function = node.this
    if node.arg_key == "windows":
        return True  # WINDOW name AS (...)
    return isinstance(function, _BESIDE_A_FUNCTION) or (
        isinstance(function, exp.Func | exp.Dot) and not isinstance(function, exp.Cast | exp.Case)
    )


def _is_one_predicate(node: exp.Expr) -> bool:
    """Whether it is no predicate about another predicate, which Spark would require in parentheses."""
    left = node.this.this if isinstance(node.this, exp.Not) else node.this
    return not isinstance(left, _PREDICATES)


def _is_test(node: exp.Expr) -> bool:
    return isinstance(node.expression, exp.Null | exp.Boolean) and _is_one_predicate(node)


def _selects_from(node: exp.Expr) -> bool:
    return bool(node.args.get("from_")) or not (node.args.get("joins") or node.args.get("laterals"))


def _is_whole_operand(node: exp.Expr) -> bool:
    """Whether it is not an operand with a name: queries that UNION and its like combine have none."""
    return not (
        node.alias and isinstance(node.parent, exp.SetOperation) and node.arg_key in ("this", "expression")
    )


def _excepts_columns(node: exp.Expr) -> bool:
    return all(isinstance(one, exp.Identifier | exp.Column) for one in node.args.get("except_") or ())


_ONE_AFTER_THE_OTHER = "{!r}: put what is compared into parentheses, or add the missing part"
_CHECKED: Mapping[type[exp.Expr], tuple[_Check, str]] = {
    exp.Identifier: (_is_name, "{!r} cannot be a name: if it is one, write it in backticks"),
    exp.CTE: (lambda node: isinstance(node.this, exp.Query), "{!r}: WITH name AS (query) needs a query"),
    exp.TableAlias: (_names_columns, "{!r}: write only names of columns in the parentheses after a name"),
    exp.In: (lambda node: _is_of_a_set(node) and _is_one_predicate(node), "{!r}: IN needs (values) or (query)"),
    exp.Is: (_is_test, "{!r}: write one value before IS, and NULL, TRUE, FALSE or DISTINCT FROM after it"),
    **dict.fromkeys((exp.Between, exp.Like, exp.ILike, exp.RegexpLike), (_is_one_predicate, _ONE_AFTER_THE_OTHER)),
    exp.Tuple: (_is_row, "{!r}: something is missing in the parentheses"),
    exp.Paren: (lambda node: not isinstance(node.this, exp.Alias), "{!r}: write the name outside the parentheses"),
    exp.Interval: (_has_unit, "{!r}: INTERVAL needs a number and a unit, such as DAY"),
    exp.Window: (_is_over_a_function, "{!r}: write OVER only after a function"),
    exp.Select: (_selects_from, "a SELECT joins something, but FROM is missing"),
    exp.Subquery: (_is_whole_operand, "{!r}: remove the name after a query that is combined with another (UNION and its like)"),
    exp.Star: (_excepts_columns, "{!r}: EXCEPT needs names of columns in parentheses"),
    exp.Lateral: (
        lambda node: not node.args.get("view") or bool(node.alias),
        "{!r}: LATERAL VIEW needs a name after its function",
    ),
}  # fmt: skip
CHECKED = frozenset(_CHECKED)
"""The classes of nodes that may lack something."""
