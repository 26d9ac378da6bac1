"""Conditions of any size end soon, as "may overlap"; the limits count, they don't look at a clock."""

import time

import pytest
from sqlglot import exp

from sluice.predicates import compiled, disjoint, parse, reasons
from sluice.predicates.limits import excess
from sluice.predicates.lookahead import tokens_read
from sluice.predicates.syntax import tokens_of
from unit.predicates.tables import EVENTS, UTC

NESTED = "the condition is nested deeper than 24 levels"
READ_AGAIN = "the condition has too many joins without ON, or too many nested calls that are named like types"
BOMBS = [
    ("(" * 9_000 + "k = 1" + ")" * 9_000, NESTED),
    ("NOT " * 10_000 + "flag", NESTED),
    ("k = " + "- " * 10_000 + "1", NESTED),
    ("f(" * 5_000 + "k" + ")" * 5_000, NESTED),
    ("CASE WHEN " * 3_000 + "flag" + " THEN true END" * 3_000, NESTED),
    ("CAST(k AS " + "ARRAY<" * 100 + "INT" + ">" * 100 + ") IS NULL", NESTED),
    ("k = " + "date(" * 16 + "k" + ")" * 16, READ_AGAIN),
    ("k = " + "array[" * 16 + "k" + "]" * 16, READ_AGAIN),
    ("k IN (SELECT 1 FROM a " + "JOIN b " * 20 + ")", READ_AGAIN),
    ("k IN (SELECT 1 FROM a " + "LEFT JOIN b " * 20 + ", c)", READ_AGAIN),
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


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 FROM a " + "JOIN b ON x = y " * 500,
        "SELECT 1 FROM a " + "CROSS JOIN b " * 500,
        "SELECT 1 FROM a " + "JOIN b USING (x) " * 500,
        "SELECT 1 FROM a" + ", b" * 500,
        " UNION ALL ".join(["SELECT 1 FROM a JOIN b JOIN c WHERE a.x = b.x"] * 500),
        "SELECT 1 FROM a JOIN b JOIN c JOIN d JOIN e WHERE a.x = b.x AND k IN (" + "1, " * 500 + "1)",
        "SELECT " + ", ".join(["date(array(struct(k))[0])"] * 200),
    ],
)
def test_what_the_parser_reads_once_or_twice_is_not_too_large(query: str) -> None:
    tokens = tokens_of(query)
    assert tokens_read(tokens, enough=1 << 30) < 4 * len(tokens)
    assert excess(tokens) is None


@pytest.mark.parametrize(
    ("query", "times"),
    [
        ("SELECT 1 FROM a JOIN b JOIN c JOIN d JOIN last", 8),
        ("SELECT 1 FROM a JOIN b JOIN c CROSS JOIN last", 4),
        ("SELECT 1 FROM a JOIN b, (SELECT 1 FROM c JOIN d JOIN last)", 4),
        ("SELECT date(date(date(last)))", 8),
    ],
)
def test_what_the_parser_reads_again_is_counted_again(query: str, times: int) -> None:
    tokens = tokens_of(query)
    last = next(position for position, token in enumerate(tokens) if token.text == "last")
    assert (
        tokens_read(tokens[: last + 1], enough=1 << 30) - tokens_read(tokens[:last], enough=1 << 30) == times
    )
