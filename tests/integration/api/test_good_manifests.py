"""What is right is taken, stored as the models read it, and found unchanged when it is applied again."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.api.manifest_tables import (
    EXAMPLES,
    FOLDER,
    OF_OTHERS,
    bodies,
    good_manifests,
    load,
    spec_of,
)
from integration.conftest import Kubectl
from sluice.api import names

MANIFESTS = good_manifests()


@pytest.fixture(scope="module")
def applied(kubectl: Kubectl) -> Iterator[list[str]]:
    """All of them applied in one go, in a namespace of their own; the arguments that name them to kubectl again."""
    namespace = "good-manifests"
    assert kubectl("create", "namespace", namespace).returncode == 0
    done = kubectl("apply", "--namespace", namespace, "-f", "-", stdin=_as_list(MANIFESTS))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" created\n") == len(MANIFESTS)
    yield ["--namespace", namespace, "-f", "-"]
    assert kubectl("delete", "namespace", namespace, "--wait=false").returncode == 0


def _as_list(manifests: list[dict[str, Any]]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})


def test_every_example_and_every_edge_is_tried_once() -> None:
    files = [file for file in EXAMPLES.rglob("*.yaml") if not _is_of_others(file)]
    examples = Counter(
        (manifest["kind"], manifest["metadata"]["name"])
        for file in files
        for manifest in bodies(file.read_text("utf-8"))
    )
    edges = Counter((case["kind"], case["name"]) for case in load(FOLDER / "good.yaml"))
    assert examples.total() >= len(files) > 30
    assert edges.total() >= 20
    assert {kind for kind, _ in edges} == {names.JOB_KIND, names.POLICY_KIND}
    tried = Counter((manifest["kind"], manifest["metadata"]["name"]) for manifest in MANIFESTS)
    assert tried == examples + edges
    assert set(tried.values()) == {1}


def _is_of_others(file: Path) -> bool:
    return any(file.is_relative_to(EXAMPLES / name) for name in OF_OTHERS)


def test_applied_again_nothing_changes(kubectl: Kubectl, applied: list[str]) -> None:
    again = kubectl("apply", *applied, stdin=_as_list(MANIFESTS))
    assert again.returncode == 0, again.stderr
    assert again.stdout.count(" unchanged\n") == len(MANIFESTS)


def test_kubectl_diff_is_empty(kubectl: Kubectl, applied: list[str]) -> None:
    differences = kubectl("diff", *applied, stdin=_as_list(MANIFESTS))
    assert (differences.returncode, differences.stdout) == (0, "")


def test_the_server_and_the_models_fill_in_the_same_defaults(kubectl: Kubectl, applied: list[str]) -> None:
    stored = kubectl.json("get", "deltawritejobs,deltatablepolicies", *applied[:2])
    specs = {(item["kind"], item["metadata"]["name"]): spec_of(item) for item in stored["items"]}  # type: ignore[attr-defined]
    assert len(specs) == len(MANIFESTS)
    for manifest in MANIFESTS:
        stored_spec = specs[manifest["kind"], manifest["metadata"]["name"]]
        assert stored_spec.model_dump() == spec_of(manifest).model_dump(), manifest["metadata"]["name"]


def test_the_examples_are_taken_as_the_files_that_they_are(kubectl: Kubectl, namespace: str) -> None:
    done = kubectl("apply", "--namespace", namespace, "-f", str(EXAMPLES))
    assert done.returncode == 0, done.stderr


def test_the_spark_application_that_is_migrated_is_one(kubectl: Kubectl, namespace: str) -> None:
    before = EXAMPLES / "migrating" / "spark-application" / "before.yaml"
    done = kubectl("create", "--dry-run=server", "--validate=strict", "-n", namespace, "-f", str(before))
    assert done.returncode == 0, done.stderr
