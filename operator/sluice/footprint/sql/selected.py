"""Tables that a statement selects from, whichever it writes: who deletes their files takes them from under it."""

from collections.abc import Iterator, Mapping

from sqlglot import exp

from sluice.footprint.sources import MANY, Sources, together
from sluice.footprint.sql.functions import BUILTIN_FUNCTIONS
from sluice.footprint.sql.naming import key_of_node
from sluice.tables import TableKey, key_of_path

_FILE_FORMATS = frozenset({"parquet", "json", "csv", "orc", "text", "avro", "binaryfile"})
_TABLE_FUNCTIONS = frozenset(
    {"range", "explode", "explode_outer", "posexplode", "inline", "stack", "sequence"}
)
Views = Mapping[str, exp.Expr | None]


def sources_of(tree: exp.Expr, views: Views) -> Sources:
    """Of a statement or a query; temporary views are looked through, each once."""
    found: dict[TableKey, None] = {}
    seen: set[str] = set()
    pending, any_table = [_query_of(tree)], False
    while pending and len(found) <= MANY:
        query = pending.pop()
        written = _written(query)
        for node in query.find_all(exp.Table, exp.Func) if query is not None else ():
            if not isinstance(node, exp.Table):
                any_table = any_table or may_be_a_users(node)
            elif node is written or is_common_table(node) or is_table_function(node):
                continue
            elif len(node.parts) == 1 and node.name.lower() in views:
                name = node.name.lower()
                if name not in seen:
                    seen.add(name)
                    pending.append(views[name])
            else:
                key = key_of_path(node.name) if names_files(node) else key_of_node(node)
                any_table = any_table or key is None
                if key is not None:
                    found[key] = None
    return together([Sources(tuple(found), any_table)])


def _query_of(tree: exp.Expr) -> exp.Expr | None:
    """A table that is created may get its place from elsewhere in the statement, so only its query is looked at."""
    return tree.args.get("expression") if isinstance(tree, exp.Create) else tree


def _written(tree: exp.Expr | None) -> exp.Expr | None:
    if isinstance(tree, exp.Insert | exp.Merge | exp.Update | exp.Delete) and tree.this is not None:
        target: exp.Expr | None = tree.this.find(exp.Table)
        return target
    return None


def may_be_a_users(function: exp.Expr) -> bool:
    if isinstance(function.parent, exp.Table):
        return False  # judged as a table
    if isinstance(function.parent, exp.Dot) and function.parent.expression is function:
        return True  # schema.function(...)
    return isinstance(function, exp.Anonymous) and function.name.lower() not in BUILTIN_FUNCTIONS


def is_table_function(table: exp.Table) -> bool:
    function = table.this
    if not isinstance(function, exp.Func) or table.db:
        return False
    name = function.name if isinstance(function, exp.Anonymous) else function.sql_name()
    return name.lower() in _TABLE_FUNCTIONS


def names_files(table: exp.Table) -> bool:
    """parquet.`/folder` and its like read files, never a Delta table's log."""
    return len(table.parts) == 2 and table.db.lower() in _FILE_FORMATS and "/" in table.name


def is_common_table(table: exp.Table, *, case_sensitive: bool = False) -> bool:
    return common_table(table, case_sensitive=case_sensitive) is not None


def common_table(table: exp.Table, *, case_sensitive: bool = False) -> exp.CTE | None:
    """The one of a WITH around the table that it names: a definition sees those before it, and the nearest WITH counts."""
    if len(table.parts) != 1:
        return None
    name = table.name if case_sensitive else table.name.lower()
    inside: exp.Expr = table
    while inside.parent is not None:
        outer = inside.parent
        for common in _visible(outer, inside):
            known = common.alias_or_name
            if (known if case_sensitive else known.lower()) == name:
                return common
        inside = outer
    return None


def _visible(outer: exp.Expr, inside: exp.Expr) -> Iterator[exp.CTE]:
    """The common tables that `outer` defines and `inside`, a part of it, can see."""
    if isinstance(outer, exp.With):
        for definition in outer.expressions:
            if definition is inside:
                return
            yield definition
        return
    with_ = outer.args.get("with_")
    if isinstance(with_, exp.With) and inside is not with_:
        yield from with_.expressions
