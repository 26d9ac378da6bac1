"""Words that never stand next to each other in Spark SQL, although the SQL parser accepts them."""

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise

from sqlglot.tokenizer_core import Token, TokenType

from sluice.footprint.sql.keywords import outside_parentheses

_OPENS_A_LIST = frozenset({"SELECT", "(", ",", "["})
_ENDS_A_LIST = frozenset({")", ",", "]", "", "FROM"})
_NO_TABLE = frozenset({"SELECT", "FROM", "WHERE", "JOIN", "GROUP", "|>"})
_BEFORE_A_NAME = frozenset({"FROM", "JOIN", "INTO", "USING", "."})
_BEFORE_A_STAR = frozenset({"SELECT", "DISTINCT", "ALL", ",", "."})
_BEFORE_A_TABLE = frozenset({"JOIN", "INTO"})
_ENDS_A_VALUE = frozenset(
    {
        TokenType.VAR,
        TokenType.IDENTIFIER,
        TokenType.STRING,
        TokenType.NUMBER,
        TokenType.R_PAREN,
        TokenType.R_BRACKET,
    }
)
_OPENS = frozenset({"(", "[", "CASE"})
_CLOSES = frozenset({")", "]"})
_BEYOND_AN_END = frozenset({",", "OR", "WHERE", "WHEN", "THEN", "GROUP", "ORDER", "HAVING", "LIMIT"})
_TESTS_OF_OTHERS = frozenset({"ISNULL", "NOTNULL"})
_BEGINS_THREE = frozenset({"EXCEPT", ","})
_WITHIN_THREE = frozenset({"NOT", "*"})
_COMMA, _DOT, _STRING, _NUMBER = TokenType.COMMA, TokenType.DOT, TokenType.STRING, TokenType.NUMBER


def astray(tokens: Sequence[Token], words: Sequence[str]) -> str | None:
    """Why Spark refuses the statement that these tokens make; None if nothing is known against it. `words` are the
    tokens' words."""
    kinds = [token.token_type for token in tokens]
    for position, before, after in _around_commas(kinds, words):
        if before in _OPENS_A_LIST or after in _ENDS_A_LIST:
            return f"something is missing next to the comma on line {tokens[position].line}"
    for position, (before, text) in enumerate(pairwise(words)):
        if before in _BEFORE_A_NAME or text in _TESTS_OF_OTHERS or kinds[position] is _NUMBER:
            why = _of_two(tokens[position], tokens[position + 1], before, text)
            if why is not None:
                return f"{why} on line {tokens[position + 1].line}"
    unended = _between_without_and(tokens, words)
    if unended is not None:
        return f"BETWEEN has no AND on line {unended}"
    for position, three in enumerate(zip(words, words[1:], words[2:], strict=False)):
        if three[0] in _BEGINS_THREE or three[1] in _WITHIN_THREE:
            why = _of_three(tokens[position], three, tokens[position + 2])
            if why is not None:
                return f"{why} on line {tokens[position + 2].line}"
    return _from_without_select(tokens, words)


def _from_without_select(tokens: Sequence[Token], words: Sequence[str]) -> str | None:
    """Finds `FROM t WHERE ...`, which is not a query in Spark: SELECT or |> must come first."""
    if "WHERE" not in words:
        return None
    outside = ((text, tokens[position].line) for position, text in outside_parentheses(tokens))
    begins = False
    for (before, _), (text, line) in pairwise(chain([("", 0)], outside)):
        if text in ("SELECT", "VALUES", "|>", "DELETE", "MERGE", "UPDATE"):
            return None
        if text == "WHERE" and begins:
            return f"WHERE on line {line} follows FROM without a SELECT between them: add the SELECT"
        begins = begins or (text == "FROM" and before != "DISTINCT")
    return None


def _between_without_and(tokens: Sequence[Token], words: Sequence[str]) -> int | None:
    """The line of the first BETWEEN without its AND, which must come before anything that cannot be part of the lower
    bound."""
    if "BETWEEN" not in words:
        return None
    inside: list[str] = []
    waiting: list[tuple[int, int]] = []
    for token, text in zip(tokens, words, strict=True):
        here = bool(waiting) and waiting[-1][0] == len(inside)
        if text in _CLOSES or (text == "END" and inside[-1:] == ["CASE"]):
            if here:
                return waiting[-1][1]
            del inside[-1:]
        elif text in _OPENS:
            inside.append(text)
        elif text == "BETWEEN":
            waiting.append((len(inside), token.line))
        elif here and text == "AND":
            waiting.pop()
        elif here and text in _BEYOND_AN_END:
            return waiting[-1][1]
    return waiting[-1][1] if waiting else None


def _of_two(previous: Token, token: Token, before: str, text: str) -> str | None:
    """Has no more to say than `astray` asks for."""
    if token.token_type is _DOT and before in _BEFORE_A_NAME:
        return "a part of a name is missing before the dot"
    if token.token_type is _STRING and before in _BEFORE_A_TABLE:
        return f"a string stands where a table must be named, after {before},"
    if previous.token_type is token.token_type is _NUMBER:
        return f"something is missing between {previous.text} and {token.text}"
    if before == "FROM" and text in _NO_TABLE:
        return "a table is missing after FROM"
    if text in _TESTS_OF_OTHERS and previous.token_type in _ENDS_A_VALUE:
        return f"Spark has no {text} after a value: write IS NULL or IS NOT NULL"
    return None


def _of_three(first: Token, words: tuple[str, str, str], third: Token) -> str | None:
    """Has no more to say than `astray` asks for."""
    if words[1:] == ("NOT", "NULL") and first.token_type in _ENDS_A_VALUE:
        return "IS is missing before NOT NULL"
    if words[1:] == ("*", "EXCLUDE") and words[0] in _BEFORE_A_STAR:
        return "Spark has no * EXCLUDE: write * EXCEPT"
    if words == ("EXCEPT", "(", ")"):
        return "EXCEPT names no column"
    if words[:2] == (",", ".") and third.token_type is not _NUMBER:
        return "a part of a name is missing before the dot"
    return None


def _around_commas(kinds: Sequence[TokenType], words: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yields each comma's position, with the words before and after it."""
    around = ["", *words, ""]
    for position, kind in enumerate(kinds):
        if kind is _COMMA:
            yield position, around[position], around[position + 2]
