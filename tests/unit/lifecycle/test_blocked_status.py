"""Whoever waits is told for whom, on which table, for how many more, and what becomes of it."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from sluice.admission import AdmissionDecision, Blocking, Holder, Waiter
from sluice.api.job import DeltaWriteJobSpec, WhenBlocked
from sluice.conflicts import Conflict, Level, Verdict, conflict_between
from sluice.footprint import footprint_of
from sluice.footprint.model import JobFootprint
from sluice.lifecycle.job.blocked_status import outcome_of_waiting
from sluice.lifecycle.job.table_rules import Patience
from sluice.tables import key_of_path

NOTHING = JobFootprint(())
NAME = "main.sales.orders"
QUEUED = datetime(2026, 11, 19, 10, tzinfo=UTC)
WAITER = Waiter("w", "etl/w", NOTHING, 0, QUEUED, QUEUED)
CONFLICT = Conflict(
    key_of_path("/lake/orders"), Verdict(Level.MAY, "added-files", "Delete may add files that Delete reads")
)


def told(
    *,
    when_blocked: WhenBlocked = WhenBlocked.WAIT,
    patience: Patience | None = None,
    waited: float = 0.0,
    holds: bool = True,
    again: bool = False,
    **counted: Any,
) -> tuple[str, str, str]:
    blocking = Blocking(Holder("h", "etl/h", NOTHING), CONFLICT, holds=holds)
    decision = AdmissionDecision(WAITER, (blocking,), **({"count": 1} | counted))
    return outcome_of_waiting(when_blocked, patience, decision, waited, again=again)


def test_who_waits_for_a_job_that_runs_is_told_which_and_when_it_goes_on() -> None:
    assert told() == (
        "Waiting",
        "Blocked",
        "waits for etl/h, which runs on file:/lake/orders (Delete may add files that Delete reads); "
        "this job starts once nothing conflicts with it",
    )


def test_who_waits_behind_a_job_that_waits_itself_is_told_so() -> None:
    assert "etl/h, which is ahead of it in the queue for file:/lake/orders (" in told(holds=False)[2]


@pytest.mark.parametrize(
    ("own", "other", "begins"),
    [
        (NAME, "delta.`/lake/x`", f"{NAME} is bound to no path, so it may be the table that etl/h writes; "),
        (
            "delta.`/lake/x`",
            NAME,
            "etl/h writes a table whose name is bound to no path, so it may be file:/lake/x; ",
        ),
        (NAME, "sales.orders", f"{NAME} is bound to no path, so it may be the table that etl/h writes; "),
    ],
)
@pytest.mark.parametrize(("holds", "state"), [(True, "runs"), (False, "is ahead of it in the queue")])
def test_of_a_job_on_another_table_no_more_is_said_than_that_the_two_may_be_one(
    own: str, other: str, begins: str, *, holds: bool, state: str
) -> None:
    mine, theirs = (deleting_from(table) for table in (own, other))
    for first, second in (
        (mine, theirs),
        (theirs, mine),
    ):  # either way round the conflict names one of the two tables
        conflict = conflict_between(first, second)
        assert conflict is not None
        blocking = Blocking(Holder("h", "etl/h", theirs), conflict, holds=holds)
        waiter = Waiter("w", "etl/w", mine, 0, QUEUED, QUEUED)
        _, _, message = outcome_of_waiting(
            WhenBlocked.WAIT, None, AdmissionDecision(waiter, (blocking,), count=1), 0.0
        )
        assert message.startswith(f"waits for etl/h, which {state} ({begins}")


@pytest.mark.parametrize("either", [False, True])
def test_of_a_job_on_a_table_with_the_same_id_that_is_said(*, either: bool) -> None:
    """A copied log, or the same table by another name; the other one's is not named."""
    mine, theirs = (with_id("7d1f", deleting_from(f"delta.`/lake/{name}`")) for name in ("x", "y"))
    conflict = conflict_between(*((theirs, mine) if either else (mine, theirs)))
    assert conflict is not None
    decision = AdmissionDecision(
        Waiter("w", "etl/w", mine, 0, QUEUED, QUEUED),
        (Blocking(Holder("h", "etl/h", theirs), conflict, holds=True),),
        count=1,
    )
    _, _, message = outcome_of_waiting(WhenBlocked.WAIT, None, decision, 0.0)
    says = "waits for etl/h, which runs (file:/lake/x has the same table id as the table that etl/h writes; "
    assert message.startswith(says)


def with_id(table_id: str, job: JobFootprint) -> JobFootprint:
    return replace(job, tables=tuple(replace(one, table_id=table_id) for one in job.tables))


def deleting_from(table: str) -> JobFootprint:
    return footprint_of(DeltaWriteJobSpec(sql=f"DELETE FROM {table} WHERE id = 1"), {})


@pytest.mark.parametrize(
    ("counted", "said"),
    [
        ({"count": 2}, "), and for 1 more job;"),
        ({"count": 3}, "), and for 2 more jobs;"),
        ({"count": 12, "at_least": True}, "), and for at least 11 more jobs;"),
        ({"count": 1, "at_least": True}, "), and perhaps for more jobs;"),
    ],
)
def test_the_others_in_the_way_are_counted(counted: dict[str, Any], said: str) -> None:
    assert said in told(**counted)[2]


@pytest.mark.parametrize(
    ("given", "phase", "reason", "begins"),
    [
        (
            {"when_blocked": WhenBlocked.SKIP},
            "Skipped",
            "Blocked",
            "skipped, because it would have to wait for etl/h",
        ),
        (
            {"when_blocked": WhenBlocked.FAIL},
            "Failed",
            "Blocked",
            "not run, because it would have to wait for etl/h",
        ),
        (
            {"patience": Patience("2h"), "waited": 7201},
            "Failed",
            "TimedOut",
            "not run, because after 2h it still waited for etl/h",
        ),
        (
            {"patience": Patience("2h", "etl/orders"), "waited": 7201},
            "Failed",
            "TimedOut",
            "not run, because after 2h (admission.defaultTimeout of DeltaTablePolicy etl/orders) it still waited for etl/h",
        ),
        ({"patience": Patience("2h"), "waited": 7199}, "Waiting", "Blocked", "waits for etl/h"),
    ],
)
def test_who_does_not_wait_any_longer_is_told_why(
    given: dict[str, Any], phase: str, reason: str, begins: str
) -> None:
    found = told(**given)
    assert found[:2] == (phase, reason)
    assert found[2].startswith(f"{begins}, which runs on ")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"when_blocked": WhenBlocked.SKIP}, "not run again, because it would have to wait for etl/h"),
        ({"when_blocked": WhenBlocked.FAIL}, "not run again, because it would have to wait for etl/h"),
        (
            {"patience": Patience("2h"), "waited": 7201},
            "what its earlier attempts committed stays: see status.attempts before you create it again",
        ),
    ],
)
def test_a_job_that_failed_and_does_not_wait_for_its_next_attempt_has_failed(
    given: dict[str, Any], says: str
) -> None:
    """Whoever calls it skipped says that it ended well, and that nothing was done."""
    phase, _, message = told(again=True, **given)
    assert phase == "Failed"
    assert says in message
