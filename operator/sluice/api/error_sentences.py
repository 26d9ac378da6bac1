"""A sentence of our own for each kind of error that pydantic finds: what is expected, and what is given.

A text that is given is quoted only where a number, a time or one of a few words is expected: elsewhere it may hold what nobody
else is to read, such as a password in a URL.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from typing import Any

from pydantic_core import ErrorDetails

_LONGEST = 60
_MOMENT = "must be a time such as 2026-11-19T08:00:00Z"
MAPPING = "must be a mapping of fields"
_WHOLE = "must be a whole number"
_NUMBER = "must be a number"

Sentence = Callable[[Any, Mapping[str, Any]], str]
"""Words an error by what was given and by pydantic's details."""


def why(problem: ErrorDetails) -> str:
    """Says what is wrong with a field, whose place is for the caller to say."""
    sentence = SENTENCES.get(problem["type"])
    if sentence is None:  # our own, which says what to do
        return problem["msg"]
    return sentence(problem["input"], problem.get("ctx", {}))


def _quoted(given: object) -> str:
    """What is given, as people write it into YAML."""
    if isinstance(given, str):
        return repr(given if len(given) <= _LONGEST else f"{given[:_LONGEST]}...")
    if isinstance(given, float):
        return _AS_YAML.get(str(given), str(given))
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given) if abs(given) < 10**_LONGEST else f"a number of more than {_LONGEST} digits"
    return kind(given)


_AS_YAML = {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}


def kind(given: object) -> str:
    """What is given, without its contents."""
    if given is None:
        return "nothing"
    for types, word in _KINDS:
        if isinstance(given, types):
            return word
    return f"a {type(given).__name__}"


_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "true or false"),
    (str, "text"),
    ((int, float), "a number"),
    ((date, datetime, time), "a date"),
    (dict, "a mapping"),
    ((list, tuple, set), "a list"),
)


def _expected(what: str) -> Sentence:
    """For what is short and no secret."""
    return lambda given, _: f"{what}, not {_quoted(given)}"


def _expected_kind(what: str) -> Sentence:
    return lambda given, _: f"{what}, not {kind(given)}"


def _bounded(what: str, bound: str) -> Sentence:
    return lambda given, details: f"must be {what} {details[bound]}, not {_quoted(given)}"


def _text(given: Any, _: Mapping[str, Any]) -> str:
    quotes = ": put it in quotes" if isinstance(given, bool | int | float | date | time) else ""
    return f"must be text, not {kind(given)}{quotes}"


def _choice(given: Any, details: Mapping[str, Any]) -> str:
    return f"must be {details['expected']}, not {_quoted(given)}"


def _too_short_text(given: Any, details: Mapping[str, Any]) -> str:
    if details["min_length"] == 1:
        return "must not be empty: leave the field out or fill it in"
    return f"takes at least {details['min_length']} characters, not {len(given)}"


def _too_few(given: Any, details: Mapping[str, Any]) -> str:
    least = details["min_length"]
    return f"needs at least {least} {'entry' if least == 1 else 'entries'}, not {len(given)}"


SENTENCES: Mapping[str, Sentence] = {
    "missing": lambda *_: "is required",
    "extra_forbidden": lambda *_: "there is no such field",
    "invalid_key": lambda given, _: f"a field's name must be text, not {_quoted(given)}: put it in quotes",
    "none_required": lambda *_: "must be left out",
    "model_type": _expected_kind(MAPPING),
    "dict_type": _expected_kind(MAPPING),
    "list_type": _expected_kind("must be a list"),
    "tuple_type": _expected_kind("must be a list"),
    "too_short": _too_few,
    "too_long": lambda given, details: f"takes at most {details['max_length']} entries, not {len(given)}",
    "string_type": _text,
    "string_unicode": lambda *_: "must be text in Unicode, but holds half of a character: write it anew",
    "string_too_short": _too_short_text,
    "string_too_long": lambda given, details: (
        f"takes at most {details['max_length']} characters, not {len(given)}"
    ),
    "string_pattern_mismatch": lambda _, details: f"must match {details['pattern']}",
    "bool_type": _expected("must be true or false"),
    "int_type": _expected(_WHOLE),
    "int_parsing": _expected(_WHOLE),
    "int_parsing_size": _expected(f"{_WHOLE} of fewer digits"),
    "int_from_float": _expected(_WHOLE),
    "float_type": _expected(_NUMBER),
    "float_parsing": _expected(_NUMBER),
    "finite_number": _expected("must be a finite number"),
    "greater_than_equal": _bounded("at least", "ge"),
    "less_than": _bounded("less than", "lt"),
    "less_than_equal": _bounded("at most", "le"),
    "datetime_type": _expected(_MOMENT),
    "datetime_parsing": _expected(_MOMENT),
    "datetime_from_date_parsing": _expected(_MOMENT),
    "enum": _choice,
    "literal_error": _choice,
}
"""By pydantic's name of the error."""
