"""Durations as manifests write them, in seconds."""

import pytest

from sluice.api.durations import seconds


@pytest.mark.parametrize(
    ("duration", "expected"),
    [("1s", 1), ("1m", 60), ("1h", 3600), ("1h30m", 5400), ("2h0m5s", 7205), ("100h", 360_000)],
)
def test_hours_minutes_and_seconds_add_up(duration: str, expected: int) -> None:
    assert seconds(duration) == expected
