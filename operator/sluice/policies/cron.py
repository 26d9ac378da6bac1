"""Cron schedules in a time zone: which run is next, and which was the last one.

They mean what the same text means to a CronJob of Kubernetes:

- A schedule is a pattern that the clock on the wall of its zone either shows or doesn't. A time that the clock leaves out when
  it is put forward has no run on that day, and a time that it shows twice when it is put back has two: "30 2 * * *" in
  Europe/Berlin leaves out one day in March, and runs twice on one in October. Who wants neither takes UTC, or another hour.
- Where day of the month and day of the week are both bounded, either is enough: "0 3 1 * MON" is each first of a month and
  each Monday. Only a plain * (or */1) bounds nothing: */2 does.

Beyond what a CronJob takes, Sunday may also be 7, and a range of days may end with SUN.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from difflib import get_close_matches
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
_INSTANT = timedelta(microseconds=1)
_YEARS = 20
"""How far it is searched. Days of the month and of the week are never bound together, so that the rarest day is 29 February:
it is at most 8 years away."""
_EARLIEST, _LATEST = datetime(2, 1, 1, tzinfo=UTC), datetime(9998, 1, 1, tzinfo=UTC)
"""Beyond them moments can't be told in every zone."""
_REPEATED = timedelta(hours=30)
"""No clock is put back, or forward, by as much: a whole day is the most."""

_SHORT = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * SUN",
    "@monthly": "0 0 1 * *",
}
_ITEM = re.compile(r"([*]|[0-9]{1,2}|[A-Z]{3})(?:-([0-9]{1,2}|[A-Z]{3}))?(?:/([1-9][0-9]?))?")
_NOT_THE_SAME_EVERYWHERE = re.compile(r"(right|posix)/.*|localtime|posixrules|Factory")
"""Files among the zones that are none, or that count leap seconds."""


class ScheduleError(ValueError):
    """What is wrong with a schedule or its time zone, and what to do."""


class _Field(NamedTuple):
    what: str
    first: int
    last: int
    names: tuple[str, ...] = ()

    def number(self, text: str) -> int:
        if text in self.names:
            return self.names.index(text) + self.first
        if not text.isdigit():
            known = f" nor one of {', '.join(self.names)}" if self.names else ""
            raise ScheduleError(f"{text!r} is not a number{known}: it stands for the {self.what}")
        return int(text)

    def shown(self, number: int, *, like: str) -> str:
        """By its name where the other end of the range is given by name."""
        return self.names[number - self.first] if like in self.names else str(number)


_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_OF_THE_WEEK = _Field("day of the week", 0, 6, _WEEKDAYS)
_SUNDAY_AT_THE_END = 7
_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _OF_THE_WEEK,
)


class _Said(NamedTuple):
    values: frozenset[int]
    bounds_nothing: bool


@dataclass(frozen=True)
class Schedule:
    text: str
    zone: ZoneInfo
    _times: tuple[int, ...] = field(repr=False)
    """Minutes since midnight, in order."""
    _days: frozenset[int] = field(repr=False)
    _months: frozenset[int] = field(repr=False)
    _weekdays: frozenset[int] = field(repr=False)
    """0 is Sunday."""
    _either_day: bool = field(repr=False)

    @classmethod
    def parse(cls, text: str, zone: str) -> Schedule:
        """Raises ScheduleError, a sentence for whoever wrote them."""
        said = _SHORT.get(text.strip().lower(), text).upper().split()
        if len(said) != len(_FIELDS):
            raise ScheduleError(
                f"the schedule {text!r} has {len(said)} fields, and must have five: minute, hour, day of the month, month and day "
                f"of the week, such as '0 3 * * *'; or write {', '.join(_SHORT)}"
            )
        try:
            minutes, hours, days, months, weekdays = map(_said, said, _FIELDS)
        except ScheduleError as error:
            raise ScheduleError(f"the schedule {text!r} is not understood: {error}") from None
        return cls(
            text,
            zone_named(zone),
            tuple(sorted(60 * hour + minute for hour in hours.values for minute in minutes.values)),
            days.values,
            months.values,
            weekdays.values,
            _either_day=not (days.bounds_nothing or weekdays.bounds_nothing),
        )

    def next_after(self, moment: datetime) -> datetime | None:
        """The first run after the moment, in UTC; None: there is none, as on 30 February."""
        at = _told(moment) + _INSTANT
        if at > _LATEST:
            return None
        last_year = min(at.year + _YEARS, _LATEST.year - 1)
        while True:
            offset = self._offset(at)
            wall = self._shown_from((at + offset).replace(tzinfo=None), last_year)
            if wall is None:
                return None
            run = wall.replace(tzinfo=UTC) - offset
            again = self._to_be_looked_at_again(at, run, offset)
            if again is None:
                return run
            at = again

    def last_before_or_at(self, moment: datetime) -> datetime | None:
        """The last run up to the moment, in UTC; None: there was none."""
        at = _told(moment)
        if moment < at:
            return None
        reach = _HOUR
        while reach <= _YEARS * 366 * _DAY:
            found = self._next_until(at - min(reach, at - _EARLIEST), at)
            if found is not None:
                return self._last_from(found, at)
            reach *= 2
        return None

    def count(self, after: datetime, until: datetime, most: int) -> int:
        """How many runs there were after one moment and up to another; it counts no further than `most`."""
        found = 0
        run = self._next_until(after, until)
        while run is not None and found < most:
            found += 1
            run = self._next_until(run, until)
        return found

    def day_of(self, run: datetime) -> date:
        """The day that the calendar of its zone shows at the run."""
        return run.astimezone(self.zone).date()

    def shown(self, moment: datetime) -> str:
        """The moment by the clock on the wall of its zone, for people."""
        return f"{_told(moment).astimezone(self.zone):%Y-%m-%d %H:%M} {self.zone.key}"

    def _last_from(self, run: datetime, until: datetime) -> datetime:
        """The last run up to a moment, from a run before it. No run is after `end`, which comes down by half each time."""
        end = until
        while (following := self._next_until(run, end)) is not None:
            run = following
            middle = run + (end - run) / 2
            later = self._next_until(middle, end)
            if later is not None:
                run = later
            else:
                end = middle
        return run

    def _next_until(self, after: datetime, until: datetime) -> datetime | None:
        run = self.next_after(after)
        return run if run is not None and run <= until else None

    # ------------------------------------------------------------------------------------------------------- the calendar

    def _shown_from(self, wall: datetime, last_year: int) -> datetime | None:
        """The first time of the schedule from `wall` on, by a clock that is never changed."""
        if wall.second or wall.microsecond:
            wall = wall.replace(second=0, microsecond=0) + _MINUTE
        if self._is_day(wall.date()):
            place = bisect_left(self._times, 60 * wall.hour + wall.minute)
            if place < len(self._times):
                return self._at(wall.date(), place)
        day = self._day_from(wall.date() + _DAY, last_year)
        return None if day is None else self._at(day, 0)

    def _at(self, day: date, place: int) -> datetime:
        hour, minute = divmod(self._times[place], 60)
        return datetime(day.year, day.month, day.day, hour, minute)

    def _day_from(self, first: date, last_year: int) -> date | None:
        day_in_month = first.day
        for year, month in _months_from(first, last_year):
            if month in self._months:
                for number in range(day_in_month, monthrange(year, month)[1] + 1):
                    if self._is_day(day := date(year, month, number)):
                        return day
            day_in_month = 1
        return None

    def _is_day(self, day: date) -> bool:
        if day.month not in self._months:
            return False
        in_month, in_week = day.day in self._days, day.isoweekday() % 7 in self._weekdays
        return in_month or in_week if self._either_day else in_month and in_week

    # ----------------------------------------------------------------------------------------------------------- the zone

    def _offset(self, at: datetime) -> timedelta:
        return at.astimezone(self.zone).utcoffset() or timedelta()

    def _to_be_looked_at_again(self, at: datetime, run: datetime, offset: timedelta) -> datetime | None:
        """The moment from which on the run must be looked for again, because the clock is changed before it; None: it isn't.

        A clock that is put back repeats times just before. So it matters within the first hours, whose times may come
        again, and within the last ones, where the run itself may move, but not in the years between, which hold no run."""
        if run - at > 2 * _REPEATED:
            change = self._change(at, at + _REPEATED, offset)
            if change is not None:
                return change
            at = run - _REPEATED
            if self._offset(at) != offset:
                return at
        return self._change(at, run, offset)

    def _change(self, after: datetime, until: datetime, offset: timedelta) -> datetime | None:
        """When the clock is first changed after one moment, at which it is at this offset, and up to another. No zone has changed
        its clock and changed it back within an hour."""
        while after < until:
            probe = min(after + _HOUR, until)
            if self._offset(probe) != offset:
                return self._first_at_another(after, probe, offset)
            after = probe
        return None

    def _first_at_another(self, before: datetime, there: datetime, offset: timedelta) -> datetime:
        while there - before > _INSTANT:
            middle = before + (there - before) / 2
            if self._offset(middle) == offset:
                before = middle
            else:
                there = middle
        return there


def zone_named(name: str) -> ZoneInfo:
    """Raises ScheduleError where there is none."""
    zone = None if _NOT_THE_SAME_EVERYWHERE.fullmatch(name) else _zone(name)
    if zone is None:
        close = _close_to(name.lower())
        meant = f"; did you mean {close}?" if close else ": write its name, such as UTC or Europe/Berlin"
        raise ScheduleError(f"there is no time zone {name!r}{meant}")
    return zone


def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # of a folder, or of a file that is no zone
        return None


def _close_to(name: str) -> str | None:
    known = _known_zones()
    places = [each for each in known if each.endswith(f"/{name}")]
    close = places or get_close_matches(name, known, n=1, cutoff=0.75)
    return known[close[0]] if close else None


@cache
def _known_zones() -> dict[str, str]:
    """By their names in lower case."""
    return {each.lower(): each for each in sorted(available_timezones())}


def _said(text: str, of: _Field) -> _Said:
    values: set[int] = set()
    bounds_nothing = False
    for item in text.split(","):
        found = _ITEM.fullmatch(item)
        if found is None:
            raise ScheduleError(
                f"{item!r} does not name the {of.what}: write a number, a range such as 1-5, or a step such as */5"
            )
        first, last = _range(found, of)
        step = int(found[3] or 1)
        bounds_nothing |= found[1] == "*" and step == 1
        values.update(range(first, last + 1, step))
    return _Said(
        frozenset(one % 7 for one in values) if of is _OF_THE_WEEK else frozenset(values), bounds_nothing
    )


def _range(found: re.Match[str], of: _Field) -> tuple[int, int]:
    begins, ends, step = found[1], found[2], found[3]
    if begins == "*":
        if ends is not None:
            raise ScheduleError(f"{found[0]!r} is no range: write * alone")
        return of.first, of.last
    first = of.number(begins)
    if ends is None:
        last = max(first, of.last) if step is not None else first
    else:
        ends_the_week = of is _OF_THE_WEEK and ends == "SUN" and first > 0
        last = _SUNDAY_AT_THE_END if ends_the_week else of.number(ends)
    highest = _SUNDAY_AT_THE_END if of is _OF_THE_WEEK else of.last
    if first < of.first or max(first, last) > highest:
        raise ScheduleError(f"{found[0]!r} is out of bounds: the {of.what} is from {of.first} to {highest}")
    if first > last:
        around = f"{begins}-{of.shown(of.last, like=begins)},{of.shown(of.first, like=ends)}-{ends}"
        raise ScheduleError(f"{found[0]!r} ends before it begins: write {around}")
    return first, last


def _months_from(first: date, last_year: int) -> Iterator[tuple[int, int]]:
    year, month = first.year, first.month
    while year <= last_year:
        yield year, month
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)


def _told(moment: datetime) -> datetime:
    """The moment in UTC; of one that can't be told in every zone the nearest that can."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment} is in no time zone")
    return min(max(moment, _EARLIEST), _LATEST).astimezone(UTC)
