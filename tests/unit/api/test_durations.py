"""Durations as manifests write them, in seconds."""

import pytest

from sluice.api.durations import seconds, seconds_of


@pytest.mark.parametrize(
    ("duration", "expected"),
    [("1s", 1), ("1m", 60), ("1h", 3600), ("1h30m", 5400), ("2h0m5s", 7205), ("100h", 360_000)],
)
def test_hours_minutes_and_seconds_add_up(duration: str, expected: int) -> None:
    assert seconds(duration) == expected


@pytest.mark.parametrize("typed", ["", "10", "10 m", "1d", "-1s", "1h\n", "99999999s"])
def test_what_is_typed_and_is_no_duration_is_refused(typed: str) -> None:
    with pytest.raises(ValueError, match="must be a duration in hours, minutes and seconds"):
        seconds_of(typed)


def test_what_is_typed_is_read_as_manifests_are() -> None:
    assert seconds_of("1h30m") == 5400
