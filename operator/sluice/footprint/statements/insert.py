"""INSERT: what it reads (nothing, if it is blind), where its rows land, and which rows it takes away."""

from collections.abc import Iterable, Mapping

from sqlglot import exp

from sluice.api.job import Operation
from sluice.footprint.model import EVERYTHING, NOTHING, Metadata, Parts, TableFootprint
from sluice.footprint.queries.cells import TOO_MANY_CELLS, Cell, Constant, says
from sluice.footprint.queries.reads import Reads, reads_of
from sluice.footprint.queries.rows import Row, rows_of, surely_some
from sluice.footprint.regions import united
from sluice.footprint.sources import ANY_SOURCES
from sluice.footprint.sql.advice import how_to_promise
from sluice.footprint.sql.keywords import outside_parentheses, words
from sluice.footprint.sql.nodes import UNDERSTOOD, has_only
from sluice.footprint.sql.statement_context import StatementContext, partitions, there
from sluice.footprint.statements.constraint import where_rows_may_land
from sluice.predicates import (
    Anything,
    Atom,
    Predicate,
    Region,
    TruthValue,
    conjunction,
    disjunction,
    from_whole,
)
from sluice.predicates.tree import leaves

CLUSTERING = "delta.clustering"

_AFTER_AN_INSERTS_TABLE = frozenset(
    {"(", "PARTITION", "BY", "VALUES", "SELECT", "WITH", "FROM", "TABLE", "REPLACE", "IF"}
)


def insert(reading: StatementContext) -> TableFootprint:  # noqa: PLR0911 - one kind of INSERT per line
    _refuse_what_follows(reading)
    if reading.unread is not None:
        source = Reads(EVERYTHING, (reading.unread,))
        return overwrite(reading, EVERYTHING, source, certain=False, identity=adds_identity(reading, None))
    if _replaces_by_rows(reading):
        metadata = evolution(reading, identity=adds_identity(reading, None))
        return reading.footprint(Operation.OVERWRITE, metadata=metadata, sources=ANY_SOURCES)
    tree = reading.tree
    if not isinstance(tree, exp.Insert) or not _is_spark(tree):
        raise reading.refused("the INSERT is not understood: write it plainly, or declare spec.footprint")
    table = tree.this.find(exp.Table)
    source = reads_of(tree, reading, written=table)
    static, dynamic = _partition_clause(table)
    names = [node.name for node in tree.this.expressions] if isinstance(tree.this, exp.Schema) else []
    refuse_unknown(reading, [*names, *static])
    query = tree.args.get("expression") or None
    columns = _columns(reading, names, static, by_name=bool(tree.args.get("by_name")), dynamic=dynamic)
    lands = landing(reading, query, columns, static)
    defaults = _uses_defaults(tree)
    written = columns if columns is not None else output_names(query, reading)
    identity = adds_identity(reading, None if defaults else written)
    sure = surely_some(query, reading.around.settings.spark) and not (defaults and identity)
    if tree.args.get("where") is not None:
        return replace_where(reading, tree.args["where"], lands, source, certain=sure, identity=identity)
    if not tree.args.get("overwrite"):
        return append(reading, lands, source, certain=sure, identity=identity)
    if reading.around.settings.overwrites_partitions and not reading.is_unpartitioned:
        return overwrite_partitions(reading, lands, source, identity=identity)
    if static:
        fixed = _fixed(reading.whenever_it_runs, static)
        matching = partitions(fixed)
        return _replaced(reading, fixed, matching, lands, source, certain=sure, identity=identity)
    return overwrite(reading, lands, source, certain=sure, identity=identity)


def _is_spark(tree: exp.Insert) -> bool:
    """Whether it says nothing about the table but its name, partitions and columns."""
    table = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    names = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
    if not has_only(tree, UNDERSTOOD) or not isinstance(table, exp.Table):
        return False
    clause = table.args.get("partition")
    parts = [] if clause is None else clause.expressions
    columns = [part.this if isinstance(part, exp.EQ) else part for part in parts]
    return (
        has_only(table, {exp.Table: frozenset({"this", "db", "catalog", "partition"})})
        and all(isinstance(name, exp.Identifier) for name in names)
        and all(isinstance(column, exp.Column) and not column.table for column in columns)
    )


def append(
    reading: StatementContext,
    lands: Region,
    source: Reads,
    *,
    certain: bool,
    identity: bool = False,
    **fields: object,
) -> TableFootprint:
    parts = Parts(NOTHING, source.by_name, source.known, lands)
    fields = {"metadata": evolution(reading, identity=identity), "parts": parts, **fields}
    return reading.footprint(
        Operation.APPEND,
        reads=source.region,
        reads_files=source.region,
        adds=lands,
        removes=NOTHING,
        blind=source.nothing,
        certain=certain,
        adds_surely=certain,
        not_understood=source.widened,
        writes_advice=how_to_promise(reading.facts, reading.around.promised_in)
        if lands.is_everything
        else None,
        **fields,
    )


def overwrite(
    reading: StatementContext, lands: Region, source: Reads, *, certain: bool, identity: bool = False
) -> TableFootprint:
    """Replaces all rows: anything added or removed meanwhile is a conflict."""
    first_words = words(reading.statement.tokens[:5])
    clustered = reading.facts is None or reading.facts.clustering_columns != ()
    return reading.footprint(
        Operation.OVERWRITE,
        adds=lands,
        deletes=EVERYTHING if reading.unread is None or "OVERWRITE" in first_words else None,
        keeps_no_row=True,
        certain=certain,
        adds_surely=certain,
        metadata=evolution(reading, identity=identity),
        domains=frozenset({CLUSTERING} if clustered else ()),
        not_understood=source.widened,
        reads_advice=f"if it replaces only some rows, name them: use {_replacing(reading)}"
        if reading.unread is None
        else "it is too large to be read: take its rows from a file or another table, or split it into several statements",
    )


def overwrite_partitions(
    reading: StatementContext, lands: Region, source: Reads, *, identity: bool = False
) -> TableFootprint:
    """Replaces partitions: Delta records the partitions that it writes as read, but not their files."""
    if reading.facts is None:
        return reading.footprint(
            Operation.OVERWRITE_PARTITIONS,
            deletes=EVERYTHING,
            metadata=evolution(reading),
            domains=frozenset({CLUSTERING}),
            not_understood=source.widened,
        )
    return reading.footprint(
        Operation.OVERWRITE_PARTITIONS,
        reads=united([lands, source.region]),
        reads_files=source.region,
        adds=lands,
        removes=lands,
        deletes=lands,
        parts=Parts(NOTHING, source.by_name, source.known, lands),
        metadata=evolution(reading, identity=identity),
        not_understood=source.widened,
        writes_advice=how_to_promise(reading.facts, reading.around.promised_in)
        if lands.is_everything
        else None,
    )


def replace_where(
    reading: StatementContext,
    condition: str | exp.Expr,
    lands: Region,
    source: Reads,
    *,
    certain: bool,
    identity: bool = False,
) -> TableFootprint:
    reading = reading.whenever_it_runs
    node = condition.this if isinstance(condition, exp.Where) else condition
    predicate = reading.predicate(node, names=reading.own_names)
    adds = where_rows_may_land(reading, node, predicate, lands)
    return _replaced(reading, predicate, adds, lands, source, certain=certain, identity=identity)


def _replaced(
    reading: StatementContext,
    predicate: Predicate,
    adds: Region,
    lands: Region,
    source: Reads,
    *,
    certain: bool,
    identity: bool,
) -> TableFootprint:
    """Replaces the rows that match; the new ones are checked against the condition."""
    whole = from_whole(predicate, simplified=False)
    recorded = reading.recorded(predicate) if reading.around.cautious else reading.scanned(whole)
    reads = united([recorded, source.region])
    outside = any(
        key.startswith("spark.databricks.delta.replaceWhere.") for key in reading.around.settings.conf
    )
    return reading.footprint(
        Operation.OVERWRITE,
        reads=reads,
        reads_files=reads,
        adds=united([adds, lands]) if outside else adds,
        removes=there(predicate),
        deletes=there(predicate) if speaks_of_partitions(predicate) else None,
        certain=certain,
        adds_surely=certain,
        metadata=evolution(reading, identity=identity),
        not_understood=source.widened,
        reads_advice=how_to_be_understood(partitions(predicate)) if recorded.is_everything else None,
        parts=Parts(recorded, source.by_name, source.known),
    )


def speaks_of_partitions(predicate: Predicate) -> bool:
    """Whether the condition uses partition columns alone, so that whole files match it or none of their rows."""
    return all(
        isinstance(leaf, TruthValue) or (isinstance(leaf, Atom) and leaf.column.is_partition)
        for leaf in leaves(predicate)
    )


def _refuse_what_follows(reading: StatementContext) -> None:
    words = [word for _, word in outside_parentheses(reading.statement.tokens[reading.end :])]
    if not words or words[0] not in _AFTER_AN_INSERTS_TABLE:
        follows = repr(words[0]) if words else "nothing"
        raise reading.refused(
            f"the table's name is followed by {follows}, which Sluice does not know there: write VALUES or a query"
        )


# ------------------------------------------------------------------------------------------------ where rows land


def landing(
    reading: StatementContext,
    query: exp.Expr | None,
    columns: list[str] | None,
    static: Mapping[str, exp.Expr],
) -> Region:
    """Returns where new rows land. `columns` are those that the query's output goes to, in order; None means by name."""
    facts = reading.facts
    if facts is None:
        return partitions(
            Anything(
                f"nothing is known of {reading.written}, so rows may land anywhere{reading.around.missing(reading.written)}"
            )
        )
    rows = rows_of(query, reading) if query is not None else None
    if rows is None and reading.around.allowance.cells.left < 0:
        return partitions(Anything(TOO_MANY_CELLS))
    if rows is None:
        rows = (Row(()),)
        columns = []
    fixed = {name.lower(): Constant(node) for name, node in reversed([*static.items()])}
    places = None if columns is None else _places(columns)
    predicate = disjunction(
        conjunction(
            says(_cell(row, column.name, places, fixed, reading), column, reading)
            for column in facts.columns.partition_columns
        )
        for row in rows
    )
    return partitions(predicate)


def _places(columns: list[str]) -> Mapping[str, int]:
    """The position of the first column of each lower-cased name."""
    return {name.lower(): position for position, name in reversed([*enumerate(columns)])}


def _cell(
    row: Row,
    name: str,
    places: Mapping[str, int] | None,
    fixed: Mapping[str, Cell],
    reading: StatementContext,
) -> Cell:
    folded = name.lower()
    if folded in fixed:
        return fixed[folded]
    if places is None:
        return row.named(name, reading)
    return row.at(places[folded]) if folded in places else None


def _columns(
    reading: StatementContext,
    names: list[str],
    static: Mapping[str, exp.Expr],
    *,
    by_name: bool,
    dynamic: bool,
) -> list[str] | None:
    """Returns the columns that the query's output goes to, in order; None means by name. After PARTITION (column)
    they are known only if the partition columns are the table's last."""
    if by_name or reading.facts is None:
        return None
    if names:
        return names
    fixed = {name.lower() for name in static}
    columns = [c for c in reading.facts.columns.columns if c.name.lower() not in fixed]
    in_order = not dynamic or columns == sorted(columns, key=lambda column: column.is_partition)
    return [column.name for column in columns] if in_order else []


def _partition_clause(table: exp.Expr | None) -> tuple[dict[str, exp.Expr], bool]:
    """Returns the columns with a value, and whether others are named without one."""
    clause = table.args.get("partition") if table is not None else None
    static: dict[str, exp.Expr] = {}
    dynamic = False
    for part in clause.expressions if clause is not None else ():
        if isinstance(part, exp.EQ):
            static[part.this.name] = part.expression
        else:
            dynamic = True
    return static, dynamic


def _fixed(reading: StatementContext, static: Mapping[str, exp.Expr]) -> Predicate:
    facts = reading.facts
    if facts is None:
        return Anything(f"nothing is known of {reading.written}")
    columns = [(facts.columns.find(name), node) for name, node in static.items()]
    return conjunction(
        says(Constant(node), column, reading) for column, node in columns if column is not None
    )


def _replaces_by_rows(reading: StatementContext) -> bool:
    """Whether it is REPLACE USING or REPLACE ON, which compare with all rows."""
    words = [token.text.upper() for token in reading.statement.tokens[reading.end : reading.end + 40]]
    return any(words[at : at + 2] in (["REPLACE", "USING"], ["REPLACE", "ON"]) for at in range(len(words)))


# ------------------------------------------------------------------------------------------------ what all writes share


def evolution(reading: StatementContext, *, identity: bool = False) -> Metadata:
    """Returns what a write does to the metadata. With `identity` it generates values of an identity column and raises
    its high-water mark."""
    second = [token.text.upper() for token in reading.statement.tokens[1:2]]
    if second == ["WITH"] or reading.around.settings.evolves:
        return Metadata.MAY_CHANGE
    return Metadata.IDENTITY if identity else Metadata.NONE


def _replacing(reading: StatementContext) -> str:
    return "REPLACE WHERE" if reading.field is None else "replaceWhere"


def how_to_be_understood(condition: Region) -> str | None:
    """Advises what would let more of a condition be understood, which keeps its result."""
    return next((why for why in condition.reasons if any(known in why for known in _CURABLE)), None)


_CURABLE = ("bind its value as a parameter", "mean nothing without spark.sql.session.timeZone")


def refuse_unknown(reading: StatementContext, names: Iterable[str]) -> None:
    facts = reading.facts
    if facts is None or not facts.columns.columns or reading.around.settings.evolves:
        return
    for name in names:
        if facts.columns.find(name) is None:
            listed = ", ".join(column.name for column in facts.columns.columns)
            raise reading.refused(f"there is no column {name}: the table has {listed}")


def _uses_defaults(tree: exp.Expr) -> bool:
    return any(column.name.upper() == "DEFAULT" for column in tree.find_all(exp.Column))


def output_names(query: exp.Expr | None, reading: StatementContext) -> list[str] | None:
    """The names of the query's columns; None if they aren't known."""
    rows = rows_of(query, reading) if query is not None else None
    if not rows or rows[0].others is not None:
        return None
    return [name for name, _ in rows[0].cells]


def adds_identity(reading: StatementContext, row_names: Iterable[str] | None) -> bool:
    """Whether it generates values of identity columns; a table of which nothing is known may have some."""
    facts = reading.facts
    if facts is None:
        return True
    if not facts.identity_columns:
        return False
    return row_names is None or not facts.identity_columns <= {name.lower() for name in row_names}
