"""Tells boxes apart by computing: where the values of the columns below a computed one are few, each of them is tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from sluice.predicates.atoms import text_of_empty
from sluice.predicates.columns import Column
from sluice.predicates.computed_columns import ComputedColumn
from sluice.predicates.functions import UnknownValueError, Value
from sluice.predicates.limits import MAX_COMPUTED, MAX_TRIED
from sluice.predicates.values import ValueSet, intersection, successor

Box = Mapping[str, ValueSet]
_Test = tuple[ComputedColumn, ValueSet]


class ComputationBudget:
    """Counts what is computed for two regions; once that is used up, nothing more is shown to be apart."""

    def __init__(self) -> None:
        self._left = MAX_COMPUTED

    def allow(self, values: int) -> bool:
        self._left -= values
        return self._left >= 0


def share_no_values(one: Box, other: Box, columns: Mapping[str, Column], trials: ComputationBudget) -> bool:
    """True only if none of the values that the two boxes have in common makes their computed columns what the boxes say."""
    tests = [_tests(box, columns) for box in (one, other)]
    bases = {base.axis: base for column, _ in (*tests[0], *tests[1]) for base in column.bases}
    few = {axis: values for axis, base in bases.items() if (values := _few(base, one, other)) is not None}
    if not few or prod(map(len, few.values())) > MAX_TRIED:
        return any(_none_of(few, bases, trials, [test]) for test in (*tests[0], *tests[1]))
    return _none_of(few, bases, trials, *tests)


def _tests(box: Box, columns: Mapping[str, Column]) -> list[_Test]:
    return [
        (column, side) for axis, side in box.items() if isinstance(column := columns[axis], ComputedColumn)
    ]


def _none_of(
    few: Mapping[str, Sequence[Value]],
    bases: Mapping[str, Column],
    trials: ComputationBudget,
    *groups: Sequence[_Test],
) -> bool:
    """Whether each combination of values fails some group's tests; what has other columns than these is not asked."""
    asked = [[test for test in group if all(axis in few for axis in test[0].axes)] for group in groups]
    axes = sorted({axis for group in asked for column, _ in group for axis in column.axes})
    combinations = prod(len(few[axis]) for axis in axes)
    if not axes or combinations > MAX_TRIED or not trials.allow(combinations * sum(map(len, asked))):
        return False
    return not any(
        all(_may_hold(group, dict(zip(axes, values, strict=True)), bases) for group in asked)
        for values in product(*(few[axis] for axis in axes))
    )


def _may_hold(group: Sequence[_Test], stored: Mapping[str, Value], bases: Mapping[str, Column]) -> bool:
    """Whether some row that lies where these values are stored may pass all the tests: '' is stored as NULL."""
    choices = [
        (None, *text_of_empty(bases[axis])) if value is None else (value,) for axis, value in stored.items()
    ]
    return not group or any(
        all(may_lie(*test, dict(zip(stored, row, strict=True))) for test in group)
        for row in product(*choices)
    )


def may_lie(column: Column, side: ValueSet, row: Mapping[str, Value]) -> bool:
    """Whether a row with these values, of some or of all columns, may lie on this side."""
    if not all(axis in row for axis in column.axes):
        return True
    if not isinstance(column, ComputedColumn):
        return side.contains(row[column.axis])
    try:
        return side.contains(column.value(row))
    except UnknownValueError:
        return True


def _few(base: Column, one: Box, other: Box) -> list[Value] | None:
    """The values of a column that both boxes admit; None if they are many."""
    sides = [side for box in (one, other) if (side := box.get(base.axis)) is not None]
    if not sides:
        return None
    common = intersection(sides)
    bounded = intersection([common.without_null(), base.type.domain])
    found: list[Value] = [None] if common.null else []
    for value in _members(bounded):
        if value is None or len(found) > MAX_TRIED:
            return None
        found.append(value)
    return found


def _members(values: ValueSet) -> Iterator[Value]:
    """The members, one after the other; None in place of those that cannot be counted."""
    for low, high in values.intervals():
        if low is None or high is None:
            yield None
        elif isinstance(low, int) and isinstance(high, int):
            yield from range(low, high)
        else:
            yield low if successor(low) == high else None
