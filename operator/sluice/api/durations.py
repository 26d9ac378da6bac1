"""Durations as manifests write them."""

import re
from typing import Annotated

from pydantic import Field

from sluice.api.validation import Checked, Validation, matching, never_matching

DURATION = matching(
    r"^([0-9]{1,7}[hms])+$",
    "must be a duration in hours, minutes and seconds, such as 90s, 10m or 1h30m",
)

Duration = Annotated[str, Field(max_length=32), Checked(DURATION)]

_NO_TIME = r"^[0hms]+$"

LONGEST_PAUSE = 24 * 3600
"""Seconds."""


def _longer_than_0(otherwise: str) -> Validation:
    return never_matching(_NO_TIME, f"must be longer than 0{otherwise}")


def _at_most_a_day(instead: str) -> Validation:
    return Validation(
        "duration(self) <= duration('24h')",
        f"must be at most 24h: {instead}",
        lambda text: seconds(text) <= LONGEST_PAUSE,
    )


Limit = Annotated[Duration, Checked(_longer_than_0(": leave the field out for no limit"))]

LimitOfPauses = Annotated[
    Duration,
    Checked(
        _longer_than_0(
            ": leave the field out for 15m, and say yield: Never for a stream that pauses for nobody"
        ),
        _at_most_a_day("suspend a stream that is to stand still for longer"),
    ),
]

Pause = Annotated[
    Duration,
    Checked(
        _longer_than_0(
            ", or jobs that failed together would come back together, and fail again: leave the field out for 30s"
        ),
        _at_most_a_day("a job that may wait for longer is better created again"),
    ),
]

LookInterval = Annotated[
    Duration,
    Checked(
        Validation(
            "duration(self) >= duration('1s') && duration(self) <= duration('24h')",
            "must be from 1s to 24h: more often would ask stores without end, and more seldom would be no look",
            lambda text: 1 <= seconds(text) <= LONGEST_PAUSE,
        ),
    ),
]

Retention = Annotated[
    Duration,
    Checked(
        _longer_than_0(
            ", or VACUUM would delete files that running jobs read: leave the field out for a week"
        )
    ),
]

Interval = Annotated[
    str,
    Field(max_length=64),
    Checked(
        matching(
            r"(?i)^[0-9]{1,7} (millisecond|second|minute|hour|day)s?$",
            "must be an interval such as '30 seconds' or '5 minutes'",
        ),
        Validation(
            "int(self.split(' ')[0]) <= (self.lowerAscii().contains('milli') ? 86400000 "
            ": self.lowerAscii().contains('sec') ? 86400 : self.lowerAscii().contains('min') ? 1440 "
            ": self.lowerAscii().contains('hour') ? 24 : 1)",
            "must be at most 1 day: a stream that works more seldom is better a job with availableNow, created on a schedule",
            lambda text: _seconds_of_interval(text) <= LONGEST_PAUSE,
        ),
    ),
]

_SECONDS = {"h": 3600, "m": 60, "s": 1}
_SECONDS_OF_UNITS = {"millisecond": 0.001, "second": 1, "minute": 60, "hour": 3600, "day": 86400}


def _seconds_of_interval(interval: str) -> float:
    amount, unit = interval.split(" ")
    return int(amount) * _SECONDS_OF_UNITS[unit.lower().removesuffix("s")]


def seconds(duration: str) -> int:
    """Turns a duration of the form above into seconds: '1h30m' -> 5400."""
    return sum(int(amount) * _SECONDS[unit] for amount, unit in re.findall(r"(\d+)([hms])", duration))


def seconds_of(text: str) -> int:
    """The same for what somebody typed; raises ValueError if it is no duration."""
    if re.fullmatch(r"(?:[0-9]{1,7}[hms])+", text) is None:
        raise ValueError(
            f"{text!r} must be a duration in hours, minutes and seconds, such as 90s, 10m or 1h30m"
        )
    return seconds(text)
