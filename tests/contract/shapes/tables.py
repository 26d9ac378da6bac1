"""The small tables of the shapes: one for each kind of partition column, and one that they select from.

Beside each partition column stands another column of its type, so that a value that is read one column too far would
be believed. Nothing here needs Spark or the product: both are told of the same tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

NULL = "NULL"
PARTS = "STRUCT<d: DATE, n: INT>"
FIELDS = {"d": "DATE", "n": "INT"}
"""The fields of PARTS."""

VALUES: Mapping[str, tuple[str, ...]] = {
    "BIGINT": ("1", "7", "9007199254740992", "9007199254740993", NULL),
    "INT": ("1", "2", "5", "16777216", NULL),
    "STRING": ("'eu'", "'us'", "'1'", "'01'", "''", NULL),
    "DATE": ("DATE '2026-11-18'", "DATE '2026-11-19'", "DATE '2026-11-20'", NULL),
    "BOOLEAN": ("TRUE", "FALSE", NULL),
    "TIMESTAMP_NTZ": ("TIMESTAMP_NTZ '2026-11-19 00:00:00'", "TIMESTAMP_NTZ '2026-11-19 10:30:00'", NULL),
    "TIMESTAMP": ("TIMESTAMP '2026-11-19 02:00:00Z'", "TIMESTAMP '2026-11-19 10:30:00Z'", NULL),
    PARTS: (
        "NAMED_STRUCT('d', DATE '2026-11-19', 'n', 1)",
        "NAMED_STRUCT('d', DATE '2026-11-20', 'n', 5)",
        f"CAST(NULL AS {PARTS})",
    ),
}
"""What partitions there are, as Spark writes each value down."""


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    partition: bool = False
    generated: str | None = None

    @property
    def quoted(self) -> str:
        return self.name if self.name.isidentifier() else f"`{self.name}`"

    @property
    def definition(self) -> str:
        made = f" GENERATED ALWAYS AS ({self.generated})" if self.generated else ""
        return f"{self.quoted} {self.type}{made}"


@dataclass(frozen=True)
class Target:
    name: str
    columns: tuple[Column, ...]
    fill: str
    """The statement that brings its first rows to {target}."""

    @property
    def partition_columns(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.partition)

    @property
    def definition(self) -> str:
        """The statement as people read it: Delta 3.3 makes generated columns by its own interface only, and not by SQL."""
        by = ", ".join(column.quoted for column in self.columns if column.partition)
        columns = ", ".join(column.definition for column in self.columns)
        return f"CREATE TABLE delta.`{{target}}` ({columns}) USING delta PARTITIONED BY ({by})"

    @property
    def given_columns(self) -> tuple[Column, ...]:
        """The columns that a write brings values for."""
        return tuple(column for column in self.columns if column.generated is None)


def _target(name: str, *columns: Column) -> Target:
    given = [column for column in columns if column.generated is None]
    count = max(len(VALUES[column.type]) for column in given if column.name != "id")
    rows = [
        ", ".join(
            str(row) if column.name == "id" else f"CAST({_value(column, row, place)} AS {column.type})"
            for place, column in enumerate(given)
        )
        for row in range(count + 1)
    ]
    return Target(
        name,
        columns,
        f"INSERT INTO delta.`{{target}}` ({', '.join(column.quoted for column in given)})"
        f" VALUES {', '.join(f'({row})' for row in rows)}",
    )


def _value(column: Column, row: int, place: int) -> str:
    values = VALUES[column.type]
    return values[row % len(values) if column.partition else (row + place) % len(values)]


_ID = Column("id", "BIGINT")

TARGETS: Mapping[str, Target] = {
    target.name: target
    for target in (
        _target(
            "day", _ID, Column("d", "DATE", partition=True), Column("seen", "DATE"), Column("v", "STRING")
        ),
        _target(
            "region",
            _ID,
            Column("v", "STRING"),
            Column("region", "STRING", partition=True),
            Column("w", "STRING"),
        ),
        _target(
            "number",
            _ID,
            Column("k", "INT"),
            Column("n", "INT", partition=True),
            Column("q", "INT"),
            Column("v", "STRING"),
        ),
        _target("large", _ID, Column("b", "BIGINT", partition=True), Column("c", "BIGINT")),
        _target("flag", Column("e", "BOOLEAN"), Column("flag", "BOOLEAN", partition=True), _ID),
        _target(
            "moment",
            _ID,
            Column("m", "TIMESTAMP_NTZ", partition=True),
            Column("o", "TIMESTAMP_NTZ"),
        ),
        _target(
            "instant",
            _ID,
            Column("u", "TIMESTAMP"),
            Column("t", "TIMESTAMP", partition=True),
        ),
        _target(
            "parted",
            _ID,
            Column("d", "DATE", partition=True),
            Column("st", PARTS),
            Column("n", "INT", partition=True),
        ),
        _target(
            "grid",
            _ID,
            Column("d", "DATE", partition=True),
            Column("region", "STRING", partition=True),
            Column("n", "INT", partition=True),
            Column("k", "INT"),
        ),
        _target(
            "generated",
            _ID,
            Column("my-ts", "TIMESTAMP"),
            Column("v", "STRING"),
            Column("d", "DATE", partition=True, generated="CAST(`my-ts` AS DATE)"),
        ),
        _target(
            "derived",
            _ID,
            Column("my-k", "INT"),
            Column("n", "INT", partition=True, generated="`my-k` % 7"),
            Column("v", "STRING"),
        ),
    )
}

EVENTS: Mapping[str, str] = {
    "id": "BIGINT",
    "k": "INT",
    "n": "INT",
    "b": "BIGINT",
    "c": "BIGINT",
    "v": "STRING",
    "region": "STRING",
    "w": "STRING",
    "d": "DATE",
    "seen": "DATE",
    "flag": "BOOLEAN",
    "e": "BOOLEAN",
    "m": "TIMESTAMP_NTZ",
    "o": "TIMESTAMP_NTZ",
    "ts": "TIMESTAMP",
    "f": "DOUBLE",
    "g": "FLOAT",
    "p": "DECIMAL(20,2)",
    "ds": "STRING",
    "ns": "STRING",
    "numbers": "ARRAY<INT>",
    "days": "ARRAY<DATE>",
    "tags": "MAP<STRING, INT>",
    "st": "STRUCT<k: INT, d: DATE, region: STRING, n: INT>",
    "parts": PARTS,
}
"""What is selected from. `f`, `g`, `p`, `ds` and `ns` hold keys in another type than that of the column they go to."""

_OTHERWISE = {
    "DOUBLE": ("1.0D", "9007199254740992D", "2.5D", "CAST('NaN' AS DOUBLE)", NULL),
    "FLOAT": ("1.0F", "16777216F", "5.0F", "2.5F", NULL),
    "DECIMAL(20,2)": ("1.00", "2.50", "9007199254740993.00", NULL),
}
_TEXTS = {
    "ds": ("'2026-11-19'", "'2026-11-9'", "'2026-11-18 10:00:00'", NULL),
    "ns": ("'1'", "'01'", "' 2'", "'5'"),
}
_NESTED = {
    "numbers": "ARRAY(1, 2, CAST(NULL AS INT))",
    "days": "ARRAY(DATE '2026-11-18', DATE '2026-11-20')",
    "tags": "MAP('eu', 1, '01', 5)",
    "st": "NAMED_STRUCT('k', 5, 'd', DATE '2026-11-20', 'region', 'us', 'n', 2)",
}


def events_build() -> tuple[str, str]:
    columns = ", ".join(f"{name} {type_}" for name, type_ in EVENTS.items())
    rows = ", ".join(
        "(" + ", ".join(_event(name, row, place) for place, name in enumerate(EVENTS)) + ")"
        for row in range(7)
    )
    return (
        f"CREATE TABLE delta.`{{target}}` ({columns}) USING delta",
        f"INSERT INTO delta.`{{target}}` VALUES {rows}",
    )


def _event(name: str, row: int, place: int) -> str:
    type_ = EVENTS[name]
    if name == "id":
        return str(row + 3)
    if name in _NESTED:
        return _NESTED[name]
    values = _TEXTS.get(name) or _OTHERWISE.get(type_) or VALUES[type_]
    return f"CAST({values[(row + place // 3) % len(values)]} AS {type_})"
