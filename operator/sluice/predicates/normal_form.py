"""Rewrites conjuncts that use a choice, a pair or a cast as comparisons that mean the same.

This is only for whole conjuncts. Inside OR and NOT Spark's optimizer treats such forms differently from their plain
ones, and what an engine records as read follows from the form. What is TRUE stays TRUE, and nothing else becomes
TRUE; FALSE and NULL may be swapped, which makes no difference to a conjunct that must be TRUE.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce

from sqlglot import exp

from sluice.predicates.columns import Kind
from sluice.predicates.limits import MAX_CHOICES
from sluice.predicates.literals import day_of

KindOf = Callable[[exp.Column], Kind | None]

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_TEXT, _NUMBER = "text", "number"
_SORTS = {Kind.STRING: _TEXT, Kind.INTEGER: _NUMBER}
_INTEGER = re.compile(r"0|-?[1-9]\d{0,17}")


def plainly(node: exp.Expr, kind_of: KindOf) -> exp.Expr | None:
    """The conjunct as comparisons; None if it has none of these forms."""
    node = node.unnest()
    match node:
        case exp.If() | exp.Case():
            return _chosen(node, lambda result: result)
        case exp.In():
            return _pairs(node, kind_of)
    return _compared(node, kind_of) if isinstance(node, _COMPARISONS) else None


def _compared(node: exp.Expr, kind_of: KindOf) -> exp.Expr | None:
    left, right = node.this.unnest(), node.expression
    if _sort(right) is not None and isinstance(left, exp.Case | exp.If):
        return _choice_compared(node, left)
    if _sort(right) is not None and isinstance(left, exp.Coalesce):
        return _default_compared(node, left, kind_of)
    if isinstance(node, exp.EQ):
        return _as_text(left, right, kind_of)
    return None


# --------------------------------------------------------------------------------------------------------------- choices


def _choice_compared(node: exp.Expr, choice: exp.Expr) -> exp.Expr | None:
    """Rewrites CASE WHEN a THEN 'x' ELSE 'y' END = 'x', only for constants of one sort, so that nothing is cast."""
    sort = _sort(node.expression)
    if any(_sort(result) != sort for result in _results(choice)):
        return None
    return _chosen(choice, lambda result: type(node)(this=result, expression=node.expression.copy()))


def _chosen(choice: exp.Expr, said: Callable[[exp.Expr], exp.Expr]) -> exp.Expr | None:
    branches = _branches(choice)
    if branches is None:
        return None
    alternatives = []
    before: list[exp.Expr] = []
    for condition, result in branches:
        alternatives.append(_all_of([*before, _is_true(condition), said(result.copy())]))
        before = [*before, exp.Not(this=exp.Paren(this=_is_true(condition)))]
    otherwise = choice.args.get("false" if isinstance(choice, exp.If) else "default")
    if otherwise is not None:
        alternatives.append(_all_of([*before, said(otherwise.copy())]))
    return reduce(lambda a, b: exp.Or(this=a, expression=b), alternatives)


def _branches(choice: exp.Expr) -> list[tuple[exp.Expr, exp.Expr]] | None:
    ifs = [choice] if isinstance(choice, exp.If) else choice.args["ifs"]
    if isinstance(choice, exp.Case) and choice.this is not None:
        return None  # CASE x WHEN y compares
    if len(ifs) > MAX_CHOICES or any(branch.args.get("true") is None for branch in ifs):
        return None
    return [(branch.this, branch.args["true"]) for branch in ifs]


def _results(choice: exp.Expr) -> Sequence[exp.Expr]:
    branches = [result for _, result in _branches(choice) or ()]
    otherwise = choice.args.get("false" if isinstance(choice, exp.If) else "default")
    return [*branches, *([] if otherwise is None else [otherwise])]


def _default_compared(node: exp.Expr, call: exp.Coalesce, kind_of: KindOf) -> exp.Expr | None:
    """Rewrites coalesce(column, 'x') = 'x' where nothing is cast."""
    column, defaults = call.this, call.expressions
    if not isinstance(column, exp.Column) or len(defaults) != 1:
        return None
    sorts = {_sort_of(column, kind_of), _sort(defaults[0]), _sort(node.expression)}
    if len(sorts) > 1 or None in sorts:
        return None
    missing = exp.Is(this=column.copy(), expression=exp.Null())
    by_default = type(node)(this=defaults[0].copy(), expression=node.expression.copy())
    return exp.Or(
        this=type(node)(this=column.copy(), expression=node.expression.copy()),
        expression=exp.And(this=missing, expression=by_default),
    )


# ----------------------------------------------------------------------------------------------------------------- pairs


def _pairs(node: exp.In, kind_of: KindOf) -> exp.Expr | None:
    """Rewrites (a, b) IN ((1, 'x'), ...): a row is never NULL as a whole, and Spark refuses fields that it would have to cast."""
    if not isinstance(node.this, exp.Tuple) or not node.expressions or node.args.get("query"):
        return None
    columns = [column.unnest() for column in node.this.expressions]
    alternatives = []
    for element in node.expressions:
        values = element.expressions if isinstance(element, exp.Tuple) else []
        if len(values) != len(columns) or not values:
            return None
        fields = list(zip(columns, values, strict=True))
        if not all(
            _is_of_one_sort(column, value, kind_of) or _are_dates(column, value, kind_of)
            for column, value in fields
        ):
            return None
        alternatives.append(_all_of([_equal(column, value) for column, value in fields]))
    return reduce(lambda a, b: exp.Or(this=a, expression=b), alternatives)


def _are_dates(column: exp.Expr, value: exp.Expr, kind_of: KindOf) -> bool:
    is_date = isinstance(value, exp.Cast) and value.to.is_type(exp.DType.DATE) and _sort(value.this) == _TEXT
    return is_date and isinstance(column, exp.Column) and kind_of(column) is Kind.DATE


# ----------------------------------------------------------------------------------------------------------------- casts


def _as_text(left: exp.Expr, right: exp.Expr, kind_of: KindOf) -> exp.Expr | None:
    """Rewrites CAST(n AS STRING) = '2' and CAST(date AS STRING) = '2026-11-19': whole numbers and dates have one text each."""
    if not isinstance(left, exp.Cast) or not left.to.is_type(exp.DType.TEXT) or _sort(right) != _TEXT:
        return None
    column = left.this
    kind = kind_of(column) if isinstance(column, exp.Column) else None
    if kind is Kind.INTEGER and _INTEGER.fullmatch(right.name):
        return _equal(column, _whole(right.name))
    if kind is Kind.DATE and day_of(right.name) is not None:
        return _equal(column, _date(right.name))
    return None


# --------------------------------------------------------------------------------------------------------------- helpers


def _is_true(condition: exp.Expr) -> exp.Expr:
    return exp.Is(this=exp.Paren(this=condition.copy()), expression=exp.Boolean(this=True))


def _equal(column: exp.Expr, value: exp.Expr) -> exp.Expr:
    """Compares copies, like all code here: a node knows its parent, and the statement is still being read."""
    return exp.EQ(this=column.copy(), expression=value.copy())


def _all_of(parts: Sequence[exp.Expr]) -> exp.Expr:
    return reduce(lambda a, b: exp.And(this=a, expression=b), parts)


def _date(text: str) -> exp.Expr:
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType(this=exp.DType.DATE))


def _whole(text: str) -> exp.Expr:
    number = exp.Literal.number(text.lstrip("-"))
    return exp.Neg(this=number) if text.startswith("-") else number


def _sort(node: exp.Expr) -> str | None:
    """The sort of a constant that is compared as it stands."""
    node = node.this if isinstance(node, exp.Neg) else node
    if not isinstance(node, exp.Literal):
        return None
    if node.is_string:
        return _TEXT
    return _NUMBER if node.name.isdigit() else None


def _is_of_one_sort(column: exp.Expr, value: exp.Expr, kind_of: KindOf) -> bool:
    sort = _sort(value)
    return sort is not None and isinstance(column, exp.Column) and _sort_of(column, kind_of) == sort


def _sort_of(column: exp.Column, kind_of: KindOf) -> str | None:
    kind = kind_of(column)
    return None if kind is None else _SORTS.get(kind)
