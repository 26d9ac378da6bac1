"""The days on which a job's statements may run, by which conditions on current_date() are judged.

They follow from the day on which the job was made: a few days, so that the conditions stay narrow. The driver runs no statement on
any other day. A job that starts later is judged as if nothing were known of the day.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

_ASKS = re.compile(r"\b(?:current_date|curdate)`?\s*\(", re.IGNORECASE)
_ONE = timedelta(days=1)


@dataclass(frozen=True)
class Days:
    made: date
    """In UTC. A session in another time zone may be a day before or after."""

    @property
    def first(self) -> date:
        return self.made - _ONE

    @property
    def last(self) -> date:
        """The last one on which a statement may begin: two days after its job was made, by the clock that is furthest ahead."""
        return self.made + 2 * _ONE

    @property
    def all(self) -> tuple[date, ...]:
        """With one day more, for a midnight that passes while a statement runs."""
        return tuple(self.first + number * _ONE for number in range((self.last - self.first).days + 2))

    def may_start(self, at: datetime) -> bool:
        """Whether a driver that is granted its leases then begins in time: its pod has a day for that."""
        return at.astimezone(UTC).date() < self.last


def days_of(sql: object, made: datetime, *, is_declared: bool) -> Days | None:
    """The days of a job with this SQL; None if that does not ask for the day, or a declared footprint tells what is touched."""
    if is_declared or not isinstance(sql, str) or not _ASKS.search(sql):
        return None
    return Days(made.astimezone(UTC).date())
