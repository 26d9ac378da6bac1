"""Statements that touch no table but change what the next ones mean: SET, USE, temporary views and functions."""

from dataclasses import replace

from sqlglot import exp

from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.sql.functions import BUILTIN_FUNCTIONS
from sluice.footprint.sql.reading import Surroundings, place
from sluice.footprint.sql.settings import Settings
from sluice.footprint.sql.statement import Statement, query_in
from sluice.footprint.sql.words import QUOTED, words

_NAMES = "names of views"


def use(_statement: Statement, around: Surroundings, _beginning: int) -> Surroundings:
    return replace(around, moved=True)


def set_(statement: Statement, around: Surroundings, _beginning: int) -> Surroundings:
    tokens = statement.tokens
    found = words(tokens)
    if found[1:3] == ["TIME", "ZONE"]:
        zone = tokens[3].text if len(tokens) == 4 and found[3] == QUOTED else None
        return replace(around, settings=around.settings.changed("spark.sql.session.timeZone", zone))
    key, equals, value = statement.text[tokens[0].end + 1 - tokens[0].start :].partition("=")
    key = key.strip().strip("`")
    if not equals or not key.lower().startswith("spark."):
        raise NotUnderstoodError(
            f"{place(statement)}: of SET only SET spark.name = value and SET TIME ZONE 'zone' are understood"
        )
    value = value.strip()
    if Settings.of({key: value}).changes_commit_rules is not None:
        raise NotUnderstoodError(
            f"{place(statement)}: {key} changes what commits survive: set it under runtime.sparkConf"
        )
    try:
        return replace(around, settings=around.settings.changed(key, value.strip("`")))
    except NotUnderstoodError as error:
        raise NotUnderstoodError(f"{place(statement)}: {error}") from None


def function(statement: Statement, around: Surroundings, position: int) -> Surroundings:
    """Java classes; what they do is unknown, so conditions that call them are widened by their name."""
    tokens = statement.tokens
    name = tokens[position].text.lower()
    rest = words(tokens[position + 1 :])
    if not rest or rest[0] != "AS" or name in BUILTIN_FUNCTIONS or name.upper() in exp.FUNCTION_BY_NAME:
        raise NotUnderstoodError(
            f"{place(statement)}: only functions by their class are understood (CREATE TEMPORARY FUNCTION name AS 'class'), "
            "under a name that Spark has none of its own for"
        )
    return around


def temporary_view(statement: Statement, around: Surroundings, position: int) -> Surroundings:
    tokens = statement.tokens
    name = tokens[position].text.lower()
    if position + 2 >= len(tokens) or words(tokens)[position + 1] != "AS":
        raise NotUnderstoodError(
            f"{place(statement)}: only CREATE TEMPORARY VIEW name AS query is understood; name columns in the query"
        )
    query = query_in(tokens[position + 2 :], statement.text, f"{place(statement)}: the view's query")
    if query is None:
        raise NotUnderstoodError(f"{place(statement)}: the view's query is too large to be read")
    if _reaches(query, name, around):
        raise NotUnderstoodError(f"{place(statement)}: the view {name} would select from itself")
    return replace(around, views={**around.views, name: query})


def _reaches(query: exp.Expr, name: str, around: Surroundings) -> bool:
    """Whether the query selects from a view of this name; those that are there already don't go round in circles."""
    seen: set[str] = set()
    pending: list[exp.Expr | None] = [query]
    while pending:
        view = pending.pop()
        named = _names_in(view) - seen if view is not None else set()
        if name in named:
            return True
        seen |= named
        pending.extend(around.views.get(other) for other in named)
    return False


def _names_in(query: exp.Expr) -> frozenset[str]:
    """Views that the query may select from; found once and kept with it."""
    if _NAMES not in query.meta:
        tables = query.find_all(exp.Table)
        query.meta[_NAMES] = frozenset(table.name.lower() for table in tables if len(table.parts) == 1)
    found: frozenset[str] = query.meta[_NAMES]
    return found
