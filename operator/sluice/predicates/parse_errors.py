"""Words the SQL parser's complaints for the text's author, and finds the word that each is about.

The parser speaks of its own classes, and gives the column in which a word ends.
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
    """Makes an error of `problem`, which is as in sqlglot's ParseError."""
    end = (problem.get("line"), problem.get("col"))
    position = next((at for at, token in enumerate(tokens) if (token.line, token.col) == end), None)
    description = str(problem.get("description") or "")
    option = _OPTION.match(description)
    if position and option is not None and tokens[position - 1].text.upper() == option[1]:
        position -= 1
    if position is None:
        return PredicateError(f"this is not a {what}: it cannot be parsed", *place_of(tokens))
    why = f"this is not a {what}: {_why(description, tokens[position].text)}{_semicolon(tokens, position)}{_path(tokens, position)}"
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
    return f"it cannot be parsed at {word!r}"


def _semicolon(tokens: Sequence[Token], position: int) -> str:
    """Suggests a semicolon, which people forget between two statements that each begin a line."""
    for at in (position, position - 1):
        if at > 0 and tokens[at].text.upper() in _BEGINNINGS and tokens[at].line > tokens[at - 1].line:
            return f"; if {tokens[at].text} begins another statement, a semicolon is missing before it"
    return ""


def _path(tokens: Sequence[Token], position: int) -> str:
    """Tells how a table's path is written, where one such as s3://lake/orders stands without quotes."""
    at = tokens[max(0, position - 1) : position + 2]
    if len(at) < 3 or at[1].text != ":" or not at[2].text.startswith("/"):
        return ""
    is_one_word = at[0].end + 1 == at[1].start and at[1].end + 1 == at[2].start
    return f"; write a table's path in backticks: delta.`{at[0].text}://...`" if is_one_word else ""


def place_of(tokens: Sequence[Token]) -> tuple[int, int]:
    """Where the first token begins: a token knows the column in which it ends."""
    return (tokens[0].line, tokens[0].col - (tokens[0].end - tokens[0].start)) if tokens else (1, 1)


def untokenized(text: str, error: Exception) -> PredicateError:
    """Finds the quote or comment that is not closed: the tokenizer only gives up at the end of the text."""
    found = _UNCLOSED.match(str(error.__context__ or ""))
    if found is not None and found[1] in _QUOTED:
        return _at(text, int(found[2]), f"the {_QUOTED[found[1]]} that begins here has no closing {found[1]}")
    comment = text.rfind("/*")
    if comment >= 0 and "*/" not in text[comment:]:
        return _at(text, comment, "the comment that begins here has no closing */")
    return PredicateError("this is not Spark SQL: it cannot be split into words", 1, 1)


def _at(text: str, start: int, why: str) -> PredicateError:
    return PredicateError(
        f"this is not Spark SQL: {why}",
        text.count("\n", 0, start) + 1,
        start - text.rfind("\n", 0, start),
    )
