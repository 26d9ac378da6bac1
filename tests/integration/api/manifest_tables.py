"""The tables of manifests beside this file: read once for the API server and once for the models.

Long values are written with tags: `!times [x, 5]` is xxxxx, `!list [2, {name: "t{n}"}]` repeats an item with its
number, `!map [2, "k{n}", value]` does so with a key.
"""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sluice.api import names
from sluice.api.kubectl_yaml import KubectlLoader
from sluice.api.manifests import Document, Documents, read_text
from sluice.api.server_validation import Spec, judged

FOLDER = Path(__file__).parent
EXAMPLES = FOLDER.parents[2] / "examples"
OF_OTHERS = (
    "explain",
    "gitops/argocd",
    "gitops/kustomization.yaml",
    "install/lake.yaml",
    "install/orders.facts.yaml",
    "install/values.yaml",
    "migrating/orders.facts.yaml",
    "policies/refused.yaml",
    "s3/values-eks.yaml",
    "s3/values-own-store.yaml",
    "migrating/spark-application/before.yaml",
)
"""Examples that are not to be applied together with all others: a session of its own, test data, what is refused, what other
programs read."""


class TableLoader(KubectlLoader):
    """YAML as kubectl reads it, with tags for long values."""


def _numbered(value: Any, number: int) -> Any:
    if isinstance(value, str):
        return value.replace("{n}", str(number))
    if isinstance(value, dict):
        return {key: _numbered(item, number) for key, item in value.items()}
    return value


def bodies(text: str) -> list[dict[str, Any]]:
    """All manifests of a text, each of which can be read."""
    read = Documents()
    read_text(text, "text", read)
    assert not read.troubles, read.troubles
    return [document.body for document in read.found]


def problems_of(body: dict[str, Any]) -> tuple[str, ...]:
    """Everything for which the command line refuses it."""
    return judged(Document("manifest", body)).problems


def spec_of(body: dict[str, Any]) -> Spec:
    """The spec of a manifest that is taken."""
    found = judged(Document("manifest", body))
    assert found.spec is not None
    assert not found.problems
    return found.spec


def _times(loader: yaml.SafeLoader, node: yaml.SequenceNode) -> str:
    text, count = loader.construct_sequence(node)
    return str(text) * int(count)


def _list(loader: yaml.SafeLoader, node: yaml.SequenceNode) -> list[Any]:
    count, item = loader.construct_sequence(node, deep=True)
    return [_numbered(item, number) for number in range(count)]


def _map(loader: yaml.SafeLoader, node: yaml.SequenceNode) -> dict[str, Any]:
    count, key, value = loader.construct_sequence(node, deep=True)
    return {_numbered(key, number): value for number in range(count)}


TableLoader.add_constructor("!times", _times)
TableLoader.add_constructor("!list", _list)
TableLoader.add_constructor("!map", _map)


@dataclass(frozen=True)
class BadManifest:
    """A manifest that must be refused at a field with a message."""

    name: str
    field: str
    message: str
    manifest: dict[str, Any] = dataclasses.field(repr=False)


def load(file: Path) -> Any:
    return yaml.load(file.read_text(encoding="utf-8"), Loader=TableLoader)  # noqa: S506 - a SafeLoader


def bad_manifests() -> list[BadManifest]:
    return [
        _bad_manifest(file.stem, case, kind=table["kind"])
        for file, table in _tables()
        for case in table["cases"]
    ]


def _tables() -> list[tuple[Path, Any]]:
    return [(file, load(file)) for file in sorted((FOLDER / "bad").glob("*.yaml"))]


def _bad_manifest(file: str, case: dict[str, Any], kind: str) -> BadManifest:
    manifest = {
        "apiVersion": names.API_VERSION,
        "kind": kind,
        "metadata": case.get("metadata", {"name": "bad"}),
        **case.get("extra", {}),
    }
    if "spec" in case:
        manifest["spec"] = case["spec"]
    return BadManifest(f"{file}: {case['name']}", case["field"], case["message"], manifest)


def example_files() -> list[Path]:
    """All manifests of jobs and policies among the examples."""
    others = [EXAMPLES / name for name in OF_OTHERS]
    found = sorted(EXAMPLES.rglob("*.yaml"))
    return [file for file in found if not any(file.is_relative_to(other) for other in others)]


def good_manifests() -> list[dict[str, Any]]:
    """The edges of what is taken, and all examples."""
    examples = [document for file in example_files() for document in bodies(file.read_text(encoding="utf-8"))]
    edges = [
        {
            "apiVersion": names.API_VERSION,
            "kind": case["kind"],
            "metadata": {"name": case["name"]},
            "spec": case["spec"],
        }
        for case in load(FOLDER / "good.yaml")
    ]
    return examples + edges
