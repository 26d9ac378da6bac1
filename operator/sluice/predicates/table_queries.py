"""Spells out `TABLE name`, `(VALUES ...)` and `(FROM ...)` in place of a query: the parser takes the first for a
column with an alias, and the others, after INSERT's table, for a list of columns."""

from collections.abc import Iterator, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from sluice.predicates.errors import PredicateError
from sluice.predicates.parse_errors import place_of

_SET_OPERATIONS = frozenset({"UNION", "EXCEPT", "INTERSECT", "MINUS", "SETMINUS"})
_KINDS_OF_SETS = frozenset({"ALL", "DISTINCT"})
_BEGINS_A_QUERY = frozenset({"SELECT", "VALUES", "FROM", "TABLE"})
_NAMES_THE_TARGET = frozenset({"INTO", "OVERWRITE"})
_HOLDS_A_QUERY = frozenset({"INSERT", "WITH"})
_AFTER_A_TABLE_QUERY = frozenset(
    {
        *("", ")", "|>", "ORDER BY", "SORT BY", "CLUSTER BY", "DISTRIBUTE BY", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE"),
        *("LIMIT", "OFFSET", "WINDOW", "INSERT"),
        *_SET_OPERATIONS,
    }
)  # fmt: skip

_QUOTING = frozenset({TokenType.IDENTIFIER, TokenType.STRING})
_SPELLED_OUT = frozenset({TokenType.TABLE, TokenType.VALUES})
_VALUES, _OPENS, _CLOSES, _FROM = TokenType.VALUES, TokenType.L_PAREN, TokenType.R_PAREN, TokenType.FROM


def spelled_out(tokens: Sequence[Token]) -> list[Token]:
    """Returns the tokens with such queries spelled out. Raises PredicateError where `TABLE name` is followed by
    something that Spark does not know there."""
    if tokens and _word(tokens[0]) == "INSERT":
        tokens = _in_two_parentheses(tokens)
    if _SPELLED_OUT.isdisjoint([token.token_type for token in tokens]):
        return list(tokens)
    found: list[Token] = []
    copied = 0
    for position, token in _begin_queries(tokens):
        is_values = token.token_type is _VALUES
        if is_values or _named(tokens, position + 1) is not None:
            found += tokens[copied:position]
            found += _selecting_from(token)
            copied = position + (not is_values)
    return [*found, *tokens[copied:]]


def _in_two_parentheses(tokens: Sequence[Token]) -> list[Token]:
    """Doubles the parentheses around what begins with FROM."""
    found: list[Token] = []
    doubled: list[bool] = []
    for position, token in enumerate(tokens):
        found.append(token)
        if token.token_type is _OPENS:
            after = tokens[position + 1 : position + 2]
            doubled.append(not doubled and bool(after) and after[0].token_type is _FROM)
            found += [token] * doubled[-1]
        elif token.token_type is _CLOSES and doubled:
            found += [token] * doubled.pop()
    return found


def _begin_queries(tokens: Sequence[Token]) -> Iterator[tuple[int, Token]]:
    """Yields each VALUES and TABLE that may be the first word of a query, with its position."""
    words = ["", "", *map(_word, tokens)]
    depth, selects = 0, words[2] not in _HOLDS_A_QUERY
    for position, token in enumerate(tokens):
        text = words[position + 2]
        if text == ")":
            depth -= 1
        if token.token_type in _SPELLED_OUT and _may_begin(
            token, words[position], words[position + 1], own=depth == 0 and not selects
        ):
            yield position, token
        if depth == 0 and not selects and text in _BEGINS_A_QUERY:
            selects = words[position + 1] not in _NAMES_THE_TARGET
        if text == "(":
            depth += 1


def _may_begin(token: Token, before_that: str, before: str, *, own: bool) -> bool:
    """Whether a query may begin there. `own`: where the statement's own query may."""
    if token.token_type is _VALUES:
        return before == "(" or before in _SET_OPERATIONS
    in_a_set = before in _SET_OPERATIONS or (before in _KINDS_OF_SETS and before_that in _SET_OPERATIONS)
    return before in ("", "(", ")") or in_a_set or (own and before not in _NAMES_THE_TARGET)


def _named(tokens: Sequence[Token], position: int) -> int | None:
    """The position after the name at this position; None if there is no name."""
    while position < len(tokens) and _is_part(tokens[position]):
        position += 1
        if position >= len(tokens) or tokens[position].token_type is not TokenType.DOT:
            _refuse_what_follows(tokens, position)
            return position
        position += 1
    return None


def _refuse_what_follows(tokens: Sequence[Token], position: int) -> None:
    if position < len(tokens) and _word(tokens[position]) not in _AFTER_A_TABLE_QUERY:
        token = tokens[position]
        raise PredicateError(
            f"TABLE and a name are followed by {token.text!r}, which Spark does not know there",
            *place_of([token]),
        )


def _is_part(token: Token) -> bool:
    if token.token_type in (TokenType.STRING, TokenType.NUMBER):
        return False
    return token.token_type is TokenType.IDENTIFIER or token.text.replace("_", "a").isalnum()


def _word(token: Token) -> str:
    return "`" if token.token_type in _QUOTING else token.text.upper()


def _selecting_from(token: Token) -> Iterator[Token]:
    for kind, text in ((TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), (TokenType.FROM, "FROM")):
        yield Token(kind, text, token.line, token.col, token.start, token.end)
