"""What Sluice understands, Spark's own parser takes: what it refuses should have been refused before a driver was started."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from sluice.footprint import NotUnderstoodError, split
from sluice.footprint.sql.leading_clauses import unfolded
from sluice.footprint.sql.statement_context import Surroundings
from sluice.footprint.statements.script import effect_of
from unit.footprint.broken_text import CONDITIONS, QUERIES, STATEMENTS, T, broken

TEXTS = [
    *(statement.text for text in STATEMENTS for statement in split(text)),
    *(f"INSERT INTO {T} {query}" for query in QUERIES),
    *(f"DELETE FROM {T} WHERE {condition}" for condition in CONDITIONS),
]
BROKEN = 6000
REFUSED_BY_SPARK = 0.2
"""The share of understood texts that Spark may refuse: the SQL parser reads many dialects, and takes `a IN = b` or `LIMIT`
without a number."""


def test_unbroken_statements_are_taken_by_spark(session: SparkSession) -> None:
    assert [(text, why) for text in TEXTS if (why := _why_spark_refuses(session, text)) is not None] == []


def test_few_broken_statements_that_are_understood_are_refused_by_spark(session: SparkSession) -> None:
    understood = [text for text in dict.fromkeys(broken(TEXTS, BROKEN, seed=42)) if _is_understood(text)]
    refused = [text for text in understood if _why_spark_refuses(session, text) is not None]
    shown = "\n".join(refused)
    print(f"{len(refused)} of {len(understood)} are refused by Spark")
    assert len(understood) > 300
    assert len(refused) < REFUSED_BY_SPARK * len(understood), shown


def _is_understood(text: str) -> bool:
    try:
        statements = split(text)
        for part in unfolded(statements[0]):
            effect_of(part, Surroundings())
    except NotUnderstoodError:
        return False
    return len(statements) == 1


def _why_spark_refuses(session: SparkSession, text: str) -> str | None:
    parser: Any = session._jsparkSession.sessionState().sqlParser()
    try:
        parser.parsePlan(text)
    except Exception as error:  # noqa: BLE001 - the parser throws Java's exceptions, which come as several classes
        return str(error)
    return None
