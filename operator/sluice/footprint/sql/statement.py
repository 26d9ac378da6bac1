"""Cuts a text into its statements, so that the oracle and the runner see the very same ones."""

import re
from dataclasses import dataclass
from typing import ClassVar

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from sluice.footprint.errors import NotUnderstoodError

_READ_DIFFERENTLY_BY_SPARK = (
    (re.compile(r"\$\{"), "Spark would put something else in place of ${...}: use parameters"),
    (
        re.compile(r"--[^\n]*\\\r?\n"),
        "to Spark a comment goes on in the next line if it ends with a backslash: remove the backslash",
    ),
)


@dataclass(frozen=True)
class Statement:
    number: int
    text: str
    line: int
    tokens: tuple[Token, ...]


class _Tokenizer(Spark.Tokenizer):
    """sqlglot takes what follows OPTIMIZE, VACUUM and others for one opaque text; here every word counts."""

    COMMANDS: ClassVar[set[TokenType]] = set()


def split(sql: str, place: str = "spec.sql") -> tuple[Statement, ...]:
    for pattern, why in _READ_DIFFERENTLY_BY_SPARK:
        found = pattern.search(sql)
        if found is not None:
            line = sql.count("\n", 0, found.start()) + 1
            raise NotUnderstoodError(f"{place}, line {line}: {why}")
    statements: list[Statement] = []
    current: list[Token] = []
    for token in _tokens(sql, place):
        if token.token_type is not TokenType.SEMICOLON:
            current.append(token)
        elif current:
            statements.append(_statement(sql, current, len(statements) + 1))
            current = []
    if current:
        statements.append(_statement(sql, current, len(statements) + 1))
    if not statements:
        raise NotUnderstoodError(f"{place} holds no statement, only comments: write one, or delete the job")
    return tuple(statements)


def _tokens(sql: str, place: str) -> list[Token]:
    try:
        return _Tokenizer(dialect=Spark()).tokenize(sql)
    except TokenError as error:
        raise NotUnderstoodError(f"{place} cannot be read: {error}") from error


def _statement(sql: str, tokens: list[Token], number: int) -> Statement:
    text = sql[tokens[0].start : tokens[-1].end + 1]
    return Statement(number=number, text=text, line=tokens[0].line, tokens=tuple(tokens))
