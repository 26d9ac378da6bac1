"""Finds a call in a query's list again in the query's conditions: for each row both have one value.

Only Spark's own functions that give the same value whenever they are called count, with the text that was written.
"""

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from sluice.predicates import ColumnType
from sluice.predicates.columns import parse_type
from sluice.predicates.syntax import CALLED_AMONG, UNIT_UNKNOWN, WRITTEN
from sluice.predicates.terms import is_by_name, may_be_computed

_DATE, _INT, _STRING = parse_type("date"), parse_type("int"), parse_type("string")
_TYPES: Mapping[str, ColumnType] = {
    **dict.fromkeys(("to_date", "last_day", "add_months", "trunc"), _DATE),
    **dict.fromkeys(("year", "quarter", "month", "day", "dayofmonth"), _INT),
    **dict.fromkeys(("dayofweek", "dayofyear", "weekofyear"), _INT),
    "date_format": _STRING,
}
"""What functions give for all kinds of arguments."""
_CASTS: Mapping[exp.DType, ColumnType] = {
    exp.DType.DATE: _DATE,
    exp.DType.TEXT: _STRING,
    exp.DType.TINYINT: parse_type("tinyint"),
    exp.DType.SMALLINT: parse_type("smallint"),
    exp.DType.INT: _INT,
    exp.DType.BIGINT: parse_type("bigint"),
}
_PARTS = (exp.Literal, exp.Null, exp.Boolean, exp.Var, exp.Interval, exp.DataType, exp.Paren)
"""Nodes without a name that give the same value each time, if their parts do."""
_AROUND_ARGUMENTS = (exp.TimeStrToTime,)
"""Nodes that the parser puts around arguments."""

Key = tuple[object, ...]
Calls = Mapping[Key, tuple[exp.Expr, ...]]
"""Conditions on the value of one call alone, in which a column stands for the call, by the call's key."""


def type_of(node: exp.Expr) -> ColumnType | None:
    """The type of the values that a call gives; None where it depends on more than the call's name."""
    if isinstance(node, exp.Cast):
        return _CASTS.get(node.to.this) if _is_plain(node.to) else None
    return _TYPES.get(_name(node))


def cast_column(node: exp.Expr) -> exp.Column | None:
    """The column that the node casts to the type that `type_of` tells; None if the node is anything else."""
    column = node.this.unnest() if _is_cast(node) else None
    return column if isinstance(column, exp.Column) and type_of(node) is not None else None


def key_of(node: exp.Expr, own: frozenset[str]) -> Key | None:
    """What all spellings of one call share; None for what isn't such a call. Names in `own` mean one relation."""
    is_call = isinstance(node, exp.Func) and not isinstance(node, exp.Binary | exp.Unary)
    return _key(node, own) if is_call else None


def columns_in(node: exp.Expr) -> Sequence[exp.Column]:
    return list(node.find_all(exp.Column))


def calls_in(conditions: Sequence[exp.Expr], own: frozenset[str]) -> Calls:
    found: dict[Key, list[exp.Expr]] = {}
    for condition in conditions:
        for key in _keys_around_first_column(condition, own):
            about = _about(condition, key, own)
            if about is not None:
                found.setdefault(key, []).append(about)
    return {key: tuple(about) for key, about in found.items()}


def _keys_around_first_column(condition: exp.Expr, own: frozenset[str]) -> Sequence[Key]:
    """The keys of the only calls in which all columns of the condition may be."""
    found: dict[Key, None] = {}
    node: exp.Expr | None = condition.find(exp.Column)
    while node is not None and node is not condition:
        node = node.parent
        key = None if node is None else key_of(node, own)
        if key is not None:
            found[key] = None
    return list(found)


def _about(condition: exp.Expr, key: Key, own: frozenset[str]) -> exp.Expr | None:
    """The condition with a column in the place of the call; None if the condition names other columns as well."""
    values: list[exp.Expr] = []

    def value(node: exp.Expr) -> exp.Expr:
        if key_of(node, own) != key:
            return node
        values.append(exp.column("value"))
        return values[-1]

    found = condition.transform(value)
    return found if len(columns_in(found)) == len(values) else None


def _key(node: exp.Expr, own: frozenset[str]) -> Key | None:
    if isinstance(node, exp.Column):
        table = node.table.lower()
        is_plain = isinstance(node.this, exp.Identifier) and not node.args.get("db")
        return (exp.Column, "" if table in own else table, node.name.lower()) if is_plain else None
    if not _repeats(node):
        return None
    found: list[object] = [exp.Cast, type_of(node)] if _is_cast(node) else [type(node), _name(node)]
    for name, part in _parts_of(node):
        key = _key(part, own) if isinstance(part, exp.Expr) else (part,)
        if key is None:
            return None
        found.append((name, key))
    return tuple(found)


def _repeats(node: exp.Expr) -> bool:
    """Whether it gives the same value each time, and is spelled by what the parser made of it."""
    if node.meta.get(CALLED_AMONG) or node.meta.get(UNIT_UNKNOWN):
        return False
    if isinstance(node, exp.Anonymous):
        return is_by_name(node)
    if _is_cast(node):
        return type_of(node) is not None
    return isinstance(node, (*_PARTS, *_AROUND_ARGUMENTS)) or may_be_computed(node)


def _parts_of(node: exp.Expr) -> Iterator[tuple[str, object]]:
    if _is_cast(node):
        yield "this", node.this.unnest()
        return
    for name, argument in node.args.items():
        for part in argument if isinstance(argument, list) else [argument]:
            yield name, part


def _is_cast(node: exp.Expr) -> bool:
    """Whether it is a cast, in any spelling: one that may fail gives the same value as TRY_CAST, or none at all."""
    return isinstance(node, exp.Cast) or (_name(node) == "to_date" and not node.args.get("format"))


def _name(node: exp.Expr) -> str:
    return str(node.meta.get(WRITTEN, "")).lower()


def _is_plain(type_: exp.Expr) -> bool:
    return all(name in ("this", "nested") or not value for name, value in type_.args.items())
