"""Sets of a column's values, kept as lists of cuts: every question (empty? disjoint? complement?) becomes exact and cheap.

A column's values are coded so that order is kept: booleans, integers, decimals, floats, dates and timestamps as
integers, strings as themselves. In both codings each value has a next one (`successor`), so every interval can be written
half open, and a set is the ascending list of codes at which membership flips. NULL lies outside the order and has a flag.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Code: TypeAlias = int | str
"""A coded value. One column only ever has codes of one of the two types."""

LOWEST_STRING = ""


@dataclass(frozen=True, slots=True)
class ValueSet:
    """A set of one column's values: membership starts as `inside` below all codes and flips at each of `cuts`."""

    cuts: tuple[Code, ...]
    inside: bool
    null: bool

    @property
    def is_empty(self) -> bool:
        return not (self.cuts or self.inside or self.null)

    @property
    def is_full(self) -> bool:
        return self.inside and self.null and not self.cuts

    @property
    def has_values(self) -> bool:
        return self.inside or bool(self.cuts)

    def contains(self, code: Code | None) -> bool:
        if code is None:
            return self.null
        return self.inside ^ (bisect_right(self.cuts, code) & 1 == 1)

    def intervals(self) -> Iterator[tuple[Code | None, Code | None]]:
        """The half-open intervals [low, high); None means no bound."""
        bounds: list[Code | None] = [None, *self.cuts] if self.inside else list(self.cuts)
        if len(bounds) % 2:
            bounds.append(None)
        for i in range(0, len(bounds), 2):
            yield bounds[i], bounds[i + 1]

    def without_null(self) -> ValueSet:
        return ValueSet(self.cuts, self.inside, null=False) if self.null else self

    def with_null(self) -> ValueSet:
        return self if self.null else ValueSet(self.cuts, self.inside, null=True)


NO_VALUE = ValueSet((), inside=False, null=False)
NULL_ONLY = ValueSet((), inside=False, null=True)
NOT_NULL = ValueSet((), inside=True, null=False)
ANY_VALUE = ValueSet((), inside=True, null=True)


def successor(code: Code) -> Code:
    """The next value in the order: nothing lies between `code` and it."""
    return code + 1 if isinstance(code, int) else code + "\0"


def between(low: Code, high: Code) -> ValueSet:
    """The set of codes in [low, high)."""
    if low >= high:  # type: ignore[operator]
        return NO_VALUE
    return _normal((low, high), inside=False, null=False)


def below(cut: Code) -> ValueSet:
    return _normal((cut,), inside=True, null=False)


def at_or_above(cut: Code) -> ValueSet:
    return _normal((cut,), inside=False, null=False)


def _normal(cuts: tuple[Code, ...], *, inside: bool, null: bool) -> ValueSet:
    if cuts and cuts[0] == LOWEST_STRING:
        return ValueSet(cuts[1:], not inside, null)
    return ValueSet(cuts, inside, null)


def complement(values: ValueSet) -> ValueSet:
    return ValueSet(values.cuts, not values.inside, not values.null)


def union(sets: Sequence[ValueSet]) -> ValueSet:
    return _combined(sets, needed=1)


def intersection(sets: Sequence[ValueSet]) -> ValueSet:
    return _combined(sets, needed=len(sets))


def _combined(sets: Sequence[ValueSet], needed: int) -> ValueSet:
    """The codes that are in at least `needed` of the sets, found in one sweep over all their cuts."""
    if len(sets) == 1:
        return sets[0]
    depth = sum(s.inside for s in sets)
    null = sum(s.null for s in sets) >= needed
    inside = depth >= needed
    member = inside
    cuts: list[Code] = []
    at: Code | None = None
    for cut, step in sorted(step for values in sets for step in _steps(values)):
        if at is not None and cut != at and (depth >= needed) != member:
            member = not member
            cuts.append(at)
        at = cut
        depth += step
    if at is not None and (depth >= needed) != member:
        cuts.append(at)
    return ValueSet(tuple(cuts), inside, null)


def _steps(values: ValueSet) -> Iterator[tuple[Code, int]]:
    step = -1 if values.inside else 1
    for cut in values.cuts:
        yield cut, step
        step = -step


def are_disjoint(a: ValueSet, b: ValueSet) -> bool:  # noqa: PLR0911 - every early answer counts here
    """Whether neither a value nor NULL is in both; takes logarithmic time if one of the two is a single interval."""
    if a.null and b.null:
        return False
    if len(a.cuts) == len(b.cuts) == 2 and not (
        a.inside or b.inside
    ):  # two intervals, which is nearly always so
        return a.cuts[1] <= b.cuts[0] or b.cuts[1] <= a.cuts[0]  # type: ignore[operator]
    if len(a.cuts) > len(b.cuts):
        a, b = b, a
    a_cuts, b_cuts = a.cuts, b.cuts
    if a.inside:
        if b.inside:
            return False
        if not a_cuts:
            return not b_cuts
        if b_cuts and b_cuts[0] < a_cuts[0]:  # type: ignore[operator]
            return False
        lows, highs = a_cuts[1::2], a_cuts[2::2]
    else:
        lows, highs = a_cuts[0::2], a_cuts[1::2]
    if not b_cuts:
        return not (b.inside and a_cuts)
    inside = b.inside
    last = len(lows) - 1
    for i, low in enumerate(lows):
        index = bisect_right(b_cuts, low)
        if inside ^ (index & 1):
            return False
        if index < len(b_cuts) and (
            (i == last and len(highs) == last) or b_cuts[index] < highs[i]  # type: ignore[operator]
        ):
            return False
    return True
