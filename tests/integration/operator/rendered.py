"""What `sluice render` must print of an application that the API server has."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from integration.operator.process import sluice
from sluice.api import names
from sluice.api.base import Json

_OF_THE_API_SERVER = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")
WORDS = {
    names.ANNOTATION_LEASE: "<lease>",
    names.ANNOTATION_WRITER_EPOCH: "<epoch>",
}
"""What a lease's record and the operator's epoch are called, which only the grant tells."""


def in_words(created: Json, *, token: bool = False) -> Json:
    """The application as it was created, with words for what only its grant told, and without what the API server and its Spark
    operator have added. `token`: whether the token is such a word, too."""
    metadata = {name: value for name, value in created["metadata"].items() if name not in _OF_THE_API_SERVER}
    body: Json = _with_words({**created, "metadata": metadata})
    body.pop("status", None)
    if token:
        number = created["metadata"]["annotations"][names.ANNOTATION_TOKEN]
        body = json.loads(json.dumps(body).replace(number, "<token>"))
    return body


def _with_words(given: Any) -> Any:
    if isinstance(given, list):
        return [_with_words(one) for one in given]
    if isinstance(given, str):
        return "--plan=<plan>" if given.startswith("--plan=") else given
    if not isinstance(given, Mapping):
        return given
    found = {name: WORDS.get(name) or _with_words(value) for name, value in given.items()}
    return found | {"value": "<plan>"} if found.get("name") == "SLUICE_PLAN" else found


def rendered(kubeconfig: Path, job: str, *options: str) -> Json:
    """What the command prints, which must be one document."""
    printed = sluice(kubeconfig, "render", job, *options)
    assert (printed.returncode, printed.stderr) == (0, "")
    body = json.loads(printed.stdout) if "json" in options else yaml.safe_load(printed.stdout)
    assert isinstance(body, dict)
    return body
