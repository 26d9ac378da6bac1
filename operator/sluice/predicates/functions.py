"""The functions of Spark that can be evaluated here: a closed list, by name and the kinds of the arguments.

Each was held against real Spark (tests/contract/predicates): what one of them gives here, Spark gives in every time zone,
ANSI or not. Where that isn't so (overflows, casts that fail, letters whose case depends on the library, days that no
calendar of Python's has) it raises `UnknownValueError`, and whoever asked has to assume any value. Only a sum of several constants
and columns may fail where it's known here, because Spark adds the constants first: then the statement fails, and writes nothing.
"""

from __future__ import annotations

import operator
import re
from calendar import monthrange
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

from sluice.predicates import literals
from sluice.predicates.coercion import wall_in_zone
from sluice.predicates.columns import ColumnType, Kind, parse_type
from sluice.predicates.limits import MAX_LENGTH
from sluice.predicates.literals import Moment
from sluice.predicates.values import Code

Value: TypeAlias = Code | None


class UnknownValueError(ValueError):
    """What Spark makes of these arguments is not known here."""


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    gives: ColumnType | None
    """None for the widest of its arguments' types."""
    apply: Callable[..., Value]
    rises: bool = False
    """Whether, the other arguments being constants, it never falls while its first rises, and keeps NULL as below."""
    keeps_null: bool = False
    """Whether, the other arguments being constants, it's NULL only if its first is, whatever that is and ANSI or not."""
    varies: bool = False
    """Whether two sessions may disagree on its value where it's not known: by their time zones, versions or ANSI."""
    varies_far: bool = False
    """Whether they may, too, where a number is farther than any text is long."""
    takes_null: bool = False
    """Whether it's asked about NULL, too; otherwise one NULL makes it NULL."""

    @property
    def fingerprint(self) -> str:
        """Its name: beside its arguments, whose types are told where it's called, that tells it from all others."""
        return self.name


INT, BIGINT, STRING = parse_type("int"), parse_type("bigint"), parse_type("string")
DATE, BOOLEAN, TIMESTAMP = parse_type("date"), parse_type("boolean"), parse_type("timestamp")

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_EPOCH = date(1970, 1, 1).toordinal()
_MICROSECONDS = 86_400_000_000
"""Of a day."""
SKIPPED_DAYS = frozenset(
    date.fromisoformat(day).toordinal() - _EPOCH
    for day in ("1844-12-31", "1867-10-18", "1993-08-21", "1994-12-31", "1995-01-01", "2011-12-30")
)
"""Days that some time zone left out: there Spark casts them to a timestamp of the next day."""


def _day(code: Code) -> date:
    return date.fromordinal(int(code) + _EPOCH)


def _code(day: date) -> int:
    return day.toordinal() - _EPOCH


def _month_end(year: int, month: int) -> date:
    return date(year, month, monthrange(year, month)[1])


def _plus_months(code: int, months: int) -> int:
    day = _day(code)
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    last = _month_end(year, month + 1)
    return _code(last.replace(day=min(day.day, last.day)))


_FIRSTS: Mapping[str, Callable[[date], date]] = {
    "year": lambda day: day.replace(month=1, day=1),
    "quarter": lambda day: day.replace(month=day.month - (day.month - 1) % 3, day=1),
    "month": lambda day: day.replace(day=1),
    "week": lambda day: date.fromordinal(day.toordinal() - day.weekday()),
    "day": lambda day: day,
}


def _truncated(code: int, unit: str) -> int:
    return _code(_FIRSTS[unit](_day(code)))


def midnight(day: int) -> int:
    """The code of the timestamp that a date is cast to, for comparisons with other dates so cast."""
    if day in SKIPPED_DAYS:
        raise UnknownValueError
    return day * _MICROSECONDS


def _truncated_to_midnight(code: int, unit: str) -> int:
    if code in SKIPPED_DAYS:
        raise UnknownValueError
    return midnight(_truncated(code, unit))


def _truncated_in_zone(code: int, unit: str, time_zone: str) -> int:
    return _known(wall_in_zone(Moment(_truncated_to_midnight(code, unit)), time_zone))


def _formatted(code: int, pattern: str) -> str:
    if code in SKIPPED_DAYS:
        raise UnknownValueError
    day = _day(code)
    if (
        day.year < 1000
    ):  # one letter for the year does not pad it, four do, and the parser does not tell which it was
        raise UnknownValueError
    parts = {"%Y": f"{day.year}", "%mstrict": f"{day.month:02}", "%dstrict": f"{day.day:02}"}
    for token, text in parts.items():
        pattern = pattern.replace(token, text)
    return pattern


_DIGITS = {"%Y": r"(?P<year>\d{4})", "%mstrict": r"(?P<month>\d\d)", "%dstrict": r"(?P<day>\d\d)"}


def _parsed(text: str, pattern: str) -> int:
    """The day that the text spells by the pattern; a pattern without a month or a day means the first."""
    spelled = re.escape(pattern)
    for token, digits in _DIGITS.items():
        spelled = spelled.replace(token, digits)
    found = re.fullmatch(spelled, text, re.ASCII)
    if found is None:
        raise UnknownValueError
    day = _code(date(**{name: int(found.groupdict().get(name, 1)) for name in ("year", "month", "day")}))
    if day in SKIPPED_DAYS:
        raise UnknownValueError
    return day


def _to_text(code: Code) -> str:
    return literals.day_text(int(code))


def _known(value: int | None) -> int:
    if value is None:
        raise UnknownValueError
    return value


def _ascii(change: Callable[[str], str]) -> Callable[[str], str]:
    def changed(text: str) -> str:
        if not text.isascii():
            raise UnknownValueError
        return change(text)

    return changed


_FAR = 1 << 30


def is_near(number: int) -> bool:
    """Whether each Spark takes it for the same number of characters: of a bigint it may make another int, and sums of ints
    go round, but not in each version."""
    return abs(number) <= _FAR


def _near(number: int) -> int:
    if not is_near(number):
        raise UnknownValueError
    return number


def _substring(text: str, start: int, length: int | None = None) -> str:
    _near(start)
    first = start - 1 if start > 0 else start + len(text) if start < 0 else 0
    end = len(text) if length is None else first + _near(length)
    return text[max(first, 0) : max(end, 0)]


def _left(text: str, length: int) -> str:
    return text[: max(_near(length), 0)]


def _right(text: str, length: int) -> str:
    return text[-length:] if _near(length) > 0 else ""


def _replaced(text: str, search: str, replacement: str = "") -> str:
    if text.count(search) * len(replacement) > MAX_LENGTH:
        raise UnknownValueError
    return text.replace(search, replacement) if search else text


def _remainder(a: int, b: int) -> int:
    return a - b * _quotient(a, b)


def _quotient(a: int, b: int) -> int:
    whole = abs(a) // abs(b)
    return whole if (a < 0) == (b < 0) else -whole


def _positive_remainder(a: int, b: int) -> int:
    if b < 0:
        raise UnknownValueError
    return a % b


def _first_value(*values: Value) -> Value:
    return next((value for value in values if value is not None), None)


_NUMBER, _TEXT, _DAY, _MOMENT = Kind.INTEGER, Kind.STRING, Kind.DATE, Kind.TIMESTAMP
_LIST: tuple[tuple[str, tuple[Kind, ...], ColumnType | None, Callable[..., Value]], ...] = (
    ("year", (_DAY,), INT, lambda d: _day(d).year),
    ("quarter", (_DAY,), INT, lambda d: (_day(d).month + 2) // 3),
    ("month", (_DAY,), INT, lambda d: _day(d).month),
    ("day", (_DAY,), INT, lambda d: _day(d).day),
    ("dayofyear", (_DAY,), INT, lambda d: _day(d).timetuple().tm_yday),
    ("dayofweek", (_DAY,), INT, lambda d: _day(d).isoweekday() % 7 + 1),
    ("weekday", (_DAY,), INT, lambda d: _day(d).weekday()),
    ("weekofyear", (_DAY,), INT, lambda d: _day(d).isocalendar().week),
    ("unix_date", (_DAY,), INT, lambda d: d),
    ("date_add", (_DAY, _NUMBER), DATE, lambda d, n: _code(_day(d + n))),
    ("date_sub", (_DAY, _NUMBER), DATE, lambda d, n: _code(_day(d - n))),
    ("add_months", (_DAY, _NUMBER), DATE, _plus_months),
    ("last_day", (_DAY,), DATE, lambda d: _code(_month_end(_day(d).year, _day(d).month))),
    ("trunc", (_DAY, _TEXT), DATE, _truncated),
    ("datediff", (_DAY, _DAY), INT, lambda a, b: _code(_day(a)) - _code(_day(b))),
    ("make_date", (_NUMBER, _NUMBER, _NUMBER), DATE, lambda y, m, d: _code(date(y, m, d))),
    ("to_date", (_TEXT, _TEXT), DATE, _parsed),
    ("date_trunc", (_DAY, _TEXT), TIMESTAMP, _truncated_to_midnight),
    ("date_trunc", (_DAY, _TEXT, _TEXT), TIMESTAMP, _truncated_in_zone),
    ("date_format", (_DAY, _TEXT), STRING, _formatted),
    ("upper", (_TEXT,), STRING, _ascii(str.upper)),
    ("lower", (_TEXT,), STRING, _ascii(str.lower)),
    ("length", (_TEXT,), INT, len),
    ("substring", (_TEXT, _NUMBER), STRING, _substring),
    ("substring", (_TEXT, _NUMBER, _NUMBER), STRING, _substring),
    ("left", (_TEXT, _NUMBER), STRING, _left),
    ("right", (_TEXT, _NUMBER), STRING, _right),
    ("trim", (_TEXT,), STRING, lambda s: s.strip(" ")),
    ("ltrim", (_TEXT,), STRING, lambda s: s.lstrip(" ")),
    ("rtrim", (_TEXT,), STRING, lambda s: s.rstrip(" ")),
    ("reverse", (_TEXT,), STRING, lambda s: s[::-1]),
    ("replace", (_TEXT, _TEXT), STRING, _replaced),
    ("replace", (_TEXT, _TEXT, _TEXT), STRING, _replaced),
    ("instr", (_TEXT, _TEXT), INT, lambda s, part: s.find(part) + 1),
    ("startswith", (_TEXT, _TEXT), BOOLEAN, lambda s, part: int(s.startswith(part))),
    ("endswith", (_TEXT, _TEXT), BOOLEAN, lambda s, part: int(s.endswith(part))),
    ("contains", (_TEXT, _TEXT), BOOLEAN, lambda s, part: int(part in s)),
    ("+", (_NUMBER, _NUMBER), None, operator.add),
    ("-", (_NUMBER, _NUMBER), None, operator.sub),
    ("*", (_NUMBER, _NUMBER), None, operator.mul),
    ("%", (_NUMBER, _NUMBER), None, _remainder),
    ("pmod", (_NUMBER, _NUMBER), None, _positive_remainder),
    ("div", (_NUMBER, _NUMBER), BIGINT, _quotient),
    ("&", (_NUMBER, _NUMBER), None, operator.and_),
    ("|", (_NUMBER, _NUMBER), None, operator.or_),
    ("^", (_NUMBER, _NUMBER), None, operator.xor),
    ("~", (_NUMBER,), None, operator.invert),
    ("abs", (_NUMBER,), None, abs),
    ("-", (_NUMBER,), None, operator.neg),
    ("string", (_DAY,), STRING, _to_text),
    ("string", (_NUMBER,), STRING, str),
    ("date", (_MOMENT,), DATE, lambda t: t // _MICROSECONDS),
    ("date", (_TEXT,), DATE, lambda s: _known(literals.day_of(s))),
    *((bits, (_NUMBER,), parse_type(bits), lambda n: n) for bits in _WHOLE),
    *((bits, (_TEXT,), parse_type(bits), lambda s: _known(literals.integer_of(s))) for bits in _WHOLE),
)
_RISING = frozenset(
    {
        *("year", "unix_date", "date", "last_day", "trunc", "date_trunc"),
        *("date_add", "date_sub", "add_months", "datediff"),
    }
)
_VARYING = frozenset({"date_format", "date_trunc", "upper", "lower", "date", "make_date", "to_date", *_WHOLE})
_VARYING_FAR = frozenset({"substring", "left", "right"})
_KEEPING_NULL = _RISING | {
    *("quarter", "month", "day", "dayofyear", "dayofweek", "weekday", "weekofyear", "date_format", "string"),
    *(
        "upper",
        "lower",
        "length",
        "substring",
        "left",
        "right",
        "trim",
        "ltrim",
        "rtrim",
        "reverse",
        "replace",
    ),
}


_TABLE: Mapping[tuple[str, tuple[Kind, ...]], Function] = {
    (name, kinds): Function(
        name,
        gives,
        apply,
        rises=name in _RISING and kinds[0] in (_DAY, _MOMENT),
        varies=name in _VARYING,
        varies_far=name in _VARYING_FAR,
        keeps_null=name in _KEEPING_NULL and (name, kinds[0]) != ("date", _TEXT),
    )
    for name, kinds, gives, apply in _LIST
}
_MOST_ARGUMENTS = 8


def function(name: str, types: Sequence[ColumnType]) -> Function | None:
    """The function of this name for arguments of these types; None if there is none that is known."""
    kinds = tuple(type_.kind for type_ in types)
    if name == "concat" and 2 <= len(kinds) <= _MOST_ARGUMENTS and set(kinds) == {Kind.STRING}:
        return Function("concat", STRING, lambda *texts: "".join(texts))
    if name == "coalesce" and 2 <= len(kinds) <= _MOST_ARGUMENTS and len(set(kinds)) == 1:
        same = kinds[0] in (Kind.STRING, Kind.DATE, Kind.INTEGER)
        return Function("coalesce", None, _first_value, takes_null=True) if same else None
    return _TABLE.get((name, kinds))


SIGNATURES = tuple(_TABLE)
"""Each function with the kinds of its arguments; `concat` and `coalesce` take any number."""
NAMES = frozenset(name for name, _ in SIGNATURES) | {"concat", "coalesce"}
UNITS: Mapping[str, str] = {
    **dict.fromkeys(("YEAR", "YYYY", "YY"), "year"),
    "QUARTER": "quarter",
    **dict.fromkeys(("MONTH", "MM", "MON"), "month"),
    "WEEK": "week",
}
"""What `trunc` and `date_trunc` take for a unit."""
