"""What the SQL parser has against a text, in words for whoever wrote it, and where the word stands that it is about.

The parser speaks of its own classes, and tells the column in which a word ends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sqlglot import Token

from sluice.predicates.errors import PredicateError

_EXPECTING = re.compile(r"Expecting (\S+)$")
_OPTION = re.compile(r"Unknown option (\w+)$")
_UNCLOSED = re.compile(r"Missing (\S+) from \d+:(\d+)$")
_QUOTED = {"'": "text in quotes", '"': "text in quotes", "`": "name in backticks"}
_BEGINNINGS = frozenset(
    {
        "ALTER",
        "CREATE",
        "DELETE",
        "DROP",
        "INSERT",
        "MERGE",
        "OPTIMIZE",
        "RESTORE",
        "SET",
        "TRUNCATE",
        "UPDATE",
        "VACUUM",
    }
)


def unparsed(what: str, problem: Mapping[str, object], tokens: Sequence[Token]) -> PredicateError:
    """`problem`: as sqlglot's ParseError has it."""
    end = (problem.get("line"), problem.get("col"))
    position = next((at for at, token in enumerate(tokens) if (token.line, token.col) == end), None)
    description = str(problem.get("description") or "")
    option = _OPTION.match(description)
    if position and option is not None and tokens[position - 1].text.upper() == option[1]:
        position -= 1
    if position is None:
        return PredicateError(f"this isn't a {what}: it can't be parsed", *place_of(tokens))
    why = f"this isn't a {what}: {_why(description, tokens[position].text)}{_semicolon(tokens, position)}"
    return PredicateError(why, *place_of(tokens[position:]))


def _why(description: str, word: str) -> str:
    expecting = _EXPECTING.match(description)
    if expecting is not None:
        return f"{expecting[1]} is missing at {word!r}"
    if description.startswith("Expected table name"):
        return f"a table's name is missing at {word!r}"
    if description.startswith("Required keyword"):
        return f"something is missing at {word!r}"
    if description.startswith(("Invalid expression", "Unknown option")):
        return f"{word!r} is not expected here"
    return f"it can't be parsed at {word!r}"


def _semicolon(tokens: Sequence[Token], position: int) -> str:
    """People forget it between two statements, each of which begins a line."""
    for at in (position, position - 1):
        if at > 0 and tokens[at].text.upper() in _BEGINNINGS and tokens[at].line > tokens[at - 1].line:
            return f"; if {tokens[at].text} begins another statement, a semicolon is missing before it"
    return ""


def place_of(tokens: Sequence[Token]) -> tuple[int, int]:
    """Where the first of them begins: a token knows the column in which it ends."""
    return (tokens[0].line, tokens[0].col - (tokens[0].end - tokens[0].start)) if tokens else (1, 1)


def untokenized(text: str, error: Exception) -> PredicateError:
    """The tokenizer gives up at the end of a text, whose quotes or comment begin somewhere before."""
    found = _UNCLOSED.match(str(error.__context__ or ""))
    if found is not None and found[1] in _QUOTED:
        return _at(text, int(found[2]), f"the {_QUOTED[found[1]]} that begins here has no closing {found[1]}")
    comment = text.rfind("/*")
    if comment >= 0 and "*/" not in text[comment:]:
        return _at(text, comment, "the comment that begins here has no closing */")
    return PredicateError("this isn't Spark SQL: it can't be cut into words", 1, 1)


def _at(text: str, start: int, why: str) -> PredicateError:
    return PredicateError(
        f"this isn't Spark SQL: {why}",
        text.count("\n", 0, start) + 1,
        start - text.rfind("\n", 0, start),
    )
