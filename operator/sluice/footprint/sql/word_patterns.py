"""Checks statements that the SQL parser does not read, by patterns over their words.

A pattern must match in one way only, so that hostile text takes no longer: what is nested deeper than any pattern
looks is left out of the words, and `.+` appears at most once.
"""

import re
from collections.abc import Iterator, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from sluice.footprint.sql.keywords import word

_OF = {TokenType.IDENTIFIER: "`", TokenType.STRING: "'", TokenType.NUMBER: "0"}
_DEEPEST = 1
_NESTING_TYPES = frozenset({"ARRAY", "MAP", "STRUCT"})
WORD = r"(?:`|(?!0\b)[A-Z0-9_]+)"
NAME = rf"{WORD}(?: \. {WORD})*"
NAMES = rf"{NAME}(?: , {NAME})*"
STRING, NUMBER = "'", "(?:- )?0"
_VALUE = rf"(?:{STRING}|{NUMBER}|TRUE|FALSE)"
_KEY = rf"(?:{STRING}|{NAME})"
PROPERTIES_SET = rf"\( {_KEY}(?: ==?)? {_VALUE}(?: , {_KEY}(?: ==?)? {_VALUE})* \)"
PROPERTIES_NAMED = rf"\( {_KEY}(?: , {_KEY})* \)"
GROUP = r"\([^()]*(?:\( \)[^()]*)*\)"
"""Anything in parentheses."""
_PLAIN = (
    ""
    "BOOLEAN|TINYINT|BYTE|SMALLINT|SHORT|INT|INTEGER|BIGINT|LONG|FLOAT|REAL|DOUBLE|DATE|TIMESTAMP|TIMESTAMP_NTZ|TIMESTAMP_LTZ|TIME|"
    "STRING|CHAR|CHARACTER|VARCHAR|BINARY|DECIMAL|DEC|NUMERIC|VOID|VARIANT|GEOMETRY|GEOGRAPHY|ARRAY|MAP|STRUCT"
)
"""Every type in any supported Spark."""
TYPE = (
    r"(?:INTERVAL [A-Z]+(?: TO [A-Z]+)?|TIMESTAMP WITH(?:OUT)?(?: LOCAL)? TIME ZONE|"
    rf"(?:{_PLAIN})\b(?: \( (?:[A-Z0-9]+(?: , [A-Z0-9]+)? )?\))?(?: < >+)?(?: COLLATE {WORD})?)"
)
DEFAULT = rf"DEFAULT(?: (?:{GROUP}|(?!(?:COMMENT|NOT|FIRST|AFTER|DEFAULT|GENERATED|CHECK)\b)[^ ,()]+))+"


def fits(tokens: tuple[Token, ...], pattern: str) -> bool:
    """Whether the pattern describes all of these words, from the first to the last."""
    return re.fullmatch(pattern, _shape(tokens)) is not None


def _shape(tokens: tuple[Token, ...]) -> str:
    """The upper-cased words separated by blanks, with ` for a quoted name, ' for a string and 0 for a number."""
    shown = _without_what_types_nest(list(_down_to(tokens, _DEEPEST)))
    return " ".join(_OF.get(token.token_type) or word(token) for token in shown)


def _down_to(tokens: tuple[Token, ...], deepest: int) -> Iterator[Token]:
    depth = 0
    for token in tokens:
        depth -= token.token_type is TokenType.R_PAREN
        if depth <= deepest:
            yield token
        depth += token.token_type is TokenType.L_PAREN


def _without_what_types_nest(tokens: Sequence[Token]) -> Iterator[Token]:
    """Reduces nested types to ARRAY < >, MAP < > and STRUCT < >."""
    open_, before = 0, ""
    for token in tokens:
        text = token.text.upper()
        opens = text == "<" and (open_ > 0 or before in _NESTING_TYPES)
        closes = text.count(">") if open_ and not text.strip(">") else 0
        first = opens and open_ == 0
        open_ = max(0, open_ + opens - closes)
        if first or open_ == 0:
            yield token
        before = text
