"""Finds what a value in a query's output says about the column that it is stored in.

Only what survives Spark's conversion on storing counts: `'05'` stored as a number is 5, and 2.7 stored as an integer
is 2.
"""

import re
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sluice.footprint.queries.calls import calls_in, cast_column, key_of, type_of
from sluice.footprint.sql.nodes import SCALARS, has_only
from sluice.footprint.sql.statement_context import StatementContext
from sluice.footprint.sql.tree_summary import TreeSummary
from sluice.predicates import (
    ALWAYS,
    Anything,
    Column,
    ColumnType,
    Kind,
    Predicate,
    PredicateError,
    compiled,
    conjunction,
    days,
)
from sluice.predicates.functions import SKIPPED_DAYS
from sluice.predicates.limits import MAX_CELLS
from sluice.predicates.literals import Literal, LiteralKind, integer_of, spelled_day, text_of
from sluice.predicates.terms import constant


@dataclass(frozen=True)
class Constant:
    """A value that the query spells out."""

    node: exp.Expr
    converted: bool = False
    """Whether it may have had another type in between, because other rows' values did."""
    type: ColumnType | None = None
    """The type that the query gives it, where it is known."""


@dataclass(frozen=True)
class FromTable:
    """The value of some column, with the conditions on that column alone."""

    conditions: tuple[exp.Expr, ...] = ()
    type: ColumnType | None = None
    """The column's type, where it is known."""

    def where(self, conditions: tuple[exp.Expr, ...]) -> "FromTable":
        if not conditions:
            return self
        return replace(self, conditions=(*self.conditions, *conditions) if self.conditions else conditions)


Cell = Constant | FromTable | None

_STORED_AS_IS = {
    Kind.DATE: {LiteralKind.DATE},
    Kind.INTEGER: {LiteralKind.INTEGER},
    Kind.STRING: {LiteralKind.STRING},
    Kind.BOOLEAN: {LiteralKind.BOOLEAN},
    Kind.TIMESTAMP_NTZ: {LiteralKind.TIMESTAMP_NTZ},
}
_SAME_IN_ANY_TYPE = frozenset({Kind.DATE, Kind.INTEGER, Kind.BOOLEAN})
"""Kinds for which a value that equals a literal is stored as that literal, whatever type it had before. This holds
for large integers except where they are rounded, and for dates except where a time zone skipped one."""
_ROUNDED_BY_DOUBLES = 1 << 53
_BITS_OF_BIGINT = 64
_SAME_THROUGH_ANY_TYPE = frozenset({Kind.DATE, Kind.BOOLEAN})
"""Kinds for which a literal stays the same in every type that Spark converts it to beside other values. This holds for
dates except where a time zone skipped one."""
_TWO_DAYS_IN_ONE = SKIPPED_DAYS | {day + 1 for day in SKIPPED_DAYS}
"""Dates that equal one timestamp in some time zone. Spark stores that timestamp as the later of the two."""
_KINDS_OF_COLUMNS = {
    Kind.DATE: LiteralKind.DATE,
    Kind.INTEGER: LiteralKind.INTEGER,
    Kind.STRING: LiteralKind.STRING,
    Kind.BOOLEAN: LiteralKind.BOOLEAN,
    Kind.TIMESTAMP_NTZ: LiteralKind.TIMESTAMP_NTZ,
}
_KINDS_OF_CASTS = {
    exp.DType.DATE: LiteralKind.DATE,
    exp.DType.INT: LiteralKind.INTEGER,
    exp.DType.BIGINT: LiteralKind.INTEGER,
    exp.DType.TEXT: LiteralKind.STRING,
    exp.DType.BOOLEAN: LiteralKind.BOOLEAN,
}
TOO_MANY_CELLS = f"the queries of the job have more than {MAX_CELLS} values, columns and conditions to follow"
_CELLS_OF_A_CONDITION = 20
"""Reading a condition takes as long as following so many values."""
_CELLS_OF_A_SURVEY = 5
"""Walking over a condition takes as long as following so many values."""


def says(cell: Cell, column: Column, reading: StatementContext) -> Predicate:
    """Returns what holds for the target's column if this value is stored in it."""
    if not reading.around.settings.stores_exactly:
        return Anything("spark.sql.storeAssignmentPolicy may store other values")
    if isinstance(cell, Constant):
        return _equal(column, cell, reading)
    if isinstance(cell, FromTable):
        return _bounded(cell, column, reading)
    return _unbounded(column)


def side_by_side(columns: Sequence[Cell], reading: StatementContext) -> tuple[Cell, ...]:
    """Combines values of one column from several queries or rows: Spark converts them all to one type, in which
    `'01'` may be 1."""
    kinds = {_kind(cell, reading) for cell in columns} - {LiteralKind.NULL}
    if len(kinds) <= 1 and None not in kinds:
        return tuple(columns)
    return tuple(replace(cell, converted=True) if isinstance(cell, Constant) else None for cell in columns)


def _kind(cell: Cell, reading: StatementContext) -> LiteralKind | None:
    """Returns the cell's kind; None where values beside it may change it or be changed by it."""
    if isinstance(cell, Constant) and not cell.converted:
        node = cell.node.unnest()
        literal = _literal(node, reading)
        if literal is None or literal.kind is not LiteralKind.NULL or isinstance(node, exp.Null):
            return None if literal is None else literal.kind
        # CAST(NULL AS INT) turns texts beside it into numbers.
        return _KINDS_OF_CASTS.get(node.to.this) if isinstance(node, exp.Cast) else None
    if isinstance(cell, FromTable) and cell.type is not None:
        return _KINDS_OF_COLUMNS.get(cell.type.kind)
    return None


def _equal(column: Column, cell: Constant, reading: StatementContext) -> Predicate:
    node = cell.node.unnest()
    if reading.around.days and days.is_said_in(node):
        each = (replace(cell, node=days.on(day, node)) for day in reading.around.days)
        found = days.any_of(_equal(column, one, reading) for one in each)
        if found is not None:
            return found
    literal = _literal(node, reading)
    if literal is None and column.type.kind is Kind.DATE:
        node = exp.cast(node, exp.DType.DATE)  # a midnight of date_trunc is stored as its date
        literal = _literal(node, reading)
    if literal is None:
        return Anything(f"{_shown(cell.node)} is known only when the statement runs")
    target = _quoted(column)
    if literal.kind is LiteralKind.NULL:
        return reading.predicate(exp.Is(this=target, expression=exp.Null()))
    as_text = text_of(literal) if column.type.kind is Kind.STRING else None
    if as_text is not None:
        node, literal = exp.Literal.string(as_text), Literal(LiteralKind.STRING, as_text)
    if (
        not _is_stored_as_is(column, literal)
        or (cell.converted and not _is_same_through_any_type(column, literal))
        or _is_cut(column, literal)
    ):
        return Anything(f"{_shown(cell.node)} may be converted when it is stored as {column.name}")
    found = reading.predicate(exp.EQ(this=target, expression=node.copy()))
    return ALWAYS if compiled(found).is_empty else found


def _is_stored_as_is(column: Column, literal: Literal) -> bool:
    """Whether Spark stores what equals the literal: it takes texts for dates, and for integers that are written as
    it prints them."""
    if literal.kind in _STORED_AS_IS.get(column.type.kind, ()):
        return True
    if literal.kind is not LiteralKind.STRING:
        return False
    is_integer = column.type.kind is Kind.INTEGER and integer_of(str(literal.value)) is not None
    return is_integer or column.type.kind is Kind.DATE


def _is_same_through_any_type(column: Column, literal: Literal) -> bool:
    return column.type.kind in _SAME_THROUGH_ANY_TYPE and not _may_be_another_day(literal)


def _shown(node: exp.Expr) -> str:
    return node.sql("spark")[:80]


def _may_be_another_day(literal: Literal) -> bool:
    """Whether Spark may store a timestamp that equals the date, or was made of it, as another date."""
    if literal.kind is LiteralKind.STRING:
        day = spelled_day(str(literal.value))
        return day is None or day in _TWO_DAYS_IN_ONE
    return literal.kind is LiteralKind.DATE and literal.value in _TWO_DAYS_IN_ONE


_VARCHAR = re.compile(r"varchar\s*\(\s*(\d+)\s*\)")


def _is_cut(column: Column, literal: Literal) -> bool:
    """Whether the text is cut: Spark does not store blanks beyond a varchar's length."""
    size = _VARCHAR.fullmatch(column.type.text)
    return size is not None and isinstance(literal.value, str) and len(literal.value) > int(size[1])


# ------------------------------------------------------------------------------------------------ values of columns


def _unbounded(column: Column) -> Anything:
    return Anything(f"the statement does not bound where rows land by {column.name}")


def _bounded(cell: FromTable, column: Column, reading: StatementContext) -> Predicate:
    """Asks once for all rows that have the same conditions."""
    known = reading.bounds_known
    asked = id(cell.conditions), cell.type, column.name
    if asked not in known:
        if not reading.around.allowance.cells.take(_CELLS_OF_A_CONDITION * len(cell.conditions)):
            return Anything(TOO_MANY_CELLS)
        known[asked] = cell.conditions, _bound_by(cell, column, reading)
    return known[asked][1]


def _bound_by(cell: FromTable, column: Column, reading: StatementContext) -> Predicate:
    if cell.type is not None and _is_kept(cell.type, column.type):
        found = [reading.predicate(_about(condition, column)) for condition in cell.conditions]
    elif column.type.kind in _SAME_IN_ANY_TYPE:
        found = [
            predicate
            for condition in cell.conditions
            if (predicate := _if_equal(condition, column, reading)) is not None
        ]
    else:
        found = []
    if not found and cell.conditions and cell.type is None:
        return Anything(
            f"what its source says of {column.name} does not bound where rows land, because the type of its column is not known"
        )
    return conjunction(found) if found else _unbounded(column)


def _is_kept(source: ColumnType, target: ColumnType) -> bool:
    """Whether a value of one type is stored unchanged as the other and compares the same way in both."""
    if source.text == target.text:
        return True
    return source.kind is target.kind and (
        source.kind in _SAME_IN_ANY_TYPE or (source.kind is Kind.STRING and target.text == "string")
    )


def _if_equal(condition: exp.Expr, column: Column, reading: StatementContext) -> Predicate | None:
    """Reads `c = literal` and `c IN (literals)` with literals of the column's own kind; None for anything else."""
    literals = [_literal(value, reading) for value in _compared(condition, column)]
    if not literals or any(
        found is None or found.kind not in _STORED_AS_IS[column.type.kind] for found in literals
    ):
        return None
    if any(found is not None and _may_be_another_day(found) for found in literals):
        return None
    if column.type.kind is not Kind.INTEGER:
        return reading.predicate(_about(condition, column))
    numbers = [found.value for found in literals if found is not None and isinstance(found.value, int)]
    if any(abs(number) >= _ROUNDED_BY_DOUBLES for number in numbers):
        return None
    in_list = column.type.bits == _BITS_OF_BIGINT and isinstance(condition, exp.In)
    stored = sorted({like for number in numbers for like in _rounded(number, reading, in_list=in_list)})
    return reading.predicate(exp.In(this=_quoted(column), expressions=[*map(exp.Literal.number, stored)]))


def _compared(condition: exp.Expr, column: Column) -> Sequence[exp.Expr]:
    """Returns the values one of which is stored in the column; nothing if the condition says anything else."""
    if not has_only(condition, SCALARS) or condition.args.get("query"):
        return ()
    if isinstance(condition, exp.EQ):
        left, right = condition.this.unnest(), condition.expression.unnest()
        if _is_stored(left, column):
            return [right]
        return [left] if _is_stored(right, column) else ()
    if isinstance(condition, exp.In) and _is_stored(condition.this.unnest(), column):
        return condition.expressions
    return ()


def _is_stored(node: exp.Expr, column: Column) -> bool:
    """Whether it is the value of a column of the source, or the date as which Spark stores that value."""
    if isinstance(node, exp.Column):
        return True
    type_ = type_of(node)
    is_date = type_ is not None and type_.kind is column.type.kind is Kind.DATE
    return is_date and cast_column(node) is not None


def _rounded(number: int, reading: StatementContext, *, in_list: bool) -> Iterator[int]:
    """Yields the number and what is stored of a FLOAT that equals it, which is compared as a DOUBLE only with ANSI. A
    DECIMAL is rounded before it is looked up in a list, and cut off when it is stored as BIGINT."""
    yield number
    if in_list and number != 0:
        yield number - (1 if number > 0 else -1)
    if reading.around.settings.session.ansi is not True:
        yield int(struct.unpack("f", struct.pack("f", number))[0])


def bounded(cell: Cell, conditions: tuple[exp.Expr, ...], reading: StatementContext) -> Cell:
    """Returns the value with what more these conditions say about it."""
    if not conditions:
        return cell
    if isinstance(cell, Constant):
        if _literal(cell.node, reading) is not None:
            return cell
        return FromTable(conditions, None if cell.converted else cell.type)
    return (cell or FromTable()).where(conditions)


def conditions_on(
    reading: StatementContext,
    conditions: tuple[exp.Expr, ...],
    name: str,
    tables: frozenset[str] | None = None,
) -> tuple[exp.Expr, ...]:
    """Returns the conditions on this column alone that hold no query. `tables` is as in `called`; None accepts every
    table. The same conditions are asked about each column of a list, so they are examined only once."""
    known = reading.conditions_known
    key = (id(conditions), tables)
    if key not in known:
        if not reading.around.allowance.cells.take(_CELLS_OF_A_SURVEY * len(conditions)):
            return ()
        counting = conditions if tables is None else called(conditions, tables, reading)
        known[key] = conditions, _by_column(reading, counting)
    exact = reading.around.settings.session.case_sensitive
    return known[key][1].get(name if exact else name.lower(), ())


def _by_column(
    reading: StatementContext, conditions: Sequence[exp.Expr]
) -> Mapping[str, tuple[exp.Expr, ...]]:
    exact = reading.around.settings.session.case_sensitive
    found: dict[str, list[exp.Expr]] = {}
    for condition in conditions:
        about = _subject(condition, reading)
        names = about.names if exact else {name.lower() for name in about.names}
        if len(names) == 1 and about.is_plain:
            found.setdefault(next(iter(names)), []).append(condition)
    return {name: tuple(about) for name, about in found.items()}


def called(
    conditions: Sequence[exp.Expr], tables: Collection[str], reading: StatementContext
) -> tuple[exp.Expr, ...]:
    """Returns the conditions that refer to their columns' table by one of these lower-cased names: `a.b` may be a
    field as well."""
    return tuple(
        condition
        for condition in conditions
        if (named := _subject(condition, reading).tables) is not None and named.issubset(tables)
    )


def names_in(condition: exp.Expr, reading: StatementContext) -> set[str]:
    return {name.lower() for name in _subject(condition, reading).names}


def conditions_on_call(
    reading: StatementContext, conditions: tuple[exp.Expr, ...], call: exp.Expr, own: frozenset[str]
) -> tuple[exp.Expr, ...]:
    """Returns the conditions on the value of this call alone. `own` is as in `key_of`."""
    key = key_of(call, own) if conditions else None
    if key is None:
        return ()
    known = reading.calls_known
    asked = id(conditions), own
    if asked not in known:
        if not reading.around.allowance.cells.take(_CELLS_OF_A_SURVEY * len(conditions)):
            return ()
        plain = [condition for condition in conditions if _subject(condition, reading).is_plain]
        known[asked] = conditions, calls_in(plain, own)
    return known[asked][1].get(key, ())


@dataclass(frozen=True)
class _Subject:
    """What a condition is about."""

    names: frozenset[str]
    """Its columns' names."""
    tables: frozenset[str] | None
    """The lower-cased names of its columns' tables; None if a name has more parts."""
    is_plain: bool
    """Whether it holds no query and is understood."""


def _subject(condition: exp.Expr, reading: StatementContext) -> _Subject:
    known = reading.subjects_known
    if id(condition) not in known:
        survey = TreeSummary(condition)
        columns = [node for node in survey.nodes if isinstance(node, exp.Column)]
        has_fields = any(column.args.get("db") for column in columns)
        known[id(condition)] = (
            condition,
            _Subject(
                frozenset(column.name for column in columns),
                None if has_fields else frozenset(column.table.lower() for column in columns),
                not survey.strangers and not any(isinstance(node, exp.Query) for node in survey.nodes),
            ),
        )
    found: _Subject = known[id(condition)][1]
    return found


def _about(condition: exp.Expr, column: Column) -> exp.Expr:
    copy = condition.copy()
    if isinstance(copy, exp.Column):
        return _quoted(column)
    for found in list(copy.find_all(exp.Column)):
        found.replace(_quoted(column))
    return copy


def _quoted(column: Column) -> exp.Column:
    return exp.column(exp.to_identifier(column.name, quoted=True))


# ------------------------------------------------------------------------------------------------ values that are written


def _literal(node: exp.Expr, reading: StatementContext) -> Literal | None:
    try:
        found = constant(node.unnest(), reading.around.settings.session.time_zone)
    except PredicateError as error:
        raise reading.refused(str(error)) from error
    return found if isinstance(found, Literal) else None
