"""Conditions on functions of the grid's columns, as people write them, and what they say of a row by means of Python's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from math import fmod
from typing import Any

from contract.harness.conditions import Cells, Condition, Truth, Value

_EARLIER, _LATER = "2026-11-18", "2026-11-19"
_FEW = 2


@dataclass(frozen=True)
class _Function:
    sql: str
    """With {p} before each column."""
    columns: tuple[str, ...]
    of: Callable[..., object]
    others: tuple[object, ...] = ()
    """Values that it has for no row of the grid."""


def _day(text: str) -> date:
    return date.fromisoformat(text)


def _month_end(text: str) -> date:
    following = _day(text).replace(day=28) + timedelta(days=4)
    return following - timedelta(days=following.day)


_FUNCTIONS = (
    _Function("year({p}date)", ("date",), lambda d: _day(d).year, (2025,)),
    _Function("month({p}date)", ("date",), lambda d: _day(d).month, (2,)),
    _Function("day({p}date)", ("date",), lambda d: _day(d).day),
    _Function("dayofweek({p}date)", ("date",), lambda d: _day(d).isoweekday() % 7 + 1),
    _Function("extract(DAY FROM {p}date)", ("date",), lambda d: _day(d).day),
    _Function("date_add({p}date, 1)", ("date",), lambda d: _day(d) + timedelta(days=1)),
    _Function("date_sub({p}date, 7)", ("date",), lambda d: _day(d) - timedelta(days=7)),
    _Function("{p}date + INTERVAL 1 DAY", ("date",), lambda d: _day(d) + timedelta(days=1)),
    _Function("trunc({p}date, 'MM')", ("date",), lambda d: _day(d).replace(day=1), (date(2026, 10, 1),)),
    _Function(
        "date_trunc('MONTH', {p}date)", ("date",), lambda d: _day(d).replace(day=1), (date(2026, 12, 1),)
    ),
    _Function("date_trunc('DAY', {p}date)", ("date",), _day),
    _Function("last_day({p}date)", ("date",), _month_end, (date(2026, 10, 31),)),
    _Function(
        "datediff({p}date, DATE '2026-11-01')", ("date",), lambda d: (_day(d) - date(2026, 11, 1)).days
    ),
    _Function("CAST({p}date AS STRING)", ("date",), str),
    _Function("CAST({p}date AS DATE)", ("date",), _day),
    _Function("CAST({p}region AS STRING)", ("region",), str, ("ap",)),
    _Function("CAST({p}n AS INT)", ("n",), int),
    _Function("{p}date + INTERVAL 1 MONTH", ("date",), lambda d: _day(d).replace(month=_day(d).month + 1)),
    _Function("CAST(date_trunc('MONTH', {p}date) AS DATE)", ("date",), lambda d: _day(d).replace(day=1)),
    _Function("to_date(CAST({p}date AS STRING), 'yyyy-MM-dd')", ("date",), _day),
    _Function("date_format({p}date, 'yyyyMMdd')", ("date",), lambda d: d.replace("-", "")),
    _Function("date_format({p}date, 'yyyy-MM')", ("date",), lambda d: d[:7], ("2026-10",)),
    _Function("substring({p}region, 1, 2)", ("region",), lambda r: r[:2], ("ap",)),
    _Function("left({p}region, 2)", ("region",), lambda r: r[:2]),
    _Function("right({p}region, 4)", ("region",), lambda r: r[-4:]),
    _Function("upper({p}region)", ("region",), str.upper, ("us",)),
    _Function("lower({p}region)", ("region",), str.lower),
    _Function("length({p}region)", ("region",), len),
    _Function("replace({p}region, '-', '')", ("region",), lambda r: r.replace("-", "")),
    _Function("coalesce({p}region, 'none')", ("region",), lambda r: "none" if r is None else r),
    _Function("concat({p}region, '-', {p}n)", ("region", "n"), lambda r, n: f"{r}-{n}", ("us-7",)),
    _Function("{p}region || '/' || CAST({p}date AS STRING)", ("region", "date"), lambda r, d: f"{r}/{d}"),
    _Function("{p}n + 1", ("n",), lambda n: n + 1),
    _Function("{p}n + 0", ("n",), lambda n: n),
    _Function("- {p}n", ("n",), lambda n: -n),
    _Function("{p}n % 2", ("n",), lambda n: int(fmod(n, 2))),
    _Function("{p}n * 10 + 1", ("n",), lambda n: n * 10 + 1),
    _Function("day({p}date) * 10 + {p}n", ("date", "n"), lambda d, n: _day(d).day * 10 + n),
)
_GRID: dict[str, tuple[Value, ...]] = {
    "date": (_EARLIER, _LATER, None),
    "region": ("eu-west", "us", None),
    "n": (1, 2),
}


def _value(function: _Function, row: Cells) -> Any:
    given = [row[column] for column in function.columns]
    if None in given and "coalesce" not in function.sql:
        return None
    return function.of(*given)


def _literal(value: object) -> str:
    if isinstance(value, date):
        return f"DATE '{value}'"
    return f"'{value}'" if isinstance(value, str) else str(value)


def _compared(function: _Function, operator: str, value: object) -> Condition:
    def holds(row: Cells) -> Truth:
        found = _value(function, row)
        if found is None:
            return None
        answers = {"=": found == value, "<>": found != value, ">=": found >= value, "<": found < value}
        return bool(answers[operator])

    return Condition(f"{function.sql} {operator} {_literal(value)}", holds)


def _among(function: _Function, values: list[object]) -> Condition:
    def holds(row: Cells) -> Truth:
        found = _value(function, row)
        return None if found is None else found in values

    return Condition(f"{function.sql} IN ({', '.join(map(_literal, values))})", holds)


def _known(function: _Function) -> list[object]:
    """The values that it has on the grid, and others."""
    found: dict[object, None] = {}
    rows: list[dict[str, Value]] = [{}]
    for column in function.columns:
        rows = [{**row, column: value} for row in rows for value in _GRID[column]]
    for row in rows:
        value = _value(function, row)
        if value is not None:
            found[value] = None
    return [*found, *function.others]


def _null(function: _Function, negated: bool) -> Condition:
    word = "IS NOT NULL" if negated else "IS NULL"
    return Condition(f"{function.sql} {word}", lambda row: (_value(function, row) is None) != negated)


def _begins(sql: str, column: str, start: str) -> Condition:
    def holds(row: Cells) -> Truth:
        cell = row[column]
        return None if cell is None else str(cell).startswith(start)

    return Condition(sql, holds)


def equalities() -> Iterator[Condition]:
    for function in _FUNCTIONS:
        for value in _known(function):
            yield _compared(function, "=", value)


def calls_a_function(condition: Condition) -> bool:
    return any(function.sql in condition.template for function in _FUNCTIONS)


def all_conditions() -> Iterator[Condition]:
    """Each function compared with what it may be, and some more that speak of one column."""
    yield from equalities()
    for function in _FUNCTIONS:
        known = _known(function)
        yield from (_compared(function, operator, known[0]) for operator in ("<>", ">=", "<"))
        yield _among(function, known[:_FEW])
        yield from (_null(function, negated) for negated in (False, True))
    yield _begins("CAST({p}date AS STRING) LIKE '2026-11-1%'", "date", "2026-11-1")
    yield _begins("startswith({p}region, 'eu')", "region", "eu")
    yield _begins("left({p}region, 3) LIKE 'eu%'", "region", "eu")
