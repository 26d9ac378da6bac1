"""Finds the tables that a statement selects from, whatever it writes: a job that deletes their files would make the statement
fail."""

from collections.abc import Callable, Mapping

from sqlglot import exp

from sluice.footprint.sources import ANY_SOURCES, Sources, files_at, together
from sluice.footprint.sql.allowance import Allowance
from sluice.footprint.sql.common_tables import CommonTables
from sluice.footprint.sql.functions import a_users, makes_rows, name_of
from sluice.footprint.sql.known import Version
from sluice.footprint.sql.table_names import in_sparks_catalog, key_of_node
from sluice.footprint.sql.tree_summary import TreeSummary
from sluice.predicates.limits import MAX_SOURCES
from sluice.tables import TableKey

_FILE_FORMATS = frozenset({"parquet", "json", "csv", "orc", "text", "avro", "binaryfile"})
_NO_VIEW = "names no temporary view"
Views = Mapping[str, exp.Expr | None]


def sources_of(
    tree: exp.Expr,
    views: Views,
    spark: Version | None,
    survey: Callable[[exp.Expr], TreeSummary],
    allowance: Allowance,
) -> Sources:
    """Returns what a statement or a query selects from, looking through each temporary view once. Where names that
    differ in case may be one or two tables, both are returned. `survey` may know trees that were surveyed before."""
    found: dict[TableKey, None] = {}
    seen: set[str] = set()
    common = CommonTables()
    pending, any_table = [_query_of(tree)], False
    while pending and len(found) <= MAX_SOURCES:
        query = pending.pop()
        if query is None:
            continue
        written = _written(query)
        looked = survey(query)
        if seen and not allowance.seen_through_views.take(looked.size):
            any_table = True
            break
        any_table = any_table or looked.stranger(written=written) is not None or _calls_users(looked, spark)
        for node in looked.tables:
            if (
                node is written
                or common.named(node, case_sensitive=True) is not None
                or is_in_hint(node)
                or is_table_function(node, spark)
            ):
                continue
            if (name := view_named(node, views)) is not None:
                if name not in seen:
                    seen.add(name)
                    pending.append(views[name])
            else:
                here = _source(node)
                any_table = any_table or here.any_table
                found.update(dict.fromkeys(here.tables))
    return together([Sources(tuple(found), any_table)])


def _calls_users(looked: TreeSummary, spark: Version | None) -> bool:
    return any(
        users_function(node, spark) is not None for node in looked.calls if not isinstance(node, exp.Table)
    )


def _source(node: exp.Table) -> Sources:
    if names_files(node):
        return files_at(node.name)
    key = key_of_node(node)
    return ANY_SOURCES if key is None else Sources((key,))


def _query_of(tree: exp.Expr) -> exp.Expr | None:
    """Returns the part to read: only the query of a CREATE, whose table may get its location from elsewhere in the
    statement."""
    return tree.args.get("expression") if isinstance(tree, exp.Create) else tree


def _written(tree: exp.Expr) -> exp.Expr | None:
    if isinstance(tree, exp.Insert | exp.Merge | exp.Update | exp.Delete) and tree.this is not None:
        target: exp.Expr | None = tree.this.find(exp.Table)
        return target
    return None


def users_function(node: exp.Expr, spark: Version | None) -> str | None:
    """The name of the user's function that the node may call; None if it calls none."""
    if isinstance(node.parent, exp.Table | exp.Hint):
        return None  # handled as a table, or not a function
    dot = node.parent
    if isinstance(node, exp.Func) and isinstance(dot, exp.Dot) and dot.expression is node:
        return dot.sql("spark").partition("(")[0]
    return a_users(node, spark)


def view_named(table: exp.Table, views: Views) -> str | None:
    """The lower-cased name of the temporary view that a table in a query refers to; None if it refers to none."""
    name = table.name.lower()
    return name if len(table.parts) == 1 and name in views and not table.meta.get(_NO_VIEW) else None


def keep_meanings(looked: TreeSummary, views: Views) -> None:
    """Fixes the meaning of names in a new view's query: a name that is no temporary view now stays none, whatever
    view is made later."""
    for table in looked.tables:
        table.meta[_NO_VIEW] = view_named(table, views) is None


def is_in_hint(table: exp.Table) -> bool:
    """Whether the name is in a hint: BROADCAST(t) only repeats a table of the query."""
    return isinstance(table.parent, exp.JoinHint)


def is_table_function(table: exp.Table, spark: Version | None) -> bool:
    function = table.this
    name = name_of(function) if isinstance(function, exp.Func) and not table.db else None
    return name is not None and makes_rows(name, spark)


def names_files(table: exp.Table) -> bool:
    """Whether the name is parquet.`/folder` or its like, which reads files and never a Delta table's log."""
    parts = in_sparks_catalog([part.name for part in table.parts])
    return len(parts) == 2 and parts[0].lower() in _FILE_FORMATS and "/" in table.name
