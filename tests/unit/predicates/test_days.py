"""Conditions on current_date(), read for the days that it may be: no row is missed, whichever day it is."""

from datetime import date, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sluice.predicates import Session, compiled, disjoint, from_conjuncts, parse, to_sql
from unit.predicates.tables import EVENTS

DAYS = tuple(date(2026, 11, 27) + timedelta(days=number) for number in range(5))
DATED = Session("UTC", ansi=True, days=DAYS)
UNDATED = Session("UTC", ansi=True)
NEVER_KNOWN = "current_date() is known only when the statement runs"


def rows(condition: str, session: Session = DATED) -> str:
    return to_sql(compiled(parse(condition, EVENTS, session=session)))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("date < current_date() - INTERVAL 90 DAYS", "date <= DATE '2026-09-01'"),
        ("date < current_date() - 90", "date <= DATE '2026-09-01'"),
        ("date < date_sub(curdate(), 90)", "date <= DATE '2026-09-01'"),
        ("date_add(date, 90) < current_date()", "date <= DATE '2026-09-01'"),
        ("date >= current_date() - INTERVAL '7' DAY", "date >= DATE '2026-11-20'"),
        ("NOT (date < current_date() - 90)", "date >= DATE '2026-08-29'"),
        ("date = current_date()", "date >= DATE '2026-11-27' AND date <= DATE '2026-12-01'"),
        ("date <> current_date()", "date IS NOT NULL"),
        ("date IN (current_date(), NULL)", "date >= DATE '2026-11-27' AND date <= DATE '2026-12-01'"),
        ("date BETWEEN current_date() - 2 AND current_date() - 1", "date >= DATE '2026-11-25' AND date <= DATE '2026-11-30'"),
        ("current_date() > date AND k = 1", "(date <= DATE '2026-11-30') AND (k = 1)"),
        ("date < trunc(current_date(), 'MM')", "date <= DATE '2026-11-30'"),
        ("region = date_format(current_date(), 'yyyy-MM')", "region IN ('2026-11', '2026-12')"),
    ],
)  # fmt: skip
def test_a_condition_holds_where_it_may_hold_on_one_of_the_days(condition: str, expected: str) -> None:
    found = rows(condition)
    assert found.replace("(", "").replace(")", "") == expected.replace("(", "").replace(")", "")


@pytest.mark.parametrize(
    "condition",
    [
        "date < current_date",  # may be a column of that name
        "date < current_date('UTC')",
        "datediff(current_date(), date) > 90",
        "date < current_timestamp()",
        "current_date() > DATE '2026-11-29'",
    ],
)
def test_what_differs_in_more_than_values_may_be_any_row(condition: str) -> None:
    assert rows(condition) == "TRUE"


@pytest.mark.parametrize(
    "condition",
    ["date IN ({})", "region = concat({})", "date = coalesce({})"],
    ids=["in", "concat", "coalesce"],
)
def test_what_asks_for_the_day_a_thousand_times_may_be_any_row(condition: str) -> None:
    """To read it for each day would take long."""
    assert rows(condition.format(", ".join(["current_date()"] * 1000))) == "TRUE"


def test_without_days_nothing_is_known() -> None:
    found = compiled(parse("date < current_date() - 90", EVENTS, session=UNDATED))
    assert found.is_everything
    assert NEVER_KNOWN in found.reasons[0]


SIDES = st.sampled_from(
    ["current_date()", "current_date() - 3", "date_add(current_date(), 2)", "curdate() - INTERVAL 1 DAY", "DATE '2026-11-28'"]
)  # fmt: skip
COMPARED = st.builds(
    "date {} {}".format, st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"]), SIDES
) | st.builds("date BETWEEN {} AND {}".format, SIDES, SIDES)
CONDITIONS = st.recursive(
    COMPARED | st.just("k = 1"),
    lambda inner: (
        st.builds("({} AND {})".format, inner, inner)
        | st.builds("({} OR {})".format, inner, inner)
        | st.builds("(NOT {})".format, inner)
        | st.builds("({} IS TRUE)".format, inner.map("({})".format))
        | st.builds("({} IS NULL)".format, inner.map("({})".format))
    ),
    max_leaves=4,
)


DATE, K = (column.axis for column in EVENTS.columns if column.name in ("date", "k"))
EPOCH = date(1970, 1, 1)
CODES = (None, *((DAYS[0] - EPOCH).days + number for number in range(-9, 10)))


@given(CONDITIONS)
@example("NOT ((date = current_date()) IS TRUE)")
@example("NOT (NOT (date = current_date()) IS TRUE)")
def test_no_row_of_any_day_is_missed(condition: str) -> None:
    region = compiled(parse(condition, EVENTS, session=DATED), stored=False)
    for day in DAYS:
        spelled = condition.replace("current_date()", f"DATE '{day}'").replace("curdate()", f"DATE '{day}'")
        on_that_day = compiled(parse(spelled, EVENTS, session=UNDATED), stored=False)
        for row in ({DATE: code, K: k} for code in CODES for k in (1, 2)):
            assert not on_that_day.may_hold(row) or region.may_hold(row), (condition, day, row)


def test_what_an_engine_may_draw_together_on_some_day_bounds_nothing() -> None:
    """On 2026-11-28 Spark makes `date = ... OR (region = 'eu' AND k = 1)` of it, and Delta reads all partitions."""
    condition = "(date = current_date() OR region = 'eu') AND (date = DATE '2026-11-28' OR k = 1)"
    read = from_conjuncts(parse(condition, EVENTS, session=DATED), simplified=True)
    assert compiled(read).is_everything


def test_a_job_of_old_days_is_apart_from_one_that_writes_today() -> None:
    old = compiled(parse("date < current_date() - INTERVAL 90 DAYS", EVENTS, session=DATED))
    assert disjoint(old, compiled(parse("date = current_date()", EVENTS, session=DATED)))
    assert not disjoint(old, compiled(parse("date = DATE '2026-09-01'", EVENTS, session=DATED)))
