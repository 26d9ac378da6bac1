"""Rows at the edges: for every column the values that generated conditions speak of, their neighbours, and NULL.

Each value is the text that Spark casts to the column's type; beside it the code that a region should have for it, worked out
here from the text by other means than the package's.
"""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from zoneinfo import ZoneInfo

TYPES: Mapping[str, str] = {
    "b": "boolean",
    "y": "tinyint",
    "k": "int",
    "l": "bigint",
    "d2": "decimal(10,2)",
    "d38": "decimal(38,0)",
    "f": "float",
    "g": "double",
    "s": "string",
    "v": "varchar(10)",
    "p": "string",
    "d": "date",
    "ts": "timestamp",
    "n": "timestamp_ntz",
    "x": "binary",
}
PARTITIONED_BY = ("p", "d", "k")

_DAYS = [
    "2026-11-18",
    "2026-11-19",
    "2026-11-20",
    "2026-12-31",
    "2027-01-01",
    "1969-12-31",
    "0001-01-01",
    "9999-12-31",
]
_TEXTS = [
    *["", " ", "A", "a", "ab", "abc", "b", "eu", "eu-west", "ev", "a%b", "a_b", "a\\b", "it's"],
    *["é", "\ud7ff", "\ue000", "\U0001f600", "5", "05", "true", "2026-11-19"],
]
_MOMENTS = [
    "2026-11-18 23:59:59.999999",
    "2026-11-19 00:00:00",
    "2026-11-19 00:00:00.000001",
    "2026-11-19 05:00:00",
    "2026-11-19 12:30:00",
    "2026-11-20 00:00:00",
    "2026-11-01 05:30:00",
    "2026-11-01 06:30:00",
    "2026-03-08 06:59:59",
    "2026-03-08 07:30:00",
    "1970-01-01 00:00:00",
]
VALUES: Mapping[str, list[str]] = {
    "b": ["true", "false"],
    "y": ["-128", "-1", "0", "1", "4", "5", "6", "127"],
    "k": [
        "-2147483648",
        "-5",
        "-1",
        "0",
        "1",
        "4",
        "5",
        "6",
        "7",
        "10",
        "16777216",
        "16777217",
        "2147483647",
    ],
    "l": [
        "-9223372036854775808",
        "-1",
        "0",
        "1",
        "5",
        "6",
        "9007199254740992",
        "9007199254740993",
        "9223372036854775807",
    ],
    "d2": ["-99999999.99", "-0.01", "0", "0.01", "1.5", "1.55", "1.56", "5", "5.01", "99999999.99"],
    "d38": ["-1", "0", "1", "2", "5", "9" * 38],
    "f": ["-Infinity", "-1.5", "-0.0", "0.0", "0.1", "1", "1.5", "5", "16777216", "Infinity", "NaN"],
    "g": [
        "-Infinity",
        "-1.5",
        "-0.0",
        "0.0",
        "0.1",
        "0.1000000000000000055",
        "1",
        "1.5",
        "5",
        "1e300",
        "Infinity",
        "NaN",
    ],
    "s": _TEXTS,
    "v": [text for text in _TEXTS if len(text) <= 10],
    "p": [text for text in _TEXTS if text],
    "d": _DAYS,
    "ts": _MOMENTS,
    "n": _MOMENTS,
    "x": ["", "a", "ab"],
}


@dataclass(frozen=True)
class Row:
    texts: Mapping[str, str | None]

    def code(self, column: str, time_zone: str) -> int | str | None:
        text = self.texts[column]
        return None if text is None else _code(TYPES[column], text, time_zone)


def rows(random: Random, count: int) -> list[Row]:
    """Every value at least once where the count allows, otherwise by chance; about one in ten is NULL."""
    made = []
    for i in range(count):
        texts = {}
        for name, values in VALUES.items():
            chosen = values[i] if i < len(values) else random.choice(values)
            texts[name] = None if random.random() < 0.1 else chosen
        made.append(Row(texts))
    return made


def cast(column: str) -> str:
    """The SQL that makes the column's value of its text."""
    target = "string" if column in ("s", "v", "p") else TYPES[column]
    return f"cast({column} || 'Z' AS timestamp)" if column == "ts" else f"cast({column} AS {target})"


def _code(spark_type: str, text: str, time_zone: str) -> int | str:  # noqa: PLR0911 - one type a line
    if spark_type == "boolean":
        return int(text == "true")
    if spark_type.startswith("decimal"):
        return (
            int(Decimal(text).scaleb(2 if "2)" in spark_type else 0).to_integral_value())
            if len(text) < 20
            else int(text)
        )
    if spark_type in ("float", "double"):
        return _float_code(spark_type, text)
    if spark_type == "date":
        return (date.fromisoformat(text) - date(1970, 1, 1)).days
    if spark_type == "timestamp":
        shown = datetime.fromisoformat(text + "+00:00").astimezone(ZoneInfo(time_zone)).replace(tzinfo=None)
        return (shown - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    if spark_type == "timestamp_ntz":
        return (datetime.fromisoformat(text) - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    return int(text) if text.lstrip("-").isdigit() and spark_type in ("tinyint", "int", "bigint") else text


def _float_code(spark_type: str, text: str) -> int:
    number = float(text.replace("Infinity", "inf"))
    if spark_type == "float":
        number = struct.unpack("<f", struct.pack("<f", number))[0]
    if math.isnan(number):
        return 0x7FF8 << 48
    magnitude = int.from_bytes(struct.pack(">d", abs(number)), "big")
    return -magnitude if number < 0 else magnitude
