"""Statements that touch no table but change what the next ones mean: SET, RESET, USE and temporary functions."""

from dataclasses import replace

from sqlglot.tokenizer_core import Token

from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.sql.functions import may_be_builtin
from sluice.footprint.sql.keywords import outside_parentheses, words
from sluice.footprint.sql.settings import key_in_sql
from sluice.footprint.sql.statement_context import Surroundings, place
from sluice.footprint.sql.statement_splitter import Statement
from sluice.footprint.sql.word_patterns import NAME, STRING, WORD, fits

_FILE = rf"(?:JAR|FILE|ARCHIVE) {STRING}"
_TIME_ZONE = "spark.sql.session.timeZone"
_CATALOGS = "spark.sql.catalog."
_MAKES_FUNCTIONS_FROM_SQL = (4, 0)


def reset(statement: Statement, around: Surroundings, _beginning: int) -> Surroundings:
    return replace(around, settings=around.settings.reset(_setting(statement, _after_verb(statement))))


def _after_verb(statement: Statement) -> str:
    verb = statement.tokens[0]
    return statement.text[verb.end + 1 - verb.start :].strip()


def _setting(statement: Statement, text: str) -> str | None:
    """The setting's name; None if there is none, which stands for all settings."""
    if not text:
        return None
    key = key_in_sql(text)
    if key is None:
        raise NotUnderstoodError(
            f"{place(statement)}: {text[:80]!r} is not the name of a setting: write it as spark.name or `spark.name`, "
            "without comments"
        )
    return key


def set_(statement: Statement, around: Surroundings, _beginning: int) -> Surroundings:
    found = words(statement.tokens)
    if found[1:3] == ["TIME", "ZONE"]:
        return _with(statement, around, _TIME_ZONE, _zone(statement))
    if found[1:2] == ["CATALOG"] and len(found) == 3:
        return replace(around, moved=True)
    name, equals, value = _after_verb(statement).partition("=")
    if not equals:
        if found[1:] != ["-", "V"]:
            _setting(statement, name.strip())
        return around  # shows settings
    key = _setting(statement, name.strip())
    if key is None:
        raise NotUnderstoodError(f"{place(statement)}: SET has no setting's name before '=': add it")
    if "--" in value or "/*" in value:
        raise NotUnderstoodError(
            f"{place(statement)}: Spark reads a comment as part of the value of {key}: remove it"
        )
    around = _with(statement, around, key, _unquoted(value.strip()))
    return replace(around, moved=True) if key.startswith(_CATALOGS) else around


def _with(statement: Statement, around: Surroundings, key: str, value: str | None) -> Surroundings:
    try:
        return replace(around, settings=around.settings.changed(key, value))
    except NotUnderstoodError as error:
        raise NotUnderstoodError(f"{place(statement)}: {error}") from None


def _unquoted(value: str) -> str:
    """Removes backticks from a value, as Spark does; other quotes stay."""
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == "`" else value


def _zone(statement: Statement) -> str | None:
    """The time zone; None if it is not known here because it is the driver's own."""
    rest = statement.tokens[3:]
    if fits(rest, STRING):
        return rest[0].text
    if fits(rest, r"LOCAL|INTERVAL .+"):
        return None
    raise NotUnderstoodError(
        f"{place(statement)}: only SET TIME ZONE with 'zone', LOCAL or INTERVAL is understood"
    )


def use(statement: Statement, around: Surroundings, beginning: int) -> Surroundings:
    rest = statement.tokens[beginning:]
    if not fits(rest, rf"(?:(?:CATALOG|SCHEMA|DATABASE|NAMESPACE) )?(?:{NAME}|IDENTIFIER \( .+ \))"):
        raise NotUnderstoodError(
            f"{place(statement)}: only USE schema, USE catalog.schema and USE SCHEMA name are understood"
        )
    return replace(around, moved=True)


def function(statement: Statement, around: Surroundings, position: int) -> Surroundings:
    """Reads a temporary function, made from a Java class or from SQL. What it does is not known, so what calls it is
    widened."""
    tokens = statement.tokens[position:]
    if not (
        fits(tokens, rf"{WORD} AS {STRING}(?: USING {_FILE}(?: , {_FILE})*)?") or _is_sql(tokens)
    ) or may_be_builtin(tokens[0].text):
        raise NotUnderstoodError(
            f"{place(statement)}: only CREATE TEMPORARY FUNCTION name AS 'class' and CREATE TEMPORARY FUNCTION name (parameters) "
            "RETURNS type RETURN expression are understood, with a name that no function of Spark's has"
        )
    spark = around.settings.spark
    if spark is not None and spark < _MAKES_FUNCTIONS_FROM_SQL and _is_sql(tokens):
        raise NotUnderstoodError(
            f"{place(statement)}: Spark {spark[0]}.{spark[1]} makes no functions from SQL: write the expression where "
            f"{tokens[0].text} is called"
        )
    return around


def _is_sql(tokens: tuple[Token, ...]) -> bool:
    """Whether it is `name (parameters) [RETURNS type] RETURN expression`, which Spark reads when it is called."""
    return (
        fits(tokens[:1], WORD)
        and words(tokens[1:2]) == ["("]
        and "RETURN" in [text for _, text in outside_parentheses(tokens)]
    )


def drop_function(statement: Statement, around: Surroundings, position: int) -> Surroundings:
    if not fits(statement.tokens[position:], rf"(?:IF EXISTS )?{WORD}"):
        raise NotUnderstoodError(
            f"{place(statement)}: write one name and nothing else after DROP TEMPORARY FUNCTION"
        )
    return around
