"""Why text is looked at before sqlglot parses it: its parser recurses, and template left-overs must be named, not guessed at."""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError

from sluice.predicates import limits
from sluice.predicates.errors import PredicateError

SPARK = Dialect.get_or_raise("spark")
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|\$\{[^}]*\}", re.DOTALL)


def too_complex(sql: str) -> str | None:
    """Why `sql` mustn't be handed to sqlglot's parser, which recurses; None if it may. For those who parse whole statements."""
    if len(sql) > limits.MAX_TEXT:
        return f"the text is longer than {limits.MAX_TEXT} characters"
    try:
        return limits.excess(SPARK.tokenize(sql))
    except TokenError as error:
        raise PredicateError(f"this isn't Spark SQL: {error}", 1, 1) from error


def refuse_templates(text: str) -> None:
    """Template expressions must be rendered before Sluice sees the text: `{{ ds }}` means nothing to Spark."""
    if found := _TEMPLATE.search(text):
        line = text.count("\n", 0, found.start()) + 1
        column = found.start() - text.rfind("\n", 0, found.start())
        raise PredicateError(
            f"{found[0]} is left over from a template; render it, or bind a parameter", line, column
        )


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
    try:
        tokens = SPARK.tokenize(text)
        if too_much := limits.excess(tokens):
            return too_much
        parsed = SPARK.parser().parse_into(exp.Condition, tokens, text)
    except TokenError as error:
        raise PredicateError(f"this isn't Spark SQL: {error}", 1, 1) from error
    except ParseError as error:
        place = error.errors[0] if error.errors else {}
        what = str(place.get("description") or "it can't be parsed")
        if what.startswith("Required keyword"):
            what = "something is missing here"
        raise PredicateError(
            f"this isn't a condition: {what}", place.get("line"), place.get("col")
        ) from error
    except RecursionError:
        return "the condition is nested too deeply"
    if len(parsed) != 1 or parsed[0] is None:
        raise PredicateError("this isn't a condition" if any(parsed) else "the condition is empty", 1, 1)
    return parsed[0]
