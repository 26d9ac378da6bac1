"""Moves negations down to the atoms, under four questions, not two: with NULL, "not TRUE" and "FALSE" are different rows.

For every node one can ask where it is TRUE, FALSE, not TRUE or not FALSE; each question moves down through AND, OR,
NOT and IS to the same questions about the parts, and ends at an atom as one set of column values. The result has no
negation and no NULL: only ALL, ANY and sets. `Anything` answers every question with "maybe", so it's put in where no
negation can reverse it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from sluice.predicates.columns import Column
from sluice.predicates.tree import And, Anything, Atom, IsNull, IsTrue, Not, Or, Predicate, TruthValue
from sluice.predicates.values import ValueSet, complement, union


class Question(Enum):
    TRUE = "where is it TRUE?"
    FALSE = "where is it FALSE?"
    NOT_TRUE = "where is it FALSE or NULL?"
    NOT_FALSE = "where is it TRUE or NULL?"


@dataclass(frozen=True, slots=True)
class In:
    """Rows whose column has one of the values (NULL may be one)."""

    column: Column
    values: ValueSet


@dataclass(frozen=True, slots=True)
class All:
    parts: tuple[Positive, ...]


@dataclass(frozen=True, slots=True)
class Any:
    parts: tuple[Positive, ...]


@dataclass(frozen=True, slots=True)
class Maybe:
    """Any row may match."""

    reason: str


Positive: TypeAlias = In | All | Any | Maybe

EVERY_ROW = All(())
NO_ROW = Any(())

_UNDER_NOT = {
    Question.TRUE: Question.FALSE,
    Question.FALSE: Question.TRUE,
    Question.NOT_TRUE: Question.NOT_FALSE,
    Question.NOT_FALSE: Question.NOT_TRUE,
}
_ALL_PARTS_OF_AND = (Question.TRUE, Question.NOT_FALSE)


_Known: TypeAlias = dict[tuple[int, Question], Positive]


def positive(
    predicate: Predicate, question: Question = Question.TRUE, known: _Known | None = None
) -> Positive:
    """The rows that answer the question, with no negation left. `known` are the answers so far: IS NULL asks two questions of
    its part, so IS NULL within IS NULL would ask again and again."""
    known = {} if known is None else known
    asked = id(predicate), question
    if asked not in known:
        known[asked] = _positive(predicate, question, known)
    return known[asked]


def _positive(predicate: Predicate, question: Question, known: _Known) -> Positive:  # noqa: PLR0911 - one case a node
    match predicate:
        case Atom(column, true, false):
            return In(column, _answer(true, false, question))
        case Anything(reason):
            return Maybe(reason)
        case TruthValue(value):
            return EVERY_ROW if _constant_answers(value, question) else NO_ROW
        case Not(part):
            return positive(part, _UNDER_NOT[question], known)
        case And(parts):
            asked = tuple(positive(part, question, known) for part in parts)
            return All(asked) if question in _ALL_PARTS_OF_AND else Any(asked)
        case Or(parts):
            asked = tuple(positive(part, question, known) for part in parts)
            return Any(asked) if question in _ALL_PARTS_OF_AND else All(asked)
        case IsTrue(part):
            return positive(
                part, Question.TRUE if question in _ALL_PARTS_OF_AND else Question.NOT_TRUE, known
            )
        case IsNull(part):
            if question in _ALL_PARTS_OF_AND:
                return All(
                    (positive(part, Question.NOT_TRUE, known), positive(part, Question.NOT_FALSE, known))
                )
            return Any((positive(part, Question.TRUE, known), positive(part, Question.FALSE, known)))


def _answer(true: ValueSet, false: ValueSet, question: Question) -> ValueSet:
    match question:
        case Question.TRUE:
            return true
        case Question.FALSE:
            return false
        case Question.NOT_TRUE:
            return union([complement(true), false])  # for some values it may be either: they are in both sets
        case Question.NOT_FALSE:
            return union([complement(false), true])


def _constant_answers(value: bool | None, question: Question) -> bool:
    match question:
        case Question.TRUE:
            return value is True
        case Question.FALSE:
            return value is False
        case Question.NOT_TRUE:
            return value is not True
        case Question.NOT_FALSE:
            return value is not False
