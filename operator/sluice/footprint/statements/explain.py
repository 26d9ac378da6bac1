"""EXPLAIN: shows what Spark would do, and does nothing of it."""

from collections.abc import Callable
from dataclasses import replace

from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.sources import Sources
from sluice.footprint.sql.reading import Surroundings, place
from sluice.footprint.sql.statement import Statement
from sluice.footprint.sql.words import word
from sluice.footprint.statements.effect import Effect, Reader

_HOW = frozenset({"EXTENDED", "CODEGEN", "COST", "FORMATTED"})
_EXPLAINED = frozenset(
    {"SELECT", "VALUES", "FROM", "TABLE", "(", "WITH", "INSERT", "MERGE", "UPDATE", "DELETE"}
)


def explains(read: Callable[[Statement, Surroundings], Sources]) -> Reader:
    """`read`: of a statement by itself, what it would select from; raises what Spark or Sluice has against it."""

    def reader(statement: Statement, around: Surroundings, beginning: int) -> Effect:
        rest = statement.tokens[beginning:]
        if rest and word(rest[0]) in _HOW:
            rest = rest[1:]
        if not rest or word(rest[0]) not in _EXPLAINED:
            raise NotUnderstoodError(
                f"{place(statement)}: only EXPLAIN of a query, INSERT, MERGE, UPDATE or DELETE is understood: leave it out"
            )
        return Effect(around, selected=read(replace(statement, tokens=rest), around))

    return reader
