"""Sets of codes, held against plain Python sets over a small range."""

from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.predicates.values import (
    NULL_ONLY,
    ValueSet,
    are_disjoint,
    at_or_above,
    below,
    between,
    complement,
    intersection,
    union,
)

RANGE = [None, *range(-1, 13)]
cuts = st.lists(st.integers(0, 11), unique=True, max_size=6).map(lambda found: tuple(sorted(found)))
value_sets = st.builds(ValueSet, cuts, inside=st.booleans(), null=st.booleans())
some_settings = settings(max_examples=100, deadline=None, derandomize=True)


def members(values: ValueSet) -> set[int | None]:
    return {code for code in RANGE if values.contains(code)}


@some_settings
@given(st.lists(value_sets, min_size=1, max_size=4))
def test_union_and_intersection_are_those_of_the_members(sets: list[ValueSet]) -> None:
    assert members(union(sets)) == set.union(*map(members, sets))
    assert members(intersection(sets)) == set.intersection(*map(members, sets))


@some_settings
@given(value_sets)
def test_the_complement_has_every_other_member(values: ValueSet) -> None:
    assert members(complement(values)) == set(RANGE) - members(values)


@some_settings
@given(value_sets, value_sets)
def test_sets_are_disjoint_exactly_if_they_share_no_member(a: ValueSet, b: ValueSet) -> None:
    assert are_disjoint(a, b) == (not members(a) & members(b)) == are_disjoint(b, a)


@some_settings
@given(value_sets)
def test_intervals_tell_the_members(values: ValueSet) -> None:
    told = {
        code
        for low, high in values.intervals()
        for code in RANGE
        if code is not None and (low is None or low <= code) and (high is None or code < high)
    }
    assert told == members(values) - {None}
    assert values.is_empty == (not members(values))


def test_no_text_lies_below_the_empty_one() -> None:
    assert below("").is_empty
    assert at_or_above("") == ValueSet((), inside=True, null=False)
    assert between("", "\0").contains("")
    assert not NULL_ONLY.contains("")
