"""Temporary views, cached (CACHE TABLE name AS query) or not: what their names mean from then on."""

from collections.abc import Iterator, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.sources import Sources
from sluice.footprint.sql.keywords import closed, outside_parentheses, words
from sluice.footprint.sql.statement_context import Surroundings, place
from sluice.footprint.sql.statement_splitter import Statement, query_of
from sluice.footprint.sql.table_names import table_at
from sluice.footprint.sql.tree_summary import TreeSummary
from sluice.footprint.sql.word_patterns import NAME, PROPERTIES_SET, STRING, WORD, fits
from sluice.footprint.statements.effect import Effect
from sluice.predicates.limits import MAX_VIEWS
from sluice.predicates.syntax import tokens_of

_NAMES = "names of views"
_COLUMN = rf"{WORD}(?: COMMENT {STRING})?"
_COLUMNS = rf"\( {_COLUMN}(?: , {_COLUMN})* \)"
_OPTIONS = rf"OPTIONS {PROPERTIES_SET}"
_BEGINS_A_QUERY = frozenset({"SELECT", "VALUES", "FROM", "TABLE", "WITH", "("})


def temporary_view(statement: Statement, around: Surroundings, position: int) -> Surroundings:
    rest = statement.tokens[position:]
    begins = next((at + 1 for at, text in outside_parentheses(rest) if text == "AS"), 0)
    if not begins or not fits(rest[: begins - 1], rf"{WORD}(?: {_COLUMNS})?(?: COMMENT {STRING})?"):
        raise NotUnderstoodError(
            f"{place(statement)}: only CREATE TEMPORARY VIEW name AS query and CREATE TEMPORARY VIEW name (column, ...) AS "
            "query are understood"
        )
    query = rest[begins:]
    if words(rest[1:2]) == ["("]:
        query = _with_columns(query, rest[0], rest[1 : closed(rest, 1)])
    return _with_view(statement, around, rest[0], query)


def cache(statement: Statement, around: Surroundings, position: int) -> Effect:
    """CACHE TABLE: rows are read now or later, and kept. A later read takes no more of the table than the query says,
    and Delta doesn't count it as a read."""
    rest = statement.tokens[position:]
    if fits(rest, rf"{NAME}(?: {_OPTIONS})?"):
        return Effect(around, selected=_by_name(statement, around, position).under(around.one_key))
    begins = next(
        (at for at, text in outside_parentheses(rest) if at and text in {*_BEGINS_A_QUERY, "AS", "OPTIONS"}),
        0,
    )
    if words(rest[begins : begins + 2]) == ["OPTIONS", "("]:
        begins = closed(rest, begins + 1)
    before, query = rest[:begins], rest[begins:]
    if words(query[:1]) == ["AS"]:
        query = query[1:]
    if not query or not fits(before, rf"{WORD}(?: {_OPTIONS})?"):
        raise NotUnderstoodError(
            f"{place(statement)}: only CACHE TABLE name and CACHE TABLE name AS query are understood"
        )
    then = _with_view(statement, around, rest[0], query)
    read = around.selected_by(then.views[rest[0].text.lower()])
    return Effect(then, selected=read.under(around.one_key))


def _by_name(statement: Statement, around: Surroundings, position: int) -> Sources:
    try:
        named = table_at(statement.tokens, position)
    except NotUnderstoodError as error:
        raise NotUnderstoodError(f"{place(statement)}: {error}") from None
    if named is None:
        raise NotUnderstoodError(f"{place(statement)}: CACHE TABLE must be followed by a name")
    if named.key.is_name and named.key.text in around.views:
        return around.selected_by(around.views[named.key.text])
    return Sources((named.key,))


def _with_columns(query: Sequence[Token], name: Token, columns: Sequence[Token]) -> tuple[Token, ...]:
    """Rewrites the query as `SELECT * FROM (query) AS name (columns)`."""
    opening, closing = tokens_of("SELECT * FROM ("), tokens_of(") AS")
    return (*opening, *query, *closing, name, *_without_comments(columns))


def _without_comments(columns: Sequence[Token]) -> Iterator[Token]:
    skipped = 0
    for position, token in enumerate(columns):
        after = columns[position + 1 : position + 2]
        if token.text.upper() == "COMMENT" and after and after[0].token_type is TokenType.STRING:
            skipped = 2
        if not skipped:
            yield token
        skipped = max(0, skipped - 1)


def _with_view(
    statement: Statement, around: Surroundings, named: Token, tokens: Sequence[Token]
) -> Surroundings:
    name = named.text.lower()
    if name not in around.views and len(around.views) >= MAX_VIEWS:
        raise NotUnderstoodError(
            f"{place(statement)}: a script may create at most {MAX_VIEWS} temporary views: split it into several jobs"
        )
    query = query_of(statement, tokens, f"{place(statement)}: the view's query")
    if query is None:
        raise NotUnderstoodError(f"{place(statement)}: the view's query is too large to be read")
    upon = _views_upon(name, statement, around)
    if _names_in(query) & {name, *upon}:
        raise NotUnderstoodError(f"{place(statement)}: the view {name} would select from itself")
    looked = statement.once(("survey", id(query)), lambda: TreeSummary(query))
    return around.with_view(name, looked, upon)


def _views_upon(name: str, statement: Statement, around: Surroundings) -> set[str]:
    """The views that select from one of this name, perhaps through others."""
    queries = {view: query for view, query in around.views.items() if query is not None}
    found, pending = {name}, [name]
    while pending:
        if not around.allowance.views_upon.take(1):
            raise NotUnderstoodError(
                f"{place(statement)}: views from which others select are made anew too often: give each view a name of its own, "
                "or split the job"
            )
        used = pending.pop()
        upon = [view for view, query in queries.items() if view not in found and used in _names_in(query)]
        found.update(upon)
        pending += upon
    return found - {name}


def _names_in(query: exp.Expr) -> frozenset[str]:
    """Names of views that the query may select from; found once and cached with the query."""
    if _NAMES not in query.meta:
        tables = query.find_all(exp.Table)
        query.meta[_NAMES] = frozenset(table.name.lower() for table in tables if len(table.parts) == 1)
    found: frozenset[str] = query.meta[_NAMES]
    return found
