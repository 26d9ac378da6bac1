"""What may follow in statements that the SQL parser does not read, as patterns over their words."""

import re

from sqlglot.tokenizer_core import Token, TokenType

from sluice.footprint.sql.words import word

_OF = {TokenType.IDENTIFIER: "`", TokenType.STRING: "'", TokenType.NUMBER: "0"}
NAME = r"(?:`|[A-Z0-9_]+)(?: \. (?:`|[A-Z0-9_]+))*"
NAMES = rf"{NAME}(?: , {NAME})*"
STRING, NUMBER = "'", "(?:- )?0"
_VALUE = r"(?:'|(?:- )?0|[A-Z]\w*)"
_PROPERTY = rf"(?:'|{NAME})(?: =)?(?: {_VALUE})?"
PROPERTIES = rf"\( {_PROPERTY}(?: , {_PROPERTY})* \)"
ANYTHING = r".+"


def fits(tokens: tuple[Token, ...], pattern: str) -> bool:
    """Whether these words are all that the pattern describes, from the first to the last."""
    return re.fullmatch(pattern, shape(tokens)) is not None


def shape(tokens: tuple[Token, ...]) -> str:
    """Upper-cased words with blanks between them; quoted names are `, texts are ', numbers are 0."""
    return " ".join(_OF.get(token.token_type) or word(token) for token in tokens)
