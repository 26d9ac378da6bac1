"""The tree that a condition is read into: Spark's three-valued logic, exactly, and nothing else.

A node is TRUE, FALSE or NULL for a row, and a row matches only if the whole is TRUE. An `Atom` speaks of one column
and says for which of its values it is TRUE and for which FALSE (NULL for the rest), so every operator of SQL is just
a pair of sets. What isn't understood is `Anything`: it may be TRUE, FALSE or NULL for any row, whatever is around it,
even a negation. AND and OR are flat, so that a chain of ten thousand isn't ten thousand levels deep.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from sluice.predicates.columns import Column
from sluice.predicates.literals import Literal
from sluice.predicates.values import ValueSet


@dataclass(frozen=True, slots=True)
class Spelling:
    """How an atom was written. Spark's optimizer finds common factors by spelling, not by meaning; so must we."""

    operator: str
    literals: tuple[Literal, ...]
    of: str | None = None
    """The function of columns that it's a condition on, as it was written."""
    by_day: bool = False
    """Whether it says another thing on each of several days."""


@dataclass(frozen=True, slots=True)
class Atom:
    """TRUE for the values in `true`, FALSE for those in `false`, NULL for all others (the sets may hold NULL itself). For values in
    both sets it depends on the day which it is."""

    column: Column
    true: ValueSet
    false: ValueSet
    spelling: Spelling


@dataclass(frozen=True, slots=True)
class TruthValue:
    """A value that is the same for every row: True, False, or None for NULL."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Anything:
    """A part that isn't understood: to be sound, assume that it may hold for any row and may fail for any row."""

    reason: str


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: Predicate


@dataclass(frozen=True, slots=True)
class IsTrue:
    """`part IS TRUE`: never NULL."""

    part: Predicate


@dataclass(frozen=True, slots=True)
class IsNull:
    """`(part) IS NULL` for a condition, not for a column: never NULL."""

    part: Predicate


Predicate: TypeAlias = Atom | TruthValue | Anything | And | Or | Not | IsTrue | IsNull

ALWAYS = TruthValue(value=True)
NEVER = TruthValue(value=False)


def conjunction(parts: Iterable[Predicate]) -> Predicate:
    """All of the parts; TRUE for none of them."""
    flat = tuple(_flattened(And, parts))
    if not flat:
        return ALWAYS
    return flat[0] if len(flat) == 1 else And(flat)


def disjunction(parts: Iterable[Predicate]) -> Predicate:
    """At least one of the parts; FALSE for none of them."""
    flat = tuple(_flattened(Or, parts))
    if not flat:
        return NEVER
    return flat[0] if len(flat) == 1 else Or(flat)


def _flattened(kind: type[And] | type[Or], parts: Iterable[Predicate]) -> Iterator[Predicate]:
    for part in parts:
        if isinstance(part, kind):
            yield from part.parts
        else:
            yield part


def leaves(predicate: Predicate) -> Iterator[Atom | TruthValue | Anything]:
    """Every atom, constant and unknown part, from left to right."""
    pending = [predicate]
    while pending:
        node = pending.pop()
        match node:
            case And(parts) | Or(parts):
                pending.extend(reversed(parts))
            case Not(part) | IsTrue(part) | IsNull(part):
                pending.append(part)
            case _:
                yield node


def size(predicate: Predicate) -> int:
    """How many conditions it has, with the values that they list."""
    return sum(
        1 + (len(leaf.true.cuts) + len(leaf.false.cuts) if isinstance(leaf, Atom) else 0)
        for leaf in leaves(predicate)
    )


def reasons(predicate: Predicate) -> tuple[str, ...]:
    """Why parts of the predicate had to be widened to anything: each reason once, in the order of the text."""
    return tuple(dict.fromkeys(leaf.reason for leaf in leaves(predicate) if isinstance(leaf, Anything)))
