"""Refuses statements that Sluice does not know, and says what to write instead."""

from collections.abc import Iterable
from difflib import get_close_matches

from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.sql.keywords import starts_with, word
from sluice.footprint.sql.statement_context import place
from sluice.footprint.sql.statement_splitter import Statement

_PIPELINE = "it belongs to a pipeline: write a stream under spec.stream, or CREATE OR REPLACE TABLE ... AS"
_WRITTEN = (
    ("COPY INTO", "only Databricks has it: write INSERT INTO table SELECT ... FROM parquet.`s3://bucket/folder`"),
    ("CREATE FUNCTION", "write CREATE TEMPORARY FUNCTION, or make it outside of jobs"),
    ("CREATE OR REPLACE FUNCTION", "write CREATE OR REPLACE TEMPORARY FUNCTION, or make it outside of jobs"),
    ("UNDROP", "only Databricks has it: bring the table back outside of jobs"),
    *((f"CREATE {kind}", f"write CREATE {kind} IF NOT EXISTS name") for kind in ("SCHEMA", "DATABASE", "NAMESPACE")),
    ("CREATE OR REFRESH", _PIPELINE),
    ("CREATE STREAMING", _PIPELINE),
    ("CREATE MATERIALIZED", _PIPELINE),
    ("MERGE", "in Spark MERGE is followed by INTO and the table"),
    ("INSERT", "in Spark INSERT is followed by INTO or OVERWRITE and the table"),
    ("DELETE", "in Spark DELETE is followed by FROM and the table"),
    ("TRUNCATE", "in Spark TRUNCATE is followed by TABLE and its name"),
    ("UPSERT", "Spark has no such statement: write a MERGE"),
    ("REPLACE INTO", "Spark has no such statement: write a MERGE, or INSERT INTO table REPLACE WHERE condition"),
)  # fmt: skip
_INSTEAD = tuple((tuple(words.split()), instead) for words, instead in _WRITTEN)


def unknown(statement: Statement, known: Iterable[str]) -> NotUnderstoodError:
    """Returns the refusal of an unknown statement; `known` are words that begin statements."""
    begins = f"{place(statement)} begins with {' '.join(statement.text.split()[:3])[:80]!r}"
    instead = written_otherwise(statement)
    if instead is not None:
        return NotUnderstoodError(f"{begins}: {instead}")
    what = meant(statement, known) or "write it as a statement that Sluice knows"
    return NotUnderstoodError(
        f"{begins}, which Sluice does not know: {what}, or declare what it touches in spec.footprint"
    )


def written_otherwise(statement: Statement) -> str | None:
    """How Spark wants it written, where it begins as other systems have it."""
    return next((instead for words, instead in _INSTEAD if starts_with(statement.tokens, words)), None)


def meant(statement: Statement, known: Iterable[str]) -> str | None:
    """What its first word may be a slip of the hand for."""
    first = word(statement.tokens[0])
    close = get_close_matches(first, sorted({*known} - {first}), n=1, cutoff=0.75)
    return f"if it should be {close[0]}, write that" if close else None
