"""Statements that no job runs, even beside a declared footprint: Spark or the driver refuses them, or Delta misses them."""

from collections.abc import Sequence
from itertools import takewhile

from sqlglot.tokenizer_core import Token, TokenType

from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.sql.keywords import words
from sluice.footprint.sql.statement_context import place
from sluice.footprint.sql.statement_splitter import Statement
from sluice.footprint.sql.table_names import table_at

_LONGEST = 120
_AS_ONE = (
    "this is part of a SQL script or a transaction over several statements, which are not run: write the statements one after "
    "another, with ; between them"
)
_CONTROL = (
    "a job runs no control flow: write the statements one after another, with ; between them, and what they depend on into their "
    "conditions"
)
_ANEW = "write CREATE OR REPLACE TABLE to make the table anew, or TRUNCATE TABLE to empty it"
_DROPPED = (
    f"DROP TABLE may delete files without a commit, which no conflict check of Delta's sees: {_ANEW}. Drop a table for good "
    "outside of jobs"
)
_DROPPED_BY_LOCATION = f"Spark reports DROP TABLE of a location as done, and removes no file: {_ANEW}"
_OF_A_BLOCK = frozenset({"BEGIN", "END", "START", "COMMIT", "ROLLBACK"})
_OF_CONTROL = frozenset(
    {"IF", "CASE", "WHILE", "LOOP", "REPEAT", "FOR", "LEAVE", "ITERATE", "SIGNAL", "RESIGNAL"}
)


def refuse_what_never_runs(statement: Statement, field: str | None = None) -> None:
    """`field`: the text's place in the spec, if another one may hold statements as well."""
    within = place(statement) if field is None else f"{field}, {place(statement)}"
    try:
        why = _why(statement.tokens)
    except NotUnderstoodError as error:
        raise NotUnderstoodError(f"{within}: {error}") from None
    if why is not None:
        raise NotUnderstoodError(f"{within}: {why}")


def _why(tokens: tuple[Token, ...]) -> str | None:
    first, *others = words(tokens[:3])
    if others == [":", "BEGIN"] or first in _OF_A_BLOCK:
        return _AS_ONE
    if first in _OF_CONTROL or (first == "DECLARE" and others[:1] in (["EXIT"], ["CONTINUE"])):
        return _CONTROL
    if first == "EXECUTE":
        return _instead_of_immediate(tokens)
    if [first, *others[:1]] == ["DROP", "TABLE"]:
        named = table_at(tokens, 4 if others[1:] == ["IF"] else 2)
        return _DROPPED if named is None or named.key.is_name else _DROPPED_BY_LOCATION
    return None


def _instead_of_immediate(tokens: Sequence[Token]) -> str:
    """EXECUTE IMMEDIATE text [INTO variable, ...] [USING value, ...]. A text with '' in it comes as several."""
    given = list(takewhile(lambda token: token.token_type is TokenType.STRING, tokens[2:]))
    after = words(tokens[2 + len(given) :])
    why = "EXECUTE IMMEDIATE hides from Sluice what it runs, and is not run: write the statement itself"
    if not given or after[:1] not in ([], ["INTO"], ["USING"]):
        return f"{why}, with spec.parameters for the values that differ from job to job"
    if "INTO" in after:
        return f"{why}, where its value is used: Sluice does not follow variables of a session"
    if after:
        return f"{why}, with spec.parameters for the values after USING"
    text = " ".join(given[0].text.split())
    return f"{why}: {text}" if len(given) == 1 and len(text) <= _LONGEST else why
