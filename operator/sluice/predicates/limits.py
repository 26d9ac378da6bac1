"""Limits how large a condition may be: one of ten thousand ORs must end in "may overlap", never in a hang.

All limits count tokens, nodes or cuts, never time, so that the same text always gives the same answer. Nesting is limited
because sqlglot's parser recurses about twenty Python frames a level, and reads a type's types again at each.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import Token, TokenType

from sluice.predicates.lookahead import tokens_read

MAX_TEXT = 200_000
MAX_TOKENS = 20_000
MAX_NESTING = 24
MAX_INTERVAL = 256
"""Characters in an interval: the parser looks for a unit again after each digit."""
MAX_BOXES = 32
MAX_WORK = 200_000

_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END})
_NESTING_TYPES = frozenset({TokenType.ARRAY, TokenType.MAP, TokenType.STRUCT})
_PREFIXES = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE})
_LESS, _GREATER = TokenType.LT, TokenType.GT
_STRING, _INTERVAL = TokenType.STRING, TokenType.INTERVAL


def excess(tokens: Sequence[Token], what: str = "the condition") -> str | None:
    """Why these tokens are too many or too deeply nested to be parsed; None if they aren't."""
    if len(tokens) > MAX_TOKENS:
        return f"{what} has more than {MAX_TOKENS} tokens"
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
