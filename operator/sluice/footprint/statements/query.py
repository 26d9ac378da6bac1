"""SELECT, SHOW, DESCRIBE, REFRESH and CREATE SCHEMA: they write no table."""

from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.sql.keywords import words
from sluice.footprint.sql.statement_context import Surroundings, place
from sluice.footprint.sql.statement_splitter import Statement, query_of
from sluice.footprint.sql.word_patterns import NAME, PROPERTIES_SET, STRING, fits
from sluice.footprint.statements.effect import Effect, Reader

_IN = rf"(?: (?:IN|FROM) {NAME})"
_LIKE = rf"(?:(?: LIKE)? {STRING})"
_PARTITION = r"(?: PARTITION \( [^()]* \))"
_SHOW = (
    rf"(?:DATABASES|SCHEMAS|NAMESPACES|TABLES|VIEWS|CATALOGS){_IN}?{_LIKE}?",
    rf"TABLE EXTENDED{_IN}? LIKE {STRING}{_PARTITION}?",
    rf"TBLPROPERTIES {NAME}(?: \( (?:{STRING}|{NAME}) \))?",
    rf"COLUMNS{_IN}{_IN}?",
    rf"PARTITIONS {NAME}{_PARTITION}?",
    rf"(?:(?:USER|SYSTEM|ALL) )?FUNCTIONS{_IN}?(?:(?: LIKE)? (?:{STRING}|{NAME}))?",
    rf"CREATE TABLE {NAME}(?: AS SERDE)?",
    "CURRENT (?:NAMESPACE|SCHEMA|DATABASE)",
)
_DESCRIBE = (
    rf"(?:TABLE )?(?:(?:EXTENDED|FORMATTED) )?{NAME}{_PARTITION}?(?: {NAME})?(?: AS JSON)?",
    rf"(?:DETAIL|HISTORY) (?:{NAME}|{STRING})(?: LIMIT 0)?",
    rf"FUNCTION (?:EXTENDED )?(?:{NAME}|{STRING})",
    rf"(?:DATABASE|SCHEMA|NAMESPACE) (?:EXTENDED )?{NAME}",
)


REFRESHED = rf"(?:TABLE )?{NAME}|FUNCTION {NAME}|{STRING}"
NEW_SCHEMA = rf"{NAME}(?: (?:COMMENT {STRING}|LOCATION {STRING}|WITH (?:DB)?PROPERTIES {PROPERTIES_SET}))*"
UNCACHED = rf"(?:IF EXISTS )?{NAME}"
_BEGINS_A_QUERY = frozenset({"SELECT", "FROM", "VALUES", "WITH", "("})


def selects(statement: Statement, around: Surroundings, _beginning: int) -> Effect:
    tree = query_of(statement, (*statement.common, *statement.tokens), place(statement))
    return Effect(around, selected=around.selected_by(tree).under(around.one_key))


def shows(statement: Statement, around: Surroundings, _beginning: int) -> Effect:
    rest = statement.tokens[1:]
    describes = statement.tokens[0].text.upper() != "SHOW"
    if describes and _describes_a_query(words(rest[:2])):
        query_of(statement, rest[words(rest[:1]) == ["QUERY"] :], place(statement))
        return Effect(around)
    kinds = _DESCRIBE if describes else _SHOW
    if not any(fits(rest, kind) for kind in kinds):
        raise NotUnderstoodError(f"{place(statement)}: Spark has no {statement.text[:80]!r}: remove it")
    return Effect(around)


def _describes_a_query(first: list[str]) -> bool:
    if first[:1] == ["QUERY"]:
        return first[1:] == ["TABLE"] or bool(_BEGINS_A_QUERY.intersection(first[1:]))
    return bool(_BEGINS_A_QUERY.intersection(first[:1]))


def passes(follows: str) -> Reader:
    """Makes a reader for statements that touch no table: they make a schema, or drop what Spark caches. `follows` is all that
    may come after the first words."""

    def reader(statement: Statement, around: Surroundings, beginning: int) -> Effect:
        if not fits(statement.tokens[beginning:], follows):
            raise NotUnderstoodError(f"{place(statement)}: Spark has no {statement.text[:80]!r}: remove it")
        return Effect(around)

    return reader
