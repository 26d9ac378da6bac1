"""Reads YAML and JSON as kubectl does: 2026-11-19 and 1:30 are texts, 1e3 is a number, and no key stands twice.

YAML's tags are not taken: a manifest is JSON in other clothes, and has no sets, dates or bytes.
"""

import json
import math
import re
from collections.abc import Hashable
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from sluice.api.yaml_aliases import Unfoldable, refused

if not yaml.__with_libyaml__:  # what its own parser reads otherwise, nobody has held against kubectl
    raise ImportError(
        "this PyYAML was built without libyaml, by which manifests are read: install it as a wheel, with "
        "`pip install --force-reinstall --only-binary :all: pyyaml`"
    )

from yaml import CSafeLoader as Parser

MOST_DEEP = 1000
_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_BRACKET = re.compile(r"[][{}]")
_TAG = "tag:yaml.org,2002:"
_INT64 = range(-(2**63), 2**63)
_JSON_TYPES = ("null", "bool", "int", "float", "str", "seq", "map")


class KubectlLoader(Unfoldable, Parser):
    """Reads YAML as kubectl's parser does."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        self._refuse_repeated_keys(node)
        return {_json_key(key): value for key, value in super().construct_mapping(node, deep).items()}

    def _refuse_repeated_keys(self, node: yaml.MappingNode) -> None:
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == f"{_TAG}merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if key is None or isinstance(key, dict | list):
                raise refused(key_node, "a field's name must be text")
            if (name := _json_key(key)) in seen:
                raise refused(key_node, f'key "{name}" appears twice: remove one')
            seen.add(name)

    def _int(self, node: yaml.ScalarNode) -> int | float:
        text = str(node.value).replace("_", "").lower()
        sign, digits = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
        octal = digits[:1] == "0" and digits.isdecimal() and len(digits) > 1
        number = int(sign + digits, 8 if octal else 0)
        return number if number in _INT64 else float(number)

    def _float(self, node: yaml.ScalarNode) -> float | str:
        """1e3 is 1000, and whole, for so it is written on its way to the API server."""
        text = str(node.value)
        if text.lstrip("+-").lower() in (".inf", ".nan"):
            raise refused(node, f"{text} is a number that JSON does not have: put it in quotes if it is text")
        number = float(text.replace("_", ""))
        return text if math.isinf(number) else _as_sent(number)

    def _no_tag(self, node: yaml.Node) -> None:
        raise refused(node, f"the tag {node.tag.replace(_TAG, '!!')} says nothing in a manifest: remove it")


def _as_sent(number: float) -> int | float:
    return int(number) if number.is_integer() and int(number) in _INT64 else number


def _json_key(key: Any) -> str:
    if isinstance(key, bool):
        return str(key).lower()
    return str(key)


def _as_kubectl_types() -> None:
    """Replaces PyYAML's guesses at what a plain word is: it follows YAML 1.1 to the letter, kubectl's parser doesn't."""
    other = tuple(f"{_TAG}{name}" for name in ("timestamp", "int", "float", "bool", "value"))
    KubectlLoader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in other]
        for first, resolvers in Parser.yaml_implicit_resolvers.items()
    }
    words = ("y", "yes", "on", "true", "n", "no", "off", "false")
    spellings = sorted({said for word in words for said in (word, word.capitalize(), word.upper())})
    for tag, pattern, first in (
        ("bool", "|".join(spellings), "yYnNtTfFoO"),
        ("int", r"[-+]?(0|0[oO]?[0-7_]+|0[xX][0-9a-fA-F_]+|0[bB][01_]+|[1-9][0-9_]*)", "-+0123456789"),
        (
            "float",
            r"[-+]?([.][0-9][0-9_]*|[0-9][0-9_]*([.][0-9_]*)?)([eE][-+]?[0-9]+)?|[-+]?[.](inf|Inf|INF)|[.](nan|NaN|NAN)",
            "-+0123456789.",
        ),
    ):
        KubectlLoader.add_implicit_resolver(f"{_TAG}{tag}", re.compile(rf"(?:{pattern})\Z"), list(first))
    KubectlLoader.yaml_constructors = {
        tag: make
        for tag, make in Parser.yaml_constructors.items()
        if tag in {f"{_TAG}{name}" for name in _JSON_TYPES}
    }
    KubectlLoader.bool_values = {word: word in ("y", "yes", "on", "true") for word in words}
    KubectlLoader.add_constructor(f"{_TAG}int", KubectlLoader._int)
    KubectlLoader.add_constructor(f"{_TAG}float", KubectlLoader._float)
    KubectlLoader.add_constructor(None, KubectlLoader._no_tag)


_as_kubectl_types()


def value_of(text: str) -> Any:
    """Returns the one document of a text. Raises yaml.YAMLError, ValueError or RecursionError."""
    if text.lstrip().startswith("{") and not _is_deep_json(text):
        try:
            return json.loads(
                text,
                object_pairs_hook=_each_once,
                parse_constant=_no_number,
                parse_int=_number,
                parse_float=_number,
            )
        except (ValueError, RecursionError):
            pass  # YAML may begin like this, too, and its parser says where it fails
    if _may_be_deep(text):
        _refuse_deep_yaml(text)
    return yaml.load(text, KubectlLoader)  # noqa: S506 - a safe loader


def _is_deep_json(text: str) -> bool:
    deepness = 0
    for bracket in _BRACKET.finditer(_JSON_TEXT.sub("", text)) if _may_be_deep(text) else ():
        deepness += 1 if bracket[0] in "[{" else -1
        if deepness > MOST_DEEP:
            return True
    return False


def _may_be_deep(text: str) -> bool:
    """Whether it can't be ruled out at a glance: each level takes a bracket, or a place further to the right."""
    return text.count("[") + text.count("{") > MOST_DEEP or max(map(len, text.split("\n"))) > MOST_DEEP // 2


def _refuse_deep_yaml(text: str) -> None:
    """Looks before the parser descends: libyaml's never asks how deep it is, and would end the process."""
    deepness = 0
    for event in yaml.parse(text, KubectlLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            deepness += 1
            if deepness > MOST_DEEP:
                why = f"is nested more than {MOST_DEEP} levels deep: no field takes that"
                raise ConstructorError(None, None, why, event.start_mark)  # type: ignore[arg-type]  # libyaml's
        elif isinstance(event, yaml.CollectionEndEvent):
            deepness -= 1


def _number(text: str) -> int | float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large a number")
    return int(text) if text.lstrip("-").isdecimal() and int(text) in _INT64 else _as_sent(number)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key appears twice")
    return found


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number of JSON")
