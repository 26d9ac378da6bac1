"""Reads calls and operators over columns from syntax, if all of them are in the closed list of functions that are understood.

sqlglot gives several functions one node, and puts casts of its own around arguments: so a node counts only with the name that
was written, and with arguments of exactly the types that Spark does not have to cast.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sluice.predicates import functions
from sluice.predicates.columns import Column, ColumnType, Kind, parse_type
from sluice.predicates.computed_columns import Call, ComputedColumn, Expression, KnownValue, Of, value_of
from sluice.predicates.functions import BIGINT, DATE, INT, STRING, UnknownValueError
from sluice.predicates.limits import MAX_PARTS
from sluice.predicates.literals import (
    Literal,
    LiteralKind,
    Widening,
    day_of,
    day_text,
    from_syntax,
    integer_of,
)
from sluice.predicates.scope import axis_in_zone
from sluice.predicates.syntax import CALLED_AMONG, UNIT_UNKNOWN, WRITTEN
from sluice.predicates.text import named, quoted

Resolve = Callable[[exp.Column], Column | Widening]

_INTEGERS = {
    exp.DType.TINYINT: "tinyint",
    exp.DType.SMALLINT: "smallint",
    exp.DType.INT: "int",
    exp.DType.BIGINT: "bigint",
}
_TARGETS = {**_INTEGERS, exp.DType.TEXT: "string", exp.DType.DATE: "date"}
_SUFFIXED = {"tinyint": "{}Y", "smallint": "{}S", "int": "{}", "bigint": "{}L"}
_FIELDS = {
    **dict.fromkeys(("YEAR", "MONTH", "QUARTER"), ""),
    **dict.fromkeys(("DAY", "DAYS"), "day"),
    "WEEK": "weekofyear",
    "DOY": "dayofyear",
    "DAYOFWEEK": "dayofweek",
}
_SHIFTS = {
    **dict.fromkeys(("DAY", "DAYS"), ("date_add", 1)),
    **dict.fromkeys(("MONTH", "MONTHS"), ("add_months", 1)),
    **dict.fromkeys(("YEAR", "YEARS"), ("add_months", 12)),
}
"""What the addition of an interval of this unit is, and how many of it a unit is."""
_FORMAT = re.compile(r"(%Y|%mstrict|%dstrict)([-/_.]?(%Y|%mstrict|%dstrict))*")


@dataclass(frozen=True, slots=True)
class _Term:
    expression: Expression
    written: str
    """As it's shown, and as Spark tells it from other spellings."""
    means: str
    """The same for all spellings of one thing."""


class _NotUnderstoodError(Exception):
    """Some part of the node isn't in the list."""


def may_be_computed(node: exp.Expr) -> bool:
    return type(node) in _READERS


def constant(node: exp.Expr, time_zone: str | None = None) -> Literal | Widening | None:
    """The value of a literal, or of a call whose arguments are constants; a Widening for a constant that isn't known
    exactly; None for anything else."""
    literal = from_syntax(node)
    if literal is not None or not may_be_computed(node) or node.find(exp.Column) is not None:
        return literal
    try:
        return _constant(_Reader(_no_column, time_zone).term(node).expression)
    except _NotUnderstoodError:
        return None


def _no_column(_: exp.Column) -> Widening:
    return Widening("a constant has no columns")


def computed(node: exp.Expr, resolve: Resolve, time_zone: str | None = None) -> Column | None:
    """The column that the node computes from partition columns, or that it casts to its own type; None if it isn't
    understood.

    Raises PredicateError for unknown columns.
    """
    try:
        term = _Reader(resolve, time_zone).term(node)
    except _NotUnderstoodError:
        return None
    if isinstance(term.expression, Of):
        return term.expression.column
    bases = tuple(dict.fromkeys(_columns(term.expression)))
    if not bases or not all(base.is_partition for base in bases):
        return None
    # No column's axis ends so, whatever its name.
    axis = f"{term.means} {term.expression.type.coding} computed"
    if term.expression.type.kind is Kind.TIMESTAMP:
        axis = axis_in_zone(axis, time_zone)
    return ComputedColumn(term.written, term.expression.type, True, axis, term.expression, bases)


def _columns(expression: Expression) -> list[Column]:
    match expression:
        case Of(column):
            return [column]
        case Call(_, arguments):
            return [column for argument in arguments for column in _columns(argument)]
    return []


_LITERALS = {
    Kind.STRING: LiteralKind.STRING,
    Kind.INTEGER: LiteralKind.INTEGER,
    Kind.DATE: LiteralKind.DATE,
    Kind.BOOLEAN: LiteralKind.BOOLEAN,
}


def _constant(expression: Expression) -> Literal | None:
    try:
        value = value_of(expression, {})
    except UnknownValueError:
        return None
    kind = expression.type.kind
    if value is None or kind not in _LITERALS:
        return None
    return Literal(_LITERALS[kind], bool(value) if kind is Kind.BOOLEAN else value)


class _Reader:
    def __init__(self, resolve: Resolve, time_zone: str | None) -> None:
        self._resolve = resolve
        self.time_zone = time_zone
        self._left = MAX_PARTS

    def term(self, node: exp.Expr | None) -> _Term:
        if node is None:  # an argument that the parser does not miss
            raise _NotUnderstoodError
        node = node.unnest()
        self._left -= 1
        if self._left < 0:
            raise _NotUnderstoodError
        if isinstance(node, exp.Column):
            column = self._resolve(node)
            if isinstance(column, Widening) or column.type.kind not in _LITERALS:
                raise _NotUnderstoodError
            return _Term(Of(column), named(column), repr(column.axis))
        literal = from_syntax(node)
        if isinstance(literal, Literal):
            return _known(literal, node)
        read = _READERS.get(type(node))
        if literal is not None or read is None or node.meta.get(CALLED_AMONG):
            raise _NotUnderstoodError
        return read(self, node)

    def terms(self, nodes: Sequence[exp.Expr]) -> list[_Term]:
        return [self.term(node) for node in nodes]

    def call(self, name: str, nodes: Sequence[exp.Expr], form: str | None = None) -> _Term:
        return _called(name, self.terms(nodes), form)


def _called(name: str, terms: Sequence[_Term], form: str | None = None) -> _Term:
    """The call of the function; a constant text that is a date's is one where a date is wanted, as in Spark.

    coalesce wants no date: it makes a text of its dates if one argument is a text, unless ANSI.

    `form`: how it's written, with {} for each argument, or another name for it.
    """
    types = [term.expression.type for term in terms]
    found = functions.function(name, types)
    if found is None and name != "coalesce":
        terms = [_as_date(term) for term in terms]
        types = [term.expression.type for term in terms]
        found = functions.function(name, types)
    if found is None:
        raise _NotUnderstoodError
    gives = found.gives or max(types, key=lambda type_: type_.bits)
    form = form or name
    if "{" not in form:
        form = f"{form}({', '.join(['{}'] * len(terms))})"
    call = Call(found, tuple(term.expression for term in terms), gives)
    means = ", ".join(term.means for term in terms)
    return _Term(call, form.format(*(term.written for term in terms)), f"{name}({means})")


def _converted(name: str, term: _Term, form: str) -> _Term:
    """The call of a cast. Spark leaves out a cast to the type that the value has."""
    own, wanted = term.expression.type, parse_type(name)
    if own.kind is wanted.kind and own.bits == wanted.bits:
        return term
    return _called(name, [term], form)


def _as_date(term: _Term) -> _Term:
    match term.expression:
        case KnownValue(str(text)) if (day := day_of(text)) is not None:
            return _Term(KnownValue(day, DATE), term.written, f"{day}:date")
    return term


def _known(literal: Literal, node: exp.Expr) -> _Term:
    value = literal.value
    match literal.kind:
        case LiteralKind.STRING:
            type_ = STRING
        case LiteralKind.DATE:
            type_ = DATE
        case LiteralKind.INTEGER if isinstance(value, int):
            type_ = _type_of_integer(value, node)
        case _:
            raise _NotUnderstoodError
    if not isinstance(value, int | str):
        raise _NotUnderstoodError
    if isinstance(value, str):
        written = quoted(value)
    else:
        written = f"DATE '{day_text(value)}'" if type_ is DATE else _SUFFIXED[type_.text].format(value)
    return _Term(KnownValue(value, type_), written, f"{value!r}:{type_.text}")


def _type_of_integer(value: int, node: exp.Expr) -> ColumnType:
    while isinstance(node, exp.Neg | exp.Paren):
        node = node.this
    if isinstance(node, exp.Cast):
        return parse_type(_INTEGERS[node.to.this])
    if abs(value) == 1 << 31:
        raise _NotUnderstoodError
    return INT if abs(value) < 1 << 31 else BIGINT


# ------------------------------------------------------------------------------------------------------------------- nodes


def _has_only(node: exp.Expr, *known: str) -> bool:
    return all(
        name in known or value is None or value is False or value == [] for name, value in node.args.items()
    )


def _as_written(node: exp.Expr) -> str:
    return str(node.meta.get(WRITTEN, "")).lower()


def _plain(
    name: str, *spellings: str, arguments: Sequence[str] = ("this",)
) -> Callable[[_Reader, exp.Expr], _Term]:
    """A node that is one function by several names."""

    def read(reader: _Reader, node: exp.Expr) -> _Term:
        written = _as_written(node)
        if written not in (spellings or (name,)) or not _has_only(node, *arguments):
            raise _NotUnderstoodError
        given = [_without_own_cast(node.args[key]) for key in arguments if node.args.get(key) is not None]
        return reader.call(name, given, written)

    return read


def _without_own_cast(node: exp.Expr) -> exp.Expr:
    return (
        node.this
        if isinstance(node, exp.TsOrDsToDate | exp.TimeStrToTime) and not _as_written(node)
        else node
    )


_READ_OTHERWISE: Mapping[type[exp.Expr], tuple[type[exp.Expr], ...]] = {
    exp.BitwiseXor: (exp.BitwiseOr,),
    exp.BitwiseAnd: (exp.BitwiseOr, exp.BitwiseXor),
    exp.DPipe: (exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseAnd, exp.Add, exp.Sub),
}
"""Operators without brackets below an operator that the parser binds otherwise than Spark does: for Spark & binds closer than
^, that closer than |, and || as close as + and -."""


def _is_read_otherwise(node: exp.Expr) -> bool:
    others = _READ_OTHERWISE.get(type(node), ())
    return isinstance(node.this, others) or isinstance(node.args.get("expression"), others)


def _operator(name: str, *spellings: str) -> Callable[[_Reader, exp.Expr], _Term]:
    def read(reader: _Reader, node: exp.Expr) -> _Term:
        if not _has_only(node, "this", "expression") or _as_written(node) not in ("", *spellings):
            raise _NotUnderstoodError
        if _is_read_otherwise(node):
            raise _NotUnderstoodError
        if node.args.get("expression") is None:
            return reader.call(name, [node.this], f"({name} {{}})")
        return reader.call(name, [node.this, node.expression], f"({{}} {name} {{}})")

    return read


def _sum(reader: _Reader, node: exp.Expr) -> _Term:
    """Reads +, whose right side may be days: as a number or as an interval."""
    adds = isinstance(node, exp.Add)
    left, right = reader.term(node.this), node.expression
    if isinstance(right, exp.Interval):
        unit, amount = right.args.get("unit"), right.this
        count = integer_of(amount.name) if isinstance(amount, exp.Literal) else None
        unit_name = unit.name.upper() if isinstance(unit, exp.Var) else ""
        shift = _SHIFTS.get(unit_name)
        if shift is None or count is None or left.expression.type.kind is not Kind.DATE:
            raise _NotUnderstoodError
        name, times = shift
        number = count * times if adds else -count * times
        written = f"INTERVAL {count} {unit_name}"
        by = _Term(KnownValue(number, INT), written, f"{number}:int")
        return _called(name, [left, by], "({} + {})" if adds else "({} - {})")
    given = [left, reader.term(right)]
    if left.expression.type.kind is Kind.DATE:
        return _called("date_add" if adds else "date_sub", given, "({} + {})" if adds else "({} - {})")
    return _called("+" if adds else "-", given, "({} + {})" if adds else "({} - {})")


def _extracted(reader: _Reader, node: exp.Expr) -> _Term:
    field = node.this.name.upper()
    if field not in _FIELDS or not isinstance(node.this, exp.Var):
        raise _NotUnderstoodError
    return reader.call(_FIELDS[field] or field.lower(), [node.expression], f"extract({field} FROM {{}})")


def _shifted(reader: _Reader, node: exp.Expr) -> _Term:
    """Reads date_add and date_sub: the parser writes the second as the first, of a product with -1."""
    written = _as_written(node)
    amount = node.expression
    if not isinstance(node.args.get("unit"), exp.Var) or node.args["unit"].name != "DAY":
        raise _NotUnderstoodError
    if written in ("date_add", "dateadd"):
        return reader.call("date_add", [node.this, amount], written)
    opposite = exp.Neg(this=exp.Literal.number(1))
    if written != "date_sub" or not isinstance(amount, exp.Mul) or amount.expression != opposite:
        raise _NotUnderstoodError
    return reader.call("date_sub", [node.this, amount.this], written)


def _truncated(reader: _Reader, node: exp.Expr) -> _Term:
    unit = node.args["unit"]
    name = (
        functions.UNITS.get(unit.name.upper()) if isinstance(unit, exp.Literal) and unit.is_string else None
    )
    plain = _as_written(node) == "trunc" and _has_only(node, "this", "unit")
    if name is None or not plain or node.meta.get(UNIT_UNKNOWN):
        raise _NotUnderstoodError
    day = reader.term(_without_own_cast(node.this))
    return _called("trunc", [day, _Term(KnownValue(name, STRING), quoted(unit.name), name)])


def _truncated_in_zone(reader: _Reader, node: exp.Expr) -> _Term:
    """Reads date_trunc. In an unknown time zone its midnights can be compared with those of dates alone."""
    unit = node.args["unit"]
    name = "day" if unit.name in ("DAY", "DD") else functions.UNITS.get(unit.name)
    plain = (
        isinstance(unit, exp.Var) and _as_written(node) == "date_trunc" and _has_only(node, "this", "unit")
    )
    if name is None or not plain or node.meta.get(UNIT_UNKNOWN):
        raise _NotUnderstoodError
    given = [reader.term(node.this), _Term(KnownValue(name, STRING), quoted(unit.name), name)]
    if reader.time_zone is not None:
        given.append(_Term(KnownValue(reader.time_zone, STRING), "", reader.time_zone))
    return _called("date_trunc", given, "date_trunc({1}, {0})")


def _formatted(reader: _Reader, node: exp.Expr) -> _Term:
    if _as_written(node) != "date_format" or not _has_only(node, "this", "format"):
        raise _NotUnderstoodError
    return _called("date_format", [reader.term(_without_own_cast(node.this)), _pattern(node.args["format"])])


def _pattern(node: exp.Expr) -> _Term:
    """A pattern of a year, a month and a day, each at most once."""
    text = node.name if isinstance(node, exp.Literal) and node.is_string else ""
    once = all(text.count(token) <= 1 for token in ("%Y", "%m", "%d"))
    if not once or not _FORMAT.fullmatch(text):
        raise _NotUnderstoodError
    shown = text
    for token, letters in (("%Y", "yyyy"), ("%mstrict", "MM"), ("%dstrict", "dd")):
        shown = shown.replace(token, letters)
    return _Term(KnownValue(text, STRING), quoted(shown), text)


def _as_a_date(reader: _Reader, node: exp.Expr) -> _Term:
    if _as_written(node) != "to_date" or not _has_only(node, "this", "safe", "format"):
        raise _NotUnderstoodError
    pattern = node.args.get("format")
    if pattern is None:
        return _converted("date", reader.term(node.this), "to_date")
    found = _pattern(pattern)
    if "%Y" not in found.means:
        raise _NotUnderstoodError
    return _called("to_date", [reader.term(node.this), found])


def _cast(reader: _Reader, node: exp.Expr) -> _Term:
    target = node.args["to"]
    plain = isinstance(target, exp.DataType) and _has_only(target, "this", "nested")
    name = _TARGETS.get(target.this) if plain else None
    if name is None or not _has_only(node, "this", "to", "safe", "_type"):
        raise _NotUnderstoodError
    form = f"{'TRY_' * bool(node.args.get('safe'))}CAST({{}} AS {name.upper()})"
    return _converted(name, reader.term(node.this), form)


def _joined(reader: _Reader, node: exp.Expr) -> _Term:
    if _is_read_otherwise(node):
        raise _NotUnderstoodError
    if isinstance(node, exp.DPipe):
        return _called("concat", _as_texts(reader.terms([node.this, node.expression])), "({} || {})")
    if _as_written(node) != "concat" or not _has_only(node, "expressions", "safe", "coalesce"):
        raise _NotUnderstoodError
    return _called("concat", _as_texts(reader.terms(node.expressions)))


def _as_texts(terms: Sequence[_Term]) -> list[_Term]:
    """What concat makes of its arguments before it joins them."""
    return [_converted("string", term, "{}") for term in terms]


def _defaulted(reader: _Reader, node: exp.Expr) -> _Term:
    written = _as_written(node)
    if written not in ("coalesce", "nvl", "ifnull") or not _has_only(node, "this", "expressions"):
        raise _NotUnderstoodError
    return reader.call("coalesce", [node.this, *node.expressions], written)


def _part_of_text(reader: _Reader, node: exp.Expr) -> _Term:
    if not _has_only(node, "this", "start", "length"):
        raise _NotUnderstoodError
    return reader.call(
        "substring", [part for key in ("this", "start", "length") if (part := node.args.get(key))]
    )


def _found(reader: _Reader, node: exp.Expr) -> _Term:
    form = {"instr": "instr", "locate": "locate({1}, {0})"}.get(_as_written(node))
    if form is None or not _has_only(node, "this", "substr"):
        raise _NotUnderstoodError
    return reader.call("instr", [node.this, node.args["substr"]], form)


def _trimmed(reader: _Reader, node: exp.Expr) -> _Term:
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or ""), "trim")
    if not _has_only(node, "this", "position") or _as_written(node) not in ("", name):
        raise _NotUnderstoodError
    return reader.call(name, [node.this])


_BY_NAME = ("weekday", "pmod", "make_date")


def is_by_name(node: exp.Anonymous) -> bool:
    """Whether it calls a function that the parser does not know, and that is in the list."""
    return node.name.lower() in _BY_NAME


def _by_name(reader: _Reader, node: exp.Expr) -> _Term:
    if not isinstance(node, exp.Anonymous) or not is_by_name(node):
        raise _NotUnderstoodError
    return reader.call(node.name.lower(), node.expressions)


_READERS: Mapping[type[exp.Expr], Callable[[_Reader, exp.Expr], _Term]] = {
    exp.Year: _plain("year"),
    exp.Month: _plain("month"),
    exp.Quarter: _plain("quarter"),
    exp.Day: _plain("day"),
    exp.DayOfMonth: _plain("day", "dayofmonth"),
    exp.DayOfWeek: _plain("dayofweek"),
    exp.DayOfYear: _plain("dayofyear"),
    exp.WeekOfYear: _plain("weekofyear"),
    exp.Extract: _extracted,
    exp.UnixDate: _plain("unix_date"),
    exp.LastDay: _plain("last_day"),
    exp.AddMonths: _plain("add_months", arguments=("this", "expression")),
    exp.DateDiff: _plain("datediff", "datediff", "date_diff", arguments=("this", "expression")),
    exp.TsOrDsAdd: _shifted,
    exp.TsOrDsToDate: _as_a_date,
    exp.DateTrunc: _truncated,
    exp.TimestampTrunc: _truncated_in_zone,
    exp.TimeToStr: _formatted,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Upper: _plain("upper", "upper", "ucase"),
    exp.Lower: _plain("lower", "lower", "lcase"),
    exp.Length: _plain("length", "length", "len", "char_length", "character_length"),
    exp.Substring: _part_of_text,
    exp.Left: _plain("left", arguments=("this", "expression")),
    exp.Right: _plain("right", arguments=("this", "expression")),
    exp.Trim: _trimmed,
    exp.Reverse: _plain("reverse"),
    exp.Replace: _plain("replace", arguments=("this", "expression", "replacement")),
    exp.StrPosition: _found,
    exp.StartsWith: _plain("startswith", arguments=("this", "expression")),
    exp.EndsWith: _plain("endswith", arguments=("this", "expression")),
    exp.Contains: _plain("contains", arguments=("this", "expression")),
    exp.Concat: _joined,
    exp.DPipe: _joined,
    exp.Coalesce: _defaulted,
    exp.Add: _sum,
    exp.Sub: _sum,
    exp.Mul: _operator("*"),
    exp.Mod: _operator("%", "mod"),
    exp.IntDiv: _operator("div"),
    exp.BitwiseAnd: _operator("&"),
    exp.BitwiseOr: _operator("|"),
    exp.BitwiseXor: _operator("^"),
    exp.BitwiseNot: _operator("~"),
    exp.Neg: _operator("-"),
    exp.Abs: _plain("abs"),
    exp.Anonymous: _by_name,
}
