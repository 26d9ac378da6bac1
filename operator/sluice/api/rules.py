"""A validation rule in both of its lives: CEL for the API server, Python for a laptop without one.

The two stand side by side so that a reader sees at once whether they say the same, and a table of bad manifests
holds them against each other: both must refuse, with the same message.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


@dataclass(frozen=True)
class CelRule:
    """A rule that the API server judges."""

    cel: str
    message: str

    def as_schema(self) -> dict[str, str]:
        return {"rule": self.cel, "message": self.message}


@dataclass(frozen=True)
class Rule(CelRule):
    """`holds` takes the model (or the plain value, for a rule on a string, list or map)."""

    holds: Callable[[Any], bool]

    def check(self, value: Any) -> None:
        if not self.holds(value):
            raise PydanticCustomError("rule", "{message}", {"message": self.message})


class TransitionRule(CelRule):
    """A rule on a change of an object: only the API server, which knows the old object, can judge it."""


class Checked:
    """Annotates a plain type with rules: `Annotated[str, Checked(RULE, ...)]`."""

    def __init__(self, *rules: Rule) -> None:
        self.rules = rules

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], CoreSchema]) -> CoreSchema:
        def check(value: Any) -> Any:
            for rule in self.rules:
                rule.check(value)
            return value

        return core_schema.no_info_after_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        json_schema = handler(schema)
        validations = json_schema.setdefault("x-kubernetes-validations", [])
        validations.extend(rule.as_schema() for rule in self.rules)
        return json_schema


@dataclass(frozen=True)
class PatternRule(Rule):
    """A rule on a string that is a pattern; `found` tells whether the string must hold it or must not."""

    pattern: str
    found: bool


def matching(pattern: str, message: str) -> PatternRule:
    """The string holds the pattern (anchor it with ^ and $ to speak of the whole)."""
    return _pattern_rule(pattern, message, found=True)


def never_matching(pattern: str, message: str) -> PatternRule:
    """The string nowhere holds the pattern."""
    return _pattern_rule(pattern, message, found=False)


def _pattern_rule(pattern: str, message: str, *, found: bool) -> PatternRule:
    search = _search(pattern)
    cel = _matches("self", pattern)
    return PatternRule(
        cel if found else f"!{cel}", message, lambda value: search(value) is found, pattern, found
    )


def all_keys(rule: PatternRule, *, of: Literal["keys", "values"] = "keys", unless: str | None = None) -> Rule:
    """The rule holds for all keys (or values) of a map; a key that holds the pattern `unless` is let off."""
    subject = "key" if of == "keys" else "self[key]"
    judged = ("" if rule.found else "!") + _matches(subject, rule.pattern)
    if unless is None:
        return Rule(
            f"self.all(key, {judged})",
            rule.message,
            lambda entries: all(map(rule.holds, entries if of == "keys" else entries.values())),
        )
    let_off = _search(unless)
    return Rule(
        f"self.all(key, {judged} || {_matches('key', unless)})",
        rule.message,
        lambda entries: all(
            rule.holds(key if of == "keys" else value) or let_off(key) for key, value in entries.items()
        ),
    )


def _search(pattern: str) -> Callable[[str], bool]:
    """Python's `$` would let a line break pass at the end, RE2's does not: outside of classes it becomes \\Z."""
    compiled = re.compile(re.sub(r"\[[^]]*\]|\\.|\$", lambda m: r"\Z" if m[0] == "$" else m[0], pattern))
    return lambda value: compiled.search(value) is not None


def _matches(subject: str, pattern: str) -> str:
    return f"{subject}.matches({cel_string(pattern)})"


def cel_string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
