"""The one place that calls sqlglot's tokenizer and parser, because broken text makes them raise any exception.

Text is checked before it is parsed: the parser recurses, and unrendered templates must be named, not guessed at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import ClassVar

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError
from sqlglot.parser import Parser

from sluice.predicates import limits
from sluice.predicates.errors import PredicateError
from sluice.predicates.parse_errors import place_of, unparsed, untokenized
from sluice.predicates.source_text import note_source
from sluice.predicates.table_queries import spelled_out

WRITTEN = "written"
"""The key in a node's meta for the name by which a function is called, which the node's class does not tell."""
CALLED_AMONG = "called among"
"""The key in the meta of a node without a name: functions that the parser takes for syntax, one of which it may be."""


UNIT_UNKNOWN = "unit unknown"
"""The key in the meta of a truncation whose unit may be another than the node tells, which makes a YEAR of 'Y' and of a column."""


class _AsWritten(Spark):
    ORIGINAL_NAME_META_KEY = WRITTEN


SPARK: Dialect = _AsWritten()
_SYNTAX_OF_SPARK = frozenset(
    {
        "AND",
        "ANY",
        "APPROX_PERCENTILE",
        "CASE",
        "CAST",
        "CEIL",
        "CHAR",
        "CHR",
        "DECODE",
        "EXTRACT",
        "FLOOR",
        "IF",
        "INITCAP",
        "MAX_BY",
        "MIN_BY",
        "OR",
        "OVERLAY",
        "PERCENTILE",
        "PERCENTILE_APPROX",
        "POSITION",
        "SUBSTR",
        "SUBSTRING",
        "TRANSFORM",
        "TRIM",
        "TRY_CAST",
    }
)
"""Functions that every Spark has, or names that no function can have."""
_TAKEN_FOR_SYNTAX = (
    frozenset({"APPLY", *SPARK.parser_class.FUNCTION_PARSERS, *SPARK.parser_class.NO_PAREN_FUNCTION_PARSERS})
    - _SYNTAX_OF_SPARK
)
_PIPE, _OPENS, _CLOSES = TokenType.PIPE_GT, TokenType.L_PAREN, TokenType.R_PAREN
_LENGTHENED = frozenset(exp.TimeUnit.UNABBREVIATED_UNIT_NAME)
_TRUNCATES = frozenset({"TRUNC", "DATE_TRUNC"})
_TEMPLATES = (("{{", "}}"), ("{%", "%}"), ("{#", "#}"), ("${", "}"))
"""How template expressions begin and end."""


class _Tokenizer(Spark.Tokenizer):
    """Reads every word, where sqlglot takes what follows OPTIMIZE, VACUUM and others for one opaque text."""

    COMMANDS: ClassVar[set[TokenType]] = set()


def tokens_of(text: str) -> list[Token]:
    try:
        return _Tokenizer(dialect=SPARK).tokenize(text)
    except Exception as error:  # a tokenizer's own defects do not concern the author of the text
        raise untokenized(text, error) from error


def statement_in(tokens: Sequence[Token], text: str) -> exp.Expr:
    """The tree of a statement whose tokens are within `limits.excess`. Nodes know their places in the text."""
    return _only("statement", lambda parser: parser.parse(spelled_out(tokens), text), tokens, text)


def condition_among(tokens: Sequence[Token], text: str) -> exp.Expr:
    """The tree of a condition; otherwise like `statement_in`."""
    return _only(
        "condition",
        lambda parser: parser.parse_into(exp.Condition, spelled_out(tokens), text),
        tokens,
        text,
    )


def _only(
    what: str, parse: Callable[[Parser], list[exp.Expr | None]], tokens: Sequence[Token], text: str
) -> exp.Expr:
    try:
        found = parse(SPARK.parser())
    except ParseError as error:
        raise unparsed(what, error.errors[0] if error.errors else {}, tokens) from error
    except PredicateError:
        raise
    except Exception as error:
        # From broken text it makes nodes of parts that don't fit, whose constructors fail.
        why = (
            "it is nested too deeply"
            if isinstance(error, RecursionError)
            else "its parts do not fit together"
        )
        raise PredicateError(f"this is not a {what}: {why}", *place_of(tokens)) from error
    if not any(found):
        raise PredicateError(f"the {what} is empty", *place_of(tokens))
    if len(found) != 1 or found[0] is None:
        raise PredicateError(f"this is more than one {what}: write only one", *place_of(tokens))
    note_source(found[0], tokens, text)
    _tell_of_calls(found[0], tokens)
    _tell_of_units(found[0], tokens)
    _show_pipes(found[0], tokens)
    return found[0]


def _show_pipes(tree: exp.Expr, tokens: Sequence[Token]) -> None:
    """Marks queries written with `a |> b`. The parser rewrites them, and may put a WHERE after a join that followed
    it: code that reads such a query must see that it isn't what was written."""
    if _PIPE in [token.token_type for token in tokens]:
        for query in tree.find_all(exp.Query):
            query.set("options", [exp.Var(this="|>")])


def _tell_of_calls(tree: exp.Expr, tokens: Sequence[Token]) -> None:
    """Notes the names of calls that the parser takes for syntax and leaves without a name, although some are no
    syntax in Spark."""
    called = frozenset(
        token.text.lower()
        for token, after in pairwise(tokens)
        if after.token_type is _OPENS and token.text.upper() in _TAKEN_FOR_SYNTAX
    )
    for node in tree.walk() if called else ():
        if WRITTEN not in node.meta:
            node.meta[CALLED_AMONG] = called


def _tell_of_units(tree: exp.Expr, tokens: Sequence[Token]) -> None:
    """Notes that units are not what they seem: of `trunc(d, 'Y')`, which Spark makes NULL, the parser makes a YEAR."""
    calls = [
        at
        for at, (token, after) in enumerate(pairwise(tokens))
        if after.token_type is _OPENS and token.text.upper() in _TRUNCATES
    ]
    if not all(_is_unit_as_written(tokens, at) for at in calls):
        for node in tree.find_all(exp.DateTrunc, exp.TimestampTrunc):
            node.meta[UNIT_UNKNOWN] = True


def _is_unit_as_written(tokens: Sequence[Token], call: int) -> bool:
    """Whether the unit of a truncation is a text, as a whole, that the parser leaves as it is."""
    end = _end_of_call(tokens, call + 1)
    if end - call < 5:  # fewer than two arguments
        return False
    comma, unit = (end - 2, end - 1) if tokens[call].text.upper() == "TRUNC" else (call + 3, call + 2)
    is_text = tokens[unit].token_type is TokenType.STRING and tokens[comma].token_type is TokenType.COMMA
    return is_text and tokens[unit].text.upper() not in _LENGTHENED


def _end_of_call(tokens: Sequence[Token], opening: int) -> int:
    depth = 0
    for position in range(opening, len(tokens)):
        depth += (tokens[position].token_type is _OPENS) - (tokens[position].token_type is _CLOSES)
        if depth == 0:
            return position
    return opening


def refuse_templates(text: str) -> None:
    """Refuses template expressions, which must be rendered before Sluice sees the text: `{{ ds }}` means nothing to
    Spark."""
    found = _first_template(text)
    if found is not None:
        start, end = found
        line = text.count("\n", 0, start) + 1
        column = start - text.rfind("\n", 0, start)
        raise PredicateError(
            f"{text[start:end]} is an unrendered template expression: render it, or bind a parameter",
            line,
            column,
        )


def _first_template(text: str) -> tuple[int, int] | None:
    """Finds the first template. If there is no end after the first beginning, there is none after any: a pattern
    would search for it from each beginning."""
    found = []
    for opening, closing in _TEMPLATES:
        start = text.find(opening)
        end = text.find(closing, start + len(opening)) if start >= 0 else -1
        if end >= 0:
            found.append((start, end + len(closing)))
    return min(found, default=None)


def conjuncts(condition: exp.Expr | None) -> tuple[exp.Expr, ...]:
    """The parts that must all hold for the condition to hold, from left to right, however deeply they are nested."""
    found: list[exp.Expr] = []
    pending = [] if condition is None else [condition]
    while pending:
        node = pending.pop().unnest()
        if isinstance(node, exp.And):
            pending += (node.expression, node.this)
        else:
            found.append(node)
    return tuple(found)


def condition_in(text: str) -> exp.Expr | str:
    """The syntax tree of a condition, or why it's too large to be parsed."""
    refuse_templates(text)
    if len(text) > limits.MAX_TEXT:
        return f"the condition is longer than {limits.MAX_TEXT} characters"
    tokens = tokens_of(text)
    if too_much := limits.excess(tokens):
        return too_much
    return condition_among(tokens, text)
