"""Spells out `TABLE name`, `(VALUES ...)` and `(FROM ...)` in place of a query: the parser takes the first for a
column with an alias, and the others, after INSERT's table, for a list of columns."""

from collections.abc import Iterator, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from sluice.predicates.complaints import place_of
from sluice.predicates.errors import PredicateError

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


def spelled_out(tokens: Sequence[Token]) -> list[Token]:
    """Returns the tokens with such queries spelled out. Raises PredicateError where `TABLE name` is followed by
    something that Spark does not know there."""
    tokens = _in_two_parentheses(tokens)
    if not any(token.token_type in (TokenType.TABLE, TokenType.VALUES) for token in tokens):
        return tokens
    found: list[Token] = []
    for position, token, is_query in _places(tokens):
        if is_query and token.token_type is TokenType.VALUES:
            found += _selecting_from(token)
            found.append(token)
        elif is_query and token.token_type is TokenType.TABLE and _named(tokens, position + 1) is not None:
            found += _selecting_from(token)
        else:
            found.append(token)
    return found


def _in_two_parentheses(tokens: Sequence[Token]) -> list[Token]:
    """Doubles the parentheses around what begins with FROM in an INSERT."""
    found: list[Token] = []
    doubled: list[bool] = []
    words = [_word(token) for token in tokens[:1]]
    for position, token in enumerate(tokens):
        found.append(token)
        if token.token_type is TokenType.L_PAREN:
            after = tokens[position + 1 : position + 2]
            doubled.append(
                words == ["INSERT"] and not doubled and bool(after) and after[0].token_type is TokenType.FROM
            )
            found += [token] * doubled[-1]
        elif token.token_type is TokenType.R_PAREN and doubled:
            found += [token] * doubled.pop()
    return found


def _places(tokens: Sequence[Token]) -> Iterator[tuple[int, Token, bool]]:
    """Yields each token with its position, and whether it may be the first word of a query."""
    words = ["", "", *(_word(token) for token in tokens)]
    depth, selects = 0, words[2] not in _HOLDS_A_QUERY
    for position, token in enumerate(tokens):
        before_that, before, text = words[position : position + 3]
        depth -= text == ")"
        if token.token_type is TokenType.VALUES:
            yield position, token, before == "(" or before in _SET_OPERATIONS
        else:
            in_a_set = before in _SET_OPERATIONS or (
                before in _KINDS_OF_SETS and before_that in _SET_OPERATIONS
            )
            of_the_statement = depth == 0 and not selects and before not in _NAMES_THE_TARGET
            yield position, token, before in ("", "(", ")") or in_a_set or of_the_statement
        selects = selects or (depth == 0 and text in _BEGINS_A_QUERY and before not in _NAMES_THE_TARGET)
        depth += text == "("


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
    quoted = token.token_type in (TokenType.IDENTIFIER, TokenType.STRING)
    return "`" if quoted else token.text.upper()


def _selecting_from(token: Token) -> Iterator[Token]:
    for kind, text in ((TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), (TokenType.FROM, "FROM")):
        yield Token(kind, text, token.line, token.col, token.start, token.end)
