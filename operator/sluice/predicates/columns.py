"""Reads column types, and reduces them to a few kinds: a predicate is only understood for types whose order is known exactly.

What Spark calls a type is text (`decimal(10,2)`, `varchar(20)`, `timestamp_ntz`), from DDL or from a Delta schema. A type
whose comparisons aren't plain (char's padding, collations, binary, nested types) becomes OPAQUE with a reason and is never
used to tell rows apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from sluice.predicates.errors import unknown_column
from sluice.predicates.values import NOT_NULL, ValueSet, between, intersection


class Kind(Enum):
    BOOLEAN = "boolean"
    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOATING = "floating"
    STRING = "string"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp_ntz"
    OPAQUE = "opaque"


@dataclass(frozen=True, slots=True)
class ColumnType:
    kind: Kind
    text: str
    bits: int = 0
    precision: int = 0
    scale: int = 0
    reason: str = ""

    @property
    def domain(self) -> ValueSet:
        """The values that such a column can hold; codes beyond them never occur."""
        if self.kind is Kind.BOOLEAN:
            return between(0, 2)
        if self.kind is Kind.INTEGER:
            return between(-(1 << self.bits - 1), 1 << self.bits - 1)
        return NOT_NULL

    def bounded(self, values: ValueSet) -> ValueSet:
        """The same values without cuts at or beyond the ends of the domain: a set of all values is no bound at all."""
        domain = self.domain
        if domain is NOT_NULL:
            return values
        inside = intersection([values.without_null(), domain]).cuts
        first, last = domain.cuts
        from_start = inside[:1] == (first,)
        to_end = inside[-1:] == (last,)
        cuts = inside[from_start : len(inside) - to_end]
        return ValueSet(cuts, inside=from_start, null=values.null)

    @property
    def coding(self) -> str:
        """How the column's values are coded: sets of codes may be compared only if their columns are coded alike."""
        return f"decimal scale {self.scale}" if self.kind is Kind.DECIMAL else self.kind.value


UNKNOWN = "unknown"
"""The type of a column if only its name is known."""
_INTEGER_BITS = {
    "byte": 8,
    "tinyint": 8,
    "short": 16,
    "smallint": 16,
    "int": 32,
    "integer": 32,
    "long": 64,
    "bigint": 64,
}
_PLAIN = {
    "boolean": Kind.BOOLEAN,
    "string": Kind.STRING,
    "date": Kind.DATE,
    "timestamp": Kind.TIMESTAMP,
    "timestamp_ltz": Kind.TIMESTAMP,
    "timestamp_ntz": Kind.TIMESTAMP_NTZ,
}
_FLOATING_BITS = {"float": 32, "real": 32, "double": 64}
_DECIMAL = re.compile(r"(?:decimal|dec|numeric)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?")
_BINARY_COLLATION = re.compile(r"string\s+collate\s+`?utf8_binary`?")
_VARCHAR = re.compile(r"varchar\s*\(\s*\d+\s*\)")
_CHAR = re.compile(r"char(?:acter)?\s*\(\s*\d+\s*\)")
_NOT_COMPARED = re.compile(
    r"binary|void|null|variant|unknown|interval\b.*|geometry\b.*|geography\b.*|(array|map|struct)(\s*<.*>)?|"
    r"string\s+collate\s+\S+",
    re.DOTALL,
)
TYPES = (
    "boolean, byte, short, int, long, tinyint, smallint, bigint, float, double, decimal(P,S), string, varchar(N), char(N), "
    "date, timestamp, timestamp_ntz, binary, variant, interval ..., array<...>, map<...>, struct<...>"
)
"""The types there are, for people; `integer`, `dec` and the like are other words for some of them."""


def is_type(text: str) -> bool:
    """Whether Spark or Delta writes a type so. Types in a log are not asked: they may be newer than this list."""
    spelled = text.strip().lower()
    if parse_type(spelled).kind is not Kind.OPAQUE or _CHAR.fullmatch(spelled) is not None:
        return True
    return _NOT_COMPARED.fullmatch(spelled) is not None


def parse_type(text: str) -> ColumnType:  # noqa: PLR0911 - one spelling a line
    """The type that Spark writes as `text`; an unknown type is opaque, never an error."""
    spelled = text.strip().lower()
    if spelled in _INTEGER_BITS:
        return ColumnType(Kind.INTEGER, spelled, bits=_INTEGER_BITS[spelled])
    if spelled in _PLAIN:
        return ColumnType(_PLAIN[spelled], spelled)
    if spelled in _FLOATING_BITS:
        return ColumnType(Kind.FLOATING, spelled, bits=_FLOATING_BITS[spelled])
    if match := _DECIMAL.fullmatch(spelled):
        precision, scale = int(match[1] or 10), int(match[2] or 0)
        return ColumnType(Kind.DECIMAL, spelled, precision=precision, scale=scale)
    if _BINARY_COLLATION.fullmatch(spelled) or _VARCHAR.fullmatch(spelled):
        return ColumnType(Kind.STRING, spelled)
    if _CHAR.fullmatch(spelled):
        return ColumnType(Kind.OPAQUE, spelled, reason=f"{spelled} is compared with blanks padded")
    if spelled.startswith("string"):
        return ColumnType(Kind.OPAQUE, spelled, reason=f"{spelled} is not compared byte by byte")
    if spelled == UNKNOWN:
        return ColumnType(Kind.OPAQUE, spelled, reason="its type is not known, so it is not compared")
    return ColumnType(Kind.OPAQUE, spelled, reason=f"{spelled} is not compared")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. `axis` names what its values are coded on: only values on equal axes can be compared."""

    name: str
    type: ColumnType
    is_partition: bool
    axis: str = field(compare=False)

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes of the table's own columns that it's made of."""
        return (self.axis,)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the table's own columns that it's made of."""
        return (self.name,)

    @property
    def loses_empty_strings(self) -> bool:
        """Whether '' lands in the NULL partition: a partition's folder can hold neither '' nor Hive's word for NULL."""
        return self.is_partition and self.type.kind in (Kind.STRING, Kind.OPAQUE)


@dataclass(frozen=True)
class Table:
    """The columns that a condition may name."""

    columns: tuple[Column, ...]
    _by_exact_name: Mapping[str, Column] = field(repr=False, compare=False)
    _by_folded_name: Mapping[str, Column] = field(repr=False, compare=False)

    @classmethod
    def of(
        cls, columns: Mapping[str, str] | Iterable[tuple[str, str]], partition_columns: Iterable[str] = ()
    ) -> Table:
        """Makes a table from its columns' names and Spark types, and the names of its partition columns."""
        pairs = list(columns.items() if isinstance(columns, Mapping) else columns)
        partitions = {name.lower() for name in partition_columns}
        known = {name.lower() for name, _ in pairs}
        for missing in sorted(partitions - known):
            raise unknown_column(missing, (name for name, _ in pairs), None, None)
        folds = len(known) == len(pairs)
        built = tuple(
            _column(name, name.lower() if folds else name, parse_type(text), name.lower() in partitions)
            for name, text in pairs
        )
        return cls(built, {c.name: c for c in built}, {c.name.lower(): c for c in built})

    @cached_property
    def partition_columns(self) -> tuple[Column, ...]:
        return tuple(c for c in self.columns if c.is_partition)

    def find(self, name: str, *, case_sensitive: bool = False) -> Column | None:
        return self._by_exact_name.get(name) if case_sensitive else self._by_folded_name.get(name.lower())


def _column(name: str, axis: str, column_type: ColumnType, is_partition: bool) -> Column:
    return Column(name, column_type, is_partition, axis=f"{axis} {column_type.coding}")
