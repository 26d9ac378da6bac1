"""What a job's text says under other values of its parameters. An advised line stays in the text while its values change from run
to run: it must follow from the text, not from the values that the parameters happen to have now."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, timedelta
from typing import Any

from pydantic.alias_generators import to_camel

from sluice.api.parameters import Parameter

_LITERAL = re.compile(r"(?:(<=|>=) )?(DATE '[0-9-]{10}')|'(?:[^']|'')*'|(?<![\w.])-?\d+(?![\w.])")
_DAYS, _APART = 1000, 11
_INT64 = range(-(2**63), 2**63)


def by_names(condition: str, given: Mapping[str, Parameter]) -> str:
    """Returns the condition with parameters in place of their values: perhaps also where a value is there by chance."""
    names = {
        literal: f":{name}" for name, one in reversed(tuple(given.items())) if (literal := _literal(one))
    }

    def named(found: re.Match[str]) -> str:
        operator, day = found.groups()
        if day is None:
            return names.get(found[0], found[0])
        name = names.get(day)
        if operator is None:
            return name or day
        if name is not None:
            return f"{operator} {name}"
        beyond = names.get(f"DATE '{_moved(day[6:-1], 1 if operator == '<=' else -1)}'")
        return found[0] if beyond is None else f"{operator[0]} {beyond}"

    return _LITERAL.sub(named, condition)


def _literal(given: Parameter) -> str | None:
    if given.date is not None:
        return f"DATE '{given.date}'"
    if given.string is not None:
        return "'{}'".format(given.string.replace("'", "''"))
    return None if given.integer is None else str(given.integer)


def other_values(given: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """Returns the parameters with other values: no two of a type are equal or as far apart as they were, and dates keep their
    order."""
    ranks = _ranks(given.items())
    return {name: _other(one, ranks[name]) for name, one in given.items()}


def _ranks(given: Iterable[tuple[str, Parameter]]) -> dict[str, int]:
    ordered = sorted(
        given, key=lambda one: (str(one[1].date or one[1].timestamp or one[1].timestamp_ntz), one[0])
    )
    return {name: rank for rank, (name, _) in enumerate(ordered)}


def _other(one: Parameter, rank: int) -> Parameter:
    (kind, value), *_ = one.model_dump(exclude_none=True).items()
    return Parameter.model_validate({to_camel(kind): _OTHER[kind](value, rank)})


def _later(time: str, rank: int) -> str:
    return _moved(time[:10], _DAYS + _APART * rank) + time[10:]


def _another_integer(number: int, rank: int) -> int:
    more = number + 1_000_003 + _APART * rank
    return more if more in _INT64 else number - _APART * (rank + 1)


def _another_decimal(number: str, rank: int) -> str:
    """As long a number: its first digit is another, whatever its scale."""
    return re.sub(r"\d", lambda digit: str((int(digit[0]) + 1 + rank) % 10), number, count=1)


_OTHER: Mapping[str, Callable[[Any, int], object]] = {
    "string": lambda text, rank: text[:-1] + chr(0x100 + rank),
    "boolean": lambda truth, _: not truth,
    "integer": _another_integer,
    "decimal": _another_decimal,
    "double": lambda number, rank: number / (2 + rank) + 1 + rank,
    "date": _later,
    "timestamp": _later,
    "timestamp_ntz": _later,
}


def _moved(day: str, days: int) -> str:
    """Moves the day, backwards where no day is left."""
    begun = date.fromisoformat(day)
    try:
        return (begun + timedelta(days)).isoformat()
    except OverflowError:
        return (begun - timedelta(days)).isoformat()
