"""EXPLAIN: shows what Spark would do, and does none of it."""

from collections.abc import Callable
from dataclasses import replace

from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.sources import Sources
from sluice.footprint.sql.keywords import word
from sluice.footprint.sql.statement_context import Surroundings, place
from sluice.footprint.sql.statement_splitter import Statement
from sluice.footprint.statements.effect import Effect, Reader

_HOW = frozenset({"EXTENDED", "CODEGEN", "COST", "FORMATTED"})
_EXPLAINED = frozenset(
    {"SELECT", "VALUES", "FROM", "TABLE", "(", "WITH", "INSERT", "MERGE", "UPDATE", "DELETE"}
)


def explains(read: Callable[[Statement, Surroundings], Sources]) -> Reader:
    """Makes a reader for EXPLAIN. `read` returns what a statement by itself would select from; it raises
    NotUnderstoodError where Spark or Sluice refuses it."""

    def reader(statement: Statement, around: Surroundings, beginning: int) -> Effect:
        rest = statement.tokens[beginning:]
        if rest and word(rest[0]) in _HOW:
            rest = rest[1:]
        if not rest or word(rest[0]) not in _EXPLAINED:
            raise NotUnderstoodError(
                f"{place(statement)}: only EXPLAIN of a query, INSERT, MERGE, UPDATE or DELETE is understood: remove it"
            )
        return Effect(around, selected=read(replace(statement, tokens=rest), around))

    return reader
