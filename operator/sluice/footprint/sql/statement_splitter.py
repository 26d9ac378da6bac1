"""Cuts a text into its statements, so that the oracle and the runner see exactly the same ones."""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sluice.footprint.errors import IF_SPARK_DOES, NotUnderstoodError, at
from sluice.footprint.sql.grammar import foreign
from sluice.footprint.sql.keywords import word, words
from sluice.footprint.sql.tree_summary import TreeSummary
from sluice.predicates import PredicateError
from sluice.predicates.limits import MAX_STATEMENTS, excess
from sluice.predicates.literals import names_no_day
from sluice.predicates.syntax import statement_in, tokens_of

_BACKSLASH_AT_END = re.compile(r"\\\r?\n")
_MAY_NAME_PROPERTIES = frozenset({"ALTER", "CREATE", "REPLACE", "RESET", "SET"})
"""Begin statements in which a word before a text may name a property."""
_BEGIN = ["BEGIN", "NOT", "ATOMIC"]
_ELSE_IN_BLOCK = frozenset({"ATOMIC", "SET", "TRAN", "TRANSACTION", "WORK"})
"""What follows BEGIN where statements commit together, and SET, which sets a variable in a block."""
_T = TypeVar("_T")


@dataclass(frozen=True)
class Statement:
    number: int
    text: str
    line: int
    tokens: tuple[Token, ...]
    common: tuple[Token, ...] = ()
    """A WITH before the tokens, whose common tables they see."""
    is_beyond: bool = False
    """Whether the script up to here is too large to be read."""
    with_values: str | None = None
    """The text with values in place of its parameters, if it has any. The tokens are those of this text."""
    _read: dict[Hashable, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def runs(self) -> str:
        """The text that Spark runs."""
        return self.text if self.with_values is None else self.with_values

    def once(self, what: Hashable, read: Callable[[], _T]) -> _T:
        """Caches what follows from the text alone, such as its tree: a job is judged again when its tables change,
        but its text is not read again. What is cached must not be changed."""
        if what not in self._read:
            self._read[what] = read()
        found: _T = self._read[what]
        return found

    def forget(self) -> None:
        """Lets go of what was read of its text. A tree's nodes know their parents, so a tree that is merely dropped stays until
        the garbage collector comes by, and thousands of them at once hold it up for seconds: they are taken apart. Nobody may
        use a tree of this statement any more."""
        read = list(self._read.values())
        self._read.clear()
        for one in read:
            if isinstance(one, exp.Expr):
                _take_apart(TreeSummary(one.root()))
            elif isinstance(one, TreeSummary):  # perhaps of a view's tree, which is nobody's else
                _take_apart(one)
            elif isinstance(one, tuple):
                for part in one:
                    if isinstance(part, Statement):
                        part.forget()


def _take_apart(tree: TreeSummary) -> None:
    for node in tree.nodes:
        node.parent = None


def split(sql: str, place: str = "spec.sql") -> tuple[Statement, ...]:
    for start, why in _read_differently_by_spark(sql):
        line = sql.count("\n", 0, start) + 1
        raise NotUnderstoodError(f"{place}, line {line}: {why}")
    cut = _out_of_block(list(_cut(_tokens(sql, place))))
    if not cut:
        raise NotUnderstoodError(
            f"{place} holds only comments and no statement: write one, or delete the job"
        )
    if len(cut) > MAX_STATEMENTS:
        raise NotUnderstoodError(
            f"{place} has more than {MAX_STATEMENTS} statements: write them as several jobs"
        )
    return tuple(_statement(sql, tokens, number, place) for number, tokens in enumerate(cut, 1))


def _cut(tokens: Iterable[Token]) -> Iterator[list[Token]]:
    """Yields what stands between semicolons."""
    current: list[Token] = []
    for token in tokens:
        if token.token_type is not TokenType.SEMICOLON:
            current.append(token)
        elif current:
            yield current
            current = []
    if current:
        yield current


def _out_of_block(cut: list[list[Token]]) -> list[list[Token]]:
    """The statements in `BEGIN statement; ... END`, if the whole text is such a block: Spark runs them one after another."""
    if len(cut) < 2 or words(cut[-1]) != ["END"]:
        return cut
    begins = next((at for at in (_BEGIN, _BEGIN[:1]) if words(cut[0][: len(at)]) == at), None)
    if begins is None or len(cut[0]) == len(begins):
        return cut
    inside = [cut[0][len(begins) :], *cut[1:-1]]
    return cut if any(word(tokens[0]) in _ELSE_IN_BLOCK for tokens in inside) else inside


def _read_differently_by_spark(sql: str) -> Iterator[tuple[int, str]]:
    """Yields where and why Spark reads the text differently. Each line is examined once, however many comments seem
    to begin in it."""
    variable = sql.find("${")
    if variable >= 0:
        yield variable, "Spark would substitute ${...}: use parameters"
    for end in _BACKSLASH_AT_END.finditer(sql):
        comment = sql.find("--", sql.rfind("\n", 0, end.start()) + 1, end.start())
        if comment >= 0:
            yield (
                comment,
                "in Spark a comment that ends with a backslash continues in the next line: remove the backslash",
            )


def _tokens(sql: str, place: str) -> list[Token]:
    try:
        return tokens_of(sql)
    except PredicateError as error:
        raise at(place, error) from error


def _refuse_impossible_dates(tokens: list[Token], place: str) -> None:
    """Refuses DATE '2026-13-19', as Spark does once a driver runs."""
    for one, following in pairwise(tokens):
        if (
            one.token_type is TokenType.DATE
            and following.token_type is TokenType.STRING
            and names_no_day(following.text)
        ):
            raise NotUnderstoodError(
                f"{place}, line {one.line}: DATE '{following.text}' is a day that no calendar has: write one that it has"
            )


def _statement(sql: str, tokens: list[Token], number: int, place: str) -> Statement:
    text = sql[tokens[0].start : tokens[-1].end + 1]
    if word(tokens[0]) not in _MAY_NAME_PROPERTIES:
        _refuse_impossible_dates(tokens, place)
    return Statement(number=number, text=text, line=tokens[0].line, tokens=tuple(tokens))


def query_of(statement: Statement, tokens: Sequence[Token], place: str) -> exp.Expr | None:
    """The query made by these tokens of the statement, or by tokens that stand for them; like `query_in`."""
    written = tuple(token.start for token in tokens[:1]), len(tokens)
    return statement.once(("query", written), lambda: query_in(tokens, statement.text, place))


def query_in(tokens: Sequence[Token], text: str, place: str) -> exp.Expr | None:
    """The query in the text; None if it is too large to be read. Anything but a query is refused, because Spark would
    execute it."""
    if excess(tokens) is not None:
        return None
    try:
        tree = statement_in(tokens, text)
    except PredicateError as error:
        raise NotUnderstoodError(f"{at(place, error)}. {IF_SPARK_DOES}") from error
    if not isinstance(tree, exp.Query | exp.Table | exp.Values):
        raise NotUnderstoodError(f"{place} is not understood as a query")
    why = foreign(tokens, TreeSummary(tree))
    if why is not None:
        raise NotUnderstoodError(f"{place}: {why}")
    return tree
