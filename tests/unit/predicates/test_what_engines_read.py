"""The partitions a transaction reads, as measured on real Delta: no cleverer than the engine, and never narrower."""

import pytest

from sluice.predicates import compiled, from_conjuncts, from_whole, parse, to_sql
from unit.predicates.tables import EVENTS, UTC

A, B = "date = '2026-11-01'", "date = '2026-11-02'"
ONLY_A = "date = DATE '2026-11-01'"
LATER = "date >= DATE '2026-11-02'"
BOTH = "date IN (DATE '2026-11-01', DATE '2026-11-02')"

# condition; then what is read by DELETE and UPDATE, replaceWhere, MERGE ON and scans, a MERGE clause's condition
READ = [
    (A, ONLY_A, ONLY_A, ONLY_A, ONLY_A),
    (f"{A} AND k = 1", ONLY_A, ONLY_A, ONLY_A, ONLY_A),
    (f"{A} OR k = 1", "TRUE", "TRUE", "TRUE", "TRUE"),
    (f"({A} AND k = 1) OR ({B} AND k = 2)", BOTH, BOTH, "TRUE", "TRUE"),
    (f"({A} AND k = 1) OR k = 2", "TRUE", "TRUE", "TRUE", "TRUE"),
    (f"({A} AND k = 1) OR ({A} AND k = 2)", ONLY_A, ONLY_A, ONLY_A, "TRUE"),
    (f"({A} AND k = 1) OR ({A} AND k = 2) OR {A}", ONLY_A, ONLY_A, ONLY_A, "TRUE"),
    ("NOT (date <> '2026-11-01' OR k <> 1)", ONLY_A, "TRUE", ONLY_A, "TRUE"),
    ("NOT (date <> '2026-11-01')", ONLY_A, ONLY_A, ONLY_A, ONLY_A),
    (f"{A} AND my_udf(date)", ONLY_A, ONLY_A, ONLY_A, ONLY_A),
    (f"{A} OR my_udf(date)", "TRUE", "TRUE", "TRUE", "TRUE"),
    (f"NOT (my_udf(k) OR NOT {A})", ONLY_A, "TRUE", ONLY_A, "TRUE"),
    (f"({A} AND k = 1) IS TRUE", "TRUE", "TRUE", "TRUE", "TRUE"),
    (f"({A}) IS TRUE", ONLY_A, ONLY_A, ONLY_A, ONLY_A),
    (f"if({A}, true, false)", ONLY_A, ONLY_A, ONLY_A, ONLY_A),
    # What Spark makes of a choice inside of it is not guessed.
    (f"if({A} AND k = 1, true, false)", "TRUE", "TRUE", "TRUE", "TRUE"),
    (f"if({A}, true, false) OR if({A}, true, false)", "TRUE", "TRUE", "TRUE", "TRUE"),
    ("false", "FALSE", "FALSE", "FALSE", "FALSE"),
    ("k = 1 AND false", "FALSE", "FALSE", "FALSE", "FALSE"),
    ("k = 1 AND 1 = 0", "FALSE", "FALSE", "FALSE", "FALSE"),
    ("k = 1 AND true", "TRUE", "TRUE", "TRUE", "TRUE"),
    ("k = 1", "TRUE", "TRUE", "TRUE", "TRUE"),
    ("t.id = s.id", "TRUE", "TRUE", "TRUE", "TRUE"),
    (f"t.id = s.id AND {A}", ONLY_A, ONLY_A, ONLY_A, ONLY_A),
    # Spark finds common factors by spelling: these two are the same days, spelled differently.
    ("(date > '2026-11-01' AND k = 1) OR (date >= '2026-11-02' AND k = 2)", LATER, LATER, "TRUE", "TRUE"),
    # Alternatives that two conditions share are pulled out as well, which draws the rest of both together.
    (f"({A} OR {B}) AND ({A} OR k = 1)", BOTH, BOTH, "TRUE", BOTH),
    (f"({A} OR {B}) AND (date IN ('2026-11-01') OR my_udf(k))", BOTH, BOTH, "TRUE", BOTH),
    (f"({A} OR {B}) AND (date = '2026-11-03' OR k = 1)", BOTH, BOTH, BOTH, BOTH),
    # What isn't understood is no common factor, even if it reads the same.
    (f"(my_udf(k) AND {A}) OR (my_udf(id) AND {B})", BOTH, BOTH, "TRUE", "TRUE"),
]  # fmt: skip


@pytest.mark.parametrize(("condition", "dml", "replace_where", "merge_on", "merge_clause"), READ)
def test_the_read_partitions_are_those_that_delta_was_seen_to_read(
    condition: str, dml: str, replace_where: str, merge_on: str, merge_clause: str
) -> None:
    predicate = parse(condition, EVENTS, session=UTC, names=["t"], others=["s"])
    assert to_sql(compiled(from_whole(predicate, simplified=True))) == dml
    assert to_sql(compiled(from_whole(predicate, simplified=False))) == replace_where
    assert to_sql(compiled(from_conjuncts(predicate, simplified=True))) == merge_on
    assert to_sql(compiled(from_conjuncts(predicate, simplified=False))) == merge_clause


def test_where_rows_land_is_everything_that_is_implied() -> None:
    condition = f"({A} AND k = 1 AND k = 2) OR ({B} AND k = 2)"
    assert to_sql(compiled(parse(condition, EVENTS)).on_partitions()) == "date = DATE '2026-11-02'"
