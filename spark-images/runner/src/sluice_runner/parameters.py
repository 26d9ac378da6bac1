"""Typed parameters: each becomes the literal that could stand in the SQL text, but is never pasted into the text.

The oracle judges by exactly the same literals; if a value reached Spark as another type (an INT for a BIGINT, a local
time for an instant), the verdict would be about another statement.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluice_runner.fields import Fields, PlanError

if TYPE_CHECKING:
    from pyspark.sql import Column

Value = str | bool | float

_DECIMAL = re.compile(r"[+-]?[0-9]{1,38}([.][0-9]{1,38})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?"
_INSTANT = re.compile(rf"({_TIME})(Z|[+-][0-9]{{2}}:[0-9]{{2}})")
_LOCAL_TIME = re.compile(rf"{_TIME}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Parameter:
    """Either a plain value (string, boolean, double) or, for types that Python lacks, the text of a SQL literal."""

    value: Value | None = None
    literal: str | None = None


def read_parameters(parameters: Mapping[str, Fields]) -> Mapping[str, Parameter]:
    return {name: _read(name, fields) for name, fields in parameters.items()}


def bind(parameters: Mapping[str, Parameter]) -> dict[str, Column]:
    from pyspark.sql import functions  # noqa: PLC0415 - a plan is decoded, and refused, without Spark

    return {
        name: functions.lit(parameter.value)
        if parameter.literal is None
        else functions.expr(parameter.literal)
        for name, parameter in parameters.items()
    }


def _read(name: str, fields: Fields) -> Parameter:
    if not _NAME.fullmatch(name):
        raise PlanError(f"plan.parameters[{name!r}]: is not a valid parameter name")
    types = fields.names()
    if len(types) != 1 or types[0] not in _READERS:
        raise PlanError(
            f"plan.parameters[{name!r}]: expected exactly one of {', '.join(_READERS)}, found {', '.join(types) or 'none'}"
        )
    return _READERS[types[0]](fields, types[0])


def _string(fields: Fields, name: str) -> Parameter:
    return Parameter(value=fields.text(name))


def _boolean(fields: Fields, name: str) -> Parameter:
    return Parameter(value=fields.boolean(name))


def _double(fields: Fields, name: str) -> Parameter:
    value = fields.number(name)
    if not math.isfinite(value):
        raise PlanError(f"{fields.place(name)}: is too large for a double")
    return Parameter(value=value)


def _integer(fields: Fields, name: str) -> Parameter:
    return Parameter(literal=f"{fields.integer(name)}L")


def _decimal(fields: Fields, name: str) -> Parameter:
    text = _matching(_DECIMAL, fields, name, "a decimal number such as '12.50'")
    digits = len(text.lstrip("+-").replace(".", "").lstrip("0"))
    if digits > 38:
        raise PlanError(f"{fields.place(name)}: has {digits} digits, a decimal holds 38")
    return Parameter(literal=f"{text.lstrip('+')}BD")


def _date(fields: Fields, name: str) -> Parameter:
    text = _matching(_DATE, fields, name, "a date such as '2026-11-19'")
    _parsed(datetime.date.fromisoformat, text, fields, name)
    return Parameter(literal=f"DATE'{text}'")


def _timestamp(fields: Fields, name: str) -> Parameter:
    text = _matching(_INSTANT, fields, name, "an instant with its UTC offset such as '2026-11-19T08:00:00Z'")
    _parsed(datetime.datetime.fromisoformat, _python_time(text), fields, name)
    return Parameter(literal=f"TIMESTAMP_LTZ'{text}'")


def _timestamp_ntz(fields: Fields, name: str) -> Parameter:
    text = _matching(
        _LOCAL_TIME, fields, name, "a date and time without UTC offset such as '2026-11-19T08:00:00'"
    )
    _parsed(datetime.datetime.fromisoformat, _python_time(text), fields, name)
    return Parameter(literal=f"TIMESTAMP_NTZ'{text}'")


def _matching(pattern: re.Pattern[str], fields: Fields, name: str, expected: str) -> str:
    text = fields.text(name)
    if not pattern.fullmatch(text):
        raise PlanError(f"{fields.place(name)}: expected {expected}, found {text[:80]!r}")
    return text


def _parsed(parse: Callable[[str], object], text: str, fields: Fields, name: str) -> None:
    """Parses a date or time: the pattern accepts the 31st of February, but the calendar does not."""
    try:
        parse(text)
    except ValueError as error:
        raise PlanError(f"{fields.place(name)}: {text!r} is not in the calendar ({error})") from error


def _python_time(text: str) -> str:
    """Rewrites a time for Python before 3.11, whose fromisoformat knows neither Z nor fractions of other than 3 or 6
    digits."""
    text = text.replace("Z", "+00:00")
    return re.sub(r"[.]([0-9]{1,6})", lambda match: "." + match.group(1).ljust(6, "0"), text)


_READERS: Mapping[str, Callable[[Fields, str], Parameter]] = {
    "string": _string,
    "boolean": _boolean,
    "integer": _integer,
    "decimal": _decimal,
    "double": _double,
    "date": _date,
    "timestamp": _timestamp,
    "timestampNtz": _timestamp_ntz,
}
