"""Finds the reader of each statement by its first words, and applies the statements of a script one after another."""

from dataclasses import dataclass, field, replace

from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.model import TableFootprint
from sluice.footprint.sources import NO_SOURCES, Sources, together
from sluice.footprint.sql.keywords import starts_with, word
from sluice.footprint.sql.leading_clauses import unfolded
from sluice.footprint.sql.statement_context import Surroundings, place
from sluice.footprint.sql.statement_splitter import Statement
from sluice.footprint.statements import (
    alter,
    create,
    delete_update,
    explain,
    insert,
    maintenance,
    merge,
    query,
    session_statements,
    session_variables,
    temporary_views,
    views,
)
from sluice.footprint.statements.effect import Effect, Reader, on_session, on_table, refused
from sluice.footprint.statements.refused_statements import refuse_what_never_runs
from sluice.footprint.statements.unknown_statements import unknown
from sluice.predicates.limits import MAX_TABLES, MAX_TOKENS

_PROCEDURE = refused(
    "this calls a procedure, and Sluice cannot tell what it touches: declare it in spec.footprint"
)

_NOT_ANALYZED = refused(
    "Spark refuses ANALYZE TABLE for a Delta table, and ANALYZE TABLES skips them: remove it, Delta keeps its own statistics"
)


def _selected_by(statement: Statement, around: Surroundings) -> Sources:
    """What the statement would read, perhaps including its own table."""
    script = Script(around).then(statement)
    return together([script.selected, *(footprint.sources for footprint in script.tables)])


_WRITTEN: tuple[tuple[str, Reader], ...] = (
    ("INSERT WITH SCHEMA EVOLUTION INTO TABLE", on_table(insert.insert)),
    ("INSERT WITH SCHEMA EVOLUTION INTO", on_table(insert.insert)),
    ("INSERT WITH SCHEMA EVOLUTION OVERWRITE TABLE", on_table(insert.insert)),
    ("INSERT WITH SCHEMA EVOLUTION OVERWRITE", on_table(insert.insert)),
    ("INSERT INTO TABLE", on_table(insert.insert)),
    ("INSERT INTO", on_table(insert.insert)),
    ("INSERT OVERWRITE TABLE", on_table(insert.insert)),
    ("INSERT OVERWRITE", on_table(insert.insert)),
    ("MERGE WITH SCHEMA EVOLUTION INTO", on_table(merge.merge)),
    ("MERGE INTO", on_table(merge.merge)),
    ("UPDATE", on_table(delete_update.update)),
    ("DELETE FROM", on_table(delete_update.delete)),
    ("TRUNCATE TABLE", on_table(delete_update.emptied, follows="")),
    ("OPTIMIZE", on_table(maintenance.optimize, follows=maintenance.AFTER_OPTIMIZE, folder=True)),
    ("REORG TABLE", on_table(maintenance.reorg, follows=maintenance.AFTER_REORG)),
    ("VACUUM", on_table(maintenance.vacuum, follows=maintenance.AFTER_VACUUM, folder=True)),
    ("RESTORE TABLE", on_table(maintenance.restore, follows=maintenance.AFTER_RESTORE)),
    ("RESTORE", on_table(maintenance.restore, follows=maintenance.AFTER_RESTORE)),
    ("ALTER TABLE", on_table(alter.alter, follows=alter.AFTER_ALTER)),
    ("COMMENT ON TABLE", on_table(alter.comment, follows=alter.AFTER_COMMENT)),
    ("CREATE OR REPLACE TABLE", on_table(create.replace_table)),
    ("REPLACE TABLE", on_table(create.replace_table)),
    ("CREATE TABLE IF NOT EXISTS", on_table(create.create)),
    ("CREATE TABLE", on_table(create.create)),
    ("CONVERT TO DELTA", on_table(create.convert, follows=create.AFTER_CONVERT)),
    *((words, query.selects) for words in ("SELECT", "VALUES", "FROM", "TABLE", "(")),
    *((words, query.shows) for words in ("SHOW", "DESCRIBE", "DESC")),
    ("EXPLAIN", explain.explains(_selected_by)),
    *((words, temporary_views.cache) for words in ("CACHE TABLE", "CACHE LAZY TABLE")),
    ("UNCACHE TABLE", query.passes(query.UNCACHED)),
    ("CLEAR CACHE", query.passes("")),
    ("REFRESH", query.passes(query.REFRESHED)),
    *((f"CREATE {kind} IF NOT EXISTS", query.passes(query.NEW_SCHEMA)) for kind in ("SCHEMA", "DATABASE", "NAMESPACE")),
    ("ANALYZE", _NOT_ANALYZED),
    ("CREATE OR REPLACE VIEW", on_session(views.create)),
    ("CREATE VIEW", on_session(views.create)),
    ("ALTER VIEW", on_session(views.alter)),
    ("DROP VIEW", on_session(views.drop)),
    ("CREATE TEMPORARY VIEW", on_session(temporary_views.temporary_view)),
    ("CREATE TEMP VIEW", on_session(temporary_views.temporary_view)),
    ("CREATE OR REPLACE TEMPORARY VIEW", on_session(temporary_views.temporary_view)),
    ("CREATE OR REPLACE TEMP VIEW", on_session(temporary_views.temporary_view)),
    *(
        (f"{words} FUNCTION", on_session(session_statements.function))
        for words in ("CREATE TEMPORARY", "CREATE TEMP", "CREATE OR REPLACE TEMPORARY", "CREATE OR REPLACE TEMP")
    ),
    *((f"DROP {words} FUNCTION", on_session(session_statements.drop_function)) for words in ("TEMPORARY", "TEMP")),
    *((words, session_variables.refuse) for words in ("DECLARE", "SET VAR", "SET VARIABLE")),
    ("SET", on_session(session_statements.set_)),
    ("RESET", on_session(session_statements.reset)),
    ("USE", on_session(session_statements.use)),
    ("CALL", _PROCEDURE),
)  # fmt: skip
_BEGINNINGS = tuple((tuple(beginning.split()), read) for beginning, read in _WRITTEN)
_KINDS = {
    first: tuple((words, read) for words, read in _BEGINNINGS if words[0] == first)
    for first, *_ in (words for words, _ in _BEGINNINGS)
}
"""Kinds of statements by their first word, in the order in which they are tried."""


@dataclass(frozen=True)
class Script:
    """The statements read so far, and what holds for the next one."""

    around: Surroundings
    tables: tuple[TableFootprint, ...] = field(default=())
    selected: Sources = NO_SOURCES
    """What is read without writing a table."""
    tokens: int = 0
    """The number of tokens in all statements so far; each INSERT after a shared FROM counts together with that FROM."""

    def then(self, *statements: Statement) -> "Script":
        around, selected, tokens = self.around, self.selected, self.tokens
        found = list(self.tables)
        written = {footprint.table for footprint in found}
        for part in (part for statement in statements for part in parts_of(statement)):
            is_first = tokens == 0  # a single statement says by itself why it is too large
            tokens += len(part.common) + len(part.tokens)
            is_beyond = tokens > MAX_TOKENS and not is_first
            effect = _effect(replace(part, is_beyond=True) if is_beyond else part, around)
            around, selected = effect.around, together([selected, effect.selected])
            found += effect.tables
            written.update(footprint.table for footprint in effect.tables)
            if len(written) > MAX_TABLES:
                raise NotUnderstoodError(
                    f"{place(part)}: a job writes at most {MAX_TABLES} tables: split it into several jobs"
                )
        return Script(around, tuple(found), selected, tokens)


def _effect(statement: Statement, around: Surroundings) -> Effect:
    try:
        return effect_of(statement, around)
    except RecursionError as error:
        raise NotUnderstoodError(f"{place(statement)}: it is nested too deeply to be read") from error


def effect_of(statement: Statement, around: Surroundings) -> Effect:
    refuse_what_never_runs(statement)
    for words, read in _KINDS.get(word(statement.tokens[0]), ()):
        if starts_with(statement.tokens, words):
            return read(statement, around, len(words))
    raise unknown(statement, _KINDS)


def parts_of(statement: Statement) -> tuple[Statement, ...]:
    """Returns the same parts each time, because they cache what was read of them."""
    try:
        return statement.once("parts", lambda: tuple(unfolded(statement)))
    except NotUnderstoodError as error:
        raise NotUnderstoodError(f"{place(statement)}: {error}") from None
