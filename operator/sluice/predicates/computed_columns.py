"""A column that a function of other columns makes: `month(date)`, `concat(region, n)`.

It's compared like any other column, on an axis of its own. Where the values of the columns below it are known, its value is
computed; and a condition on a function that never falls (`year(date) = 2026`) is written as one on the column below it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, TypeAlias

from sluice.predicates.atoms import text_of_empty
from sluice.predicates.columns import Column, ColumnType, Kind
from sluice.predicates.functions import Function, UnknownValueError, Value, is_near
from sluice.predicates.limits import MAX_LENGTH, MAX_SOUGHT
from sluice.predicates.tree import Atom
from sluice.predicates.values import Code, ValueSet, between, successor, union


@dataclass(frozen=True, slots=True)
class KnownValue:
    value: Value
    type: ColumnType


@dataclass(frozen=True, slots=True)
class Of:
    column: Column

    @property
    def type(self) -> ColumnType:
        return self.column.type


@dataclass(frozen=True, slots=True)
class Call:
    function: Function
    arguments: tuple[Expression, ...]
    type: ColumnType


Expression: TypeAlias = KnownValue | Of | Call


def value_of(expression: Expression, row: Mapping[str, Value]) -> Value:
    """The value for these values by axis. Raises UnknownValueError."""
    match expression:
        case KnownValue(value):
            return value
        case Of(column):
            return row[column.axis]
        case Call(function, arguments, type_):
            given = [value_of(argument, row) for argument in arguments]
            if None in given and not function.takes_null:
                return None
            try:
                found = function.apply(*given)
            except (ArithmeticError, ValueError) as error:
                raise UnknownValueError from error
            if type_.kind is Kind.INTEGER and isinstance(found, int) and found.bit_length() >= type_.bits:
                raise UnknownValueError
            if isinstance(found, str) and len(found) > MAX_LENGTH:
                raise UnknownValueError
            return found


@dataclass(frozen=True, slots=True)
class ComputedColumn(Column):
    """`name` is how it's written, and `axis` what it means."""

    expression: Expression = field(compare=False)
    bases: tuple[Column, ...] = field(compare=False)

    @property
    def axes(self) -> tuple[str, ...]:
        return tuple(base.axis for base in self.bases)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(base.name for base in self.bases)

    @property
    def loses_empty_strings(self) -> bool:
        return False

    def value(self, row: Mapping[str, Value]) -> Value:
        return value_of(self.expression, row)


def as_stored(column: ComputedColumn, values: ValueSet) -> tuple[str, ValueSet]:
    """The axis and the values on it of the partitions that rows with these values land in.

    Where '' lands in NULL's partition the column has the value for NULL there. If it has other columns as well, which
    value that is depends on them: then its values are not compared with those of another condition, but only computed.
    So are those on which two sessions may disagree.
    """
    alone = f"{column.axis} among {values.cuts} {values.inside} {values.null}"
    if _varies(column.expression):
        return alone, values
    losing = [base for base in column.bases if base.loses_empty_strings]
    if not losing:
        return column.axis, values
    if len(column.bases) > 1:
        return alone, values
    base = losing[0]
    try:
        if not any(values.contains(column.value({base.axis: text})) for text in text_of_empty(base)):
            return column.axis, values
        null = column.value({base.axis: None})
    except UnknownValueError:
        return alone, values
    return column.axis, _with(values, null)


def _varies(expression: Expression) -> bool:
    if not isinstance(expression, Call):
        return False
    function, arguments = expression.function, expression.arguments
    far = function.varies_far and any(map(_may_be_far, arguments))
    return function.varies or far or any(map(_varies, arguments))


def _may_be_far(argument: Expression) -> bool:
    match argument:
        case KnownValue(int(number)):
            return not is_near(number)
    return argument.type.kind is Kind.INTEGER and not is_near(1 << argument.type.bits - 1)


def _with(values: ValueSet, value: Value) -> ValueSet:
    return values.with_null() if value is None else union([values, between(value, successor(value))])


# ------------------------------------------------------------------------------------------------------- functions that rise

_EPOCH = date(1970, 1, 1).toordinal()
_DAYS = range(date(1000, 1, 1).toordinal() - _EPOCH, date(9000, 1, 1).toordinal() - _EPOCH)
"""Days within which thresholds are looked for; what lies beyond is only computed.

A function that rises for them does so for all that Spark documents for a date, the years 1 to 9999, and for millions of years
more: sums of days go round in the year 5,881,580, and no constant that is known here is more than 10,000 years away.
"""


class Searches:
    """Counts the thresholds that are looked for in one condition; once that is used up, functions are only computed."""

    def __init__(self) -> None:
        self._left = MAX_SOUGHT

    def allow(self, atom: Atom, expression: Expression) -> bool:
        self._left -= (len(atom.true.cuts) + len(atom.false.cuts)) * _calls(expression)
        return self._left >= 0


def on_its_column(atom: Atom, searches: Searches) -> Atom:
    """The same as a condition on a date, if the column is one that rises with a date; otherwise the atom itself."""
    column = atom.column
    if not isinstance(column, ComputedColumn):
        return atom
    spelling = replace(atom.spelling, of=column.name)
    if not (atom.true.cuts or atom.false.cuts) and _is_null_with_its_column(column.expression):
        return Atom(column.bases[0], atom.true, atom.false, spelling)
    rises = _rises(column.expression) and column.bases[0].type.kind is Kind.DATE
    if rises and searches.allow(atom, column.expression):
        true, false = _days(column, atom.true), _days(column, atom.false)
        if true is not None and false is not None:
            return Atom(column.bases[0], true, false, spelling)
    return replace(atom, spelling=spelling)


def _is_null_with_its_column(expression: Expression) -> bool:
    """Whether it's NULL for NULL, and for nothing else."""
    match expression:
        case Of():
            return True
        case Call(function, (first, *others)):
            constant = all(isinstance(other, KnownValue) and other.value is not None for other in others)
            return function.keeps_null and constant and _is_null_with_its_column(first)
    return False


def _calls(expression: Expression) -> int:
    return 1 + sum(map(_calls, expression.arguments)) if isinstance(expression, Call) else 0


def _rises(expression: Expression) -> bool:
    match expression:
        case Of():
            return True
        case Call(function, (first, *others)):
            constant = all(isinstance(other, KnownValue) and other.value is not None for other in others)
            return function.rises and constant and _rises(first)
    return False


def _days(column: ComputedColumn, values: ValueSet) -> ValueSet | None:
    """The days for which the column has one of the values."""
    axis = column.bases[0].axis
    cuts: list[Code] = []

    def value(day: int) -> Any:
        return column.value({axis: day})

    try:
        lowest, highest = value(_DAYS[0]), value(_DAYS[-1])
        for cut in values.cuts:
            if not lowest < cut <= highest:
                return None
            day = _DAYS[bisect_left(_DAYS, cut, key=value)]
            cuts = cuts[:-1] if cuts[-1:] == [day] else [*cuts, day]
    except UnknownValueError:
        return None
    return ValueSet(tuple(cuts), values.inside, values.null)
