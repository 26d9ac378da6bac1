"""What runs reported of tables is known from their statuses, once each, for a day."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.api.base import Json
from sluice.controller.cache.run_reports import DAY, RunReports
from unit.controller.bodies import job_body

NOW = datetime.now(UTC)
TABLE = "file:/lake/orders"


def lost(
    name: str,
    *,
    class_: str = "ConcurrentAppendException",
    at: datetime = NOW,
    number: int = 1,
    table: str | None = TABLE,
) -> Json:
    won = {} if table is None else {"conflictingCommit": {"table": table}}
    attempt = {"number": number, "endedAt": at.isoformat(), "exception": {"class": class_, **won}}
    return job_body(name) | {"status": {"attempts": [attempt], "footprint": [{"table": TABLE}]}}


def test_each_attempt_that_lost_counts_once_however_often_it_is_seen() -> None:
    reports = RunReports()
    for body in (lost("a"), lost("a"), lost("a", number=2), lost("b")):
        reports.seen(body)
    assert reports.conflicts(TABLE, NOW) == 3
    assert reports.conflicts("file:/lake/other", NOW) == 0


def test_what_failed_of_anything_else_does_not_count() -> None:
    reports = RunReports()
    reports.seen(lost("a", class_="AnalysisException"))
    assert reports.conflicts(TABLE, NOW) == 0


def test_where_the_winner_was_not_found_it_counts_for_the_only_table() -> None:
    reports = RunReports()
    reports.seen(lost("a", table=None))
    several = lost("b", table=None)
    several["status"]["footprint"].append({"table": "file:/lake/other"})
    reports.seen(several)
    assert reports.conflicts(TABLE, NOW) == 1


def test_after_a_day_it_counts_no_more() -> None:
    reports = RunReports()
    reports.seen(lost("a", at=NOW - timedelta(hours=1)))
    reports.seen(lost("old", at=NOW - DAY - timedelta(seconds=1)))
    assert reports.conflicts(TABLE, NOW) == 1
    assert reports.conflicts(TABLE, NOW + DAY) == 0


def test_the_newest_commit_that_a_run_reported_is_known() -> None:
    reports = RunReports()
    for name, version in (("a", 4), ("b", 7), ("c", 6)):
        attempt = {"number": 1, "endedAt": NOW.isoformat(), "commits": [{"table": TABLE, "version": version}]}
        reports.seen(job_body(name) | {"status": {"attempts": [attempt]}})
    newest = reports.newest(TABLE)
    assert newest is not None
    assert (newest.version, newest.job) == (7, "etl/b")
    assert reports.newest("file:/lake/other") is None


@pytest.mark.parametrize(
    "status",
    [
        *(None, [], "x", {"attempts": "x"}, {"attempts": [7, {"endedAt": 7}, {"endedAt": "x"}]}),
        {"attempts": [{"number": 1, "endedAt": NOW.isoformat(), "commits": 7, "exception": "x"}]},
        {"attempts": [{"number": "1", "endedAt": NOW.isoformat(), "commits": [1, {"table": 1}]}]},
    ],
)
def test_what_somebody_wrote_into_a_status_is_passed_over(status: Any) -> None:
    reports = RunReports()
    reports.seen(job_body("a") | {"status": status})
    assert reports.newest(TABLE) is None


@pytest.mark.parametrize("ended", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_an_end_at_the_end_of_time_is_taken_as_any_other(ended: str) -> None:
    reports = RunReports()
    for at in (NOW.isoformat(), ended):
        attempt = {"number": 1, "endedAt": at, "commits": [{"table": TABLE, "version": 1}]}
        reports.seen(job_body("a") | {"status": {"attempts": [attempt]}})
    assert reports.newest(TABLE) is not None
