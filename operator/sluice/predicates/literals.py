"""Reads constants as Spark's parser does: what `'5'`, `5`, `5L` and `DATE '2026-11-19'` mean depends on what they meet.

A literal here is what Spark's parser makes of a constant, before any coercion: its kind and its exact value. What
isn't known exactly is a `Widening` with the reason for people; what makes no sense raises.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal, InvalidOperation
from enum import Enum
from fractions import Fraction
from math import isfinite
from typing import TypeAlias

from sqlglot import exp

from sluice.predicates.errors import PredicateError

MAX_DECIMAL_DIGITS = 38
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_EPOCH = datetime(1970, 1, 1)
EVERY_DAY = range(1 - _EPOCH_DAY, date.max.toordinal() + 1 - _EPOCH_DAY)
"""The days of the years 1 to 9999."""
_SPECIAL_NUMBERS = frozenset({"NaN", "Infinity", "-Infinity"})
_SPECIAL_TIMES = frozenset({"epoch", "now", "today", "tomorrow", "yesterday"})


class LiteralKind(Enum):
    NULL = "NULL"
    BOOLEAN = "a boolean"
    INTEGER = "an integer"
    DECIMAL = "a decimal"
    FLOAT = "a float"
    DOUBLE = "a double"
    STRING = "a string"
    DATE = "a date"
    TIMESTAMP = "a timestamp"
    TIMESTAMP_NTZ = "a timestamp without time zone"


@dataclass(frozen=True, slots=True)
class Moment:
    """Microseconds of a wall clock since 1970, and the UTC offset it was written with (None: the session's zone)."""

    wall: int
    offset_minutes: int | None = None


LiteralValue: TypeAlias = bool | int | float | str | Decimal | Moment | None


@dataclass(frozen=True, slots=True)
class Literal:
    """DATE values are days since 1970; INTEGER, DECIMAL, FLOAT and DOUBLE are numbers; the rest as Python has them."""

    kind: LiteralKind
    value: LiteralValue


@dataclass(frozen=True, slots=True)
class Widening:
    """A part that isn't understood exactly, and why, in words for people."""

    reason: str


NULL = Literal(LiteralKind.NULL, None)

# ----------------------------------------------------------------------------------------------------- text to values

_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_SPELLED_DATE = re.compile(r" *(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)? *", re.ASCII | re.DOTALL)
_DATE_LIKE = re.compile(r"\s*[+-]?\d{4,7}(-\d{1,2}(-\d{1,2}([ T].*)?)?)?\s*", re.DOTALL)
_TIME_LIKE = re.compile(r"\s*T?\d{1,2}:\d{1,2}.*", re.DOTALL)
_MOMENT = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,6}))?(Z|[+-]\d{2}:\d{2})?)?",
    re.ASCII,
)
_SPELLED_INTEGER = re.compile(r" *([+-]?\d{1,38}) *", re.ASCII)
_INTEGER = re.compile(r"-?(0|[1-9]\d*)", re.ASCII)
_NUMBER_LIKE = re.compile(
    r"\s*[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?[dfl]?\s*|\s*[+-]?(nan|inf(inity)?)\s*", re.IGNORECASE
)


def day_of(text: str) -> int | None:
    """Days since 1970 for a date as Spark prints one (`2026-11-19`); None for any other spelling."""
    match = _DATE.fullmatch(text)
    return _day(match) if match else None


def spelled_day(text: str) -> int | None:
    """Days since 1970 for what Spark's cast takes for a date of the years 1 to 9999: `2026-1-9`, `2026-1`, `2026`, `2026-01-09T10`.

    None for the other spellings.
    """
    match = _SPELLED_DATE.fullmatch(text)
    return _day(match) if match else None


def names_no_day(text: str) -> bool:
    """Whether the text is spelled as a date, and no calendar has that day: Spark refuses it. Spark has a year 0, a leap year."""
    match = _SPELLED_DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = (int(part or 1) for part in match.groups())
    try:
        date(year or 4, month, day)
    except ValueError:
        return True
    return False


def _day(match: re.Match[str]) -> int | None:
    try:
        return date(*(int(part or 1) for part in match.groups())).toordinal() - _EPOCH_DAY
    except ValueError:
        return None


def moment_of(text: str) -> Moment | None:
    """A timestamp in a plain spelling; None for spellings that only Spark's parser accepts."""
    match = _MOMENT.fullmatch(text)
    if not match:
        return None
    day = day_of(match[1])
    hours, minutes, seconds = (int(part or 0) for part in match.group(2, 3, 4))
    if day is None or hours > 23 or minutes > 59 or seconds > 59:
        return None
    micros = ((day * 24 + hours) * 60 + minutes) * 60 + seconds
    wall = micros * 1_000_000 + int((match[5] or "").ljust(6, "0"))
    return Moment(wall, _offset(match[6]))


def _offset(text: str | None) -> int | None:
    if text is None:
        return None
    if text == "Z":
        return 0
    minutes = int(text[1:3]) * 60 + int(text[4:6])
    return -minutes if text[0] == "-" else minutes


def integer_of(text: str) -> int | None:
    """An integer as Spark prints one; None for any other spelling ('05', '+5', ' 5', '5.0')."""
    return (
        int(text) if _INTEGER.fullmatch(text) and text != "-0" and len(text) <= MAX_DECIMAL_DIGITS else None
    )


def spelled_integer(text: str) -> int | None:
    """An integer in the spellings that Spark's casts take, ANSI or not ('05', '+5', ' 5'); None for any other ('5.0', '5e0')."""
    match = _SPELLED_INTEGER.fullmatch(text)
    return int(match[1]) if match else None


def looks_like_a_date(text: str) -> bool:
    """Whether some cast of Spark may make a date of it; False only if surely none does."""
    if text.strip().lower() in _SPECIAL_TIMES:
        return True
    return bool(_DATE_LIKE.fullmatch(text)) and not (_DATE.fullmatch(text) and day_of(text) is None)


def looks_like_a_moment(text: str) -> bool:
    """Whether some cast of Spark may make a timestamp of it; a time alone is a timestamp on the day of the run."""
    return looks_like_a_date(text) or bool(_TIME_LIKE.fullmatch(text))


def looks_like_a_number(text: str) -> bool:
    """Whether some cast of Spark may make a number of it; False only if surely none does."""
    return bool(_NUMBER_LIKE.fullmatch(text))


def looks_like_a_boolean(text: str) -> bool:
    """Whether some cast of Spark may make a boolean of it; False only if surely none does."""
    return text.strip().lower() in {"t", "true", "y", "yes", "1", "f", "false", "n", "no", "0"}


# ------------------------------------------------------------------------------------------------------ from syntax trees

_CAST_TARGETS: Mapping[exp.DType, LiteralKind] = {
    exp.DType.BOOLEAN: LiteralKind.BOOLEAN,
    exp.DType.TINYINT: LiteralKind.INTEGER,
    exp.DType.SMALLINT: LiteralKind.INTEGER,
    exp.DType.INT: LiteralKind.INTEGER,
    exp.DType.BIGINT: LiteralKind.INTEGER,
    exp.DType.DECIMAL: LiteralKind.DECIMAL,
    exp.DType.FLOAT: LiteralKind.FLOAT,
    exp.DType.DOUBLE: LiteralKind.DOUBLE,
    exp.DType.DATE: LiteralKind.DATE,
    exp.DType.TIMESTAMP: LiteralKind.TIMESTAMP,
    exp.DType.TIMESTAMPTZ: LiteralKind.TIMESTAMP,
    exp.DType.TIMESTAMPLTZ: LiteralKind.TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: LiteralKind.TIMESTAMP_NTZ,
    exp.DType.TEXT: LiteralKind.STRING,
}
_INTEGER_BITS = {exp.DType.TINYINT: 8, exp.DType.SMALLINT: 16, exp.DType.INT: 32, exp.DType.BIGINT: 64}


def from_syntax(node: exp.Expr) -> Literal | Widening | None:
    """The literal that `node` spells; a Widening for a constant that isn't known exactly; None if it's not a constant."""
    negative = False
    while isinstance(node, exp.Paren | exp.Neg):
        negative ^= isinstance(node, exp.Neg)
        node = node.this
    if isinstance(node, exp.Cast):  # -128Y is a cast of -128, not the opposite of a cast of 128
        inner = from_syntax(node.this)
        if not isinstance(inner, Literal):
            return inner
        if inner.kind in _NUMBERS:
            opposite = _negated(inner) if negative else inner
            return _cast(opposite, node) if isinstance(opposite, Literal) else opposite
        literal: Literal | Widening | None = _cast(inner, node)
    else:
        literal = _positive(node)
    return _negated(literal) if negative and isinstance(literal, Literal) else literal


_NUMBERS = (LiteralKind.INTEGER, LiteralKind.DECIMAL, LiteralKind.FLOAT, LiteralKind.DOUBLE)


def _negated(literal: Literal) -> Literal | Widening:
    value = literal.value  # unary minus on a Decimal would round to the context's precision
    if literal.kind in _NUMBERS and isinstance(value, int | float | Decimal):
        return Literal(literal.kind, value.copy_negate() if isinstance(value, Decimal) else -value)
    if literal.kind is LiteralKind.NULL:
        return literal
    return Widening(f"a minus before {literal.kind.value} is not understood")


def _positive(node: exp.Expr) -> Literal | Widening | None:  # noqa: PLR0911 - one case a node
    if isinstance(node, exp.Literal):
        return Literal(LiteralKind.STRING, node.this) if node.is_string else _number(node.this)
    if isinstance(node, exp.Null):
        return NULL
    if isinstance(node, exp.Boolean):
        return Literal(LiteralKind.BOOLEAN, bool(node.this))
    if isinstance(node, exp.RawString):
        return Literal(LiteralKind.STRING, node.this)
    if isinstance(node, exp.Placeholder):
        raise PredicateError(_unbound(node.this))
    if isinstance(node, exp.HexString):
        return Widening("binary values are not compared")
    if isinstance(node, exp.Sub | exp.Add):
        return _shifted_day(node)
    return None


def _unbound(name: object) -> str:
    if isinstance(name, str):
        return f"a parameter {name} has no value here: in a job, write :{name} without a space"
    return "positional parameters (?) are not bound: name them, as in :d"


def _decimal(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if not number.is_finite():
        return None
    _, digits, exponent = number.as_tuple()
    scale = max(0, -int(exponent))
    whole = max(0, len(digits) + int(exponent))
    return number if scale + whole <= MAX_DECIMAL_DIGITS else None


def _double(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _number(text: str) -> Literal | Widening:
    if text.isdecimal() and text.isascii():
        if len(text) > MAX_DECIMAL_DIGITS:
            return Widening(f"the number {text[:20]}... is too long")
        fits_bigint = int(text) < 1 << 63
        return (
            Literal(LiteralKind.INTEGER, int(text))
            if fits_bigint
            else Literal(LiteralKind.DECIMAL, Decimal(text))
        )
    if "e" in text.lower():
        double = _double(text)
        if double is None:
            return Widening(f"the number {text[:20]} is not understood")
        return (
            Literal(LiteralKind.DOUBLE, double) if isfinite(double) else Widening(f"{text} is out of range")
        )
    number = _decimal(text)
    return (
        Widening(f"the number {text[:20]} is not understood")
        if number is None
        else Literal(LiteralKind.DECIMAL, number)
    )


_OF_A_CAST = frozenset({"this", "to", "safe", "_type"})
_OF_A_TYPE = frozenset({"this", "nested", "expressions"})


def _has_only(node: exp.Expr, known: frozenset[str]) -> bool:
    return all(name in known or not value for name, value in node.args.items())


def _cast(literal: Literal, node: exp.Cast) -> Literal | Widening:
    target = node.args["to"]
    kind = _CAST_TARGETS.get(target.this)
    spelled = _spelled(literal)
    if literal.kind is LiteralKind.NULL:
        return NULL
    if kind is None or not (_has_only(node, _OF_A_CAST) and _has_only(target, _OF_A_TYPE)):
        return Widening(f"the cast of {spelled} is not understood")
    done = _converted(literal, kind, target)
    if done is not None:
        return done
    hopeless = (
        literal.kind is LiteralKind.STRING
        and kind in (LiteralKind.DATE, LiteralKind.TIMESTAMP, LiteralKind.TIMESTAMP_NTZ)
        and not looks_like_a_moment(str(literal.value))
    )
    if hopeless and not node.args.get("safe"):
        raise PredicateError(f"{spelled} is not a valid {kind.value.removeprefix('a ')}")
    return Widening(f"the cast of {spelled} to {kind.value} is not exact")


def _converted(literal: Literal, kind: LiteralKind, target: exp.DataType) -> Literal | None:  # noqa: PLR0911 - one case a target
    value = literal.value
    if kind is LiteralKind.INTEGER:
        number = spelled_integer(value) if isinstance(value, str) else value
        limit = 1 << _INTEGER_BITS[target.this] - 1
        fits = type(number) is int and literal.kind is not LiteralKind.DATE and -limit <= number < limit
        return Literal(kind, number) if fits else None
    if kind is LiteralKind.DECIMAL:
        return _as_decimal(literal, target)
    if kind in (LiteralKind.DOUBLE, LiteralKind.FLOAT):
        return _as_floating(literal, kind)
    if literal.kind is kind:
        return literal
    if kind is LiteralKind.STRING:
        text = text_of(literal)
        return None if text is None else Literal(kind, text)
    if not isinstance(value, str):
        return None
    if kind is LiteralKind.DATE and (day := spelled_day(value)) is not None:
        return Literal(kind, day)
    if (
        kind in (LiteralKind.TIMESTAMP, LiteralKind.TIMESTAMP_NTZ)
        and (moment := moment_of(value)) is not None
    ):
        return (
            Literal(kind, moment) if kind is LiteralKind.TIMESTAMP or moment.offset_minutes is None else None
        )
    if kind is LiteralKind.BOOLEAN and value in ("true", "false"):
        return Literal(kind, value == "true")
    return None


def _as_decimal(literal: Literal, target: exp.DataType) -> Literal | None:
    sizes = [integer_of(param.name) for param in target.expressions]
    precision, scale = sizes[0] if sizes else 10, sizes[1] if len(sizes) > 1 else 0
    if literal.kind not in (LiteralKind.STRING, LiteralKind.INTEGER, LiteralKind.DECIMAL):
        return None
    number = _decimal(str(literal.value))
    if number is None or precision is None or scale is None:
        return None
    if not 0 <= scale <= precision <= MAX_DECIMAL_DIGITS:
        return None
    unscaled = Fraction(number) * 10**scale
    if unscaled.denominator != 1 or abs(unscaled) >= 10**precision:
        return None
    return Literal(LiteralKind.DECIMAL, number)


def _as_floating(literal: Literal, kind: LiteralKind) -> Literal | None:
    value = literal.value
    if literal.kind is LiteralKind.STRING and isinstance(value, str):
        if value in _SPECIAL_NUMBERS:
            return Literal(kind, float(value))
        value = _decimal(value)
    if literal.kind in (LiteralKind.BOOLEAN, LiteralKind.DATE) or not isinstance(
        value, int | float | Decimal
    ):
        return None
    number = float(value)
    exact_in_single = number == int(number) and abs(number) <= 1 << 24 if abs(number) < 1e15 else False
    if kind is LiteralKind.FLOAT and not exact_in_single:
        return None
    return Literal(kind, number)


def _shifted_day(node: exp.Sub | exp.Add) -> Literal | None:
    """Reads `DATE '2026-11-19' - INTERVAL 1 DAY` and `DATE '2026-11-19' + INTERVAL 7 DAYS`: a date plus whole days is a date."""
    start = from_syntax(node.this)
    interval = node.expression
    if not (
        isinstance(start, Literal) and start.kind is LiteralKind.DATE and isinstance(interval, exp.Interval)
    ):
        return None
    unit = interval.args.get("unit")
    days = interval.this
    if not (
        isinstance(unit, exp.Var) and unit.name.upper() in ("DAY", "DAYS") and isinstance(days, exp.Literal)
    ):
        return None
    count = integer_of(days.this)
    if count is None or not isinstance(start.value, int) or abs(count) > 1_000_000:
        return None
    shifted = start.value - count if isinstance(node, exp.Sub) else start.value + count
    return Literal(LiteralKind.DATE, shifted) if 1 <= shifted + _EPOCH_DAY <= date.max.toordinal() else None


def _spelled(literal: Literal) -> str:
    return f"'{literal.value}'" if literal.kind is LiteralKind.STRING else str(literal.value)


# -------------------------------------------------------------------------------------------------------- values to text


def text_of(literal: Literal) -> str | None:
    """What Spark casts an integer or a date to; None for any other literal."""
    match literal.kind, literal.value:
        case LiteralKind.INTEGER, int(number):
            return str(number)
        case LiteralKind.DATE, int(day):
            return day_text(day)
    return None


def day_text(day: int) -> str:
    return date.fromordinal(day + _EPOCH_DAY).isoformat()


def moment_text(wall: int) -> str:
    """The text of a timestamp as Spark prints it: without trailing zeros in the fraction."""
    text = (_EPOCH + timedelta(microseconds=wall)).isoformat(sep=" ")
    return text.rstrip("0") if "." in text else text


def datetime_of(moment: Moment, zone: tzinfo) -> datetime:
    """The moment on the clocks of `zone`; raises OverflowError beyond the years 1 to 9999."""
    wall = _EPOCH + timedelta(microseconds=moment.wall)
    if moment.offset_minutes is None:
        return wall.replace(tzinfo=zone)
    return wall.replace(tzinfo=timezone(timedelta(minutes=moment.offset_minutes))).astimezone(zone)


def wall_of(local: datetime) -> int:
    """Microseconds since 1970 that the clock of `local` shows."""
    return (local.replace(tzinfo=None) - _EPOCH) // timedelta(microseconds=1)
