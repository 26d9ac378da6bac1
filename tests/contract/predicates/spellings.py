"""Conditions that compare a column with a constant of another type or spelling, and rows at the edges of those constants.

Spark evaluates each of them without an error, ANSI or not.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from random import Random

COLUMNS: Mapping[str, str] = {"d": "date", "p": "string", "k": "int"}
OPERATORS = ("=", "<>", "<", "<=", ">", ">=", "<=>")

_DAYS_IN_SQL = [
    *["-0001-06-01", "0000-12-31", "0001-01-01", "0001-01-02", "0999-12-31", "1000-01-01", "1969-12-31", "1970-01-01"],
    *["1919-03-29", "1919-03-30", "1919-03-31", "2011-12-29", "2011-12-30", "2011-12-31", "2018-11-03", "2018-11-04"],
    *["2018-11-05", "2024-01-01", "2024-01-02", "2024-01-09", "2024-01-31", "2024-02-01", "2024-02-09", "2024-02-10"],
    *["2024-02-28", "2024-02-29", "2024-03-01", "2024-03-10", "2024-11-03", "2024-12-31", "2025-01-01", "9998-12-31"],
    *["9999-12-31", "+10000-01-01", "+20240-02-01"],
]  # fmt: skip
_TEXTS = ["eu", "", "us", "2024-01-01", "5"]
_NUMBERS = ["-5", "0", "5", "6", "2147483647", "-2147483648"]
_SPELLED_DAYS = [
    *["2024-1-1", "2024-01-1", "2024-1-09", "2024-1", "2024-02", "2024", "2024-2-29", "2024-02-29 23:59:59", "1970-1-1"],
    *["2024-02-29T", "2024-02-29 ", "  2024-02-29", "2024-2-29 junk", "0001-1-1", "9999-12-31", "1969-12-31", "0001"],
]  # fmt: skip
_TIMED_DAYS = [
    *["0001-01-02", "1919-03-30", "1919-03-31", "1970-01-01", "2011-12-30", "2011-12-31", "2018-11-04", "2024-01-02"],
    *["2024-02-29", "2024-03-10", "2024-11-03", "9998-12-31"],
]  # fmt: skip
_TIMES = [
    *["", " 00:00:00", " 00:00:00.000001", " 00:30:00", " 01:00:00", " 23:59:59.999999"],
    *[" 00:00:00Z", " 00:00:00-05:00", " 03:00:00+03:00"],
]  # fmt: skip
_PATTERNS = [
    *["2024%", "2024-0%", "2024-02%", "2024-02-%", "2024-02-2%", "2024-02-29", "2024-02-29%", "2024-2%", "2024-2-9", "202%"],
    *["1%", "9%", "0001%", "0%", "000%", "0000-12%", "%", "+%", "-0001%", "2024-02-29-%", "9999-12-31", "10000%", "eu%"],
]  # fmt: skip
_SPELLED_NUMBERS = [
    "05",
    "+5",
    " 5",
    "5 ",
    "-05",
    "-0",
    "005",
    "2147483647",
    "-2147483648",
    "0000002147483647",
]
_TUPLES = [
    "(d, p) IN ((DATE '2024-01-01', 'eu'), (DATE '2024-02-29', 'us'))",
    "(d, p) IN ((DATE '2024-1-1', 'eu'), (DATE '2024-01-02', ''))",
    "(d, k) IN ((DATE '2024-01-01', 5), (DATE '2024-02-29', 6))",
    "(k, p, d) IN ((5, 'eu', CAST('2024-01-01' AS DATE)))",
    "(d, p) NOT IN ((DATE '2024-01-01', 'eu'), (DATE '2024-02-29', 'us'))",
]


def rows() -> list[Mapping[str, str | None]]:
    """Every day with every text and a number in turn, and NULLs among them."""
    days, texts, numbers = [*_DAYS_IN_SQL, None], [*_TEXTS, None], [*_NUMBERS, None]
    return [
        {"d": day, "p": text, "k": numbers[(i * 5 + i // 7) % len(numbers)]}
        for i, (day, text) in enumerate(product(days, texts))
    ]


def spellings() -> Iterator[str]:
    for operator, day in product(OPERATORS, _SPELLED_DAYS):
        yield f"d {operator} '{day}'"
    for day in _SPELLED_DAYS:
        yield f"d = DATE '{day}'"
        yield f"'{day}' < d"
        yield f"d >= CAST('{day}' AS DATE)"
        yield f"d IN ('{day}', DATE '2024-01-02')"
        yield f"d BETWEEN '2024-1' AND '{day}'"
    for operator, day, time in product(OPERATORS, _TIMED_DAYS, _TIMES):
        yield f"d {operator} TIMESTAMP '{day}{time}'"
    for operator, day, time in product(OPERATORS, _TIMED_DAYS, _TIMES[:6]):
        yield f"d {operator} TIMESTAMP_NTZ '{day}{time}'"
    for day, time in product(_TIMED_DAYS, _TIMES):
        yield f"d IN (TIMESTAMP '{day}{time}', TIMESTAMP '2024-01-01 00:00:00')"
        yield f"d IN (TIMESTAMP '{day}{time}', DATE '2024-01-01')"
        yield f"d NOT BETWEEN TIMESTAMP '{day}{time}' AND TIMESTAMP '2024-12-31 12:00:00'"
    for pattern in _PATTERNS:
        yield f"d LIKE '{pattern}'"
        yield f"d NOT LIKE '{pattern}'"
        yield f"CAST(d AS STRING) = '{pattern}'"
    for operator, number in product(OPERATORS, _SPELLED_NUMBERS):
        yield f"k {operator} '{number}'"
    for number in _SPELLED_NUMBERS:
        yield f"k = CAST('{number}' AS INT)"
        yield f"k < CAST('{number}' AS BIGINT)"
        yield f"k IN ('{number}', '6')"
        yield f"k NOT BETWEEN '{number}' AND '6'"
        yield f"CAST(k AS STRING) = '{number}'"
    yield from _TUPLES


def some_spellings(random: Random, count: int) -> list[str]:
    return [*random.sample(list(spellings()), count), *_TUPLES]
