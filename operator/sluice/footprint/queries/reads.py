"""Finds what a query reads of the table that a statement writes.

An append is blind only if nothing that it selects from can be that table, or a view or a function over it. Where it
does read the table, Delta records for each scan the conditions next to it that use partition columns alone.
"""

from dataclasses import dataclass, replace

from sqlglot import exp

from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.regions import EVERYTHING, NOTHING, united
from sluice.footprint.sql.advice import perhaps_a_view
from sluice.footprint.sql.nodes import RELATIONS, has_only
from sluice.footprint.sql.selected_tables import (
    is_in_hint,
    is_table_function,
    names_files,
    users_function,
    view_named,
)
from sluice.footprint.sql.statement_context import StatementContext
from sluice.footprint.sql.table_names import key_of_parts
from sluice.predicates import Region, conjunction, from_conjuncts
from sluice.predicates.limits import MAX_VIEWS_SEEN
from sluice.predicates.syntax import conjuncts

_NAMING = frozenset({"this", "db", "catalog", "alias", "version"})


@dataclass(frozen=True)
class Reads:
    region: Region = NOTHING
    widened: tuple[str, ...] = ()
    by_name: bool = False
    """Whether it may read all of the table only because a name is not bound, which may be a view."""
    known: Region = NOTHING
    """What it reads if no such name is one."""

    @property
    def nothing(self) -> bool:
        return self.region.is_empty


def reads_of(
    tree: exp.Expr,
    reading: StatementContext,
    *,
    written: exp.Expr | None = None,
    seen: dict[str, Reads] | None = None,
) -> Reads:
    """Returns what the tree reads of the table. `written` is the node that names the table as a target, not as a
    source. `seen` holds views that were looked through already, so that views upon views cost no more than their
    texts."""
    seen = {} if seen is None else seen
    unknown, function = _reads_any_table(tree, reading, written)
    if unknown is not None:
        return _everything(
            f"a part of the query ({type(unknown).__name__}) is not understood and may read any table"
        )
    if function is not None:
        return _everything(f"{function}() may be a function over {reading.key}")
    found = [
        scan
        for table in reading.survey(tree).tables
        if table is not written and (scan := _scan(table, reading, seen)) is not None
    ]
    return Reads(
        united(scan.region for scan in found),
        tuple(why for scan in found for why in scan.widened),
        by_name=any(scan.by_name for scan in found),
        known=united(scan.known for scan in found),
    )


def _reads_any_table(
    tree: exp.Expr, reading: StatementContext, written: exp.Expr | None
) -> tuple[exp.Expr | None, str | None]:
    """Finds a part that isn't understood, and a function that may be a user's."""
    spark = reading.around.settings.spark

    def look() -> tuple[exp.Expr | None, str | None]:
        survey = reading.survey(tree)
        functions = (users_function(node, spark) for node in survey.calls)
        return survey.stranger(written=written), next((name for name in functions if name), None)

    return reading.statement.once(("reads any table", id(tree), spark), look)


def _scan(table: exp.Table, reading: StatementContext, seen: dict[str, Reads]) -> Reads | None:
    exact = reading.around.settings.session.case_sensitive
    if (
        reading.common_table(table, case_sensitive=exact) is not None
        or is_in_hint(table)
        or names_files(table)
        or is_table_function(table, reading.around.settings.spark)
    ):
        return None
    view = view_named(table, reading.around.views)
    if view is not None and exact:
        return _everything(f"{view} may be a temporary view or a table, because names are case-sensitive")
    if view is not None:
        return _through_view(view, reading, seen)
    if not reading.names_own_table(table):
        return _may_be(table, reading)
    if table.args.get("version") is not None and not reading.around.cautious:
        return None  # an older version is another snapshot, which open-source Delta does not take for a read
    pinned = _pinned(table, reading)
    return Reads(pinned, known=pinned)


def _through_view(name: str, reading: StatementContext, seen: dict[str, Reads]) -> Reads | None:
    query = reading.around.views[name]
    if query is None:
        return None
    if name not in seen:
        seen[name] = _everything(f"{name} is a view upon views, too deep to be looked through")
        looked = reading.survey(query).size
        if not reading.around.allowance.seen_through_views.take(looked):
            seen[name] = _everything("the statements of the job select too often from its temporary views")
        elif len(seen) <= MAX_VIEWS_SEEN:
            inside = replace(reading, around=reading.around.inside_view(name))
            seen[name] = reads_of(query, inside, seen=seen)
    return seen[name]


def _may_be(table: exp.Table, reading: StatementContext) -> Reads | None:
    around = reading.around
    if not all(isinstance(part, exp.Identifier) for part in table.parts):
        return _everything(f"{table.sql('spark')} may read any table")
    try:
        source = key_of_parts([part.name for part in table.parts])
    except NotUnderstoodError as error:
        return _everything(str(error))
    if not around.is_table(source):
        return Reads(EVERYTHING, (perhaps_a_view(source, reading.written),), by_name=True)
    if around.one_key(source).may_equal(reading.key):
        return _everything(f"{source} may be the table that is written")
    return None


def _pinned(table: exp.Table, reading: StatementContext) -> Region:
    """Returns the partitions that Delta records for a scan, by the WHERE directly around it."""
    query = _query_around(table)
    where = query.args.get("where") if query is not None else None
    if query is None or where is None or not has_only(query, RELATIONS) or query.args.get("laterals"):
        return EVERYTHING
    alias = table.alias_or_name
    names = (alias, *(() if table.alias else reading.own_names))
    predicate = conjunction(
        reading.predicate(condition, names=[name for name in names if name], others=None)
        for condition in conjuncts(where.this)
    )
    if reading.around.cautious:
        return reading.recorded(predicate)
    return reading.scanned(from_conjuncts(predicate, simplified=True))


def _query_around(table: exp.Table) -> exp.Select | None:
    """Returns the SELECT whose WHERE surely filters this table's rows before anything else does."""
    holder = table.parent
    query = holder.parent if holder is not None else None
    if not isinstance(query, exp.Select) or not is_plain(table):
        return None
    joins = query.args.get("joins") or []
    if not all(has_only(join, RELATIONS) for join in joins):
        return None
    if isinstance(holder, exp.From):
        return query if all(join.side in ("", "LEFT") for join in joins) else None
    if isinstance(holder, exp.Join) and all(
        join.side == ""
        and join.kind in ("", "INNER", "CROSS")
        and not (join.args.get("using") or join.args.get("method"))
        for join in joins
    ):
        return query
    return None


def is_plain(table: exp.Table) -> bool:
    """Whether nothing next to its name applies before a WHERE (TABLESAMPLE, PIVOT, joins) or renames its columns."""
    beside = {name for name, value in table.args.items() if value} - _NAMING
    alias = table.args.get("alias")
    return not beside and not (isinstance(alias, exp.TableAlias) and alias.columns)


def _everything(why: str) -> Reads:
    return Reads(EVERYTHING, (why,), known=EVERYTHING)
