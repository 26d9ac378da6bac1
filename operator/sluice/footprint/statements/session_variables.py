"""Variables of a session, which Sluice does not follow: a parameter does the same, and is read as the value that it has."""

from collections.abc import Sequence
from json import dumps
from typing import NoReturn

from pydantic import ValidationError
from sqlglot.tokenizer_core import Token, TokenType

from sluice.api.parameters import Parameter
from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.sql.keywords import outside_parentheses, words
from sluice.footprint.sql.statement_context import Surroundings, place
from sluice.footprint.sql.statement_splitter import Statement

_BEFORE_A_NAME = frozenset({"DECLARE", "OR", "REPLACE", "SET", "VAR", "VARIABLE"})
_BEFORE_A_VALUE = frozenset({"DEFAULT", "="})
_WHOLE = frozenset({"TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT", "LONG"})


def refuse(statement: Statement, _around: Surroundings, _beginning: int) -> NoReturn:
    raise NotUnderstoodError(
        f"{place(statement)}: Sluice does not follow variables of a session: {_instead(statement.tokens)}, or declare what is "
        "touched in spec.footprint"
    )


def _instead(tokens: tuple[Token, ...]) -> str:
    """What to write instead of DECLARE [OR REPLACE] [VARIABLE] name [type] DEFAULT value, and of SET VARIABLE name = value."""
    found = words(tokens)
    starts = next((at for at, text in enumerate(found) if text not in _BEFORE_A_NAME), len(tokens))
    begins = next((at for at, text in outside_parentheses(tokens) if text in _BEFORE_A_VALUE), None)
    named = tokens[starts : begins if begins is not None else len(tokens)]
    if not named or not named[0].text.isidentifier() or words(named[1:2]) in (["."], [","]):
        return "use spec.parameters"
    name = named[0].text
    used = f"write :{name} where it is used, and give its value in spec.parameters"
    if begins is None:
        return used
    value = tokens[begins + 1 :]
    given = _as_parameter(words(named[1:]), value)
    if given is not None:
        return f"{used}: {{{name}: {given}}}"
    return f"{used}, or write its expression there"


def _as_parameter(declared: Sequence[str], value: Sequence[Token]) -> str | None:
    """The value under its type, as spec.parameters has it; None if it is no literal of a kind that is plain to see."""
    kinds, text = [token.token_type for token in value], value[-1].text if value else ""
    if kinds[-1:] == [TokenType.STRING] and [*declared, *words(value[:-1])] in (["DATE"], ["DATE", "DATE"]):
        return _valid("date", text)
    if kinds == [TokenType.STRING] and "\\" not in text and declared in ([], ["STRING"]):
        return _valid("string", text)
    if kinds == [TokenType.NUMBER] and text.isdigit() and (not declared or declared[0] in _WHOLE):
        return _valid("integer", int(text))
    return None


def _valid(kind: str, value: str | int) -> str | None:
    try:
        Parameter.model_validate({kind: value})
    except ValidationError:
        return None
    return f"{{{kind}: {dumps(value, ensure_ascii=False)}}}"
