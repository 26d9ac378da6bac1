"""Reads word by word the statements that the SQL parser takes for opaque text."""

from collections.abc import Iterator, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from sluice.footprint.errors import NotUnderstoodError

QUOTED = "`"
"""Stands for a quoted name, which is never a keyword."""

_QUOTING = frozenset({TokenType.IDENTIFIER, TokenType.STRING})
_OPENS, _CLOSES = TokenType.L_PAREN, TokenType.R_PAREN  # in Python 3.11 a name in an enum is slow to look up


def word(token: Token) -> str:
    return QUOTED if token.token_type in _QUOTING else token.text.upper()


def words(tokens: Sequence[Token]) -> list[str]:
    return [QUOTED if token.token_type in _QUOTING else token.text.upper() for token in tokens]


def starts_with(tokens: tuple[Token, ...], expected: tuple[str, ...]) -> bool:
    return len(tokens) >= len(expected) and all(
        word(token) == keyword for token, keyword in zip(tokens, expected, strict=False)
    )


def outside_parentheses(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    """Yields the words outside of parentheses with their positions."""
    depth = 0
    for position, token in enumerate(tokens):
        kind = token.token_type
        if kind is _CLOSES:
            depth -= 1
            continue
        if depth == 0:
            yield position, word(token)
        if kind is _OPENS:
            depth += 1


def closed(tokens: tuple[Token, ...], opening: int) -> int:
    """Returns the position after the parenthesis that closes this one. Raises NotUnderstoodError without the
    statement's place."""
    depth = 0
    for position in range(opening, len(tokens)):
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(tokens[position].token_type, 0)
        if depth == 0:
            return position + 1
    raise NotUnderstoodError(f"the parenthesis on line {tokens[opening].line} is not closed")


def _unquoted(token: Token) -> str:
    """A property's value as Spark reads it: TRUE and FALSE in lower case."""
    return token.text.lower() if word(token) in ("TRUE", "FALSE") else token.text


def properties(tokens: tuple[Token, ...]) -> dict[str, str | None]:
    """Reads `('key' = 'value', key.with.dots true)` from the opening parenthesis on; a key without a value gets None."""
    found: dict[str, str | None] = {}
    key, value, goes_on, has_value = "", None, True, False
    for token in tokens[1:]:
        if token.token_type in (TokenType.COMMA, TokenType.R_PAREN):
            if key:
                found[key] = value
            key, value, goes_on, has_value = "", None, True, False
            if token.token_type is TokenType.R_PAREN:
                return found
        elif token.token_type is TokenType.EQ:
            has_value = True
        elif has_value or not (goes_on or token.token_type is TokenType.DOT):
            value = (value or "") + (token.text if token.token_type is TokenType.STRING else _unquoted(token))
            has_value = True
        else:
            key += token.text
            goes_on = token.token_type is TokenType.DOT
    return found
