"""The time by which jobs age."""

from datetime import UTC, datetime, timedelta

import pytest

from sluice.controller import clock


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
