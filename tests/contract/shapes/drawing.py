"""What every part of a shape is drawn with: one seeded chance, fresh names, statements that come before, and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from contract.shapes.tables import EVENTS, NULL, PARTS, VALUES

T = TypeVar("T")


@dataclass(frozen=True)
class Wanted:
    """A column that a query shall bring; `pin` is the only value that it is meant to have, if there is one."""

    name: str
    type: str
    pin: str | None = None

    @property
    def quoted(self) -> str:
        return self.name if self.name.isidentifier() else f"`{self.name}`"


@dataclass
class Draw:
    random: Random
    oddly: bool = True
    """Whether values may come in other types and spellings, and columns without a pin."""
    before: list[str] = field(default_factory=list)
    """Statements of the session that come first: SET, temporary views."""
    write: dict[str, str] | None = None
    """The shape is the query of a DataFrame write: its mode, and what it replaces."""
    _names: int = 0

    def one(self, of: Sequence[T]) -> T:
        return self.random.choice(of)

    def chance(self, of_one: float) -> bool:
        return self.random.random() < of_one

    def rarely(self, of_one: float) -> bool:
        """Is true by chance, but never in a shape that is odd by its kind alone."""
        return self.oddly and self.chance(of_one)

    def name(self) -> str:
        self._names += 1
        return f"x{self._names}"

    def value(self, type_: str) -> str:
        return self.one(VALUES[type_])

    def solid(self, type_: str) -> str:
        """A value that isn't NULL."""
        return self.one([value for value in VALUES[type_] if value not in (NULL, "''")])

    def other(self, type_: str, than: str | None) -> str:
        return self.one([value for value in VALUES[type_] if value not in (than, NULL, "''")])


ODDLY: Mapping[str, tuple[str, ...]] = {
    "INT": (
        *("'5'", "'05'", "5L", "5S", "2.0", "CAST('5' AS INT)", "CAST(2.7 AS INT)", "2 + 3", "-(-5)", "+5"),
        *("5.0D", "CAST(5 AS TINYINT)", "CAST('1' || '' AS INT)", "CAST(16777217 AS FLOAT)", "int(5)"),
        *(
            "year(DATE '0005-11-19')",
            "length('abcde')",
            "int('5')",
            "pmod(12, 7)",
            "3 * 2 - 1",
            "'2147483648'",
        ),
        *(
            "datediff(DATE '2026-11-19', '2026-11-14')",
            "month(DATE '2026-11-19') - 6",
            "'-5'",
            "16777216 + 1",
        ),
        *(
            "TRY_CAST('x' AS INT)",
            "nullif(5, 5)",
            "coalesce(NULL, 5)",
            "CASE WHEN TRUE THEN 5 ELSE 1 END",
            "1E0",
        ),
    ),
    "BIGINT": (
        *("1", "CAST(9007199254740993 AS DOUBLE)", "9007199254740993D", "9007199254740993.0", "'7'", "7S"),
        *("CAST(9007199254740993 AS DECIMAL(20,0))", "7.9D", "bigint('7')", "CAST(16777217 AS FLOAT)"),
        *("'9007199254740993'", "'9223372036854775808'", "9007199254740992 + 1", "month('2026-07-19')"),
    ),
    "STRING": (
        *("1", "01", "1.50", "DATE '2026-11-19'", "'e' || 'u'", "'e' 'u'", '"eu"', "r'eu'", "lower('EU')"),
        *("CAST(1 AS STRING)", "CAST('eu' AS CHAR(3))", "CAST('eu' AS VARCHAR(5))", "TRUE", "1L", "1E0"),
        *(
            "trim(' eu')",
            "'\\145u'",
            "'e\\u0075'",
            "CAST('eu ' AS CHAR(5))",
            "string(01)",
            "upper('eu')",
            "5Y",
        ),
        *(
            "concat('e', 'u')",
            "concat(1, '')",
            "trim(' ')",
            "substring('xeu', 2)",
            "-1",
            "9223372036854775808",
        ),
        *("date_format(DATE '2026-11-19', 'yyyyMMdd')", "year(DATE '2026-11-19')", "CAST('eu' AS STRING)"),
        *(
            "CAST(DATE '2026-11-19' AS STRING)",
            "make_date(2026, 11, 19)",
            "left('01x', 2)",
            "2147483647 + 1L",
        ),
    ),
    "DATE": (
        *("'2026-11-19'", "'2026-11-9'", "CAST('2026-11-19' AS DATE)", "to_date('2026-11-19')", "'2026-11'"),
        *("TIMESTAMP '2026-11-19 23:00:00'", "DATE '2026-11-18' + 1", "DATE'2026-11-19'", "DATE '2026-11'"),
        *("TIMESTAMP '2026-11-19 23:00:00 America/New_York'", "date_add(DATE '2026-11-18', 1)"),
        *("CAST(TIMESTAMP_NTZ '2026-11-19 01:00:00' AS DATE)", "date('2026-11-19')", "' 2026-11-19'"),
        *(
            "make_date(2026, 11, 19)",
            "to_date('20261119', 'yyyyMMdd')",
            "DATE '2026-10-19' + INTERVAL 1 MONTH",
        ),
        *("add_months('2025-11-19', 12)", "DATE '2026-11-20' - 1", "date_trunc('DAY', DATE '2026-11-19')"),
        *("CAST(date_trunc('MONTH', DATE '2026-11-19') AS DATE)", "trunc(DATE '2026-11-19', 'MM')"),
        *("concat('2026-11', '-19')", "last_day('2026-10-19') + 19", "to_date('2026-11-19 23:00')"),
    ),
    "BOOLEAN": (
        "'true'",
        "1 = 1",
        "CAST(1 AS BOOLEAN)",
        "NOT FALSE",
        "NULL IS NULL",
        "'yes'",
        "boolean('f')",
    ),
    "TIMESTAMP_NTZ": (
        *("TIMESTAMP '2026-11-19 10:30:00'", "DATE '2026-11-19'", "'2026-11-19 10:30:00'"),
        *("TIMESTAMP '2026-11-19 10:30:00 America/New_York'", "TIMESTAMP_NTZ '2026-11-19'"),
        "CAST('2026-11-19 10:30:00' AS TIMESTAMP_NTZ)",
    ),
    "TIMESTAMP": (
        "TIMESTAMP '2026-11-19 10:30:00'",
        "DATE '2026-11-19'",
        "TIMESTAMP_NTZ '2026-11-19 10:30:00'",
    ),
    PARTS: ("STRUCT(DATE '2026-11-20' AS d, 2 AS n)", "NAMED_STRUCT('d', '2026-11-19', 'n', '1')"),
}
"""Values in other spellings and types than those of their column."""

CONVERTED: Mapping[str, tuple[tuple[str, str], ...]] = {
    "INT": (*[("g", "16777217")] * 4, ("f", "2.5"), ("ns", "1"), ("p", "2.5"), ("g", "5"), ("c", "1")),
    "BIGINT": (*[("f", "9007199254740993")] * 4, ("g", "16777217"), ("p", "2.5"), ("ns", "1"), ("f", "1")),
    "STRING": (
        *(("ns", "1"), ("k", "1"), ("d", "DATE '2026-11-19'"), ("k", "'01'"), ("f", "1"), ("ns", "'01'")),
        ("m", "'2026-11-19'"),
    ),
    "DATE": (
        *(("ds", "DATE '2026-11-19'"), ("ds", "'2026-11-9'"), ("m", "DATE '2026-11-19'")),
        ("ts", "DATE '2026-11-19'"),
    ),
    "BOOLEAN": (("k", "1"), ("flag", "'true'"), ("flag", "1")),
    "TIMESTAMP_NTZ": (("d", "DATE '2026-11-19'"), ("ts", "TIMESTAMP_NTZ '2026-11-19 10:30:00'")),
    "TIMESTAMP": (("m", "TIMESTAMP '2026-11-19 10:30:00'"), ("d", "DATE '2026-11-19'")),
}
"""Columns of the events whose type isn't that of the column they go to, and what they are compared with."""


MIXED: Mapping[str, tuple[tuple[str, str], ...]] = {
    "STRING": (
        ("'01'", "1"),
        ("'01'", "CAST(NULL AS INT)"),
        ("'1.50'", "2.5"),
        ("'2026-11-9'", "DATE '2026-11-20'"),
    ),
    "BIGINT": (("9007199254740993", "CAST(1 AS DOUBLE)"), ("16777217", "CAST(1 AS FLOAT)"), ("7", "'1'")),
    "INT": (("16777217", "CAST(1 AS FLOAT)"), ("5", "2.5"), ("5", "'1'")),
    "DATE": (("DATE '2026-11-19'", "TIMESTAMP '2026-11-20 10:00:00'"), ("'2026-11-9'", "DATE '2026-11-20'")),
    "BOOLEAN": (("TRUE", "'no'"), ("TRUE", "NULL")),
    "TIMESTAMP_NTZ": (("TIMESTAMP_NTZ '2026-11-19 10:30:00'", "DATE '2026-11-19'"),),
    "TIMESTAMP": (("TIMESTAMP '2026-11-19 10:30:00Z'", "TIMESTAMP_NTZ '2026-11-19 10:30:00'"),),
}
"""Values that change when Spark gives them and the ones beside them one type."""


CALLS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "INT": (
        ("CAST({}.k AS INT)", "{}.k"),
        ("int({}.ns)", "CAST({}.ns AS INT)"),
        ("CAST({}.b AS INT)",),
        ("length({}.v)", "length(({}.v))"),
        ("day({}.d)", "day({}.d)"),
    ),
    "BIGINT": (
        ("CAST({}.f AS BIGINT)", "TRY_CAST({}.f AS BIGINT)"),
        ("CAST({}.b AS BIGINT)", "{}.b"),
        ("bigint({}.ns)",),
    ),
    "STRING": (
        ("CAST({}.region AS STRING)", "{}.region", "string({}.region)"),
        ("CAST({}.k AS STRING)", "string({}.k)"),
        ("date_format({}.d, 'yyyy')",),
        ("substring({}.v, 1, 2)",),
    ),
    "DATE": (
        ("to_date({}.ts)", "CAST({}.ts AS DATE)", "date({}.ts)", "{}.ts"),
        ("CAST({}.m AS DATE)", "to_date({}.m)", "{}.m"),
        ("CAST({}.ds AS DATE)", "TRY_CAST({}.ds AS DATE)", "{}.ds"),
        ("CAST({}.d AS DATE)", "{}.d", "to_date({}.d)"),
        ("date_add({}.d, 1)",),
        ("to_date({}.ds, 'yyyy-MM-d')",),
    ),
}
"""Calls on the columns of the events; those in one line are stored alike, and mostly equal."""


def of_type(type_: str) -> list[str]:
    """The columns of the events that have it."""
    return [name for name, found in EVENTS.items() if found == type_]


def equal(draw: Draw, column: str, value: str, type_: str) -> str:
    """A condition that is true of this value alone, mostly."""
    if value == NULL:
        return draw.one([f"{column} IS NULL", f"{column} <=> NULL", f"isnull({column})"])
    other = draw.solid(type_)
    if not draw.oddly:
        return draw.one([f"{column} = {value}", f"{column} = {value}", f"{column} IN ({value}, {other})"])
    return draw.one(
        [
            *[f"{column} = {value}"] * 5,
            f"{value} = {column}",
            f"{column} <=> {value}",
            *[f"{column} IN ({value})"] * 2,
            f"{column} IN ({value}, {other})",
            f"{column} BETWEEN {value} AND {value}",
            f"{column} = {value} AND {column} IS NOT NULL",
            f"NOT ({column} <> {value})",
            f"({column} = {value} OR {column} = {other})",
            f"{column} >= {value}",
        ]
    )
