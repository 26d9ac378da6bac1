"""Conditions of any size end soon, as "may overlap"; the limits count, they don't look at a clock."""

import time

import pytest
from sqlglot import exp

from sluice.predicates import compiled, disjoint, parse, reasons
from unit.predicates.tables import EVENTS, UTC

NESTED = "the condition is nested deeper than 24 levels"
BOMBS = [
    ("(" * 9_000 + "k = 1" + ")" * 9_000, NESTED),
    ("NOT " * 10_000 + "flag", NESTED),
    ("k = " + "- " * 10_000 + "1", NESTED),
    ("f(" * 5_000 + "k" + ")" * 5_000, NESTED),
    ("CASE WHEN " * 3_000 + "flag" + " THEN true END" * 3_000, NESTED),
    ("k = 1 OR " * 20_000 + "k = 1", "the condition has more than 20000 tokens"),
    ("k = 1 OR " * 200_000 + "k = 1", "the condition is longer than 200000 characters"),
]


@pytest.mark.parametrize(("condition", "reason"), BOMBS, ids=[condition[:10] for condition, _ in BOMBS])
def test_a_bomb_may_be_true_for_any_row(condition: str, reason: str) -> None:
    predicate = parse(condition, EVENTS, session=UTC)
    assert reasons(predicate) == (reason,)
    assert not disjoint(compiled(predicate), compiled(parse("k = 5", EVENTS)))


def test_thousands_of_alternatives_on_one_column_stay_exact() -> None:
    even = compiled(parse(" OR ".join(f"k = {2 * i}" for i in range(3_000)), EVENTS))
    assert even.reasons == ()
    assert disjoint(even, compiled(parse("k = 777", EVENTS)))
    assert not disjoint(even, compiled(parse("k = 778", EVENTS)))


def test_too_many_alternatives_on_two_columns_keep_the_values_of_each() -> None:
    pairs = compiled(parse(" OR ".join(f"(k = {i} AND id = {i * i})" for i in range(500)), EVENTS))
    assert pairs.reasons == ("the condition has more than 32 alternatives",)
    assert not disjoint(pairs, compiled(parse("k = 7 AND id = 64", EVENTS)))
    assert disjoint(pairs, compiled(parse("k = 7 AND id = 1000003", EVENTS)))


@pytest.mark.parametrize(
    "condition",
    [
        " AND ".join(f"(k <> {i} OR id <> {i} OR small <> {i % 100})" for i in range(800)),
        " OR ".join(f"(k > {i} AND id < {i} AND name <> '{i}')" for i in range(900)),
        " AND ".join(
            "(" + " OR ".join(f"(k = {i * j} AND id = {j})" for j in range(20)) + ")" for i in range(60)
        ),
        "k IN ("
        + ",".join(map(str, range(9_000)))
        + ") AND k NOT IN ("
        + ",".join(map(str, range(0, 800, 2)))
        + ")",
    ],
    ids=["conjunction of ORs", "ORs of ranges", "product", "long lists"],
)
def test_any_shape_within_the_limits_compiles_in_bounded_work(condition: str) -> None:
    started = time.process_time()
    region = compiled(parse(condition, EVENTS))
    disjoint(region, region)
    assert time.process_time() - started < 10
    assert len(region.boxes) <= 32


def test_a_tree_handed_over_is_counted_like_text() -> None:
    node: exp.Expr = exp.column("flag")
    for _ in range(5_000):
        node = exp.Not(this=node)
    assert reasons(parse(node, EVENTS)) == ("the condition is too large",)
