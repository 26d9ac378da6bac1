"""A line that is advised rests on a source's rows: they are proved by the same rules as where rows land."""

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.offline.jobs import Job
from sluice.offline.statement_rewrites import Rewrite, rewrites_of
from sluice.predicates import Table
from sluice.tables import Names, TableFacts, key_of_path
from unit.footprint.landing import FACTS

RAW = TableFacts(columns=Table.of({"id": "int", "date": "date", "region": "string", "n": "bigint"}))


def advised(source: str, on: str, raw: TableFacts | None = RAW) -> list[Rewrite]:
    sql = f"MERGE INTO delta.`/lake/t` AS t USING ({source}) AS s ON {on} WHEN MATCHED THEN UPDATE SET id = 1"
    job = Job("job", "here", DeltaWriteJobSpec.model_validate({"sql": sql}))
    sources = {} if raw is None else {key_of_path("/lake/s"): raw}
    return list(rewrites_of(job, {key_of_path("/lake/t"): FACTS}, sources, Names()))


@pytest.mark.parametrize(
    ("condition", "on", "line"),
    [
        ("date = '2026-11-19'", "t.date = s.date", "t.date = DATE '2026-11-19'"),
        (
            "date >= '2026-11-01' AND date < '2026-12-01'",
            "t.date = s.date",
            "t.date >= DATE '2026-11-01' AND t.date <= DATE '2026-11-30'",
        ),
        (
            "date BETWEEN DATE '2026-11-01' AND DATE '2026-11-05'",
            "t.date = s.date",
            "t.date >= DATE '2026-11-01' AND t.date <= DATE '2026-11-05'",
        ),
        ("region LIKE 'e%'", "t.region = s.region", "t.region LIKE 'e%'"),
        ("n IN (1, 2)", "t.n = s.n", "t.n IN (1, 2)"),
    ],
)
def test_a_condition_on_a_source_of_known_types_is_said_of_the_table(
    condition: str, on: str, line: str
) -> None:
    (found,) = advised(f"SELECT * FROM delta.`/lake/s` WHERE {condition}", on)
    assert found.keeps_result
    assert f" ON {on} AND {line} WHEN" in found.sql


@pytest.mark.parametrize(
    "pinned", ["t.date = DATE '2026-11-19'", "t.date IN (DATE '2026-11-12', DATE '2026-12-01')"]
)
def test_no_line_is_advised_of_a_merge_that_matches_nothing(pinned: str) -> None:
    source = "SELECT * FROM delta.`/lake/s` WHERE date BETWEEN DATE '2026-11-01' AND DATE '2026-11-05'"
    assert advised(source, f"t.date = s.date AND {pinned}") == []


def test_each_part_of_a_union_is_said() -> None:
    day = "SELECT * FROM delta.`/lake/s` WHERE date = DATE '2026-11-{}'"
    (found,) = advised(f"{day.format(18)} UNION ALL {day.format(20)}", "t.date = s.date")
    assert found.keeps_result
    assert "AND t.date IN (DATE '2026-11-18', DATE '2026-11-20')" in found.sql


@pytest.mark.parametrize(
    ("source", "on"),
    [
        ("SELECT '01' AS region UNION ALL SELECT 2", "t.region = s.region"),
        ("SELECT '01' AS region EXCEPT SELECT 2", "t.region = s.region"),
        ("SELECT 1 AS n UNION ALL SELECT 1D", "t.n = s.n"),
        ("SELECT '01' AS region, count(*) AS id GROUP BY ROLLUP (region)", "t.region = s.region"),
        ("SELECT '01' AS region, inline(xs) FROM o", "t.id = s.id"),
        ("SELECT * FROM o WHERE region = 'eu'", "t.region = s.region"),
        # In Samoa a timestamp that equals this day equals the day before as well.
        ("SELECT * FROM o WHERE date = DATE '2011-12-31'", "t.date = s.date"),
    ],
)
def test_what_rows_do_not_surely_hold_is_not_said_to_keep_the_result(source: str, on: str) -> None:
    assert not any(one.keeps_result for one in advised(source, on))


def of_a_delete(condition: str, **days: str) -> list[str]:
    """The conditions with which a DELETE is advised to begin."""
    before, parameters = (
        "DELETE FROM delta.`/lake/t` WHERE ",
        {name: {"date": day} for name, day in days.items()},
    )
    spec = {"sql": before + condition, "parameters": parameters}
    job = Job("job", "here", DeltaWriteJobSpec.model_validate(spec))
    found = rewrites_of(job, {key_of_path("/lake/t"): FACTS}, {}, Names())
    return [one.sql.removeprefix(before).partition(" AND (")[0] for one in found]


def either(condition: str) -> str:
    return f"({condition} AND id = 1) OR ({condition} AND id = 2)"


THEN, NOW = either("date = DATE '2025-01-01'"), either("date = DATE '2024-01-01'")
AFTER = either("date = date_add(:day, 1)")


@pytest.mark.parametrize(
    ("condition", "line"),
    [
        (either("date = :day"), "date = :day"),
        (either("date >= :day AND date < :until"), "date >= :day AND date < :until"),
        (either("date > :day AND date <= :until"), "date > :day AND date <= :until"),
        (f"({THEN}) AND ts > :day", "date = DATE '2025-01-01'"),
    ],
)
def test_a_line_says_a_parameter_where_the_text_does(condition: str, line: str) -> None:
    days = {
        name: day for name, day in (("day", "2024-01-01"), ("until", "2024-02-01")) if f":{name}" in condition
    }
    assert of_a_delete(condition, **days) == [line]


@pytest.mark.parametrize(
    ("condition", "literal"),
    [
        (f"({NOW}) AND ts > :day", True),
        ("(date > DATE '2023-12-31' AND id = 1) OR (date > DATE '2025-12-31' AND ts > :day)", True),
        (AFTER, False),
    ],
)
def test_a_line_says_no_value_that_only_today_is_the_same(condition: str, literal: bool) -> None:
    """With tomorrow's value of the parameter it would leave rows out without a word."""
    found = of_a_delete(condition, day="2024-01-01")
    assert len(found) == literal
    assert not any(":day" in one for one in found), found


def test_a_day_of_one_parameter_is_not_taken_for_another_that_has_its_value_today() -> None:
    condition = AFTER + " OR (date = date_add(:day, 1) AND ts > :until)"
    assert of_a_delete(condition, day="2024-01-01", until="2024-01-02") == []


def test_a_case_before_the_clauses_of_a_merge_is_not_cut() -> None:
    for one in advised("SELECT DATE '2026-11-19' AS date", "CASE WHEN t.id = 1 THEN t.date = s.date END"):
        assert "CASE WHEN t.id = 1 THEN t.date = s.date END" in one.sql
