"""Jobs that ask for the day are judged by the days on which their statements may run."""

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import pair_of
from sluice.footprint import Days, JobFootprint, days_of, footprint_of
from sluice.predicates import Table
from sluice.tables import LogStore, TableFacts, key_of_path

MADE = datetime(2026, 11, 28, 23, 30, tzinfo=UTC)
DAYS = Days(MADE.date())
OLD = "DELETE FROM delta.`/t` WHERE date < current_date() - INTERVAL 90 DAYS"
FACTS = TableFacts(columns=Table.of({"id": "bigint", "date": "date"}, ["date"]), log_store=LogStore.SAFE)


def footprint(sql: str, days: Days | None = DAYS, **more: Any) -> JobFootprint:
    spec = DeltaWriteJobSpec.model_validate({"sql": sql, **more})
    return footprint_of(spec, {}, facts={key_of_path("/t"): FACTS}, days=days)


def test_a_statement_may_begin_until_two_days_after_its_job_was_made_and_run_over_midnight() -> None:
    assert (DAYS.first, DAYS.last) == (date(2026, 11, 27), date(2026, 11, 30))
    assert DAYS.all == tuple(date(2026, 11, 27) + timedelta(days=number) for number in range(5))


@pytest.mark.parametrize("hours", [-12, 0, 14])
def test_a_driver_that_may_start_begins_in_time_in_every_time_zone(hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    latest = datetime(2026, 11, 29, 23, 59, tzinfo=UTC)
    assert DAYS.may_start(latest)
    assert not DAYS.may_start(latest + timedelta(minutes=1))
    assert DAYS.first <= MADE.astimezone(zone).date()
    assert latest.astimezone(zone).date() <= DAYS.last


@pytest.mark.parametrize("sql", [OLD, "SELECT CURDATE()", "select current_date ()"])
def test_sql_that_asks_for_the_day_has_days(sql: str) -> None:
    assert days_of(sql, MADE, is_declared=False) == DAYS
    assert days_of(sql, MADE, is_declared=True) is None


@pytest.mark.parametrize(
    "sql",
    [None, "DELETE FROM t WHERE d = DATE '2026-11-19'", "SELECT my_current_date()", "select current_date"],
)
def test_other_sql_has_none(sql: str | None) -> None:
    assert days_of(sql, MADE, is_declared=False) is None


def test_it_touches_what_it_may_touch_on_one_of_its_days() -> None:
    assert footprint(OLD).tables[0].reads_text == "date <= DATE '2026-09-01'"
    assert footprint(OLD, None).tables[0].reads_text == "true"


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO delta.`/t` VALUES (1, current_date())",
        "INSERT INTO delta.`/t` SELECT id, curdate() AS date FROM s",
        "MERGE INTO delta.`/t` t USING s ON t.id = s.id AND t.date = current_date() "
        "WHEN NOT MATCHED THEN INSERT (id, date) VALUES (s.id, current_date())",
    ],
)
def test_rows_of_today_land_on_one_of_its_days(sql: str) -> None:
    assert footprint(sql).tables[0].writes_text == "date >= DATE '2026-11-27' AND date <= DATE '2026-12-01'"


def test_it_runs_beside_a_job_that_writes_today() -> None:
    today = footprint("INSERT INTO delta.`/t` SELECT 1 AS id, current_date() AS date")
    assert today.tables[0].writes_text == "date >= DATE '2026-11-27' AND date <= DATE '2026-12-01'"
    assert pair_of(footprint(OLD), today).together
    assert not pair_of(footprint(OLD, None), today).together


@pytest.mark.parametrize(
    ("sql", "more"),
    [
        ("INSERT OVERWRITE delta.`/t` PARTITION (date = current_date()) SELECT 1 AS id", {}),
        ("INSERT INTO delta.`/t` REPLACE WHERE date = current_date() SELECT 1 AS id, some(x) AS date FROM s", {}),
        ("INSERT INTO delta.`/t` SELECT 1 AS id, some(x) AS date FROM s", {"writes": ["date = current_date()"]}),
    ],
)  # fmt: skip
def test_what_is_worked_out_at_the_statements_end_is_not_known(sql: str, more: dict[str, Any]) -> None:
    (found, *_) = footprint(sql, **more).tables
    assert "2026" not in found.reads_text + found.writes_text + str(found.deletes_text)


@pytest.mark.parametrize(("zone", "is_known"), [("UTC", True), ("Pacific/Kiritimati", False)])
def test_a_view_that_was_made_under_another_clock_may_see_another_day(zone: str, *, is_known: bool) -> None:
    """Spark reads it in the time zone in which it was made, and the driver looks at the day by that of the session."""
    found = footprint(
        f"SET TIME ZONE '{zone}'; CREATE TEMPORARY VIEW v AS SELECT * FROM delta.`/t` WHERE date = current_date(); "
        "SET TIME ZONE 'UTC'; INSERT INTO delta.`/t` SELECT id, DATE '2020-01-01' AS date FROM v"
    )
    (appended,) = (one for one in found.tables if one.statement == 4)
    assert ("2026-11-27" in appended.reads_text) == is_known


def test_nothing_that_it_does_is_sure() -> None:
    sure = footprint("INSERT INTO delta.`/t` VALUES (1, DATE '2026-11-28')", None).tables[0]
    dated = footprint("INSERT INTO delta.`/t` VALUES (1, current_date())").tables[0]
    assert (sure.certain, sure.adds_surely) == (True, True)
    assert (dated.certain, dated.adds_surely) == (False, False)
