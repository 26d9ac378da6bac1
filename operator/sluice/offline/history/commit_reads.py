"""Reads what a commit said that it reads.

The log keeps conditions as Spark prints them, without quotes and with numbers behind names, such as `((date#12 = 2026-11-19)
AND (id#13 = 7))`: enough to see which partitions were named, too little to judge a job by. What can't be read counts as no
bound.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import ge, gt, le, lt

_COMPARED = re.compile(r"^(?:[\w`]+\.)*`?(\w+)`?(?:#\d+L?)? (=|<=>|<|<=|>|>=) (.+)$")
_LISTED = re.compile(r"^(?:[\w`]+\.)*`?(\w+)`?(?:#\d+L?)? IN \((.*)\)$")
_TYPED = re.compile(r"^(?:DATE|TIMESTAMP)? ?'(.*)'$")

_Key = tuple[int, float, str]
_ORDERS: Mapping[str, Callable[[_Key, _Key], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}

Test = Callable[[str | None], bool]


@dataclass(frozen=True)
class Bounds:
    """The values that each partition column had to have. A column that isn't named could have any."""

    tests: tuple[tuple[str, Test], ...] = ()
    only: frozenset[tuple[str | None, ...]] | None = None
    """Exactly these partitions, whatever the tests say."""

    @property
    def is_everything(self) -> bool:
        return not self.tests and self.only is None

    def hold(self, partition: tuple[str | None, ...], columns: tuple[str, ...]) -> bool:
        if self.only is not None:
            return partition in self.only
        values = dict(zip(columns, partition, strict=False))
        return all(test(values.get(name)) for name, test in self.tests if name in values)


def bounds_of(parameters: Mapping[str, object], columns: tuple[str, ...]) -> Bounds:
    folded = {name.lower(): name for name in columns}
    found = []
    for text in _conditions(parameters.get("predicate")):
        for part in _conjuncts(text):
            name, test = _test(part)
            if test is not None and name.lower() in folded:
                found.append((folded[name.lower()], test))
    return Bounds(tuple(found))


def _conditions(logged: object) -> Iterator[str]:
    """Reads a list of conditions in JSON, or one plain condition."""
    if not isinstance(logged, str) or not logged:
        return
    try:
        content = json.loads(logged)
    except ValueError:
        content = logged
    yield from (str(text) for text in (content if isinstance(content, list) else [content]))


def _conjuncts(text: str) -> Iterator[str]:
    text = _bare(text)
    parts = _split(text, " AND ")
    if len(parts) == 1:
        yield text
        return
    for part in parts:
        yield from _conjuncts(part)


def _bare(text: str) -> str:
    text = text.strip()
    while text.startswith("(") and _closes_at(text) == len(text) - 1:
        text = text[1:-1].strip()
    return text


def _closes_at(text: str) -> int:
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return position
    return -1


def _split(text: str, separator: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and text.startswith(separator, position):
            parts.append(text[start:position])
            start = position + len(separator)
    return [*parts, text[start:]]


def _test(condition: str) -> tuple[str, Test | None]:
    if " OR " in condition:
        return "", None
    if found := _LISTED.match(condition):
        values = {_value(part) for part in _split(found[2], ",")}
        return found[1], lambda value: value in values
    if found := _COMPARED.match(condition):
        other = _value(found[3])
        if "#" in other or other.endswith(")"):
            return found[1], None  # another column, or a call
        return found[1], _comparison(found[2], other)
    return "", None


def _value(text: str) -> str:
    text = text.strip()
    found = _TYPED.match(text)
    return found[1] if found else text


def _comparison(operator: str, other: str) -> Test:
    if operator in ("=", "<=>"):
        return lambda value: value == other
    compare = _ORDERS[operator]
    return lambda value: value is not None and compare(_key(value), _key(other))


def _key(value: str) -> _Key:
    """Sorts numbers by their size, all else by its text, as dates are written."""
    try:
        return (0, float(value), "")
    except ValueError:
        return (1, 0.0, value)
