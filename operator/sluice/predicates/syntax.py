"""The one place that calls sqlglot's tokenizer and parser, because broken text makes them throw whatever comes.

Text is looked at before it is parsed: the parser recurses, and template left-overs must be named, not guessed at.
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
from sluice.predicates.complaints import place_of, unparsed, untokenized
from sluice.predicates.errors import PredicateError
from sluice.predicates.table_queries import spelled_out

WRITTEN = "written"
"""In a node's meta: the name by which a function is called, which its class does not tell."""
CALLED_AMONG = "called among"
"""In a node's meta, of what has no name: names of functions, one of which it may be, that the parser takes for syntax."""


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
"""Functions that every Spark has, or that no function can be called."""
_TAKEN_FOR_SYNTAX = (
    frozenset({"APPLY", *SPARK.parser_class.FUNCTION_PARSERS, *SPARK.parser_class.NO_PAREN_FUNCTION_PARSERS})
    - _SYNTAX_OF_SPARK
)
_TEMPLATES = (("{{", "}}"), ("{%", "%}"), ("{#", "#}"), ("${", "}"))
"""How they begin and end."""


class _Tokenizer(Spark.Tokenizer):
    """sqlglot takes what follows OPTIMIZE, VACUUM and others for one opaque text; here every word counts."""

    COMMANDS: ClassVar[set[TokenType]] = set()


def tokens_of(text: str) -> list[Token]:
    try:
        return _Tokenizer(dialect=SPARK).tokenize(text)
    except Exception as error:  # a tokenizer's own defects are no news to whoever wrote the text
        raise untokenized(text, error) from error


def statement_in(tokens: Sequence[Token], text: str) -> exp.Expr:
    """Of a text whose tokens `limits.excess` has nothing against. Nodes know their places in it."""
    return _only("statement", lambda parser: parser.parse(spelled_out(tokens), text), tokens)


def condition_among(tokens: Sequence[Token], text: str) -> exp.Expr:
    """As `statement_in`."""
    return _only(
        "condition", lambda parser: parser.parse_into(exp.Condition, spelled_out(tokens), text), tokens
    )


def _only(what: str, parse: Callable[[Parser], list[exp.Expr | None]], tokens: Sequence[Token]) -> exp.Expr:
    try:
        found = parse(SPARK.parser())
    except ParseError as error:
        raise unparsed(what, error.errors[0] if error.errors else {}, tokens) from error
    except PredicateError:
        raise
    except Exception as error:
        # Of broken text it makes nodes from parts that don't fit, which fail in their constructors.
        why = (
            "it is nested too deeply" if isinstance(error, RecursionError) else "its parts don't fit together"
        )
        raise PredicateError(f"this isn't a {what}: {why}", *place_of(tokens)) from error
    if not any(found):
        raise PredicateError(f"the {what} is empty", *place_of(tokens))
    if len(found) != 1 or found[0] is None:
        raise PredicateError(f"this isn't a {what}, but more than one", *place_of(tokens))
    _tell_of_calls(found[0], tokens)
    _show_pipes(found[0], tokens)
    return found[0]


def _show_pipes(tree: exp.Expr, tokens: Sequence[Token]) -> None:
    """The parser writes `a |> b` as other queries, in which a WHERE may stand after a join that it stood before: whoever reads
    a query must see that it isn't what was written."""
    if any(token.token_type is TokenType.PIPE_GT for token in tokens):
        for query in tree.find_all(exp.Query):
            query.set("options", [exp.Var(this="|>")])


def _tell_of_calls(tree: exp.Expr, tokens: Sequence[Token]) -> None:
    """The parser gives no name to calls that it takes for syntax, some of which are no syntax of Spark's."""
    called = frozenset(
        token.text.lower()
        for token, after in pairwise(tokens)
        if after.token_type is TokenType.L_PAREN and token.text.upper() in _TAKEN_FOR_SYNTAX
    )
    for node in tree.walk() if called else ():
        if WRITTEN not in node.meta:
            node.meta[CALLED_AMONG] = called


def refuse_templates(text: str) -> None:
    """Template expressions must be rendered before Sluice sees the text: `{{ ds }}` means nothing to Spark."""
    found = _first_template(text)
    if found is not None:
        start, end = found
        line = text.count("\n", 0, start) + 1
        column = start - text.rfind("\n", 0, start)
        raise PredicateError(
            f"{text[start:end]} is left over from a template; render it, or bind a parameter", line, column
        )


def _first_template(text: str) -> tuple[int, int] | None:
    """What doesn't end after its first beginning ends after none: a pattern would look for the end from each of them anew."""
    found = []
    for opening, closing in _TEMPLATES:
        start = text.find(opening)
        end = text.find(closing, start + len(opening)) if start >= 0 else -1
        if end >= 0:
            found.append((start, end + len(closing)))
    return min(found, default=None)


def conjuncts(condition: exp.Expr | None) -> tuple[exp.Expr, ...]:
    """What must all hold for the condition to hold, from left to right, however deep it is nested."""
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
    """The syntax tree of a condition; or why it's too large to be parsed."""
    refuse_templates(text)
    if len(text) > limits.MAX_TEXT:
        return f"the condition is longer than {limits.MAX_TEXT} characters"
    tokens = tokens_of(text)
    if too_much := limits.excess(tokens):
        return too_much
    return condition_among(tokens, text)
