"""What may follow in statements that the SQL parser does not read, as patterns over their words."""

import re
from collections.abc import Iterator

from sqlglot.tokenizer_core import Token, TokenType

from sluice.footprint.sql.words import word

_OF = {TokenType.IDENTIFIER: "`", TokenType.STRING: "'", TokenType.NUMBER: "0"}
WORD = "(?:`|[A-Z0-9_]+)"
NAME = rf"{WORD}(?: \. {WORD})*"
NAMES = rf"{NAME}(?: , {NAME})*"
STRING, NUMBER = "'", "(?:- )?0"
_VALUE = rf"(?:{STRING}|{NUMBER}|TRUE|FALSE)"
TYPE = rf"[A-Z]\w*(?: \( 0(?: , 0)? \))?(?: < .+ >+)?(?: COLLATE {WORD})?"
_KEY = rf"(?:{STRING}|{NAME})"
PROPERTIES_SET = rf"\( {_KEY}(?: =)? {_VALUE}(?: , {_KEY}(?: =)? {_VALUE})* \)"
PROPERTIES_NAMED = rf"\( {_KEY}(?: , {_KEY})* \)"


def fits(tokens: tuple[Token, ...], pattern: str) -> bool:
    """Whether these words are all that the pattern describes, from the first to the last."""
    return re.fullmatch(pattern, shape(tokens)) is not None


def shape(tokens: tuple[Token, ...]) -> str:
    """Upper-cased words with blanks between them; quoted names are `, texts are ', numbers are 0."""
    return " ".join(_OF.get(token.token_type) or word(token) for token in tokens)


def outline(tokens: tuple[Token, ...]) -> str:
    """As `shape`, with nothing in the parentheses."""
    return shape(tuple(_without_what_is_inside(tokens)))


def _without_what_is_inside(tokens: tuple[Token, ...]) -> Iterator[Token]:
    depth = 0
    for token in tokens:
        depth -= token.token_type is TokenType.R_PAREN
        if depth <= 0:
            yield token
        depth += token.token_type is TokenType.L_PAREN
