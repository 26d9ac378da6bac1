"""A schedule's runs are the minutes that the clock on the wall shows, however it is changed."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from time import perf_counter
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sluice.api.maintenance import Vacuum
from sluice.policies.cron import Schedule, ScheduleError

_MINUTE = timedelta(minutes=1)
_WINDOW = timedelta(days=2)
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_CHANGES = (
    ("Europe/Berlin", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("America/New_York", datetime(2027, 3, 14, 7, tzinfo=UTC)),
    ("America/New_York", datetime(2027, 11, 7, 6, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 4, 4, 15, tzinfo=UTC)),  # by half an hour
    ("Australia/Lord_Howe", datetime(2026, 10, 3, 15, 30, tzinfo=UTC)),
    ("Antarctica/Troll", datetime(2026, 3, 29, 1, tzinfo=UTC)),  # by two hours
    ("Antarctica/Troll", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("Africa/Cairo", datetime(2026, 4, 23, 22, tzinfo=UTC)),  # at midnight
    ("Africa/Cairo", datetime(2026, 10, 29, 21, tzinfo=UTC)),  # back into the day before
    (
        "America/St_Johns",
        datetime(2010, 11, 7, 2, 31, tzinfo=UTC),
    ),  # a minute after midnight, back into the day before
    ("Africa/Casablanca", datetime(2026, 2, 15, 2, tzinfo=UTC)),
    ("Pacific/Apia", datetime(2011, 12, 30, 10, tzinfo=UTC)),  # a whole day is left out
    ("Pacific/Kwajalein", datetime(1993, 8, 21, 12, tzinfo=UTC)),  # likewise
    ("America/Sao_Paulo", datetime(2018, 11, 4, 3, tzinfo=UTC)),
    ("Europe/Dublin", datetime(2026, 10, 25, 1, tzinfo=UTC)),  # whose winter is the exception
)


@dataclass(frozen=True)
class _Field:
    text: str
    values: frozenset[int]
    is_star: bool


@dataclass(frozen=True)
class _Model:
    """A schedule as the text was made from, looked up minute by minute."""

    fields: tuple[_Field, ...]

    @property
    def text(self) -> str:
        return " ".join(one.text for one in self.fields)

    def shows(self, wall: datetime) -> bool:
        minutes, hours, days, months, weekdays = self.fields
        if (
            wall.minute not in minutes.values
            or wall.hour not in hours.values
            or wall.month not in months.values
        ):
            return False
        by_day, by_weekday = wall.day in days.values, (wall.weekday() + 1) % 7 in weekdays.values
        if days.is_star or weekdays.is_star:
            return by_day and by_weekday
        return by_day or by_weekday

    def runs(self, zone: str, after: datetime, until: datetime) -> list[datetime]:
        at = after.replace(second=0, microsecond=0) + _MINUTE
        found = []
        while at <= until:
            if self.shows(at.astimezone(ZoneInfo(zone))):
                found.append(at)
            at += _MINUTE
        return found


def _items(first: int, last: int, names: tuple[str, ...] = ()) -> st.SearchStrategy[tuple[str, range]]:
    def spelled(number: int, by_name: bool) -> str:
        return names[number - first] if names and by_name else str(number)

    @st.composite
    def item(draw: st.DrawFn) -> tuple[str, range]:
        low = draw(st.integers(first, last))
        high = draw(st.integers(low, last))
        step = draw(st.integers(1, 99))
        one, other = spelled(low, draw(st.booleans())), spelled(high, draw(st.booleans()))
        return draw(
            st.sampled_from(
                (
                    (one, range(low, low + 1)),
                    (f"{one}-{other}", range(low, high + 1)),
                    (f"{one}-{other}/{step}", range(low, high + 1, step)),
                    (f"{one}/{step}", range(low, last + 1, step)),
                    (f"*/{step}", range(first, last + 1, step)),
                )
            )
        )

    return item()


def _fields(first: int, last: int, names: tuple[str, ...] = ()) -> st.SearchStrategy[_Field]:
    star = _Field("*", frozenset(range(first, last + 1)), is_star=True)
    bound = st.lists(_items(first, last, names), min_size=1, max_size=3).map(
        lambda items: _Field(
            ",".join(text for text, _ in items),
            frozenset(value for _, values in items for value in values),
            is_star=any(text == "*/1" for text, _ in items),
        )
    )
    return st.one_of(st.just(star), bound)


_models = st.builds(
    lambda *fields: _Model(fields),
    _fields(0, 59),
    _fields(0, 23),
    _fields(1, 31),
    _fields(1, 12, _MONTHS),
    _fields(0, 6, _WEEKDAYS),
)
_near_changes = st.builds(
    lambda change, minutes: (change[0], change[1] + timedelta(minutes=minutes)),
    st.sampled_from(_CHANGES),
    st.integers(-1500, 120),
)
_anywhere = st.tuples(
    st.sampled_from([*sorted({zone for zone, _ in _CHANGES}), "UTC", "Asia/Kathmandu", "Pacific/Chatham"]),
    st.datetimes(datetime(1975, 1, 1), datetime(2099, 1, 1), timezones=st.just(UTC)),
)
_EACH_HALF_HOUR = _Model(
    (
        _Field("*/30", frozenset((0, 30)), is_star=False),
        *(_Field("*", frozenset(range(32)), is_star=True) for _ in range(4)),
    )
)


@given(_models, st.one_of(_near_changes, _anywhere))
@settings(max_examples=60, deadline=None)
@example(_EACH_HALF_HOUR, ("America/St_Johns", datetime(2010, 11, 7, 2, 29, 30, tzinfo=UTC)))
@example(_EACH_HALF_HOUR, ("Pacific/Apia", datetime(2011, 12, 30, 9, tzinfo=UTC)))
def test_the_runs_are_those_that_somebody_who_looked_each_minute_would_find(
    model: _Model, place: tuple[str, datetime]
) -> None:
    zone, start = place
    schedule, end = Schedule.parse(model.text, zone), start + _WINDOW
    expected = model.runs(zone, start, end)
    found: list[datetime] = []
    run = schedule.next_after(start)
    while run is not None and run <= end and len(found) < 200:
        found.append(run)
        run = schedule.next_after(run)
    assert found == expected[:200]
    last = schedule.last_before_or_at(end)
    if expected:
        assert last == expected[-1]
        assert schedule.last_before_or_at(expected[-1]) == expected[-1]
    else:
        assert last is None or last <= start
    assert schedule.count(start, end, most=50) == min(50, len(expected))


@given(_models, _anywhere)
@settings(max_examples=100, deadline=None)
def test_between_a_run_and_the_next_there_is_none_however_far_they_are_apart(
    model: _Model, place: tuple[str, datetime]
) -> None:
    zone, start = place
    schedule = Schedule.parse(model.text, zone)
    run = schedule.next_after(start)
    if run is None:
        assert model.fields[2].values <= {30, 31}
        return
    assert run > start
    assert model.shows(run.astimezone(ZoneInfo(zone)))
    assert schedule.last_before_or_at(run) == run
    before = schedule.last_before_or_at(run - _MINUTE)
    assert before is None or before <= start
    day = start + timedelta(days=1)
    while day < run - timedelta(
        days=1
    ):  # no day between them is one of the schedule, unless its hour was left out
        wall = day.astimezone(ZoneInfo(zone))
        if model.shows(wall.replace(hour=min(model.fields[1].values), minute=min(model.fields[0].values))):
            assert _has_left_out_hours(wall.date(), zone)
        day += timedelta(days=1)


def _has_left_out_hours(day: date, zone: str) -> bool:
    offsets = {
        datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(hours=hours)
        for hours in range(-24, 48)
    }
    return len({at.astimezone(ZoneInfo(zone)).utcoffset() for at in offsets}) > 1


@pytest.mark.parametrize(
    ("text", "zone", "after", "runs"),
    [
        # In March the clock goes from 02:00 to 03:00, in October from 03:00 to 02:00.
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00Z", ["2026-03-28T01:30Z", "2026-03-30T00:30Z"]),
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-24T12:00Z",
            ["2026-10-25T00:30Z", "2026-10-25T01:30Z", "2026-10-26T01:30Z"],
        ),
        ("30 2 25 10 *", "Europe/Berlin", "2026-10-25T00:45Z", ["2026-10-25T01:30Z", "2027-10-25T00:30Z"]),
        ("30 2 28 3 *", "Europe/Berlin", "2026-10-25T00:45Z", ["2028-03-28T00:30Z"]),
        ("0 3 * * *", "Europe/Berlin", "2026-03-28T12:00Z", ["2026-03-29T01:00Z", "2026-03-30T01:00Z"]),
        ("@daily", "Africa/Cairo", "2026-04-23T12:00Z", ["2026-04-24T21:00Z"]),
        ("0 4 * * *", "Australia/Lord_Howe", "2026-10-03T14:00Z", ["2026-10-03T17:00Z"]),
        ("0 12 29 2 *", "UTC", "2096-03-01T00:00Z", ["2104-02-29T12:00Z"]),
        ("0 0 1 * MON", "UTC", "2026-10-27T00:00Z", ["2026-11-01T00:00Z", "2026-11-02T00:00Z"]),
        ("0 0 1 * *", "UTC", "2026-10-27T00:00Z", ["2026-11-01T00:00Z", "2026-12-01T00:00Z"]),
        ("0 0 */10 * SUN", "UTC", "2026-11-20T12:00Z", ["2026-11-21T00:00Z", "2026-11-22T00:00Z"]),
        ("0 0 */1 * SUN", "UTC", "2026-11-20T12:00Z", ["2026-11-22T00:00Z", "2026-11-29T00:00Z"]),
        ("0 0 * * 7", "UTC", "2026-11-20T12:00Z", ["2026-11-22T00:00Z", "2026-11-29T00:00Z"]),
        (
            "0 0 * * fri-sun",
            "UTC",
            "2026-11-19T12:00Z",
            [f"2026-11-{day}T00:00Z" for day in (20, 21, 22, 27)],
        ),
        ("0 0 * * 6-7", "UTC", "2026-11-19T12:00Z", [f"2026-11-{day}T00:00Z" for day in (21, 22, 28)]),
        ("5/20 9 * * *", "UTC", "2026-11-19T09:05Z", [f"2026-11-19T09:{minute}Z" for minute in (25, 45)]),
        ("@Hourly", "Asia/Kathmandu", "2026-11-19T09:05Z", ["2026-11-19T09:15Z", "2026-11-19T10:15Z"]),
        ("@weekly", "UTC", "2026-11-19T09:05Z", ["2026-11-22T00:00Z"]),
        ("@monthly", "UTC", "2026-11-19T09:05Z", ["2026-12-01T00:00Z"]),
    ],
)
def test_a_schedule_has_the_runs_that_a_cronjob_would_have(
    text: str, zone: str, after: str, runs: list[str]
) -> None:
    schedule, at = Schedule.parse(text, zone), datetime.fromisoformat(after)
    for run in runs:
        found = schedule.next_after(at)
        assert found == datetime.fromisoformat(run)
        at = found


@pytest.mark.parametrize("text", ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 30-31 FEB *"])
def test_days_that_no_calendar_has_never_come_and_are_soon_found_never_to(text: str) -> None:
    schedule, now = Schedule.parse(text, "Europe/Berlin"), datetime(2026, 11, 19, tzinfo=UTC)
    began = perf_counter()
    assert schedule.next_after(now) is None
    assert schedule.last_before_or_at(now) is None
    assert schedule.count(datetime(1970, 1, 1, tzinfo=UTC), now, most=100) == 0
    assert perf_counter() - began < 5


@pytest.mark.parametrize("year", [1, 1600, 1883, 9996, 9997, 9999])
@pytest.mark.parametrize("text", ["0 0 29 2 *", "* * * * *", "0 0 30 2 *"])
def test_a_clock_that_is_off_by_millennia_is_no_trouble(year: int, text: str) -> None:
    for zone in ("Pacific/Kiritimati", "America/Adak"):
        schedule, moment = Schedule.parse(text, zone), datetime(year, 12, 31, 23, 59, tzinfo=UTC)
        following, last = schedule.next_after(moment), schedule.last_before_or_at(moment)
        assert following is None or following > moment
        assert last is None or last <= moment


def test_a_moment_in_no_time_zone_is_refused_because_it_would_be_read_in_the_machines_own() -> None:
    with pytest.raises(ValueError, match="in no time zone"):
        Schedule.parse("@daily", "UTC").next_after(datetime(2026, 11, 19))
    with pytest.raises(ValueError, match="in no time zone"):
        Schedule.parse("@daily", "UTC").last_before_or_at(datetime(2026, 11, 19))


@pytest.mark.parametrize(
    ("text", "zone", "message"),
    [
        ("0 3 * *", "UTC", "has 4 fields, and must have five"),
        ("@yearly", "UTC", "has 1 fields, and must have five"),
        ("0 25 * * *", "UTC", "'25' is out of bounds: the hour is from 0 to 23"),
        ("0 3 0 * *", "UTC", "the day of the month is from 1 to 31"),
        ("0 3 * * 8", "UTC", "the day of the week is from 0 to 7"),
        ("0 3 * FOO *", "UTC", "'FOO' is not a number nor one of JAN, FEB"),
        ("x 3 * * *", "UTC", "'X' does not name the minute"),
        ("0 3 * * FRI-MON", "UTC", "'FRI-MON' ends before it begins: write FRI-SAT,SUN-MON"),
        ("0 22-4 * * *", "UTC", "write 22-23,0-4"),
        ("*-5 3 * * *", "UTC", "write \\* alone"),
        (
            "0 3 * * *",
            "europe/berlin",
            "there is no time zone 'europe/berlin'; did you mean Europe/Berlin\\?",
        ),
        ("0 3 * * *", "Berlin", "did you mean Europe/Berlin\\?"),
        ("0 3 * * *", "Europe/Berlni", "did you mean Europe/Berlin\\?"),
        ("0 3 * * *", "Mars/Phobos", "write its name, such as UTC or Europe/Berlin"),
        ("0 3 * * *", "America", "there is no time zone 'America'"),
        ("0 3 * * *", "../etc/passwd", "there is no time zone"),
        ("0 3 * * *", "localtime", "there is no time zone 'localtime'"),
        ("0 3 * * *", "right/Europe/Berlin", "there is no time zone 'right/Europe/Berlin'"),
    ],
)
def test_what_is_no_schedule_is_refused_with_what_to_write_instead(
    text: str, zone: str, message: str
) -> None:
    with pytest.raises(ScheduleError, match=message):
        Schedule.parse(text, zone)


@given(_models)
@settings(max_examples=100, deadline=None)
def test_what_the_resource_takes_is_understood(model: _Model) -> None:
    if len(model.text) <= 128:
        assert Vacuum(schedule=model.text).schedule == model.text
    Schedule.parse(model.text, "UTC")
