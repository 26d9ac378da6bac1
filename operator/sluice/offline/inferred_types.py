"""Infers types for a policy's `partitionBy` where there is no log of the table: it names columns, but no types, and without types
two conditions can't be compared.

The jobs' own literals tell the types; that stays an assumption, and is called one wherever it is used.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from sluice.footprint import NotUnderstoodError
from sluice.footprint.sql.keywords import word
from sluice.footprint.sql.leading_clauses import unfolded
from sluice.footprint.sql.statement_splitter import Statement
from sluice.offline.jobs import Job
from sluice.predicates import Table
from sluice.predicates.columns import UNKNOWN
from sluice.tables import TableFacts

_OF_LITERALS = {
    TokenType.NUMBER: "bigint",
    TokenType.STRING: "string",
    TokenType.TRUE: "boolean",
    TokenType.FALSE: "boolean",
}
_PREFIXES = {
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_LTZ": "timestamp",
    "TIMESTAMP_NTZ": "timestamp_ntz",
}
_BETWEEN = frozenset({"=", "<", ">", "<=", ">=", "<>", "!=", "<=>", "(", "IN", "NOT", "BETWEEN"})
_SURER = ("date", "timestamp", "timestamp_ntz", "boolean", "bigint", "string")
"""A date is often compared with a plain text, a text never with a date."""

Comparisons = Counter[tuple[str, str]]
"""How often columns are compared with literals, by the column's name and the literal's type."""


@dataclass(frozen=True)
class InferredTypes:
    types: Mapping[str, str]
    """The types by partition column."""

    def __str__(self) -> str:
        named = ", ".join(
            f"{name} (its type is not known)" if kind == UNKNOWN else f"{name} {kind}"
            for name, kind in self.types.items()
        )
        told = ", by the types that jobs compare them with" if set(self.types.values()) != {UNKNOWN} else ""
        return f"taken to be partitioned by {named}{told}, and to have no identity or generated columns and no properties"

    def facts_for(self, job: Job) -> TableFacts | None:
        """Returns facts with all names that the job uses as columns of unknown types; None where it writes by position,
        because it is not known which column is meant."""
        try:
            written = [one for found in job.texts.values() for one in found]
            statements = [part for statement in written for part in unfolded(statement)]
        except NotUnderstoodError:
            return None
        if any(_writes_by_position(statement, self.types) for statement in statements):
            return None
        known = {name.lower() for name in self.types}
        others = {
            token.text.lower()
            for statement in statements
            for token in (*statement.common, *statement.tokens)
            if token.token_type in (TokenType.VAR, TokenType.IDENTIFIER) or token.text.isidentifier()
        }
        columns = [*self.types.items(), *((name, UNKNOWN) for name in sorted(others - known))]
        return TableFacts(columns=Table.of(columns, self.types))


def comparisons_in(job: Job, columns: Collection[str]) -> Comparisons:
    """Counts with literals of which types the job compares columns of these names, in small letters. Raises
    NotUnderstoodError."""
    return Counter(
        found
        for statements in job.texts.values()
        for statement in statements
        for found in _compared(statement.tokens, columns)
    )


def inferred_types(partition_by: Sequence[str], own: Comparisons, of_all: Comparisons) -> InferredTypes:
    """`own`: the comparisons of the jobs that write the table; `of_all`: of all jobs, which tell of columns that those compare
    with no literal."""
    return InferredTypes(
        {
            name: _surest(name.lower(), own) or _surest(name.lower(), of_all) or UNKNOWN
            for name in partition_by
        }
    )


def _surest(name: str, compared: Comparisons) -> str | None:
    return next((kind for kind in _SURER if compared[name, kind]), None)


def _compared(tokens: Sequence[Token], names: Collection[str]) -> Iterator[tuple[str, str]]:
    for number, token in enumerate(tokens):
        name = token.text.lower()
        if name in names and token.token_type is not TokenType.STRING:
            kind = _literal_after(tokens[number + 1 : number + 7])
            if kind is not None:
                yield name, kind


def _literal_after(tokens: Sequence[Token]) -> str | None:
    for number, token in enumerate(tokens):
        if token.token_type in _OF_LITERALS:
            return _OF_LITERALS[token.token_type] if number else None
        following = tokens[number + 1] if number + 1 < len(tokens) else None
        if (
            following is not None
            and following.token_type is TokenType.STRING
            and token.text.upper() in _PREFIXES
        ):
            return _PREFIXES[token.text.upper()] if number else None
        if token.text.upper() not in _BETWEEN:
            return None
    return None


def _writes_by_position(statement: Statement, partition_columns: Iterable[str]) -> bool:
    words = [word(token) for token in statement.tokens]
    if words[:1] != ["INSERT"]:
        return False
    query = next(
        (n for n, text in enumerate(words) if text in ("SELECT", "VALUES", "WITH", "FROM", "TABLE")), 0
    )
    head = words[:query]
    if head[-2:] == ["BY", "NAME"]:
        return False
    names = {text.lower() for text in (token.text for token in statement.tokens[:query])}
    listed = "(" in [token.text for token in statement.tokens[:query]]
    return not (listed and all(name.lower() in names for name in partition_columns))
