"""Which rows a query yields, as far as it writes them down: that bounds where they land."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sluice.footprint.queries.cells import Cell, Constant, FromTable
from sluice.footprint.sql.reading import Reading
from sluice.predicates import Column
from sluice.predicates.syntax import conjuncts

_MANY = 1000
_DEEP = 12


@dataclass(frozen=True)
class Row:
    """One alternative of a query's output: its columns in order, by name where they have one."""

    cells: tuple[tuple[str, Cell], ...]
    star: FromTable | None = None
    """More columns of an unknown table, any number of them and anywhere."""

    def at(self, position: int) -> Cell:
        return self.cells[position][1] if self.star is None and position < len(self.cells) else None

    def named(self, name: str) -> Cell:
        found = [cell for other, cell in self.cells if other.lower() == name.lower()]
        if len(found) == 1 and (self.star is None or isinstance(found[0], Constant)):
            return found[0]
        if not found and self.star is not None:
            return FromTable(name, self.star.conditions, own=False)
        return None

    def has(self, name: str) -> bool:
        return any(other.lower() == name.lower() for other, _ in self.cells)


Rows = tuple[Row, ...] | None
"""The alternatives; None if nothing is known."""


def rows_of(query: exp.Expr, reading: Reading, depth: int = 0) -> Rows:
    """Of the same query once only: views and common tables may be named many times."""
    if depth > _DEEP:
        return None
    known = reading.rows_known
    if id(query) not in known:
        known[id(query)] = query, _rows_of(query, reading, depth)
    rows: Rows = known[id(query)][1]
    return rows


def _rows_of(query: exp.Expr, reading: Reading, depth: int) -> Rows:  # noqa: PLR0911 - one case a node
    match query:
        case exp.Subquery() if not query.args.get("joins") and not query.args.get("pivots"):
            return rows_of(query.this, reading, depth + 1)
        case exp.Values():
            return _values(query)
        case exp.Union():
            return _union(query, reading, depth)
        case exp.Except() | exp.Intersect():
            return rows_of(query.this, reading, depth + 1)
        case exp.Select():
            return _select(query, reading, depth)
        case exp.Table():
            return _table(query, reading, (), depth)
        case _:
            return None


def surely_some(query: exp.Expr | None) -> bool:
    """Whether the query yields a row, whatever the tables hold."""
    match query:
        case exp.Values():
            return bool(query.expressions)
        case exp.Subquery():
            return surely_some(query.this)
        case exp.Union():
            return surely_some(query.this) or surely_some(query.expression)
        case exp.Select():
            own = (
                "where",
                "having",
                "limit",
                "offset",
                "qualify",
                "joins",
                "laterals",
                "group",
                "from_",
                "with_",
            )
            if any(query.args.get(name) for name in own if name != "from_"):
                return False
            source = query.args.get("from_")
            return source is None or (not query.find(exp.Explode) and surely_some(source.this))
        case _:
            return False


def _values(query: exp.Values) -> Rows:
    if len(query.expressions) > _MANY:
        return None
    alias = query.args.get("alias")
    names = [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
    return tuple(_tuple_row(row, names) for row in query.expressions)


def _tuple_row(row: exp.Expr, names: Sequence[str]) -> Row:
    nodes = row.expressions if isinstance(row, exp.Tuple) else [row]
    return Row(
        tuple((names[k] if k < len(names) else f"col{k + 1}", Constant(node)) for k, node in enumerate(nodes))
    )


def _union(query: exp.Union, reading: Reading, depth: int) -> Rows:
    """Names are those of the left side; a long chain leans to the left, so it's walked and not recursed into."""
    parts: list[exp.Expr] = []
    left: exp.Expr = query
    while isinstance(left, exp.Union):
        if left.args.get("by_name"):
            return None
        parts.append(left.expression)
        left = left.this
    alternatives: list[Row] = []
    for part in (left, *reversed(parts)):
        rows = rows_of(part, reading, depth + 1)
        if rows is None or len(alternatives) + len(rows) > _MANY or any(row.star for row in rows):
            return None
        alternatives.extend(rows)
    if not alternatives:
        return None
    names = [name for name, _ in alternatives[0].cells]
    if any(len(row.cells) != len(names) for row in alternatives):
        return None
    return tuple(Row(tuple(zip(names, (cell for _, cell in row.cells), strict=True))) for row in alternatives)


def _select(query: exp.Select, reading: Reading, depth: int) -> Rows:
    source = query.args.get("from_")
    if source is None:
        return (Row(tuple(_constants_only(query))),)
    joins = query.args.get("joins") or []
    if (
        query.args.get("pivots")
        or any(join.side in ("RIGHT", "FULL") for join in joins)
        or _groups_widely(query)
    ):
        return (Row(tuple(_constants_only(query))),) if not _has_star(query) else None
    alias = source.this.alias_or_name.lower()
    mixed = any(join.kind not in ("ANTI", "SEMI") for join in joins) or bool(query.args.get("laterals"))
    base = _relation(source.this, reading, _conditions_on(query, alias, mixed=mixed), depth)
    if base is None:
        return (Row(tuple(_constants_only(query))),) if not _has_star(query) else None
    found = [_through(query, inner, alias, mixed=mixed) for inner in base]
    return None if any(row is None for row in found) else tuple(row for row in found if row is not None)


def _conditions_on(query: exp.Select, alias: str, *, mixed: bool) -> tuple[exp.Expr, ...]:
    """What WHERE says of the first source alone."""
    where = query.args.get("where")
    return tuple(
        condition
        for condition in conjuncts(where.this if where is not None else None)
        if all(
            column.table.lower() == alias if column.table else not mixed
            for column in condition.find_all(exp.Column)
        )
    )


def _relation(node: exp.Expr, reading: Reading, where: tuple[exp.Expr, ...], depth: int) -> Rows:
    if isinstance(node, exp.Table):
        return _table(node, reading, where, depth)
    if node.args.get("pivots") or node.args.get("joins") or node.args.get("sample"):
        return None
    found = rows_of(node, reading, depth + 1)
    alias = node.args.get("alias")
    if found is None or not isinstance(alias, exp.TableAlias) or not alias.columns:
        return found
    return None if isinstance(node, exp.Subquery) else found


def _table(node: exp.Table, reading: Reading, where: tuple[exp.Expr, ...], depth: int) -> Rows:
    alias = node.args.get("alias")
    if (
        node.args.get("pivots")
        or node.args.get("joins")
        or (isinstance(alias, exp.TableAlias) and alias.columns)
    ):
        return None
    common = _common(node)
    if common is not None:
        plain = not _within(node, common) and not common.args["alias"].columns
        return rows_of(common.this, reading, depth + 1) if plain else None
    if len(node.parts) == 1 and node.name.lower() in reading.around.views:
        query = reading.around.views[node.name.lower()]
        return None if query is None else rows_of(query, reading, depth + 1)
    facts = reading.columns_of(node)
    if facts is not None:
        cells = (
            (c.name, FromTable(c.name, where, own=_is_stored_as_it_is(c, reading)))
            for c in facts.columns.columns
        )
        return (Row(tuple(cells)),)
    return (Row((), star=FromTable("*", where, own=False)),)


def _is_stored_as_it_is(column: Column, reading: Reading) -> bool:
    target = reading.facts.columns.find(column.name) if reading.facts is not None else None
    return target is not None and target.type == column.type


def _common(node: exp.Table) -> exp.CTE | None:
    if len(node.parts) != 1:
        return None
    outer = node.parent
    while outer is not None:
        with_ = outer.args.get("with_")
        for definition in with_.expressions if with_ is not None else ():
            if definition.alias_or_name.lower() == node.name.lower():
                return definition if isinstance(definition, exp.CTE) else None
        outer = outer.parent
    return None


def _within(node: exp.Expr, outer: exp.Expr) -> bool:
    found: exp.Expr | None = node
    while found is not None and found is not outer:
        found = found.parent
    return found is outer


def _through(query: exp.Select, inner: Row, alias: str, *, mixed: bool) -> Row | None:
    """A row of the query, made of one of its first source. `mixed`: there are columns of other sources beside."""
    if mixed and any(isinstance(p, exp.Star) for p in query.expressions):
        return None
    cells: list[tuple[str, Cell]] = []
    star = None
    for projection in query.expressions:
        if _is_star(projection):
            if projection.args.get("except_") or projection.args.get("replace"):
                return None
            if isinstance(projection, exp.Column) and projection.table.lower() != alias:
                return None
            cells.extend(inner.cells)
            star = inner.star or star
            continue
        cells.append((projection.alias_or_name, _value(projection, inner, alias, mixed=mixed)))
    return Row(tuple(cells), star)


def _value(projection: exp.Expr, inner: Row, alias: str, *, mixed: bool) -> Cell:
    node = projection.unalias()
    if isinstance(node, exp.Column):
        ours = node.table.lower() == alias if node.table else not mixed
        if not ours or node.args.get("db"):
            return None
        return inner.named(node.name)
    return Constant(node)


def _constants_only(query: exp.Select) -> Iterator[tuple[str, Cell]]:
    for projection in query.expressions:
        node = projection.unalias()
        yield projection.alias_or_name, None if isinstance(node, exp.Column) else Constant(node)


def _is_star(projection: exp.Expr) -> bool:
    return isinstance(projection, exp.Star) or (
        isinstance(projection, exp.Column) and isinstance(projection.this, exp.Star)
    )


def _has_star(query: exp.Select) -> bool:
    return any(_is_star(projection) for projection in query.expressions)


def _groups_widely(query: exp.Select) -> bool:
    """ROLLUP and its like put NULL where the value was."""
    group = query.args.get("group")
    return group is not None and bool(
        {"rollup", "cube", "grouping_sets"} & {k for k, v in group.args.items() if v}
    )
