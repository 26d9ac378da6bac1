"""Which statements a stream runs in each micro-batch: those alone that are left out when a batch is run again."""

from collections.abc import Mapping

from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.sql.keywords import starts_with, word
from sluice.footprint.sql.statement_context import place
from sluice.footprint.sql.statement_splitter import Statement
from sluice.footprint.statements.refused_statements import refuse_what_never_runs
from sluice.footprint.statements.script import parts_of
from sluice.footprint.statements.unknown_statements import meant, written_otherwise

_FIELD = "spec.stream.sql"
_OWN_JOB = "let a job of its own do it: a stream with stream.yield pauses for it"
_BEFORE = "let a job of its own do it before the stream begins"
_AS_SETTING = "put it under runtime.sparkConf"
_AS_PARAMETER = "write :name where the variable is used, and give its value in spec.parameters"
_INSIDE = "put the query into the statements that use it, with WITH"
_NO_EFFECT = "remove it, nothing comes of it"
_SEVERAL = "write each INSERT as a statement of its own"
_ALLOWED = (
    "INSERT INTO",
    "INSERT OVERWRITE",
    "INSERT WITH",
    "MERGE INTO",
    "MERGE WITH",
    "UPDATE",
    "DELETE FROM",
)
_INSTEAD = (
    *((words, _OWN_JOB) for words in ("OPTIMIZE", "REORG", "VACUUM", "RESTORE", "ALTER TABLE", "COMMENT")),
    ("TRUNCATE", "write DELETE FROM the table"),
    *((words, _INSIDE) for words in ("CREATE TEMPORARY VIEW", "CREATE TEMP VIEW")),
    *((words, _INSIDE) for words in ("CREATE OR REPLACE TEMPORARY VIEW", "CREATE OR REPLACE TEMP VIEW")),
    *((words, _BEFORE) for words in ("CREATE", "REPLACE", "CONVERT", "ALTER VIEW", "DROP VIEW")),
    *((words, _AS_PARAMETER) for words in ("DECLARE", "SET VAR", "SET VARIABLE")),
    *((words, _AS_SETTING) for words in ("SET", "RESET")),
    ("USE", "name the schema before each table"),
    *((words, _NO_EFFECT) for words in ("SELECT", "VALUES", "FROM", "TABLE", "(", "SHOW", "DESCRIBE", "DESC", "EXPLAIN")),
    *((words, _NO_EFFECT) for words in ("CACHE", "UNCACHE", "CLEAR", "REFRESH", "ANALYZE")),
)  # fmt: skip
_ALLOWED_WORDS = tuple(tuple(words.split()) for words in _ALLOWED)
_ALLOWED_FIRST = frozenset(words[0] for words in _ALLOWED_WORDS)
_INSTEAD_WORDS = tuple((tuple(words.split()), instead) for words, instead in _INSTEAD)


def refuse_what_no_batch_runs(texts: Mapping[str, tuple[Statement, ...]]) -> None:
    """A batch that was broken off runs again, and only of the statements that are allowed here a table's log tells that they are
    done. What another statement did to the session would be missing then, and would hold for the next batch."""
    for statement in texts.get(_FIELD, ()):
        refuse_what_never_runs(statement, _FIELD)
        parts = parts_of(statement)
        if len(parts) > 1:
            raise _refused(statement, "several INSERTs after one FROM", _SEVERAL)
        if any(starts_with(parts[0].tokens, words) for words in _ALLOWED_WORDS):
            continue
        first = word(parts[0].tokens[0])
        instead = next((text for words, text in _INSTEAD_WORDS if starts_with(parts[0].tokens, words)), None)
        if instead is None and (written := written_otherwise(statement)) is not None:
            raise NotUnderstoodError(f"{_FIELD}, {place(statement)}: {written}")
        raise _refused(statement, first, instead or meant(statement, _ALLOWED_FIRST) or _OWN_JOB)


def reads_no_batch(texts: Mapping[str, tuple[Statement, ...]]) -> str | None:
    """What is said of statements of which none names the view `batch`, in whatever way."""
    statements = texts.get(_FIELD, ())
    tokens = (token for statement in statements for token in (*statement.common, *statement.tokens))
    if not statements or any("batch" in token.text.lower() for token in tokens):
        return None
    return f"no statement of {_FIELD} reads the view batch: each batch runs all of them, and what it read of the source is dropped"


def _refused(statement: Statement, what: str, instead: str) -> NotUnderstoodError:
    return NotUnderstoodError(
        f"{_FIELD}, {place(statement)}: {what} is not for micro-batches, which run INSERT, MERGE, UPDATE and DELETE alone, because "
        f"only of these a table's log tells that they are done when a batch runs again: {instead}"
    )
