"""Makes the atom of each operator on one column (a comparison, IN, a prefix, IS NULL): two sets of values, one where it's TRUE
and one where it's FALSE.

Values in neither set make it NULL, which is all that SQL's NULL does to an operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sluice.predicates.coercion import Place
from sluice.predicates.columns import Column
from sluice.predicates.literals import Literal, LiteralKind
from sluice.predicates.tree import Atom, Spelling
from sluice.predicates.values import (
    LOWEST_STRING,
    NO_VALUE,
    NOT_NULL,
    NULL_ONLY,
    ValueSet,
    at_or_above,
    below,
    between,
    complement,
    union,
)

FLIPPED: Mapping[str, str] = {"=": "=", "<=>": "<=>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The operator that says the same with the sides swapped."""

FLOAT_ZERO: Place = (0, 1)
"""The one code of 0.0 and -0.0, which are equal, but not in the hash set that Spark builds from a long IN list."""


def comparison(column: Column, operator: str, literal: Literal, place: Place) -> Atom:
    low, high = place
    spelling = Spelling(operator, (literal,))
    match operator:
        case "=":
            equal = between(low, high)
            return Atom(column, equal, complement(equal).without_null(), spelling)
        case "<=>":
            equal = between(low, high)
            return Atom(column, equal, complement(equal), spelling)
        case "<":
            return Atom(column, below(low), at_or_above(low), spelling)
        case "<=":
            return Atom(column, below(high), at_or_above(high), spelling)
        case ">":
            return Atom(column, at_or_above(high), below(high), spelling)
        case ">=":
            return Atom(column, at_or_above(low), below(low), spelling)
    raise AssertionError(operator)


def with_null(column: Column, operator: str) -> Atom:
    """A comparison with the NULL literal."""
    if operator == "<=>":
        return is_null(column)
    return Atom(column, NO_VALUE, NO_VALUE, Spelling(operator, (Literal(LiteralKind.NULL, None),)))


def membership(
    column: Column, elements: Sequence[Literal], places: Sequence[Place], *, has_null: bool
) -> Atom:
    """`column IN (...)`: with a NULL in the list it's never FALSE."""
    members = union([between(low, high) for low, high in places]) if places else NO_VALUE
    outside = NO_VALUE if has_null else complement(members).without_null()
    return Atom(column, members, outside, Spelling("IN", tuple(elements)))


def starts_with(column: Column, prefix: str, pattern: Literal) -> Atom:
    following = _after_all_with(prefix)
    members = at_or_above(prefix) if following is None else between(prefix, following)
    return Atom(column, members, complement(members).without_null(), Spelling("LIKE", (pattern,)))


def written_as(column: Column, place: Place, pattern: Literal) -> Atom:
    """`column LIKE pattern`, where the column's text is the pattern for these values."""
    members = between(*place)
    return Atom(column, members, complement(members).without_null(), Spelling("LIKE", (pattern,)))


def _after_all_with(prefix: str) -> str | None:
    """The least string above all that start with `prefix`; None if there's none."""
    for i in range(len(prefix) - 1, -1, -1):
        point = ord(prefix[i]) + 1
        if point == 0xD800:
            point = 0xE000
        if point <= 0x10FFFF:
            return prefix[:i] + chr(point)
    return None


def is_null(column: Column) -> Atom:
    return Atom(column, NULL_ONLY, NOT_NULL, Spelling("IS NULL", ()))


def is_set(column: Column) -> Atom:
    """A boolean column used as a condition."""
    return Atom(column, between(1, 2), between(0, 1), Spelling("", ()))


def text_of_empty(column: Column) -> tuple[str, ...]:
    """The values that a partition's folder can't tell from NULL."""
    return (LOWEST_STRING, "__HIVE_DEFAULT_PARTITION__") if column.loses_empty_strings else ()


def as_stored(column: Column, values: ValueSet) -> ValueSet:
    """The partitions that rows with these values land in, including NULL's partition if a value is stored as NULL."""
    return values.with_null() if any(values.contains(text) for text in text_of_empty(column)) else values
