"""DELETE, UPDATE and TRUNCATE: what they look at, which files they rewrite, and where an UPDATE moves rows."""

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from sqlglot import exp

from sluice.api.job import Operation
from sluice.footprint.model import EVERYTHING, NOTHING, Parts, TableFootprint
from sluice.footprint.queries.cells import Cell, Constant, says
from sluice.footprint.queries.reads import reads_of
from sluice.footprint.regions import united, without
from sluice.footprint.sql.nodes import UNDERSTOOD, has_only, stranger
from sluice.footprint.sql.selected_tables import users_function
from sluice.footprint.sql.statement_context import StatementContext, partitions, there
from sluice.footprint.statements.insert import (
    evolution,
    how_to_be_understood,
    refuse_unknown,
    speaks_of_partitions,
)
from sluice.footprint.statements.row_level_statements import against_rows
from sluice.predicates import (
    Predicate,
    PredicateError,
    Region,
    conjunction,
    disjunction,
    from_whole,
    overlap,
)
from sluice.predicates.limits import MAX_GENERATED
from sluice.predicates.syntax import condition_in
from sluice.tables import TableFacts


def delete(reading: StatementContext) -> TableFootprint:
    if reading.unread is not None:
        return reading.footprint(Operation.DELETE, not_understood=(reading.unread,))
    tree = reading.tree
    if not isinstance(tree, exp.Delete) or not has_only(tree, UNDERSTOOD):
        raise reading.refused("the DELETE is not understood: write it as DELETE FROM table WHERE condition")
    where = tree.args.get("where")
    if where is None:
        return emptied(reading)
    source = reads_of(where, reading)
    predicate = reading.predicate(where.this, names_of(tree.this, reading))
    read = recorded(reading, predicate)
    reads = united([read, source.region])
    matching = there(predicate)
    whole_files = speaks_of_partitions(predicate)
    return reading.footprint(
        Operation.DELETE,
        reads=reads,
        reads_files=reads,
        adds=NOTHING if whole_files else matching,
        removes=matching,
        deletes=matching if whole_files else None,
        not_by_row=against_rows(reading, [where]),
        not_understood=source.widened,
        reads_advice=how_to_be_understood(matching) if read.is_everything else None,
        parts=Parts(read, source.by_name, source.known),
    )


def emptied(reading: StatementContext) -> TableFootprint:
    """DELETE without WHERE, and TRUNCATE."""
    return reading.footprint(Operation.DELETE, adds=NOTHING, deletes=EVERYTHING)


def update(reading: StatementContext) -> TableFootprint:
    if reading.unread is not None:
        return reading.footprint(Operation.UPDATE, not_understood=(reading.unread,))
    tree = reading.tree
    if not isinstance(tree, exp.Update) or not has_only(tree, UNDERSTOOD):
        raise reading.refused(
            "the UPDATE is not understood: write it as UPDATE table SET column = value WHERE ..."
        )
    where = tree.args.get("where")
    names = names_of(tree.this, reading)
    source = reads_of(tree, reading, written=tree.this)
    if where is None:
        read = matching = EVERYTHING
    else:
        predicate = reading.predicate(where.this, names)
        read = recorded(reading, predicate)
        matching = there(predicate)
    given = assignments(tree.expressions, names, reading)
    values = {name: Constant(node) for name, node in given.items()}
    moves = moved(reading, matching, given, [values])
    reads = united([read, source.region])
    return reading.footprint(
        Operation.UPDATE,
        reads=reads,
        reads_files=reads,
        adds=united([matching, moves]),
        removes=matching,
        metadata=evolution(reading),
        not_by_row=against_rows(reading, [where]),
        not_understood=source.widened,
        reads_advice=how_to_be_understood(matching) if read.is_everything else None,
        parts=Parts(read, source.by_name, source.known, moves),
    )


def assignments(
    nodes: Iterable[exp.Expr], names: Collection[str], reading: StatementContext
) -> Mapping[str, exp.Expr]:
    """Returns the lower-cased columns with their new values, or with a field's value if only a field is set. `names`
    are the table's names."""
    found = {}
    for node in nodes:
        columns = columns_named(node.this, names, reading) if isinstance(node, exp.EQ) else []
        if not columns:
            raise reading.refused(
                f"{node.sql('spark')}: write column = value after SET, with the column's name"
            )
        found.update(dict.fromkeys(columns, node.expression))
    return found


def columns_named(node: exp.Expr, names: Collection[str], reading: StatementContext) -> list[str]:
    """Returns the lower-cased columns that the node may name: one; two if a struct of the table has the table's name;
    none if it's not a plain name."""
    columns = _columns_at(_path(node), names, reading)
    refuse_unknown(reading, columns)
    return [column.lower() for column in columns]


def _columns_at(path: list[str] | None, names: Collection[str], reading: StatementContext) -> list[str]:
    if path is None:
        return []
    folded = [part.lower() for part in path]
    for name in names:
        own = name.lower().split(".")
        if len(path) > len(own) and folded[: len(own)] == own:
            also = reading.facts.columns.find(path[0]) if reading.facts is not None else None
            is_struct = also is not None and also.type.text.lower().startswith("struct")
            return [path[len(own)], *([path[0]] if is_struct else [])]
    return path[:1]


def _path(node: exp.Expr) -> list[str] | None:
    """Returns the parts of a dotted name; None for anything else."""
    if isinstance(node, exp.Dot):
        rest = _path(node.this)
        return [*rest, node.expression.name] if rest and isinstance(node.expression, exp.Identifier) else None
    if not isinstance(node, exp.Column) or not all(isinstance(part, exp.Identifier) for part in node.parts):
        return None
    return [part.name for part in node.parts]


def moved(
    reading: StatementContext, matching: Region, names: Collection[str], rows: Iterable[Mapping[str, Cell]]
) -> Region:
    """Returns where rows go when their partition columns are set. `names` are the lower-cased names of all columns
    that are set, `rows` the alternatives for their values."""
    facts = reading.facts
    if facts is None:
        return EVERYTHING
    follow = [column.name for column in facts.columns.partition_columns if follows(facts, column.name, names)]
    columns = [column for column in facts.columns.partition_columns if column.name.lower() in names]
    if not columns and not follow:
        return NOTHING
    freed = without(matching, [*follow, *(column.name for column in columns)])
    values = disjunction(
        conjunction(says(row.get(column.name.lower()), column, reading) for column in columns) for row in rows
    )
    return overlap(freed, partitions(values))


def follows(facts: TableFacts, column: str, changed: Iterable[str]) -> bool:
    """Whether the column is generated from a column that changes, or by an expression that isn't understood."""
    expressions = {name.lower(): text for name, text in facts.generated_columns.items()}
    text = expressions.get(column.lower())
    if text is None:
        return False
    bases = _columns_named(text)
    return bases is None or any(name.lower() in bases for name in changed)


@lru_cache(maxsize=1_000)
def _columns_named(expression: str) -> frozenset[str] | None:
    """Returns the columns that the expression names, including structs whose fields it names; None if they aren't
    known. The same table's is asked for at each of many statements."""
    if len(expression) > MAX_GENERATED:
        return None
    try:
        tree = condition_in(expression)
    except PredicateError:
        return None
    if isinstance(tree, str) or stranger(tree) is not None or tree.find(exp.Query) is not None:
        return None
    if any(users_function(node, None) is not None for node in tree.walk()):
        return None
    return frozenset(part.name.lower() for column in tree.find_all(exp.Column) for part in column.parts)


def recorded(reading: StatementContext, predicate: Predicate) -> Region:
    if reading.around.cautious:
        return reading.recorded(predicate)
    return reading.scanned(from_whole(predicate, simplified=True))


def names_of(table: exp.Expr, reading: StatementContext) -> tuple[str, ...]:
    alias = table.args.get("alias")
    return (alias.name,) if alias is not None and alias.name else reading.own_names
