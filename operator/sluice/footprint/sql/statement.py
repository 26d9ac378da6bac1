"""Cuts a text into its statements, so that the oracle and the runner see the very same ones."""

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sluice.footprint.errors import IF_SPARK_DOES, NotUnderstoodError, at
from sluice.footprint.sql.grammar import foreign
from sluice.predicates import PredicateError
from sluice.predicates.limits import excess
from sluice.predicates.syntax import statement_in, tokens_of

_BACKSLASH_AT_END = re.compile(r"\\\r?\n")
_T = TypeVar("_T")


@dataclass(frozen=True)
class Statement:
    number: int
    text: str
    line: int
    tokens: tuple[Token, ...]
    common: tuple[Token, ...] = ()
    """A WITH before them, whose common tables they see."""
    is_beyond: bool = False
    """The script is too large to be read so far."""
    _read: dict[Hashable, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def once(self, what: Hashable, read: Callable[[], _T]) -> _T:
        """What its text alone tells, such as its tree: a job is understood anew when its tables change, and its text is not
        read again for that. Nobody may change what is kept."""
        if what not in self._read:
            self._read[what] = read()
        found: _T = self._read[what]
        return found


def split(sql: str, place: str = "spec.sql") -> tuple[Statement, ...]:
    for start, why in _read_differently_by_spark(sql):
        line = sql.count("\n", 0, start) + 1
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


def _read_differently_by_spark(sql: str) -> Iterator[tuple[int, str]]:
    """Where, and why. Each line is looked at once, however many comments seem to begin in it."""
    variable = sql.find("${")
    if variable >= 0:
        yield variable, "Spark would put something else in place of ${...}: use parameters"
    for end in _BACKSLASH_AT_END.finditer(sql):
        comment = sql.find("--", sql.rfind("\n", 0, end.start()) + 1, end.start())
        if comment >= 0:
            yield (
                comment,
                "to Spark a comment goes on in the next line if it ends with a backslash: remove the backslash",
            )


def _tokens(sql: str, place: str) -> list[Token]:
    try:
        return tokens_of(sql)
    except PredicateError as error:
        raise at(place, error) from error


def _statement(sql: str, tokens: list[Token], number: int) -> Statement:
    text = sql[tokens[0].start : tokens[-1].end + 1]
    return Statement(number=number, text=text, line=tokens[0].line, tokens=tuple(tokens))


def query_of(statement: Statement, tokens: Sequence[Token], place: str) -> exp.Expr | None:
    """The query that these tokens of the statement, or what they amount to, make; as `query_in`."""
    written = tuple(token.start for token in tokens[:1]), len(tokens)
    return statement.once(("query", written), lambda: query_in(tokens, statement.text, place))


def query_in(tokens: Sequence[Token], text: str, place: str) -> exp.Expr | None:
    """None if it is too large to be read. What is no query is refused: Spark would carry it out."""
    if excess(tokens) is not None:
        return None
    try:
        tree = statement_in(tokens, text)
    except PredicateError as error:
        raise NotUnderstoodError(f"{at(place, error)}. {IF_SPARK_DOES}") from error
    if not isinstance(tree, exp.Query | exp.Table | exp.Values):
        raise NotUnderstoodError(f"{place} is not understood as a query")
    why = foreign(tokens, tree)
    if why is not None:
        raise NotUnderstoodError(f"{place}: {why}")
    return tree
