"""A validation in both of its forms: CEL for the API server, Python for a laptop without one.

The two are written side by side so that a reader sees at once whether they agree, and tests compare them on a table
of bad manifests: both must refuse, with the same message.

Patterns keep to what Python and the API server's RE2 read alike: classes are spelled out, because RE2's `\\s` and
`\\b` know ASCII only and Python's do not.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


@dataclass(frozen=True)
class CelValidation:
    """A validation that the API server judges."""

    cel: str
    message: str

    def as_schema(self) -> dict[str, str]:
        return {"rule": self.cel, "message": self.message}


@dataclass(frozen=True)
class Validation(CelValidation):
    """A validation in CEL and Python. `holds` takes the model (or the plain value of a string, list or map)."""

    holds: Callable[[Any], bool]

    def check(self, value: Any) -> None:
        if not self.holds(value):
            raise PydanticCustomError("rule", "{message}", {"message": self.message})


class TransitionValidation(CelValidation):
    """Validates a change of an object: only the API server, which knows the old object, can judge it."""


class Checked:
    """Annotates a plain type with validations: `Annotated[str, Checked(VALIDATION, ...)]`."""

    def __init__(self, *validations: Validation) -> None:
        self.validations = validations

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], CoreSchema]) -> CoreSchema:
        def check(value: Any) -> Any:
            for validation in self.validations:
                validation.check(value)
            return value

        return core_schema.no_info_after_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        json_schema = handler(schema)
        listed = json_schema.setdefault("x-kubernetes-validations", [])
        listed.extend(validation.as_schema() for validation in self.validations)
        return json_schema


@dataclass(frozen=True)
class PatternValidation(Validation):
    """Validates a string by a pattern; `found` says whether the string must contain it or must not."""

    pattern: str
    found: bool


def matching(pattern: str, message: str) -> PatternValidation:
    """Requires the string to contain the pattern (anchor it with ^ and $ to match the whole string)."""
    return _pattern_validation(pattern, message, found=True)


def never_matching(pattern: str, message: str) -> PatternValidation:
    """Requires the string not to contain the pattern."""
    return _pattern_validation(pattern, message, found=False)


def _pattern_validation(pattern: str, message: str, *, found: bool) -> PatternValidation:
    search = searching(pattern)
    cel = cel_matches("self", pattern)
    return PatternValidation(
        cel if found else f"!{cel}", message, lambda value: search(value) is found, pattern, found
    )


def all_keys(
    each: PatternValidation, *, of: Literal["keys", "values"] = "keys", unless: str | None = None
) -> Validation:
    """Requires this of all keys (or values) of a map; a key that contains the pattern `unless` is exempt."""
    subject = "key" if of == "keys" else "self[key]"
    judged = ("" if each.found else "!") + cel_matches(subject, each.pattern)
    if unless is None:
        return Validation(
            f"self.all(key, {judged})",
            each.message,
            lambda entries: all(map(each.holds, entries if of == "keys" else entries.values())),
        )
    let_off = searching(unless)
    return Validation(
        f"self.all(key, {judged} || {cel_matches('key', unless)})",
        each.message,
        lambda entries: all(
            each.holds(key if of == "keys" else value) or let_off(key) for key, value in entries.items()
        ),
    )


_NO_LETTER_I = str.maketrans("\u0130\u0131", "\0\0")


def searching(pattern: str) -> Callable[[str], bool]:
    """Searches as RE2 does. Python's `$` would accept a line break at the end, so outside of classes it becomes \\Z; and where case
    doesn't count, Python alone takes the dotted capital and the dotless small i of Turkish for an i."""
    compiled = re.compile(re.sub(r"\[[^]]*\]|\\.|\$", lambda m: r"\Z" if m[0] == "$" else m[0], pattern))
    if not pattern.startswith("(?i)"):
        return lambda value: compiled.search(value) is not None
    return lambda value: compiled.search(value.translate(_NO_LETTER_I)) is not None


def cel_matches(subject: str, pattern: str) -> str:
    return f"{subject}.matches({cel_string(pattern)})"


def cel_list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(cel_string, texts))}]"


def cel_string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
