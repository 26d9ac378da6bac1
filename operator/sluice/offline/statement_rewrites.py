"""Statements with one more condition: what their text implies about partitions, said so that Delta heeds it.

From the condition of a DELETE, UPDATE or MERGE, Delta takes only those parts, joined by AND, that are about partition columns
alone. Much that a condition implies is therefore lost on it: `(date = a AND id = 1) OR (date = a AND id = 2)` reads the whole
table. What a condition implies may be added to it: it is true of every row that matched before.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sluice.api.parameters import Parameter
from sluice.footprint.queries.cells import Cell, Constant, FromTable, says
from sluice.footprint.queries.rows import Row, rows_of
from sluice.footprint.sql.keywords import word
from sluice.footprint.sql.leading_clauses import unfolded
from sluice.footprint.sql.settings import Settings
from sluice.footprint.sql.statement_context import StatementContext, Surroundings
from sluice.footprint.sql.statement_splitter import Statement, split
from sluice.footprint.sql.table_names import table_at
from sluice.footprint.statements.delete_update import names_of
from sluice.footprint.statements.script import Script
from sluice.offline.jobs import Job
from sluice.offline.parameter_variants import by_names, other_values
from sluice.predicates import (
    Column,
    Kind,
    Predicate,
    Region,
    compiled,
    conjunction,
    disjunction,
    to_sql,
)
from sluice.predicates.syntax import conjuncts
from sluice.tables import Names, TableFacts, TableKey

_LONGEST = 2000
_AFTER_ON = frozenset({"WHEN"})
_OPENS = frozenset({TokenType.L_PAREN, TokenType.CASE})
_CLOSES = frozenset({TokenType.R_PAREN, TokenType.END})
_COMPARED_ALIKE = frozenset({Kind.DATE, Kind.BOOLEAN})
"""Kinds for which a = b and b = c imply a = c, whatever type b is converted from. Large numbers pass through DOUBLE."""
_COMPARED_AMONG_THEMSELVES = frozenset({Kind.INTEGER, Kind.STRING})
"""Kinds for which they imply so if b is of the same kind."""


@dataclass(frozen=True)
class Rewrite:
    sql: str
    """The whole text of the job with one condition more."""
    keeps_result: bool
    because: str


@dataclass(frozen=True)
class _Span:
    """A condition's place in the text of all statements."""

    tokens: Sequence[Token]

    @property
    def start(self) -> int:
        return int(self.tokens[0].start)

    @property
    def end(self) -> int:
        return int(self.tokens[-1].end) + 1

    @property
    def joins_by_or(self) -> bool:
        depth = 0
        for token in self.tokens:
            depth += (token.token_type in _OPENS) - (token.token_type in _CLOSES)
            if depth == 0 and token.token_type is TokenType.OR:
                return True
        return False


@dataclass(frozen=True)
class _Text:
    """The text of a job as its author wrote it."""

    sql: str
    parameters: Mapping[str, Parameter]

    def spellings(self, condition: str) -> Iterator[Callable[[str], str]]:
        """Yields how to spell it: a job that gets its day as a parameter should get the day in the advised line from there, too."""
        if by_names(condition, self.parameters) != condition:
            yield lambda one: by_names(one, self.parameters)
        yield str

    def joined(self, span: _Span, added: str, *, first: bool = False) -> str:
        old = self.sql[span.start : span.end]
        if span.joins_by_or:
            old = f"({old})"
        new = f"{added} AND {old}" if first or span.joins_by_or else f"{old} AND {added}"
        return self.sql[: span.start] + new + self.sql[span.end :]


def rewrites_of(
    job: Job, facts: Mapping[TableKey, TableFacts], sources: Mapping[TableKey, TableFacts], names: Names
) -> Iterator[Rewrite]:
    """Returns the rewrites. `facts`: of the tables that it writes; `sources`: of those that it selects from. Of a job with
    parameters they are those that its text allows under other values, too."""
    found = _rewrites(job, facts, sources, names)
    given = job.spec.parameters
    if given is None:
        yield from found
    elif kept := list(found):
        otherwise = job.spec.model_copy(update={"parameters": other_values(given)})
        also = {one.sql for one in _rewrites(replace(job, spec=otherwise), facts, sources, names)}
        yield from (one for one in kept if one.sql in also)


def _rewrites(
    job: Job, facts: Mapping[TableKey, TableFacts], sources: Mapping[TableKey, TableFacts], names: Names
) -> Iterator[Rewrite]:
    """Reads each statement as the oracle reads it, after those before it."""
    if job.spec.sql is None:
        return
    text = _Text(job.spec.sql, job.spec.parameters or {})
    script = Script(
        Surroundings(
            settings=Settings.of(job.conf),
            names=names,
            facts=facts,
            sources=sources,
        )
    )
    for statement in job.texts["spec.sql"]:
        for part in unfolded(statement):
            yield from _of_part(part, script.around, text)
        script = script.then(statement)


def _of_part(statement: Statement, around: Surroundings, text: _Text) -> Iterator[Rewrite]:
    table = table_at(statement.tokens, _table_position(statement))
    if table is None:
        return
    reading = StatementContext(statement, table.key, around, table.end)
    if reading.unread is None and reading.facts is not None and reading.facts.columns.partition_columns:
        yield from _of_statement(reading, reading.facts, text)


def _table_position(statement: Statement) -> int:
    """The position of the table in DELETE FROM table, UPDATE table, MERGE INTO table."""
    second = word(statement.tokens[1]) if len(statement.tokens) > 1 else ""
    return 2 if second in ("FROM", "INTO") else 1


def _of_statement(reading: StatementContext, facts: TableFacts, text: _Text) -> Iterator[Rewrite]:
    first = word(reading.statement.tokens[0])
    if first in ("DELETE", "UPDATE"):
        yield from _with_implied(
            reading, reading.tree, _span(reading.statement.tokens, "WHERE", frozenset()), text
        )
    elif first == "MERGE" and isinstance(reading.tree, exp.Merge):
        yield from _of_merge(reading, reading.tree, facts, text)


def _with_implied(
    reading: StatementContext, tree: exp.Expr, span: _Span | None, text: _Text
) -> Iterator[Rewrite]:
    where = tree.args.get("where")
    if span is None or where is None:
        return
    predicate = reading.predicate(where.this, names_of(tree.this, reading))
    condition = _worth_saying(compiled(predicate, stored=False).on_partitions(), reading)
    if condition is None:
        return
    for spelled in text.spellings(condition):
        yield Rewrite(
            text.joined(span, spelled(condition), first=True),
            keeps_result=True,
            because="the condition already implies it, but Delta does not see that",
        )


def _of_merge(
    reading: StatementContext, tree: exp.Merge, facts: TableFacts, text: _Text
) -> Iterator[Rewrite]:
    span = _span(reading.statement.tokens, "ON", _AFTER_ON)
    source, on = tree.args["using"], tree.args.get("on")
    names = names_of(tree.this, reading)
    if span is None or on is None or not names:
        return
    own = reading.predicate(on, names, [source.alias_or_name])
    rows = rows_of(source, reading) or ()
    through = _through_source(reading, on, source.alias_or_name, names, rows)
    implied = compiled(conjunction([own, *through]), stored=False).on_partitions()
    condition = _worth_saying(implied, reading, names[0])
    if condition is not None:
        what = "the source holds no other rows" if through else "ON already implies it"
        for spelled in text.spellings(condition):
            yield Rewrite(
                text.joined(span, spelled(condition)),
                keeps_result=True,
                because=f"{what}, but Delta does not see that",
            )
    elif rows and not implied.is_empty:
        yield from _pinned_by_promise(reading, facts, names[0], rows, span=span, text=text)


def _through_source(
    reading: StatementContext, on: exp.Expr, source: str, names: Sequence[str], rows: Sequence[Row]
) -> list[Predicate]:
    """Returns what `t.date = s.date` says of t.date where the source's query bounds s.date."""
    found = []
    for condition in conjuncts(on):
        if not isinstance(condition, exp.EQ) or not rows:
            continue
        for mine, theirs in (
            (condition.this, condition.expression),
            (condition.expression, condition.this),
        ):
            column = _partition_column(mine, reading, names)
            if column is None or not _is_of(theirs, source):
                continue
            cells = [row.named(theirs.name, reading) for row in rows]
            if all(_is_compared_alike(cell, column) for cell in cells):
                found.append(disjunction(says(cell, column, reading) for cell in cells))
    return found


def _is_compared_alike(cell: Cell, column: Column) -> bool:
    if column.type.kind in _COMPARED_ALIKE:
        return True
    if column.type.kind not in _COMPARED_AMONG_THEMSELVES:
        return False
    if isinstance(cell, FromTable):
        return cell.type is not None and cell.type.kind is column.type.kind
    return isinstance(cell, Constant)  # of which `says` tells nothing if it is of another kind


def _partition_column(node: exp.Expr, reading: StatementContext, names: Sequence[str]) -> Column | None:
    if not isinstance(node, exp.Column) or node.table.lower() not in (name.lower() for name in names):
        return None
    column = reading.facts.columns.find(node.name) if reading.facts is not None else None
    return column if column is not None and column.is_partition else None


def _is_of(node: exp.Expr, source: str) -> bool:
    return isinstance(node, exp.Column) and node.table.lower() == source.lower()


def _pinned_by_promise(
    reading: StatementContext, facts: TableFacts, name: str, rows: Sequence[Row], *, span: _Span, text: _Text
) -> Iterator[Rewrite]:
    """The usual case: the source is one day's rows, and rows never change their day. Only its author can know the latter."""
    bounded = []
    for column in facts.columns.partition_columns:
        cells = [row.named(column.name, reading) for row in rows]
        if all(cell is not None for cell in cells):
            bounded.append(disjunction(says(_promised(cell, column), column, reading) for cell in cells))
    region = compiled(conjunction(bounded), stored=False).on_partitions()
    condition, plain = _worth_saying(region, reading, name), _worth_saying(region, reading)
    if condition is None:
        return
    for spelled in text.spellings(condition):
        yield Rewrite(
            text.joined(span, spelled(condition)),
            keeps_result=False,
            because=f"every row of the table that the rest of ON matches has {spelled(plain or condition)}",
        )


def _promised(cell: Cell, column: Column) -> Cell:
    """Words the promise. A source's text may be stored as another text (CHAR pads it), and a source of which nothing is known may
    have another type; that it is not so is part of the promise."""
    if isinstance(cell, FromTable) and (cell.type is None or column.type.kind is Kind.STRING):
        return replace(cell, type=column.type)
    return cell


def _worth_saying(region: Region, reading: StatementContext, name: str | None = None) -> str | None:
    if region.is_everything or region.is_empty:
        return None
    text = to_sql(region)
    if len(text) > _LONGEST or not _says(text, region, reading):
        return None
    if name is not None:
        text = _qualified(
            text, name, {name.lower() for column in region.columns.values() for name in column.names}
        )
    return f"({text})" if " OR " in text else text


def _says(text: str, region: Region, reading: StatementContext) -> bool:
    """Whether the text, read again, is exactly the region: else it would be another condition."""
    return compiled(reading.predicate(text), stored=False).on_partitions().boxes == region.boxes


def _qualified(condition: str, name: str, columns: set[str]) -> str:
    """Qualifies each column with the table's name."""
    tokens = split(condition, "a condition")[0].tokens
    places = [
        token.start
        for number, token in enumerate(tokens)
        if token.token_type is not TokenType.STRING
        and token.text.lower() in columns
        and (number + 1 == len(tokens) or tokens[number + 1].token_type is not TokenType.STRING)
    ]
    for place in reversed(places):
        condition = f"{condition[:place]}{name}.{condition[place:]}"
    return condition


def _span(tokens: Sequence[Token], begins: str, ends: frozenset[str]) -> _Span | None:
    """The span outside of parentheses and CASE between the first word `begins` and one of `ends`."""
    depth, start = 0, None
    for position, token in enumerate(tokens):
        depth += (token.token_type in _OPENS) - (token.token_type in _CLOSES)
        if depth != 0:
            continue
        if start is None and word(token) == begins:
            start = position + 1
        elif start is not None and word(token) in ends:
            return _Span(tokens[start:position]) if position > start else None
    return _Span(tokens[start:]) if start is not None and start < len(tokens) and not ends else None
