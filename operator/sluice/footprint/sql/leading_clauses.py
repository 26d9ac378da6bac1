"""Statements whose verb does not come first: WITH ... INSERT, and FROM ... INSERT ... INSERT ...

They are read as what they amount to: the statement after WITH, which sees its common tables, and a separate INSERT
for each target.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from sqlglot.tokenizer_core import Token

from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.sql.keywords import closed, outside_parentheses, word, words
from sluice.footprint.sql.statement_splitter import Statement
from sluice.predicates.limits import MAX_TOKENS

_MODIFIED = frozenset({"INTO", "OVERWRITE", "WITH"})
_AFTER_A_SELECT_LIST = frozenset(
    {
        "LATERAL",
        "WHERE",
        "GROUP",
        "HAVING",
        "WINDOW",
        "ORDER",
        "SORT",
        "DISTRIBUTE",
        "CLUSTER",
        "LIMIT",
        "OFFSET",
    }
)
_NAMING = ("AS", ".")
"""A word after one of these is a name, whatever it is elsewhere."""


def unfolded(statement: Statement) -> Iterator[Statement]:
    """Yields the statements one after another, because each of many INSERTs holds its whole source. Raises
    NotUnderstoodError without the statement's place."""
    tokens = statement.tokens
    if word(tokens[0]) == "WITH":
        end = _end_of_common_tables(tokens)
        statement = replace(statement, tokens=tokens[end:], common=tokens[:end])
    verbs = _inserts_of(statement) if word(statement.tokens[0]) == "FROM" else []
    if verbs:
        yield from _inserts(statement, verbs)
    else:
        yield statement


def _end_of_common_tables(tokens: tuple[Token, ...]) -> int:
    """The position after `WITH [RECURSIVE] name [(columns)] [AS] (query), ...`."""
    found = [*words(tokens), "", ""]
    position = 1 + (found[1] == "RECURSIVE" and found[2] not in ("AS", "("))
    while True:
        position += 1
        if found[position] == "(":
            position = closed(tokens, position)
        if found[position] in ("AS", "("):
            position += found[position] == "AS"
            position = closed(tokens, position) if found[position] == "(" else len(tokens)
        if position >= len(tokens) or position < 3:
            raise NotUnderstoodError(
                "WITH name AS (query), ... must be followed by a statement that selects from it"
            )
        if found[position] != ",":
            return position
        position += 1


def _inserts_of(statement: Statement) -> list[int]:
    """The positions where the INSERTs begin."""
    found = words(statement.tokens)
    return [
        position
        for position, text in outside_parentheses(statement.tokens)
        if text == "INSERT" and found[position + 1 : position + 2] and found[position + 1] in _MODIFIED
    ]


def _inserts(statement: Statement, verbs: Sequence[int]) -> Iterator[Statement]:
    tokens = statement.tokens
    size = 0
    for start, end in pairwise((*verbs, len(tokens))):
        insert = tokens[start:end]
        if size <= MAX_TOKENS:  # beyond that no INSERT is read, so copying its source would be useless
            insert = _selecting_from(tokens[: verbs[0]], insert)
        size += len(statement.common) + len(insert)
        yield replace(statement, tokens=insert, line=tokens[start].line)


def _selecting_from(source: tuple[Token, ...], insert: tuple[Token, ...]) -> tuple[Token, ...]:
    """Puts `FROM source` into `INSERT ... SELECT list WHERE ...` where a query has it."""
    selects = False
    for position, text in outside_parentheses(insert):
        named = word(insert[position - 1]) in _NAMING if position else False
        if text == "SELECT":
            if selects:
                break
            selects = True
        elif text == "FROM" and selects and not named:
            break
        elif text in _AFTER_A_SELECT_LIST and selects:
            if named:
                break
            return (*insert[:position], *source, *insert[position:])
    else:
        if selects:
            return (*insert, *source)
    raise NotUnderstoodError(
        f"the INSERT on line {insert[0].line} is not understood: after FROM source write INSERT INTO table SELECT ..."
    )
