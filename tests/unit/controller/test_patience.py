"""Waiting that ends, for many at once: each job is told once, and nothing turns without need."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.admission import Blocking, Holder
from sluice.api.base import Json
from sluice.api.job_status import Phase
from sluice.controller.scheduling.admission import JobAdmission
from sluice.footprint.model import JobFootprint, unknown_footprints
from sluice.lifecycle.job import visible_blockers
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import StatusChange
from sluice.tables import key_of_path
from unit.controller.bodies import job_body
from unit.controller.test_admission import admitting, turn

MANY = 1000
SQL = "DELETE FROM delta.`/lake/contended`"


class Counting:
    """Writes as the given writer does, and counts."""

    def __init__(self, writes: Any) -> None:
        self._writes = writes
        self.of: list[tuple[str, str]] = []
        self.blocked_by: tuple[Blocking, ...] = ()

    async def write(self, job: JobView, change: StatusChange) -> None:
        self.of.append((job.uid, str(change.reason)))
        self.blocked_by = change.blocked_by or ()
        await self._writes.write(job, change)

    def forget_gone(self) -> None: ...


def contended(jobs: int, queued_ago: timedelta, **admission: Any) -> tuple[JobAdmission, Counting]:
    """An operator that sees so many jobs, all of which somebody who holds their table is in the way of."""
    _, asked = admitting({})
    counting: Any = Counting(asked.statuses)
    asked.statuses = asked.refusing.statuses = asked.granting.statuses = counting
    asked.telling.statuses = counting
    world = asked.world
    for uid in tuple(world.jobs):
        world.job_gone(uid)
    for number in range(jobs):
        world.job_seen(_waiting(f"w{number}", queued_ago, admission))
    table = key_of_path("/lake/contended")
    asked.queue.hold("h", (Holder("h", "etl/h", JobFootprint(unknown_footprints([table]))),))
    return asked, counting


def _waiting(name: str, queued_ago: timedelta, admission: Json) -> Json:
    queued_at = (datetime.now(UTC) - queued_ago).isoformat()
    status = {"phase": "Waiting", "reason": "Blocked", "queuedAt": queued_at, "observedGeneration": 1}
    return job_body(name, sql=SQL, admission=admission) | {"status": status}


async def test_a_thousand_jobs_with_one_deadline_are_each_told_once_when_it_is_over() -> None:
    asked, written = contended(MANY, timedelta(seconds=100), timeout="90s")
    uids = [f"uid-w{number}" for number in range(MANY)]
    await turn(asked, *uids)
    await turn(asked, *uids)
    while any(map(asked.workers.is_busy, uids)):
        await turn(asked)
    assert sorted(written.of) == sorted((uid, "TimedOut") for uid in uids)
    assert asked.timers.seconds_left() is None


async def test_until_then_one_timer_stands_for_each_of_them_however_often_they_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, written = contended(MANY, timedelta(hours=1), timeout="2h")
    clock = Clock()
    monkeypatch.setattr(asked.timers, "_clock", clock)
    uids = [f"uid-w{number}" for number in range(MANY)]
    for _ in range(3):
        await turn(asked, *uids)
    assert not [reason for _, reason in written.of if reason == "TimedOut"]
    left = asked.timers.seconds_left()
    assert left is not None
    assert 3000 < left <= 3600  # the turns themselves take seconds
    clock.now += 3601
    due = asked.timers.take_due()
    assert sorted(due) == sorted(uids)
    assert asked.timers.take_due() == []


@pytest.mark.parametrize(
    ("admission", "reason"),
    [({"timeout": "90s"}, "TimedOut"), ({"whenBlocked": "Skip"}, "Blocked"), ({}, "Blocked")],
)
async def test_a_job_is_told_and_waits_no_longer_than_it_may_though_the_operator_fails_on_its_advice(
    admission: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError("a defect in what is tried")

    monkeypatch.setattr(visible_blockers, "tried", fails)
    asked, written = contended(1, timedelta(seconds=100), **admission)
    for _ in range(6):
        await turn(asked, "uid-w0")
    job = asked.world.jobs["uid-w0"]
    assert written.of[-1] == ("uid-w0", reason)
    assert job.phase is (
        Phase.FAILED if "timeout" in admission else Phase.SKIPPED if admission else Phase.WAITING
    )
    assert [(one.by.job, one.conflict.verdict.advice) for one in written.blocked_by] == [("etl/h", None)]
    assert "etl/w0: the operator failed to try what would let it run beside etl/h" in caplog.text
    assert "a defect in what is tried" in caplog.text


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_a_job_that_is_suspended_for_a_year_says_so_costs_nothing_and_then_has_all_its_patience() -> (
    None
):
    asked, written = contended(0, timedelta())
    year = datetime.now(UTC) - timedelta(days=365)
    status = {"phase": "Waiting", "reason": "Blocked", "queuedAt": year.isoformat(), "observedGeneration": 1}
    held = job_body("held", sql=SQL, admission={"suspend": True, "timeout": "1h"}) | {"status": status}
    asked.world.job_seen(held)
    await asked.prepare(asked.world.jobs["uid-held"])
    assert written.of.pop() == ("uid-held", "Suspended")
    assert "spec.admission.suspend" in (asked.world.jobs["uid-held"].status.message or "")
    for _ in range(3):
        await turn(asked, "uid-held")
    assert written.of == []
    assert asked.timers.seconds_left() is None

    suspended = asked.world.jobs["uid-held"].body
    goes_on = job_body("held", version=9, generation=2, sql=SQL, admission={"timeout": "1h"})
    asked.world.job_seen(suspended | goes_on)
    await turn(asked, "uid-held")
    told = asked.world.jobs["uid-held"].status
    assert (told.phase, told.queued_at) == (Phase.WAITING, year)
    assert told.resumed_at is not None
    left = asked.timers.seconds_left()
    assert left is not None
    assert 3500 < left < 3601


async def test_a_job_whose_time_is_over_when_nobody_is_in_its_way_any_more_goes() -> None:
    """As when what it waited for ends while no operator runs, or at that very moment."""
    asked, written = contended(1, timedelta(seconds=100), timeout="90s")
    asked.queue.hold("h", ())
    for _ in range(20):
        await turn(asked, "uid-w0")
    assert ("uid-w0", "Admitted") in written.of
