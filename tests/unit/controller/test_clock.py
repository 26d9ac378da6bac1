"""The time by which jobs age, and by which their patience ends."""

from datetime import UTC, datetime, timedelta

import pytest

from sluice.api.job_status import Phase
from sluice.controller.process import clock
from unit.controller.bodies import job_body
from unit.controller.test_cluster_cache import world
from unit.controller.test_status_writer import Writing


def test_it_is_the_time_of_day() -> None:
    assert abs(clock.now() - datetime.now(UTC)) < timedelta(minutes=5)


def test_it_goes_on_whatever_the_clock_on_the_wall_is_set_to(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wall(datetime):
        @classmethod
        def now(cls, tz: object = None) -> "Wall":  # noqa: ARG003 - as the one that it stands for
            raise AssertionError("the time of day was asked for again")

    before = clock.now()
    monkeypatch.setattr(clock, "datetime", Wall)
    assert before <= clock.now() < before + timedelta(minutes=5)


@pytest.mark.parametrize("ahead", [timedelta(hours=1), timedelta(hours=-1)])
def test_a_job_that_comes_after_the_clock_was_set_has_used_up_none_of_its_patience(
    monkeypatch: pytest.MonkeyPatch, ahead: timedelta
) -> None:
    """As after the machine began with a wrong time, which was set right."""
    monkeypatch.setattr(clock, "_BEGAN", clock._BEGAN - ahead)
    seen = world()
    seen.job_seen(job_body("a"))
    assert abs(seen.jobs["uid-a"].waited(clock.now())) < 60


@pytest.mark.parametrize("ahead", [timedelta(hours=1), timedelta(hours=-1)])
async def test_a_job_that_queues_again_after_the_clock_was_set_has_used_up_none_of_its_patience(
    monkeypatch: pytest.MonkeyPatch, ahead: timedelta
) -> None:
    monkeypatch.setattr(clock, "_BEGAN", clock._BEGAN - ahead)
    writing = Writing()
    await writing.says(Phase.PENDING)
    assert abs(writing.world.jobs["uid-s"].waited(clock.now())) < 60
