"""Conditions on current_date(), which is one of a few known days while a statement runs: each is read once for each day.

Spark works out the day once for a whole plan, so that a condition says the same of all rows; but the next plan of the same
statement may see another day. So each condition on its own is taken for what it says on any of the days.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from itertools import islice

from sqlglot import exp

from sluice.predicates.limits import MAX_TODAY
from sluice.predicates.tree import And, Anything, Atom, Not, Predicate, conjunction
from sluice.predicates.values import union

_CALLED_AS = "written"
"""What the parser notes on a call, and not on a bare `current_date`, which may be a column."""


def is_said_in(node: exp.Expr) -> bool:
    """Whether the condition or the value depends on the day. What asks for it very often is left aside: it may be any row."""
    return 0 < len(list(islice(_calls(node), MAX_TODAY + 1))) <= MAX_TODAY


def on(day: date, node: exp.Expr) -> exp.Expr:
    """The condition or the value with this day in place of current_date()."""
    around = exp.Paren(this=node.copy())  # what has no parent is not replaced
    for call in list(_calls(around)):
        call.replace(exp.Cast(this=exp.Literal.string(day.isoformat()), to=exp.DataType(this=exp.DType.DATE)))
    return around.unnest()


def _calls(node: exp.Expr) -> Iterator[exp.Expr]:
    return (call for call in node.find_all(exp.CurrentDate) if call.this is None and _CALLED_AS in call.meta)


def any_of(options: Iterable[Predicate]) -> Predicate | None:
    """What says TRUE, FALSE or NULL of a row wherever one of the options does; None if they differ in more than values, or one may
    be anything: no other is asked for then."""
    found: list[Predicate] = []
    for option in options:
        if isinstance(option, Anything) or (found and type(option) is not type(found[0])):
            return None
        found.append(option)
    return found[0] if all(option == found[0] for option in found) else _any_of_its_kind(found[0], found)


def _any_of_its_kind(first: Predicate, options: Sequence[Predicate]) -> Predicate | None:
    match first:
        case Atom():
            return _any_atom([option for option in options if isinstance(option, Atom)])
        case Not():
            part = any_of([option.part for option in options if isinstance(option, Not)])
            return None if part is None else Not(part)
        case And():
            return _any_group([option.parts for option in options if isinstance(option, And)])
    return None


def _any_group(groups: Sequence[tuple[Predicate, ...]]) -> Predicate | None:
    if len(set(map(len, groups))) > 1:
        return None
    parts = [any_of(options) for options in zip(*groups, strict=True)]
    known = [part for part in parts if part is not None]
    return conjunction(known) if len(known) == len(parts) else None


def _any_atom(options: Sequence[Atom]) -> Atom | None:
    first = options[0]
    alike = {(option.column, option.spelling.operator, option.spelling.of) for option in options}
    if len(alike) > 1:
        return None
    return Atom(
        first.column,
        union([option.true for option in options]),
        union([option.false for option in options]),
        replace(
            first.spelling,
            literals=tuple(literal for option in options for literal in option.spelling.literals),
            by_day=True,
        ),
    )
