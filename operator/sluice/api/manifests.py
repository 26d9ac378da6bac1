"""Reads manifests as kubectl does and words what is wrong with them as the API server would.

A laptop or a pull request has no API server, and PyYAML alone reads a manifest differently from kubectl: it turns
2026-11-19 into a date, 1:30 into a number and 1e3 into a string, and accepts a key that appears twice.
"""

import re
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from sluice.api import names
from sluice.api.job import DeltaWriteJob
from sluice.api.policy import DeltaTablePolicy
from sluice.api.unfolding import Unfoldable

Manifest = DeltaWriteJob | DeltaTablePolicy

KINDS: Mapping[str, type[DeltaWriteJob] | type[DeltaTablePolicy]] = {
    names.JOB_KIND: DeltaWriteJob,
    names.POLICY_KIND: DeltaTablePolicy,
}


class InvalidManifest(ValueError):  # noqa: N818 - it is about the manifest, not about an error in this code
    """What is wrong with a manifest, one line per problem: `spec.write: replaceWhere needs mode: Overwrite: ...`."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class KubectlLoader(Unfoldable, yaml.SafeLoader):
    """Reads YAML as kubectl's parser does."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = _json_key(self.construct_object(key_node, deep=True))
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f'key "{key}" appears twice: remove one', key_node.start_mark
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
    """Returns the documents of a YAML (or JSON) text without the empty ones."""
    try:
        for document in yaml.load_all(text, Loader=KubectlLoader):
            if document is None:
                continue
            if not isinstance(document, dict):
                raise InvalidManifest((f"a manifest must be a mapping, not {type(document).__name__}",))
            yield document
    except yaml.YAMLError as error:
        raise InvalidManifest((f"not YAML: {error}",)) from error
    except RecursionError as error:
        raise InvalidManifest(("it is nested too deeply to be read",)) from error
    except ValueError as error:
        raise InvalidManifest((f"not YAML: {error}",)) from error


def parse(document: Mapping[str, Any]) -> Manifest:
    """Returns the resource that the document describes; raises InvalidManifest with everything that is wrong with it."""
    model = KINDS.get(str(document.get("kind")))
    if model is None:
        raise InvalidManifest((f"kind: {document.get('kind')!r} is not one of {', '.join(KINDS)}",))
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


# How the API server words each problem, by pydantic's name for it.
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
