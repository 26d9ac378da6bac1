"""In a compaction's condition :today is the day of the run, where SQL takes it for a parameter and nowhere else."""

from datetime import UTC, date, datetime

import pytest

from sluice.footprint import NotUnderstoodError
from sluice.policies.cron import Schedule
from sluice.policies.today_parameter import where_on

DAY = date(2026, 11, 19)


@pytest.mark.parametrize(
    ("where", "on"),
    [
        ("date < :today", "date < DATE'2026-11-19'"),
        ("date<:today", "date<DATE'2026-11-19'"),
        ("date < :today AND date >= :today - INTERVAL 7 DAYS", None),
        ("date BETWEEN DATE '2026-01-01' AND :today", "date BETWEEN DATE '2026-01-01' AND DATE'2026-11-19'"),
        ("date < :today -- not of today", "date < DATE'2026-11-19'"),
        ("region = ':today'", "region = ':today'"),
        ("`:today` = 1", "`:today` = 1"),
        ("region = 'a' /* :today */ OR region = 'b'", "region = 'a' /* :today */ OR region = 'b'"),
        ("region = 'a' -- :today\nOR date = :today", "region = 'a' -- :today\nOR date = DATE'2026-11-19'"),
        ("date < current_date()", "date < current_date()"),
        ("region IN ('a', \"it's :today\")", "region IN ('a', \"it's :today\")"),
    ],
)
def test_today_is_the_day_of_the_run_where_it_is_a_parameter(where: str, on: str | None) -> None:
    expected = on or where.replace(":today", "DATE'2026-11-19'")
    assert where_on(DAY, where) == expected


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("date < :yesterday", "line 1: there is no parameter :yesterday: here it is :today alone"),
        (
            "date < :today\n AND date > :TODAY",
            "line 2: there is no parameter :TODAY: here it is :today alone",
        ),
        ("date < :today; DROP TABLE orders", "holds a semicolon: write one condition"),
        ("date < :today)", "spec.maintenance.optimize.where"),
        ("date < :today ZORDER BY (region)", "spec.maintenance.optimize.where"),
        ("tag:today = 'a'", "this is not a condition: ':' is not expected here"),
        ("date < 'unclosed", "spec.maintenance.optimize.where"),
        ("date < {{ ds }}", "is an unrendered template expression"),
        ("-- nothing", "holds only comments"),
        ("(" * 300 + "a = 1" + ")" * 300, "spec.maintenance.optimize.where: the condition"),
    ],
)
def test_what_is_no_condition_on_its_own_is_refused_at_its_place(where: str, why: str) -> None:
    with pytest.raises(NotUnderstoodError) as refused:
        where_on(DAY, where)
    assert why in str(refused.value)
    assert str(refused.value).startswith("spec.maintenance.optimize.where")


def test_today_is_the_day_that_the_schedules_zone_has_at_the_run() -> None:
    run = datetime(2026, 11, 19, 23, 30, tzinfo=UTC)
    assert Schedule.parse("30 0 * * *", "Europe/Berlin").day_of(run) == date(2026, 11, 20)
    assert Schedule.parse("30 18 * * *", "America/New_York").day_of(run) == date(2026, 11, 19)
