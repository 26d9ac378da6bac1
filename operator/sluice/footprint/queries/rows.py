"""Finds which rows a query yields, where it spells them out: that bounds where they land.

If a part of a query isn't understood (`sql.nodes`), its rows are unknown; if one value isn't understood, that value
is unknown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from sqlglot import exp

from sluice.footprint.queries.calls import cast_column, columns_in, type_of
from sluice.footprint.queries.cells import (
    Cell,
    Constant,
    FromTable,
    bounded,
    called,
    conditions_on,
    conditions_on_call,
    names_in,
    side_by_side,
)
from sluice.footprint.queries.outputs import Expansion, Output, Unknown, is_one_value, outputs_of
from sluice.footprint.sql.known import Version
from sluice.footprint.sql.nodes import RELATIONS, SCALARS, has_only
from sluice.footprint.sql.selected_tables import view_named
from sluice.footprint.sql.statement_context import StatementContext
from sluice.predicates import ColumnType, Kind
from sluice.predicates.limits import MAX_LEVELS, MAX_ROWS
from sluice.predicates.syntax import conjuncts


@dataclass(frozen=True)
class Row:
    """One alternative of a query's output: its columns in order, with their names where they have one."""

    cells: tuple[tuple[str, Cell], ...]
    others: tuple[exp.Expr, ...] | None = None
    """What conditions say about further columns, of which there may be any number; None if there are no further
    columns."""
    first: int = 0
    """How many of the cells surely come before all other columns."""

    def at(self, position: int) -> Cell:
        known = len(self.cells) if self.others is None else self.first
        return self.cells[position][1] if position < known else None

    @property
    def width(self) -> int:
        """How many columns and conditions it has."""
        return len(self.cells) + len(self.others or ())

    def named(self, name: str, reading: StatementContext) -> Cell:
        """Returns the column of this name; None for two of one name, which Spark can't tell apart either and refuses."""
        found = self._by_name.get(name.lower(), ())
        if not found and self.others is not None:
            conditions = conditions_on(reading, self.others, name)
            return FromTable(conditions) if conditions else None
        return found[0] if len(found) == 1 else None

    def has(self, name: str) -> bool:
        return name.lower() in self._by_name

    @cached_property
    def _by_name(self) -> Mapping[str, Sequence[Cell]]:
        found: dict[str, list[Cell]] = {}
        for name, cell in self.cells:
            found.setdefault(name.lower(), []).append(cell)
        return found


Rows = tuple[Row, ...] | None
"""The alternatives of a query's output; None if nothing is known."""

ANY_ROW = Row((), others=())


def rows_of(query: exp.Expr, reading: StatementContext, depth: int = 0) -> Rows:
    """Returns the rows of a query, reading each query only once: views and common tables may be named many times."""
    if depth > MAX_LEVELS or reading.around.settings.session.case_sensitive:
        return None  # then names that differ in case are two columns
    if depth == 0 and reading.stranger_in(query) is not None:
        return None
    known = reading.rows_known
    if id(query) not in known:
        known[id(query)] = query, _rows_of(query, reading, depth)
    rows: Rows = known[id(query)][1]
    return rows


def _rows_of(query: exp.Expr, reading: StatementContext, depth: int) -> Rows:
    if not has_only(query, RELATIONS) or not _plain_with(query):
        return None
    found: Rows = None
    match query:
        case exp.Subquery():
            found = _renamed(rows_of(query.this, reading, depth + 1), query)
        case exp.Values():
            found = _renamed(_values(query, reading), query)
        case exp.SetOperation():
            found = _combined(query, reading, depth)
        case exp.Select():
            found = _select(query, reading, depth)
        case exp.Table():
            found = _renamed(_table(query, reading, depth), query)
    return found


def _plain_with(query: exp.Expr) -> bool:
    with_ = query.args.get("with_")
    return with_ is None or has_only(with_, RELATIONS)


def _renamed(rows: Rows, relation: exp.Expr) -> Rows:
    """Returns the rows with the column names that the alias gives."""
    alias = relation.args.get("alias")
    if rows is None or alias is None:
        return rows
    if not has_only(alias, RELATIONS):
        return None
    names = [column.name for column in alias.columns]
    if not names:
        return rows
    if any(row.others is not None or len(row.cells) != len(names) for row in rows):
        return None
    return tuple(Row(tuple(zip(names, (cell for _, cell in row.cells), strict=True))) for row in rows)


def _values(query: exp.Values, reading: StatementContext) -> Rows:
    width = sum(max(1, len(element.expressions)) for element in query.expressions)
    if len(query.expressions) > MAX_ROWS or not reading.around.allowance.cells.take(width):
        return None
    rows = []
    for element in query.expressions:
        nodes = element.expressions if isinstance(element, exp.Tuple) else [element]
        spark = reading.around.settings.spark
        if not all(is_one_value(node, spark) and not isinstance(node.unnest(), exp.Tuple) for node in nodes):
            return None
        rows.append(Row(tuple((f"col{k + 1}", Constant(node)) for k, node in enumerate(nodes))))
    return _side_by_side(rows, reading)


def _combined(query: exp.SetOperation, reading: StatementContext, depth: int) -> Rows:
    """Combines the rows of UNION and its like under the left side's names. A long chain leans to the left, so it's
    walked instead of recursed into."""
    parts: list[exp.Expr] = []
    left: exp.Expr = query
    while type(left) is type(query) and has_only(left, RELATIONS) and _plain_with(left):
        parts.append(left.expression)
        left = left.this
    found: list[Row] = []
    kept = 0
    for part in (left, *reversed(parts)):
        rows = rows_of(part, reading, depth + 1)
        if rows is None or len(found) + len(rows) > MAX_ROWS:
            return None
        if not reading.around.allowance.cells.take(sum(row.width for row in rows)):
            return None
        found.extend(rows)
        kept = kept or len(rows)
    together = _side_by_side(found, reading)
    if together is None or isinstance(query, exp.Union):
        return together
    return together[:kept]


def _side_by_side(rows: list[Row], reading: StatementContext) -> Rows:
    if not rows or any(row.others is not None or len(row.cells) != len(rows[0].cells) for row in rows):
        return None
    names = [name for name, _ in rows[0].cells]
    columns = [
        side_by_side([row.cells[position][1] for row in rows], reading) for position in range(len(names))
    ]
    return tuple(Row(tuple(zip(names, cells, strict=True))) for cells in zip(*columns, strict=True))


# ---------------------------------------------------------------------------------------------------------------- SELECT


@dataclass(frozen=True)
class _Scope:
    """Where the columns of a SELECT come from."""

    reading: StatementContext
    first: str = ""
    """The name of its first relation."""
    alone: bool = False
    """Whether there is no other relation beside it."""
    relations: frozenset[str] = frozenset()
    """The names of all relations; empty if a name does not say whose column follows it."""
    conditions: tuple[exp.Expr, ...] = ()
    """The conditions in WHERE: names mean the same there as in the list."""

    def column(self, node: exp.Column, row: Row) -> Cell:
        """Returns the column's value; `row` is a row of the first relation."""
        table = node.table.lower()
        is_first = table == self.first or (self.alone and not table)
        cell = row.named(node.name, self.reading) if is_first else None
        return said_of(cell, self._said_of(node.name, self._calls(table)), self.reading)

    def said_of_call(self, call: exp.Expr) -> tuple[exp.Expr, ...]:
        own = frozenset({"", self.first} if self.alone else {""})
        return conditions_on_call(self.reading, self.conditions, call, own)

    def expanded(self, star: Expansion, row: Row) -> Row:
        is_first = star.table in (None, self.first)
        calls = self._calls_of_all(star.table)
        cells = tuple(
            (name, said_of(cell, self._said_of(name, calls), self.reading))
            for name, cell in (row.cells if is_first else ())
            if name.lower() not in star.without
        )
        if row.others is None and is_first and (self.alone or star.table is not None):
            return Row(cells)
        said = [*((row.others or ()) if is_first else ()), *called(self.conditions, calls, self.reading)]
        others = tuple(
            condition for condition in said if star.without.isdisjoint(names_in(condition, self.reading))
        )
        in_order = is_first and row.others is None and bool(self.relations)
        return Row(cells, others, len(cells) if in_order else 0)

    def width(self, outputs: Sequence[Output | Expansion | Unknown], row: Row) -> int:
        """How many columns and conditions are looked at for one row of the first relation."""
        stars = sum(isinstance(output, Expansion) for output in outputs)
        return row.width + len(outputs) + stars * (row.width + len(self.conditions))

    def _calls(self, table: str) -> frozenset[str]:
        """Returns the names by which WHERE may refer to what the list refers to by this table's name."""
        return frozenset({"", self.first} if self.alone and table in ("", self.first) else {table})

    def _calls_of_all(self, table: str | None) -> frozenset[str]:
        """Returns such names for a star's columns: any relation's, because Spark refuses two columns of one name."""
        if table is not None or self.alone:
            return self._calls(table or "")
        return self.relations | {""}

    def _said_of(self, name: str, calls: frozenset[str]) -> tuple[exp.Expr, ...]:
        return conditions_on(self.reading, self.conditions, name, calls)


def said_of(cell: Cell, conditions: tuple[exp.Expr, ...], reading: StatementContext) -> Cell:
    """Returns the value with what conditions say about it, except for a user's function, which may return something
    else when called again."""
    if isinstance(cell, Constant) and not is_one_value(cell.node, reading.around.settings.spark):
        return cell
    return bounded(cell, conditions, reading)


def _select(query: exp.Select, reading: StatementContext, depth: int) -> Rows:
    outputs = tuple(outputs_of(query, reading.around.settings.spark))
    source, where = query.args.get("from_"), query.args.get("where")
    joins, laterals = query.args.get("joins") or [], query.args.get("laterals") or []
    beside = (source, where, query.args.get("distinct"), *joins, *laterals)
    if not all(has_only(node, RELATIONS) for node in beside if node is not None):
        return None
    if _groups_widely(query, reading):
        return _selected([_without_value(output) for output in outputs], _Scope(reading), (ANY_ROW,))
    scope = _Scope(
        reading,
        relations=_names_told_apart(source, joins, laterals),
        conditions=conjuncts(where.this if where is not None else None),
    )
    if any(join.side not in ("", "LEFT") for join in joins):
        return _selected(outputs, scope, (ANY_ROW,))
    scope = replace(
        scope,
        first=source.this.alias_or_name.lower() if source is not None else "",
        alone=not laterals and all(join.kind in ("SEMI", "ANTI") for join in joins),
    )
    inner = (Row(()),) if source is None else rows_of(source.this, reading, depth + 1) or (ANY_ROW,)
    return _selected(outputs, scope, inner)


def _names_told_apart(
    source: exp.From | None, joins: Sequence[exp.Join], laterals: Sequence[exp.Lateral]
) -> frozenset[str]:
    """Returns the relations' names; none if USING merges two columns into one, of which a star has one and a name may
    mean the other."""
    if source is None or any(join.args.get("using") or join.args.get("method") for join in joins):
        return frozenset()
    relations = [source.this, *(join.this for join in joins), *laterals]
    return frozenset(relation.alias_or_name.lower() for relation in relations)


def _selected(outputs: Sequence[Output | Expansion | Unknown], scope: _Scope, inner: Sequence[Row]) -> Rows:
    width = sum(scope.width(outputs, row) for row in inner)
    if not scope.reading.around.allowance.cells.take(width):
        return None
    return tuple(_row(outputs, scope, row) for row in inner)


@dataclass
class _Before:
    """The entries of the list before one."""

    named: dict[str, list[Cell]] = field(default_factory=dict)
    """Their values by their lower-cased names."""
    aliases: set[str] = field(default_factory=set)
    """Names of those that aren't the column of this name."""
    all_named: bool = True
    """Whether there are no others."""


def _row(outputs: Sequence[Output | Expansion | Unknown], scope: _Scope, inner: Row) -> Row:
    """Returns the query's row for one row of its first relation."""
    cells: list[tuple[str, Cell]] = []
    before = _Before()
    others: list[exp.Expr] | None = None
    first = 0
    for output in outputs:
        match output:
            case Output():
                more = Row(((output.name, _cell(output.node, scope, inner, before)),))
                if not _is_column(output):
                    before.aliases.add(output.name.lower())
            case Expansion():
                more = scope.expanded(output, inner)
            case _:
                more = ANY_ROW
        if others is None and more.others is not None:
            first, others = len(cells) + more.first, []
            before.all_named = False
        if others is not None:
            others += more.others or ()
        cells += more.cells
        for name, cell in more.cells:
            before.named.setdefault(name.lower(), []).append(cell)
    return Row(tuple(cells), None if others is None else tuple(others), first)


def _is_column(output: Output) -> bool:
    return isinstance(output.node, exp.Column) and output.node.name.lower() == output.name.lower()


def _cell(node: exp.Expr | None, scope: _Scope, inner: Row, before: _Before) -> Cell:
    """Returns the value of one entry of the list. The entry may refer to those before it if the relations have no such
    column."""
    if node is None:
        return None
    if isinstance(node, exp.Column):
        return _cell_of_column(node, scope, inner, before)
    return _cell_of_call(node, scope, inner, before)


def _cell_of_column(node: exp.Column, scope: _Scope, inner: Row, before: _Before) -> Cell:
    if not has_only(node, SCALARS) or not isinstance(node.this, exp.Identifier) or node.args.get("db"):
        return None
    found = before.named.get(node.name.lower(), ())
    if not node.table and found and not (scope.alone and inner.has(node.name)):
        surely = scope.alone and inner.others is None and before.all_named and len(found) == 1
        return found[0] if surely else None
    return scope.column(node, inner)


def _cell_of_call(node: exp.Expr, scope: _Scope, inner: Row, before: _Before) -> Cell:
    """Returns the value of a call: of a cast it is the column's where the cast keeps it, or what conditions say of the same
    call bounds it."""
    value = Constant(node, type=type_of(node))
    column = cast_column(node)
    cast = None if column is None else _cast(_cell_of_column(column, scope, inner, before), value.type)
    if cast is not None and cast.type is not None:
        return cast
    said = scope.said_of_call(node)
    if said and all(_is_same_in_conditions(part, scope, inner, before) for part in columns_in(node)):
        return said_of(value, said, scope.reading)
    return cast or value


def _cast(cell: Cell, type_: ColumnType | None) -> FromTable | None:
    """The column's value after a cast; its type is not known where only a value that equals a date stays."""
    if not isinstance(cell, FromTable) or type_ is None:
        return None
    if cell.type is not None and cell.type.kind is type_.kind and cell.type.bits == type_.bits:
        return cell
    return replace(cell, type=None) if type_.kind is Kind.DATE else None


def _is_same_in_conditions(node: exp.Column, scope: _Scope, inner: Row, before: _Before) -> bool:
    """Whether a name in the list surely means what it means in WHERE, and has the same value."""
    hidden = not node.table and node.name.lower() in before.aliases
    if hidden and not (scope.alone and inner.has(node.name)):
        return False
    cell = inner.named(node.name, scope.reading)
    return not isinstance(cell, Constant) or is_one_value(cell.node, scope.reading.around.settings.spark)


def _without_value(output: Output | Expansion | Unknown) -> Output | Unknown:
    return Output(output.name, None) if isinstance(output, Output) else Unknown()


def _groups_widely(query: exp.Select, reading: StatementContext) -> bool:
    """Whether the query groups by ROLLUP or its like, which put NULL in place of the value."""
    group = query.args.get("group")
    return group is not None and not (
        has_only(group, RELATIONS)
        and all(is_one_value(node, reading.around.settings.spark) for node in group.expressions)
    )


def _table(node: exp.Table, reading: StatementContext, depth: int) -> Rows:
    exact = reading.around.settings.session.case_sensitive
    common = reading.common_table(node, case_sensitive=exact)
    if common is not None:
        plain = (
            has_only(common, RELATIONS) and common.parent is not None and has_only(common.parent, RELATIONS)
        )
        return _renamed(rows_of(common.this, reading, depth + 1), common) if plain else None
    name = view_named(node, reading.around.views)
    if name is not None:
        if name in reading.around.views_over_others:
            return None
        query = reading.around.views[name]
        under = reading.around.inside_view(name).settings
        same = under.session == reading.around.settings.session and not exact
        if query is None or reading.stranger_in(query) is not None or not same:
            return None
        nodes = reading.survey(query).nodes
        return rows_of(query, reading, depth + 1) if reading.around.allowance.cells.take(len(nodes)) else None
    facts = reading.columns_of(node)
    if facts is None or not reading.around.allowance.cells.take(len(facts.columns.columns)):
        return (ANY_ROW,)
    return (Row(tuple((c.name, FromTable(type=c.type)) for c in facts.columns.columns)),)


def surely_some(query: exp.Expr | None, spark: Version | None) -> bool:
    """Whether the query surely yields a row, whatever the tables hold."""
    match query:
        case exp.Values() if has_only(query, RELATIONS):
            return all(is_one_value(element, spark) for element in query.expressions)
        case exp.Subquery() if _has_only(query, "this alias with_"):
            return surely_some(query.this, spark)
        case exp.Union() if _has_only(query, "this expression distinct with_"):
            return surely_some(query.this, spark) or surely_some(query.expression, spark)
        case exp.Select() if _has_only(query, "expressions from_ hint distinct with_"):
            values = all(
                is_one_value(node.unalias(), spark) for node in query.expressions if not node.is_star
            )
            source = query.args.get("from_")
            return values and (source is None or surely_some(source.this, spark))
    return False


def _has_only(query: exp.Expr, known: str) -> bool:
    return has_only(query, {type(query): frozenset(known.split())})
