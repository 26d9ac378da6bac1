"""Finds where a literal lies on a column's axis, after the casts that Spark puts around the two.

`column = literal` is only as exact as these casts.

Tried on Spark 4.2 and 3.5, ANSI on and off. Where Spark casts the *literal* (to the column's type, or both to a wider one
that holds all values), the literal has a place on the column's axis. Where it casts the *column* in a way that loses
something (strings to numbers, bigint or decimal to double, decimals too wide for 38 digits), nothing is known: a Widening.
In an IN list without ANSI, Spark compares as text as soon as one element is a string: there only spellings that Spark
itself would print count. What can't be compared at all raises `TypeNonsenseError`, which the parser turns into a PredicateError.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import UTC, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from math import floor, isnan
from typing import TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sluice.predicates import literals
from sluice.predicates.columns import Column, ColumnType, Kind
from sluice.predicates.literals import Literal, LiteralKind, Moment, Widening
from sluice.predicates.values import Code, successor

Place: TypeAlias = tuple[Code, Code]
"""[low, high): the codes equal to the literal. Empty (low == high) where no value of the column equals it."""

_EXACT_IN_SINGLE = 1 << 24
_EXACT_IN_DOUBLE = 1 << 53
_DECIMAL_DIGITS_OF_INTEGERS = 20
_NUMBERS = (LiteralKind.INTEGER, LiteralKind.DECIMAL, LiteralKind.FLOAT, LiteralKind.DOUBLE)
_TIMES = (LiteralKind.DATE, LiteralKind.TIMESTAMP, LiteralKind.TIMESTAMP_NTZ)


class TypeNonsenseError(ValueError):
    """A comparison that Spark refuses, or that can never hold; the message says why."""


def place(  # noqa: PLR0911 - one case a kind
    column: Column, literal: Literal, time_zone: str | None, *, as_text: bool
) -> Place | Widening:
    """Where `literal` lies among the values of `column`.

    `as_text`: strings may be compared as text with what Spark prints for the column (IN lists without ANSI).
    """
    match column.type.kind:
        case Kind.STRING:
            return _on_strings(column, literal)
        case Kind.BOOLEAN:
            return _on_booleans(column, literal)
        case Kind.INTEGER:
            return _on_integers(column, literal, as_text=as_text)
        case Kind.DECIMAL:
            return _on_decimals(column, literal)
        case Kind.FLOATING:
            return _on_floats(column, literal)
        case Kind.DATE:
            return _on_dates(column, literal, time_zone, as_text=as_text)
        case Kind.TIMESTAMP | Kind.TIMESTAMP_NTZ:
            return _on_timestamps(column, literal, time_zone, as_text=as_text)
        case Kind.OPAQUE:
            return Widening(f"{column.name}: {column.type.reason}")


_NATURAL = {
    Kind.BOOLEAN: (LiteralKind.BOOLEAN,),
    Kind.INTEGER: (LiteralKind.INTEGER,),
    Kind.DATE: (LiteralKind.DATE,),
    Kind.TIMESTAMP: (LiteralKind.TIMESTAMP,),
    Kind.TIMESTAMP_NTZ: (LiteralKind.TIMESTAMP_NTZ,),
}


def places(
    column: Column, elements: Sequence[Literal], time_zone: str | None, *, ansi: bool | None
) -> list[Place] | Widening:
    """Where the elements of an IN list lie: Spark brings all of them, and the column, to one common type first."""
    kinds = {element.kind for element in elements}
    strings = LiteralKind.STRING in kinds
    others = kinds - {LiteralKind.STRING}
    if (
        strings
        and column.type.kind is not Kind.STRING
        and not others.issubset(_NATURAL.get(column.type.kind, ()))
    ):
        return Widening(f"{column.name} IN a list of strings and other values is not understood")
    if column.type.kind is Kind.DATE and LiteralKind.DATE in kinds and len(kinds) > 1 and not strings:
        return Widening(f"{column.name} IN a list of dates and timestamps is not understood")
    if LiteralKind.DECIMAL in kinds and not _common_decimal_is_exact(column, elements):
        return Widening(f"{column.name} IN a list of decimals and wider numbers may round")
    found: list[Place] = []
    for element in elements:
        spot = place(column, element, time_zone, as_text=strings and ansi is not True)
        if isinstance(spot, Widening):
            return spot
        found.append(spot)
    return found


def _common_decimal_is_exact(column: Column, elements: Sequence[Literal]) -> bool:
    if column.type.kind is Kind.FLOATING:
        return True
    if any(element.kind in (LiteralKind.FLOAT, LiteralKind.DOUBLE) for element in elements):
        return False
    numbers = [Decimal(e.value) for e in elements if isinstance(e.value, int | Decimal)]
    whole = max(column.type.precision - column.type.scale, *map(_digits_before_point, numbers))
    if column.type.kind is Kind.INTEGER or any(e.kind is LiteralKind.INTEGER for e in elements):
        whole = max(whole, _DECIMAL_DIGITS_OF_INTEGERS)
    scale = max(column.type.scale, *map(_digits_after_point, numbers))
    return whole + scale <= literals.MAX_DECIMAL_DIGITS


def _at(code: Code) -> Place:
    return code, successor(code)


def _nonsense(column: Column, literal: Literal) -> TypeNonsenseError:
    shown = f"'{literal.value}'" if literal.kind is LiteralKind.STRING else literal.kind.value
    return TypeNonsenseError(
        f"{column.name} is of type {column.type.text} and cannot be compared with {shown}"
    )


def _by_cast_of_column(column: Column, literal: Literal) -> Widening:
    return Widening(
        f"comparing {column.name} ({column.type.text}) with {literal.kind.value} casts the column"
    )


def _inexact(column: Column, literal: Literal) -> Widening:
    return Widening(
        f"'{literal.value}' is not written as Spark prints a {column.type.text}, the type of {column.name}"
    )


def _on_strings(column: Column, literal: Literal) -> Place | Widening:
    if not isinstance(literal.value, str):
        return _by_cast_of_column(column, literal)
    if not _is_utf8(literal.value):
        return Widening(f"the text compared with {column.name} is not valid Unicode")
    return _at(literal.value)


def _is_utf8(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def _on_booleans(column: Column, literal: Literal) -> Place | Widening:
    value = literal.value
    if literal.kind is LiteralKind.BOOLEAN:
        return _at(int(bool(value)))
    if isinstance(value, str):
        if value in ("true", "false"):
            return _at(int(value == "true"))
        if not literals.looks_like_a_boolean(value):
            raise _nonsense(column, literal)
        return _inexact(column, literal)
    if literal.kind in _TIMES:
        raise _nonsense(column, literal)
    return _by_cast_of_column(column, literal)


def _on_integers(column: Column, literal: Literal, *, as_text: bool) -> Place | Widening:
    value = literal.value
    if isinstance(value, str):
        number = (literals.integer_of if as_text else literals.spelled_integer)(value)
        limit = 1 << column.type.bits - 1
        if number is not None and -limit <= number < limit:
            return _at(number)
        if number is None and not literals.looks_like_a_number(value):
            raise _nonsense(column, literal)
        return _inexact(column, literal)
    if literal.kind in (LiteralKind.DATE, LiteralKind.TIMESTAMP_NTZ):
        raise _nonsense(column, literal)
    if literal.kind is LiteralKind.INTEGER and isinstance(value, int):
        return _at(value)
    if isinstance(value, Decimal):
        digits = max(_digits_before_point(value), _DECIMAL_DIGITS_OF_INTEGERS) + _digits_after_point(value)
        return (
            _around(Fraction(value))
            if digits <= literals.MAX_DECIMAL_DIGITS
            else _by_cast_of_column(column, literal)
        )
    exact_bits = 16 if literal.kind is LiteralKind.FLOAT else 32
    if isinstance(value, float) and not isnan(value) and column.type.bits <= exact_bits:
        return (
            _around(Fraction(value)) if abs(value) < _EXACT_IN_DOUBLE else _by_cast_of_column(column, literal)
        )
    return _by_cast_of_column(column, literal)


def _around(number: Fraction) -> Place:
    whole = floor(number)
    return (whole, whole + 1) if whole == number else (whole + 1, whole + 1)


def _digits_after_point(number: Decimal) -> int:
    return max(0, -int(number.as_tuple().exponent))


def _digits_before_point(number: Decimal) -> int:
    _, digits, exponent = number.as_tuple()
    return max(0, len(digits) + int(exponent))


def _on_decimals(column: Column, literal: Literal) -> Place | Widening:
    value = literal.value
    if isinstance(value, str) and not literals.looks_like_a_number(value):
        raise _nonsense(column, literal)
    if literal.kind in (LiteralKind.DATE, LiteralKind.TIMESTAMP_NTZ):
        raise _nonsense(column, literal)
    if literal.kind not in (LiteralKind.INTEGER, LiteralKind.DECIMAL) or not isinstance(value, int | Decimal):
        return _by_cast_of_column(column, literal)
    number = Decimal(value)
    whole = _digits_before_point(number) if isinstance(value, Decimal) else _DECIMAL_DIGITS_OF_INTEGERS
    digits = max(whole, column.type.precision - column.type.scale) + max(
        _digits_after_point(number), column.type.scale
    )
    if digits > literals.MAX_DECIMAL_DIGITS:
        return _by_cast_of_column(column, literal)
    return _around(Fraction(number) * 10**column.type.scale)


def _on_floats(column: Column, literal: Literal) -> Place | Widening:
    value = literal.value
    if isinstance(value, str) and not literals.looks_like_a_number(value):
        raise _nonsense(column, literal)
    if literal.kind not in _NUMBERS or not isinstance(value, int | float | Decimal):
        return _by_cast_of_column(column, literal)
    if column.type.bits == 32 and isinstance(value, int) and abs(value) > _EXACT_IN_SINGLE:
        return _by_cast_of_column(column, literal)
    return _at(float_code(float(value)))


def float_code(number: float) -> int:
    """Codes a float as an integer in Spark's order: -0.0 equals 0.0, and NaN equals itself and is above all others."""
    if isnan(number):
        number = float("nan")
    bits: int = struct.unpack(">q", struct.pack(">d", number))[0]
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)


def float_of(code: int) -> float:
    bits = code if code >= 0 else -code | (1 << 63)
    number: float = struct.unpack(">d", struct.pack(">Q", bits))[0]
    return number


def _on_dates(column: Column, literal: Literal, time_zone: str | None, *, as_text: bool) -> Place | Widening:
    value = literal.value
    if literal.kind is LiteralKind.DATE and isinstance(value, int):
        return _at(value)
    if isinstance(value, str):
        day = (literals.day_of if as_text else literals.spelled_day)(value)
        if day is not None:
            return _at(day)
        if not literals.looks_like_a_date(value):
            raise _nonsense(column, literal)
        return _inexact(column, literal)
    if isinstance(value, Moment):
        return _among_midnights(column, value, literal.kind, time_zone)
    raise _nonsense(column, literal)


_DAY = 86_400_000_000


def _among_midnights(
    column: Column, moment: Moment, kind: LiteralKind, time_zone: str | None
) -> Place | Widening:
    """Where a timestamp lies among dates, each of which is cast to its midnight in the session's time zone.

    Where clocks skip midnight, a date is cast to a later time: then nothing is said of that day and of the one that follows.
    """
    if kind is LiteralKind.TIMESTAMP_NTZ:
        return _around(Fraction(moment.wall, _DAY))
    zone = None if time_zone is None else _zone(time_zone)
    wall = None if zone is None else _unambiguous_wall(moment, zone)
    if zone is None or wall is None:
        return _by_cast_of_column(column, Literal(kind, moment))
    day = wall // _DAY
    if any(_unambiguous_wall(Moment(midnight * _DAY), zone) is None for midnight in (day - 1, day)):
        return _by_cast_of_column(column, Literal(kind, moment))
    return _around(Fraction(wall, _DAY))


def days_written_as(column: Column, text: str, *, is_open: bool) -> Place | Widening:
    """The days whose text is this, or begins with it if `is_open`."""
    first_digits = text[:4]
    if not (first_digits.isascii() and first_digits[:1].isdigit() and first_digits.strip("0")):
        return Widening(f"{column.name} LIKE '{text[:20]}' may match years before 1 or after 9999")
    length = len(text) if is_open else None
    start = literals.EVERY_DAY.start
    low, high = (
        start + search(literals.EVERY_DAY, text, key=lambda day: literals.day_text(day)[:length])
        for search in (bisect_left, bisect_right)
    )
    return low, high


def _on_timestamps(
    column: Column, literal: Literal, time_zone: str | None, *, as_text: bool
) -> Place | Widening:
    value = literal.value
    if isinstance(value, str):
        moment = literals.moment_of(value)
        if moment is None and not literals.looks_like_a_moment(value):
            raise _nonsense(column, literal)
        if moment is None or (as_text and value != literals.moment_text(moment.wall)):
            return _inexact(column, literal)
    elif isinstance(value, Moment):
        moment = value
    elif literal.kind is LiteralKind.DATE and isinstance(value, int):
        moment = Moment(value * 86_400_000_000)
    elif literal.kind is LiteralKind.TIMESTAMP_NTZ or literal.kind in _NUMBERS:
        raise _nonsense(column, literal)
    else:
        return _by_cast_of_column(column, literal)
    return _moment_on(column.type, column.name, moment, literal.kind, time_zone)


def _moment_on(  # noqa: PLR0911 - one reason a line
    column_type: ColumnType, name: str, moment: Moment, kind: LiteralKind, time_zone: str | None
) -> Place | Widening:
    if column_type.kind is Kind.TIMESTAMP_NTZ and kind is not LiteralKind.TIMESTAMP:
        if moment.offset_minutes is None:
            return _at(moment.wall)
        return Widening(f"{name} has no time zone, but the literal has one")
    if time_zone is None:
        return Widening(
            f"{name}: timestamps mean nothing without spark.sql.session.timeZone: set it under runtime.sparkConf"
        )
    zone = _zone(time_zone)
    if zone is None:
        return Widening(f"{name}: the time zone {time_zone} is not known here")
    if column_type.kind is Kind.TIMESTAMP_NTZ and not isinstance(zone, timezone):
        return Widening(
            f"{name} has no time zone, but a TIMESTAMP literal is compared in the session's time zone"
        )
    wall = _unambiguous_wall(moment, zone)
    if wall is None:
        return Widening(
            f"{name}: clocks in {time_zone} do not show {literals.moment_text(moment.wall)} exactly once"
        )
    return _at(wall)


_UTC_NAMES = frozenset({"UTC", "GMT", "Z", "Etc/UTC", "Etc/GMT", "UCT", "Zulu"})
_FIXED_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{2}):(\d{2})")


def zone_name(name: str) -> str:
    """One name for all spellings of UTC, so that they share an axis."""
    return "UTC" if name in _UTC_NAMES else name


def _zone(name: str) -> tzinfo | None:
    if name in _UTC_NAMES:
        return UTC
    if fixed := _FIXED_OFFSET.fullmatch(name):
        minutes = int(fixed[2]) * 60 + int(fixed[3])
        return (
            timezone(timedelta(minutes=-minutes if fixed[1] == "-" else minutes))
            if minutes < 24 * 60
            else None
        )
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def wall_in_zone(moment: Moment, time_zone: str) -> int | None:
    """The wall clock's microseconds at this moment, if clocks in the zone show them exactly once; None if not, or if
    the zone is not known."""
    zone = _zone(time_zone)
    return None if zone is None else _unambiguous_wall(moment, zone)


def _unambiguous_wall(moment: Moment, zone: tzinfo) -> int | None:
    """What a clock in `zone` shows at this moment, if it shows that exactly once.

    Older Delta versions keep timestamp partitions as wall clocks, so the two passes of an hour set back are one partition.
    """
    try:
        local = literals.datetime_of(moment, zone)
        once = local.replace(fold=0).utcoffset() == local.replace(fold=1).utcoffset()
    except OverflowError:
        return None
    return literals.wall_of(local) if once else None
