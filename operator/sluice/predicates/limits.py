"""All numbers of what reading one job's texts may cost. Each is asked before the cost is spent.

All limits count tokens, nodes or cuts, never time, so that the same text always gives the same answer. What is over a limit is
either refused, with the field and what to do, or taken to touch all of its table. `docs/limits.md` is made of the
sentence below each number.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import Token, TokenType

from sluice.predicates.lookahead import tokens_read

# ------------------------------------------------------------------------------------------------------- texts of a job

MAX_STATEMENTS = 5_000
"""Statements in one text. A job with more is refused."""
MAX_STATEMENTS_OF_A_RUN = 4_095
"""Statements in one text of a job with `runKey` or `retry`. A job with more is refused: Delta numbers them in twelve bits."""
MAX_USES = 10_000
"""Uses of parameters in one text. A job with more is refused."""
MAX_FILLED_TEXT = 500_000
"""Characters of one text with the values of its parameters in it. A job with more is refused."""
MAX_TABLES = 1_000
"""Tables that one job writes. A job with more is refused."""
MAX_RECORD = 196_608
"""Bytes of the names of all tables that one job writes or reads, in the record of its lease. A job with more is refused."""
MAX_VIEWS = 256
"""Temporary views in one script. A job with more is refused."""
MAX_VIEWS_UPON = 20_000
"""Views that are made or made anew, and for each of them the views that select from it. A job with more is refused."""
MAX_SETTINGS = 256
"""Settings that one script sets. A job with more is refused."""
MAX_PROMISED = 100_000
"""Statements times the values that `spec.writes` lists. A job with more is refused."""

MAX_DECLARED = 60_000
"""Characters of all conditions in `spec.footprint`. Further ones count as all of their table."""
MAX_CONF = 1_000
"""Settings in `sparkConf`, and in `hadoopConf`, of an application's template. A job with more is refused."""

# ------------------------------------------------------------------------------------------------------------ statements

MAX_TOKENS = 20_000
"""Tokens of one statement, and of all statements up to here. What comes after may touch all of its table."""
MAX_NESTING = 24
"""Levels of parentheses in one statement. One with more may touch all of its table: the parser recurses twenty frames a level."""
MAX_INTERVAL = 256
"""Characters in one interval. A statement with more may touch all of its table: the parser looks for a unit after each digit."""
MAX_PIPES = 32
"""Steps (`|>`) of one statement. One with more may touch all of its table: the parser copies a query for each of its steps."""
MAX_ROWS = 1_000
"""Rows that one query spells out. The rows of a query with more may land anywhere."""
MAX_CELLS = 200_000
"""Values, columns and conditions that are followed through all queries of a job. Rows of further queries may land anywhere."""
MAX_LEVELS = 12
"""Queries within queries through which rows are followed. Rows from deeper ones may land anywhere."""
MAX_GENERATED = 2_000
"""Characters of the expression by which a column is generated. A longer one may follow from any column."""
MAX_CLAUSES = 64
"""Clauses of one MERGE. One with more may touch all of its table."""
MAX_SOURCES = 64
"""Tables that one statement, or one job, selects from. One with more may select from any table."""
MAX_VIEWS_SEEN = 64
"""Views through which one statement is followed. One with more may read all of its table."""
MAX_SEEN_THROUGH_VIEWS = 20_000
"""Tables and functions that all statements of a job meet in the views they select from. Later ones may read any table."""
MAX_REGIONS = 64
"""Alternatives in what one statement touches. One with more may touch all of its table."""

# ------------------------------------------------------------------------------------------------------------ conditions

MAX_TEXT = 200_000
"""Characters of one condition. A longer one may hold for any row."""
MAX_BOXES = 32
"""Alternatives of one condition that name several columns. Of one with more, only what all of them name counts."""
MAX_WORK = 200_000
"""Values that are looked at when one condition is compiled. A larger one may hold for any row."""
MAX_CHOICES = 16
"""Branches of one CASE in a condition. One with more may hold for any row: each is written with the negation of all before it."""
MAX_TODAY = 50
"""Calls of `current_date()` in one condition or value: each is read for each day. One with more may hold for any row."""
MAX_PARTS = 32
"""Calls, columns and constants in one term of a condition. A larger one may have any value."""
MAX_SOUGHT = 1_000
"""Days that are looked for in one condition, each by halving: where `year(d) = 2026` begins and ends. Further ones are computed."""
MAX_TRIED = 400
"""Combinations of values that are tried to tell two alternatives apart: the days of a year, and some."""
MAX_COMPUTED = 8_000
"""Values of functions that are computed to tell two conditions apart. After that they may overlap."""
MAX_LENGTH = 10_000
"""Characters of a text that a function in a condition gives. A longer one may be any text."""

_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END})
_NESTING_TYPES = frozenset({TokenType.ARRAY, TokenType.MAP, TokenType.STRUCT})
_PREFIXES = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE})
_LESS, _GREATER = TokenType.LT, TokenType.GT
_STRING, _INTERVAL, _PIPE = TokenType.STRING, TokenType.INTERVAL, TokenType.PIPE_GT


def excess(tokens: Sequence[Token], what: str = "the condition") -> str | None:
    """Why these tokens are too many or too deeply nested to be parsed; None if they aren't."""
    if len(tokens) > MAX_TOKENS:
        return f"{what} has more than {MAX_TOKENS} tokens"
    if sum(token.token_type is _PIPE for token in tokens) > MAX_PIPES:
        return f"{what} has more than {MAX_PIPES} steps (|>)"
    levels: list[int] = []
    depth = prefixes = types = 0
    before: TokenType | None = None
    for token in tokens:
        kind = token.token_type
        if kind is _LESS and before in _NESTING_TYPES:
            types += 1
        elif kind is _GREATER and types:
            types -= 1
        if kind is _STRING and before is _INTERVAL and len(token.text) > MAX_INTERVAL:
            return f"{what} has an interval of more than {MAX_INTERVAL} characters"
        before = kind
        if kind in _PREFIXES:
            prefixes += 1
        elif kind in _OPENING:
            levels.append(1 + prefixes)
            depth += 1 + prefixes
            prefixes = 0
        else:
            prefixes = 0
            if kind in _CLOSING and levels:
                depth -= levels.pop()
        if depth + prefixes + types > MAX_NESTING:
            return f"{what} is nested deeper than {MAX_NESTING} levels"
    if tokens_read(tokens, enough=MAX_TOKENS) > MAX_TOKENS:
        return f"{what} has too many joins without ON, or too many nested calls that are named like types"
    return None
