"""Random conditions against a small evaluator of SQL's three-valued logic that shares nothing with the package."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.predicates import (
    Predicate,
    Table,
    compiled,
    covers,
    disjoint,
    from_conjuncts,
    from_whole,
    overlap,
    parse,
    to_sql,
)

Value = bool | int | str | None
RowOf = Mapping[str, Value]

TABLE = Table.of({"p": "int", "q": "string", "k": "int", "b": "boolean"}, partition_columns=["p", "q"])
VALUES: Mapping[str, list[Value]] = {
    "p": [None, 0, 1],
    "q": [None, "a", "ab", "b"],
    "k": [None, 4, 5],
    "b": [None, True, False],
}
ROWS: list[RowOf] = [dict(zip(VALUES, values, strict=True)) for values in product(*VALUES.values())]


@dataclass(frozen=True)
class Condition:
    text: str
    value: Callable[[RowOf], bool | None]

    def rows(self) -> set[int]:
        return {i for i, row in enumerate(ROWS) if self.value(row) is True}

    def __repr__(self) -> str:
        return self.text


def spelled(value: Value) -> str:
    if value is None or isinstance(value, bool):
        return "NULL" if value is None else str(value).lower()
    return f"'{value}'" if isinstance(value, str) else str(value)


_RESULTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compared(column: str, sign: str, value: Value) -> Condition:
    def result(row: RowOf) -> bool | None:
        left = row[column]
        if sign == "<=>":
            return left == value if (left is None) == (value is None) else False
        return None if left is None or value is None else _RESULTS[sign](left, value)

    return Condition(f"{column} {sign} {spelled(value)}", result)


def listed(column: str, values: list[Value]) -> Condition:
    def result(row: RowOf) -> bool | None:
        if row[column] is None:
            return None
        if row[column] in [value for value in values if value is not None]:
            return True
        return None if None in values else False

    return Condition(f"{column} IN ({', '.join(map(spelled, values))})", result)


def negated(part: Condition) -> Condition:
    return Condition(
        f"NOT ({part.text})", lambda row: None if part.value(row) is None else not part.value(row)
    )


def both(a: Condition, b: Condition) -> Condition:
    def result(row: RowOf) -> bool | None:
        values = (a.value(row), b.value(row))
        return False if False in values else None if None in values else True

    return Condition(f"({a.text}) AND ({b.text})", result)


def either(a: Condition, b: Condition) -> Condition:
    def result(row: RowOf) -> bool | None:
        values = (a.value(row), b.value(row))
        return True if True in values else None if None in values else False

    return Condition(f"({a.text}) OR ({b.text})", result)


def is_answered(part: Condition, answer: bool | None) -> Condition:
    return Condition(f"({part.text}) IS {spelled(answer)}", lambda row: part.value(row) is answer)


columns = st.sampled_from(sorted(VALUES))
comparisons = columns.flatmap(
    lambda column: st.builds(
        compared,
        st.just(column),
        st.sampled_from(["=", "<>", "<=>"] if column == "b" else ["=", "<>", "<", "<=", ">", ">=", "<=>"]),
        st.sampled_from(VALUES[column]),
    )
)
lists = columns.flatmap(
    lambda column: st.builds(
        listed, st.just(column), st.lists(st.sampled_from(VALUES[column]), min_size=1, max_size=3)
    )
)
null_tests = st.builds(lambda c: Condition(f"{c} IS NULL", lambda row: row[c] is None), columns)
prefixes = st.builds(
    lambda text: Condition(
        f"q LIKE '{text}%'", lambda row: None if row["q"] is None else str(row["q"]).startswith(text)
    ),
    st.sampled_from(["", "a", "ab", "b", "c"]),
)
constants = st.sampled_from([True, False, None]).map(lambda value: Condition(spelled(value), lambda _: value))
# A part that isn't understood: its value is as good as random, but the same for each row.
opaque = st.builds(
    lambda seed: Condition(f"udf{seed}(k)", lambda row: [True, False, None][len(f"{row}") * seed % 3]),
    st.integers(1, 50),
)
exact = st.recursive(
    st.one_of(comparisons, comparisons, lists, null_tests, prefixes, constants),
    lambda parts: st.one_of(
        st.builds(negated, parts),
        st.builds(both, parts, parts),
        st.builds(either, parts, parts),
        st.builds(is_answered, parts, st.sampled_from([True, False, None])),
    ),
    max_leaves=6,
)
any_conditions = st.recursive(
    st.one_of(comparisons, lists, opaque),
    lambda parts: st.one_of(
        st.builds(negated, parts),
        st.builds(both, parts, parts),
        st.builds(either, parts, parts),
        st.builds(is_answered, parts, st.sampled_from([True, False, None])),
    ),
    max_leaves=6,
)
some_settings = settings(max_examples=80, deadline=None, derandomize=True)


def understood(condition: Condition) -> Predicate:
    return parse(condition.text, TABLE)


def held(predicate: Predicate, *, stored: bool = False) -> set[int]:
    region = compiled(predicate, stored=stored)
    names = {axis: column.name for axis, column in region.columns.items()}
    return {
        i
        for i, row in enumerate(ROWS)
        if region.may_hold({a: int(v) if isinstance(v := row[n], bool) else v for a, n in names.items()})
    }


@some_settings
@given(exact)
def test_a_region_holds_exactly_the_rows_on_which_the_condition_is_true(condition: Condition) -> None:
    assert held(understood(condition)) == condition.rows()


@some_settings
@given(any_conditions)
def test_a_region_never_misses_a_row_whatever_an_unknown_part_says(condition: Condition) -> None:
    assert held(understood(condition), stored=True) >= condition.rows()


@some_settings
@given(any_conditions, any_conditions)
def test_disjoint_conditions_share_no_row(a: Condition, b: Condition) -> None:
    left, right = compiled(understood(a)), compiled(understood(b))
    if disjoint(left, right):
        assert not a.rows() & b.rows()
        assert overlap(left, right).is_empty
    assert disjoint(left, right) == disjoint(right, left)


@some_settings
@given(exact, exact)
def test_understood_conditions_that_share_no_row_are_called_disjoint(a: Condition, b: Condition) -> None:
    left, right = compiled(understood(a), stored=False), compiled(understood(b), stored=False)
    shared = {axis for region in (left, right) for axis in region.columns}
    if disjoint(left, right) or a.rows() & b.rows():
        return
    common = overlap(left, right)
    assert not any(common.may_hold({axis: _code(row, axis) for axis in shared}) for row in ROWS)


def _code(row: RowOf, axis: str) -> Value:
    value = row[axis.split(" ", maxsplit=1)[0]]
    return int(value) if isinstance(value, bool) else value


@some_settings
@given(any_conditions)
def test_every_projection_holds_the_partitions_of_all_matching_rows(condition: Condition) -> None:
    predicate = understood(condition)
    for simplified in (True, False):
        assert held(from_whole(predicate, simplified=simplified)) >= condition.rows()
        assert held(from_conjuncts(predicate, simplified=simplified)) >= condition.rows()
        assert held(from_conjuncts(predicate, simplified=simplified)) >= held(
            from_whole(predicate, simplified=simplified)
        )


@some_settings
@given(any_conditions, any_conditions)
def test_a_covered_condition_has_no_row_of_its_own(a: Condition, b: Condition) -> None:
    if covers(understood(a), understood(b)):
        assert b.rows() <= a.rows()


@some_settings
@given(exact, exact)
def test_a_conjunction_is_covered_by_its_parts(a: Condition, b: Condition) -> None:
    assert covers(understood(a), understood(both(a, b)))
    assert covers(understood(either(a, b)), understood(b))


@some_settings
@given(exact)
def test_the_text_of_a_region_means_the_region(condition: Condition) -> None:
    region = compiled(understood(condition), stored=False)
    assert held(parse(to_sql(region), TABLE)) == condition.rows()
