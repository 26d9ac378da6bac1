"""Reads manifests as kubectl does and words what is wrong with them as the API server would.

A laptop or a pull request has no API server; and PyYAML alone reads another manifest than kubectl: it makes a date of
2026-11-19, a number of 1:30 and a string of 1e3, and lets a key that stands twice pass.
"""

import re
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from sluice.api.job import DeltaWriteJob
from sluice.api.policy import DeltaTablePolicy

Manifest = DeltaWriteJob | DeltaTablePolicy

KINDS: Mapping[str, type[DeltaWriteJob] | type[DeltaTablePolicy]] = {
    "DeltaWriteJob": DeltaWriteJob,
    "DeltaTablePolicy": DeltaTablePolicy,
}


class InvalidManifest(ValueError):  # noqa: N818 - it speaks of the manifest, not of an error in here
    """What is wrong, one line a problem: `spec.write: replaceWhere needs mode: Overwrite: ...`."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class KubectlLoader(yaml.SafeLoader):
    """YAML as kubectl's parser reads it."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = _json_key(self.construct_object(key_node, deep=True))
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f'key "{key}" is there twice: remove one', key_node.start_mark
                )
            seen.add(key)
        return {_json_key(key): value for key, value in super().construct_mapping(node, deep).items()}


def _json_key(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


_TAG = "tag:yaml.org,2002:"
_NOT_KUBECTLS = (f"{_TAG}timestamp", f"{_TAG}int", f"{_TAG}float")
KubectlLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _NOT_KUBECTLS]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
KubectlLoader.add_implicit_resolver(
    f"{_TAG}int",
    re.compile(r"[-+]?(0|0[0-7_]+|0x[0-9a-fA-F_]+|0b[01_]+|[1-9][0-9_]*)\Z"),
    list("-+0123456789"),
)
KubectlLoader.add_implicit_resolver(
    f"{_TAG}float",
    re.compile(r"[-+]?([.][0-9]+|[0-9]+([.][0-9]*)?)([eE][-+]?[0-9]+)?\Z"),
    list("-+0123456789."),
)


def documents(text: str) -> Iterator[dict[str, Any]]:
    """The documents of a YAML (or JSON) text, empty ones left out."""
    try:
        for document in yaml.load_all(text, Loader=KubectlLoader):
            if document is None:
                continue
            if not isinstance(document, dict):
                raise InvalidManifest((f"a manifest is a mapping, not {type(document).__name__}",))
            yield document
    except yaml.YAMLError as error:
        raise InvalidManifest((f"not YAML: {error}",)) from error


def parse(document: Mapping[str, Any]) -> Manifest:
    """The resource that the document describes, or InvalidManifest with all that is wrong with it."""
    model = KINDS.get(str(document.get("kind")))
    if model is None:
        raise InvalidManifest((f"kind: {document.get('kind')!r} is none of {', '.join(KINDS)}",))
    try:
        return model.model_validate(document, by_alias=True, by_name=False)
    except ValidationError as error:
        raise InvalidManifest(tuple(map(_problem, error.errors(include_url=False)))) from error


def _problem(error: ErrorDetails) -> str:
    path = ""
    for part in error["loc"]:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    said = _words(error)
    return f"{path.removeprefix('.')}: {said}" if path else said


# By pydantic's name of the problem, how the API server words it.
_WORDS: Mapping[str, str] = {
    "missing": "Required value",
    "extra_forbidden": "unknown field",
    "enum": 'Unsupported value: "{input}": supported values: {expected}',
    "literal_error": 'Unsupported value: "{input}": supported values: {expected}',
    "string_too_long": "Too long: may not be more than {max_length}",
    "too_long": "Too long: may not be more than {max_length}",
    "greater_than_equal": "should be greater than or equal to {ge}",
    "less_than_equal": "should be less than or equal to {le}",
    "string_type": "must be of type string",
    "bool_type": "must be of type boolean",
    "int_type": "must be of type integer",
    "float_type": "must be of type number",
    "tuple_type": "must be of type array",
    "dict_type": "must be of type object",
    "model_type": "must be of type object",
}


def _words(error: ErrorDetails) -> str:
    words = _WORDS.get(error["type"])
    if words is None:
        return error["msg"]
    details = dict(error.get("ctx", {}))
    if "expected" in details:
        details["expected"] = details["expected"].replace(" or ", ", ").replace("'", '"')
    return words.format(input=error["input"], **details)
