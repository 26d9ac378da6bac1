"""REPLACE WHERE and replaceWhere: where their rows land is bounded by what Delta checks, which is not the whole condition."""

from typing import Unpack

import pytest

from sluice.footprint import NOTHING, JobFootprint
from sluice.predicates import Region, disjoint
from unit.conflicts import pairs as p


def replaced(condition: str, query: str) -> str:
    return f"INSERT INTO {{t}} REPLACE WHERE {condition} {query}"


def adds(job: JobFootprint) -> Region:
    return job.tables[0].adds


def in_sql(condition: str, query: str = "SELECT * FROM delta.`/lake/s`", **more: Unpack[p.Given]) -> Region:
    return adds(p.job(replaced(condition, query), p.facts(**more)))


def in_option(condition: str, query: str = "SELECT * FROM delta.`/lake/s`") -> Region:
    spec = {
        "write": {
            "table": {"path": "/lake/t"},
            "source": {"sql": query},
            "mode": "Overwrite",
            "replaceWhere": condition,
        }
    }
    return adds(p.job(spec, p.facts()))


ON_B = adds(p.job(p.APPEND_B, p.facts()))
FOLDED = [
    "false",
    "1 = 0",
    "NOT true",
    f"date = {p.A} AND false",
    f"date = {p.A} AND 1 = 0",
    f"date = {p.A} AND k = 1 AND 1 = 0",
    f"(date = {p.A} AND 1 = 0) OR (date = {p.A} AND 1 = 0)",
    f"date = {p.A} AND current_date() < DATE '1999-01-01'",
    f"date = {p.A} AND isnull(1)",
    f"date = {p.A} AND k = 1 AND k = 2",
    f"date = {p.A} AND k IS NULL",
    f"date = {p.A} AND k > 3000000000",
    f"date = {p.A} AND date = {p.B}",
    f"date = {p.A} AND upper(v) = 'X' AND NOT upper(v) = 'X'",
]


@pytest.mark.parametrize("condition", FOLDED)
def test_what_spark_may_fold_to_false_bounds_no_row_in_sql(condition: str) -> None:
    assert in_sql(condition).is_everything
    assert not disjoint(in_sql(condition, p.row(p.B)), ON_B)
    assert p.pair(p.DELETE_B, replaced(condition, p.row(p.B))).first_loses.level > 0


@pytest.mark.parametrize("condition", FOLDED)
def test_rows_that_are_written_down_land_where_they_say(condition: str) -> None:
    assert disjoint(in_sql(condition, p.row(p.A)), ON_B)


def test_a_parameter_may_be_false() -> None:
    spec = {
        "sql": replaced(f"date = {p.A} AND :wanted", "SELECT * FROM delta.`/lake/s`").replace("{t}", p.T),
        "parameters": {"wanted": {"boolean": False}},
    }
    assert adds(p.job(spec, p.facts())).is_everything


@pytest.mark.parametrize(
    "condition", ["false", "1 = 0", "1 = 0 AND NOT true", "current_date() < DATE '1999-01-01'"]
)
def test_an_option_without_a_column_bounds_no_row(condition: str) -> None:
    assert in_option(condition).is_everything
    assert in_option(condition, p.row(p.B)) == ON_B


@pytest.mark.parametrize("condition", [f"date = {p.A} AND 1 = 0", f"1 = 0 AND date = {p.A} AND k = 1"])
def test_of_an_option_the_parts_that_name_a_column_bound_the_rows(condition: str) -> None:
    assert disjoint(in_option(condition), ON_B)
    assert not in_option(condition).is_empty


@pytest.mark.parametrize(
    "condition",
    [
        f"date = {p.A}",
        f"date = {p.A} AND k = 1",
        f"date IN ({p.A}) AND k > 5 AND v LIKE 'a%'",
        f"(date = {p.A} AND k = 1) OR (date = {p.A} AND k = 2)",
        f"date = {p.A} AND true",
    ],
)
def test_a_condition_that_some_row_matches_bounds_the_rows(condition: str) -> None:
    for found in (in_sql(condition), in_option(condition)):
        assert disjoint(found, ON_B)
        assert found != NOTHING


def test_without_partitions_rows_of_a_false_condition_land_in_the_table_all_the_same() -> None:
    assert in_sql("false", p.row(p.A), partitioned=False).is_everything
