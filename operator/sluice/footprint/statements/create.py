"""CREATE, REPLACE, CLONE and CONVERT: the first commit of a table, or one that replaces it."""

from dataclasses import replace
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sluice.api.job import Operation
from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.model import EVERYTHING, NOTHING, Metadata, ProtocolChange, TableFootprint
from sluice.footprint.queries.rows import surely_some
from sluice.footprint.sources import ANY_SOURCES, NO_SOURCES, Sources
from sluice.footprint.sql.keywords import QUOTED, closed, outside_parentheses, properties, words
from sluice.footprint.sql.statement_context import StatementContext
from sluice.footprint.sql.statement_splitter import query_of
from sluice.footprint.sql.table_names import folder_at, in_sparks_catalog, key_of_parts, table_at
from sluice.footprint.sql.word_patterns import (
    DEFAULT,
    GROUP,
    NAME,
    NAMES,
    PROPERTIES_SET,
    STRING,
    TYPE,
    WORD,
    fits,
)
from sluice.footprint.statements.insert import CLUSTERING
from sluice.footprint.statements.maintenance import hours_set_by
from sluice.tables import TableKey

AFTER_CONVERT = (
    rf"(?:(?:NO|COLLECT) STATISTICS)?(?: ?PARTITIONED BY \( {NAME} {TYPE}(?: , {NAME} {TYPE})* \))?"
)
_OF_PLAIN_LITERALS = frozenset(
    {"SELECT", "AS", "UNION", "ALL", "DATE", "TRUE", "FALSE", "(", ")", ",", QUOTED}
    | {"::", "L", "S", "Y", "D", "F"}
)
"""Words of plain literals; 1L is read as 1 :: L."""
_CONVERTIBLE = frozenset({"parquet", "iceberg"})
_BEGINS_A_QUERY = frozenset({"AS", "SELECT", "WITH", "FROM", "VALUES"})
_PARTITION = rf"{NAME}(?: {TYPE}(?: COMMENT {STRING})?)?"
_CLAUSES = {
    "USING": rf"USING {NAME}",
    "PARTITIONED": rf"PARTITIONED BY \( {_PARTITION}(?: , {_PARTITION})* \)",
    "CLUSTER": rf"CLUSTER BY \( {NAMES} \)",
    "COMMENT": rf"COMMENT {STRING}",
    "LOCATION": rf"LOCATION {STRING}",
    "TBLPROPERTIES": rf"TBLPROPERTIES {PROPERTIES_SET}",
    "OPTIONS": rf"OPTIONS {GROUP}",
}
_AFTER_THE_NAME = rf"(?:(?:{'|'.join(_CLAUSES.values())})(?: |$))*"
_GENERATED = rf"GENERATED (?:ALWAYS|BY DEFAULT) AS (?:IDENTITY(?: {GROUP})?|{GROUP})"
_COLUMN = rf"{NAME} :? ?{TYPE}(?: (?:NOT NULL|COMMENT {STRING}|{DEFAULT}|{_GENERATED}|CHECK {GROUP}))*"
_CHECKED = rf"(?:CONSTRAINT {WORD} )?CHECK {GROUP}"
_COLUMNS = rf"(?:{_COLUMN}|{_CHECKED})(?: , (?:{_COLUMN}|{_CHECKED}))*"
_NEW = rf"(?:{GROUP}(?: |$))?{_AFTER_THE_NAME}"
_LIKE = rf"LIKE {NAME}(?: |$){_AFTER_THE_NAME}"
_CLONED = (
    rf"(?:(?:SHALLOW|DEEP) )?CLONE {NAME}(?: (?:VERSION|TIMESTAMP) AS OF (?:0|{STRING}))?"
    rf"(?: TBLPROPERTIES {PROPERTIES_SET})?(?: LOCATION {STRING})?"
)


def create(reading: StatementContext) -> TableFootprint:
    """CREATE TABLE: an existing table stays as it is."""
    _refuse_unknown_clauses(reading)
    reading = _located(reading)
    if _clones(reading):
        return clone(reading)
    if _is_there(reading):
        return reading.footprint(
            Operation.CREATE, reads=NOTHING, reads_files=NOTHING, adds=NOTHING, removes=NOTHING
        )
    return reading.footprint(
        Operation.CREATE,
        removes=NOTHING,
        reads=NOTHING,
        reads_files=NOTHING,
        metadata=Metadata.MAY_CHANGE,
        protocol=ProtocolChange.MAY_ADD,
        creates=True,
        sources=_selected(reading),
    )


def replace_table(reading: StatementContext) -> TableFootprint:
    """REPLACE TABLE: changes the protocol even of an existing table if the properties or the types of columns need a
    feature."""
    _refuse_unknown_clauses(reading)
    reading = _located(reading)
    if _clones(reading):
        return clone(reading)
    there = reading.facts is not None and reading.facts.exists
    return reading.footprint(
        Operation.REPLACE,
        deletes=EVERYTHING,
        metadata=Metadata.CHANGES,
        protocol=ProtocolChange.NONE if there and _needs_no_feature(reading) else ProtocolChange.MAY_ADD,
        domains=frozenset({CLUSTERING}),
        replaces=True,
        leaves_retention_hours=_retention(reading),
        certain=_certain(reading),
        sources=_selected(reading),
    )


def clone(reading: StatementContext) -> TableFootprint:
    """CLONE: tries to commit only once."""
    return reading.footprint(
        Operation.CLONE,
        metadata=Metadata.MAY_CHANGE,
        protocol=ProtocolChange.MAY_ADD,
        replaces=True,
        leaves_retention_hours=_retention(reading),
        creates=reading.statement.tokens[1].text.upper() == "TABLE",
        single_attempt=True,
        sources=_cloned(reading),
    )


def convert(reading: StatementContext) -> TableFootprint:
    """CONVERT: writes the first commit over existing files."""
    reading = replace(reading, written=_converted(reading))
    return reading.footprint(
        Operation.CREATE,
        metadata=Metadata.MAY_CHANGE,
        protocol=ProtocolChange.MAY_ADD,
        creates=True,
        single_attempt=True,
    )


def _retention(reading: StatementContext) -> float:
    rest = reading.statement.tokens[reading.end :]
    clauses = rest[: len(rest) - len(_query_tokens(reading))]
    place = next((at for at, word in outside_parentheses(clauses) if word == "TBLPROPERTIES"), None)
    return hours_set_by({} if place is None else properties(clauses[place + 1 :]))


def _is_there(reading: StatementContext) -> bool:
    """Whether IF NOT EXISTS finds the table. With LOCATION the name may be new even if the table there is not."""
    conditional = words(reading.statement.tokens[2:5]) == ["IF", "NOT", "EXISTS"]
    located = any(word == "LOCATION" for _, word in outside_parentheses(reading.statement.tokens))
    return conditional and not located and reading.facts is not None and reading.facts.exists


def _clones(reading: StatementContext) -> bool:
    found = [word for _, word in outside_parentheses(reading.statement.tokens[reading.end :])]
    return any(word in ("SHALLOW", "DEEP", "CLONE") for word in found[:3])


def _refuse_unknown_clauses(reading: StatementContext) -> None:
    rest = reading.statement.tokens[reading.end :]
    query = _query_tokens(reading)
    before = rest[: len(rest) - len(query)]
    if words(before[-1:]) == ["AS"]:
        before = before[:-1]
    patterns = (_CLONED,) if _clones(reading) else (_AFTER_THE_NAME,) if query else (_NEW, _LIKE)
    if not any(fits(rest if _clones(reading) else before, pattern) for pattern in patterns):
        raise reading.refused(
            "Spark does not understand what follows the table's name: write columns or a query, not both, and between "
            "them USING, PARTITIONED BY (columns), CLUSTER BY (columns), COMMENT, LOCATION and TBLPROPERTIES ('key' = 'value')"
        )
    _refuse_two_clauses(reading, [text for _, text in outside_parentheses(before)])
    if words(rest[:1]) == ["("] and not fits(rest[1 : closed(rest, 0) - 1], _COLUMNS):
        raise reading.refused(
            "the list of columns is not understood: write a name, a type and its options for each"
        )


def _refuse_two_clauses(reading: StatementContext, found: list[str]) -> None:
    firsts = [text.split()[0] for text in found]
    names = [
        text
        for before, text in zip(["", *firsts], firsts, strict=False)
        if text in _CLAUSES and before != "."
    ]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise reading.refused(f"{twice} appears twice: Spark takes each clause once, remove one")
    if {"PARTITIONED", "CLUSTER"} <= set(names):
        raise reading.refused(
            "a table is partitioned or clustered, not both: remove PARTITIONED BY or CLUSTER BY"
        )


def _query_tokens(reading: StatementContext) -> tuple[Token, ...]:
    rest = reading.statement.tokens[reading.end :]
    for position, word in outside_parentheses(rest):
        if word in _BEGINS_A_QUERY:
            return rest[position + (word == "AS") :]
    return ()


def _query(reading: StatementContext) -> exp.Expr | None:
    return query_of(reading.statement, _query_tokens(reading), reading.place)


def _selected(reading: StatementContext) -> Sources:
    if not _query_tokens(reading):
        return NO_SOURCES
    return reading.around.selected_by(_query(reading))


def _cloned(reading: StatementContext) -> Sources:
    tokens = reading.statement.tokens
    for position, word in outside_parentheses(tokens):
        if word == "CLONE" and position >= reading.end:
            named = table_at(tokens, position + 1, is_source=True)
            return ANY_SOURCES if named is None else Sources((named.key,))
    return ANY_SOURCES


def _certain(reading: StatementContext) -> bool:
    """Whether it surely commits: without a query a table at a path stays as it is, and REPLACE TABLE without CREATE
    fails where there is none."""
    creates = reading.statement.tokens[0].text.upper() == "CREATE"
    return (
        creates
        and bool(_query_tokens(reading))
        and surely_some(_query(reading), reading.around.settings.spark)
    )


def _needs_no_feature(reading: StatementContext) -> bool:
    """Whether the query needs no feature: known only for plain literals, because other types are not known."""
    found = words(reading.statement.tokens[reading.end :])
    if found[:3] != ["USING", "DELTA", "AS"]:
        return False
    return all(
        before == "AS" or one in _OF_PLAIN_LITERALS or one[0].isdigit() for before, one in pairwise(found[2:])
    )


def _located(reading: StatementContext) -> StatementContext:
    return replace(reading, written=_location(reading) or reading.written)


def _location(reading: StatementContext) -> TableKey | None:
    """The location where the table is created, if the statement names it; the table's name will be bound to it."""
    depth = 0
    rest = reading.statement.tokens[reading.end :]
    for position, token in enumerate(rest):
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
        word = token.text.upper()
        if depth == 0 and word in ("AS", "SELECT"):
            return None
        if depth == 0 and word == "LOCATION":
            located = _folder(reading, position + 1)
            if located is not None:
                return located
        if depth == 0 and word == "OPTIONS":
            raise reading.refused(
                f"OPTIONS (line {token.line}) may set the table's location: use LOCATION and TBLPROPERTIES instead"
            )
    return None


def _folder(reading: StatementContext, position: int) -> TableKey | None:
    try:
        found = folder_at(reading.statement.tokens[reading.end :], position)
    except NotUnderstoodError as error:
        raise reading.refused(str(error)) from None
    return found.key if found is not None else None


def _converted(reading: StatementContext) -> TableKey:
    """The key of the table that CONVERT TO DELTA parquet.`/folder` makes from the folder."""
    tokens = reading.statement.tokens[3 : reading.end]
    parts = in_sparks_catalog([token.text for token in tokens if token.token_type is not TokenType.DOT])
    if len(parts) == 2 and parts[0].lower() in _CONVERTIBLE:
        return key_of_parts(["delta", parts[1]], is_source=False)
    return reading.written
