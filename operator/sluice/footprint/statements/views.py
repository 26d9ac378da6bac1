"""Permanent views: they touch no table's data, but change what their names mean for the statements after them."""

from collections.abc import Iterable
from dataclasses import replace

from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.sql.keywords import outside_parentheses, words
from sluice.footprint.sql.statement_context import Surroundings, place
from sluice.footprint.sql.statement_splitter import Statement, query_of
from sluice.footprint.sql.table_names import Named, table_at
from sluice.footprint.sql.word_patterns import NAME, PROPERTIES_NAMED, PROPERTIES_SET, STRING, fits

_COLUMN = rf"{NAME}(?: COMMENT {STRING})?"
_BEFORE_THE_QUERY = (
    rf"(?:\( {_COLUMN}(?: , {_COLUMN})* \))?"
    rf"(?: ?(?:COMMENT {STRING}|TBLPROPERTIES {PROPERTIES_SET}|WITH SCHEMA (?:BINDING|COMPENSATION|(?:TYPE )?EVOLUTION)))*"
)
_ALTERED = (
    rf"SET TBLPROPERTIES {PROPERTIES_SET}",
    rf"UNSET TBLPROPERTIES (?:IF EXISTS )?{PROPERTIES_NAMED}",
    r"WITH SCHEMA (?:BINDING|COMPENSATION|(?:TYPE )?EVOLUTION)",
)


def create(statement: Statement, around: Surroundings, beginning: int) -> Surroundings:
    conditional = words(statement.tokens[beginning : beginning + 3]) == ["IF", "NOT", "EXISTS"]
    view = _view(statement, around, beginning + 3 * conditional)
    _read_query(statement, view.end, _BEFORE_THE_QUERY)
    return _anew(around, [view])


def alter(statement: Statement, around: Surroundings, beginning: int) -> Surroundings:
    view = _view(statement, around, beginning)
    if view.key.text in around.views:
        raise NotUnderstoodError(
            f"{place(statement)}: {view.key} is a temporary view: create it again instead"
        )
    rest = statement.tokens[view.end :]
    if words(rest[:2]) == ["RENAME", "TO"] and fits(rest[2:], NAME):
        return _anew(around, [view, _view(statement, around, view.end + 2)])
    if not any(fits(rest, kind) for kind in _ALTERED):
        _read_query(statement, view.end, "")
    return _anew(around, [view])


def drop(statement: Statement, around: Surroundings, beginning: int) -> Surroundings:
    conditional = words(statement.tokens[beginning : beginning + 2]) == ["IF", "EXISTS"]
    view = _view(statement, around, beginning + 2 * conditional)
    if view.end != len(statement.tokens):
        raise NotUnderstoodError(f"{place(statement)}: write one name and nothing else after DROP VIEW")
    if view.key.text in around.views:
        return replace(
            around, views={name: query for name, query in around.views.items() if name != view.key.text}
        )
    return _anew(around, [view])


def _view(statement: Statement, around: Surroundings, position: int) -> Named:
    named = table_at(statement.tokens, position)
    if named is None or not named.key.is_name:
        raise NotUnderstoodError(f"{place(statement)}: the view has no name: write it as catalog.schema.view")
    if around.is_table(named.key):
        raise NotUnderstoodError(
            f"{place(statement)}: {named.key} is not a view but a table, as its policy says"
        )
    return named


def _read_query(statement: Statement, start: int, before: str) -> None:
    """Checks the view's query, of which Spark only determines the columns."""
    rest = statement.tokens[start:]
    query = next((position + 1 for position, word in outside_parentheses(rest) if word == "AS"), None)
    if query is None or not fits(rest[: query - 1], before):
        raise NotUnderstoodError(
            f"{place(statement)}: the view is not understood: write it as VIEW name AS query"
        )
    query_of(statement, rest[query:], f"{place(statement)}: the view's query")


def _anew(around: Surroundings, views: Iterable[Named]) -> Surroundings:
    """Marks the views as changed: what was known of their names may be wrong now."""
    return replace(around, changed=around.changed.with_tables(view.key for view in views))
