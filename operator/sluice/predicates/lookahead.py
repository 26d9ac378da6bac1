"""Counts the words that the parser reads more than once, because it goes back and reads words again as something else.

It does so after a JOIN without a condition, which it looks for after the following joins, and within the parentheses
or brackets of what could be a type, as in date(x) and array[x]. Each of these within another one, and each further
JOIN in a row, doubles the work: twenty joins, which Spark accepts, would take minutes.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import Token, TokenType
from sqlglot.dialects.spark import Spark

_TYPES = frozenset(Spark.parser_class.TYPE_TOKENS)
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})
_JOIN = frozenset({TokenType.JOIN, TokenType.STRAIGHT_JOIN})
_CONDITION = frozenset({TokenType.ON, TokenType.USING})
_HAS_NONE = frozenset({TokenType.CROSS, TokenType.NATURAL})
"""Words before JOIN after which the parser looks for no condition."""
_AFTER_JOINS = frozenset({TokenType.SELECT, TokenType.WHERE})
_COMMA = TokenType.COMMA


def tokens_read(tokens: Sequence[Token], enough: int) -> int:
    """How many tokens are read, each as often as it is read; counting stops beyond `enough`."""
    bare = _joins_without_condition(tokens)
    read = doubled = own = 0
    is_after_bare = False
    outer: list[tuple[int, bool]] = []
    before: TokenType | None = None
    for position, token in enumerate(tokens):
        kind = token.token_type
        if kind in _OPENING:
            outer.append((own, is_after_bare))
            own, is_after_bare = int(before in _TYPES), False
            doubled += own
        elif kind in _CLOSING and outer:
            doubled -= own
            own, is_after_bare = outer.pop()
        elif kind in _AFTER_JOINS:
            doubled -= own
            own, is_after_bare = 0, False
        elif kind in _JOIN or (kind is _COMMA and is_after_bare):
            own += is_after_bare
            doubled += is_after_bare
            is_after_bare = position in bare
        read += 1 << doubled
        if read > enough:
            break
        before = kind
    return read


def _joins_without_condition(tokens: Sequence[Token]) -> frozenset[int]:
    """Positions of JOINs whose table is not directly followed by a condition."""
    if _JOIN.isdisjoint([token.token_type for token in tokens]):
        return frozenset()
    found: set[int] = set()
    is_conditioned = False
    outer: list[bool] = []
    for position in range(len(tokens) - 1, -1, -1):
        kind = tokens[position].token_type
        if kind in _CLOSING:
            outer.append(is_conditioned)
            is_conditioned = False
        elif kind in _OPENING:
            is_conditioned = outer.pop() if outer else False
        elif kind in _CONDITION:
            is_conditioned = True
        elif kind in _JOIN or kind is _COMMA:
            has_none = position > 0 and tokens[position - 1].token_type in _HAS_NONE
            if kind in _JOIN and not is_conditioned and not has_none:
                found.add(position)
            is_conditioned = False
    return frozenset(found)
