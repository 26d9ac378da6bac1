"""The CRDs as a cluster takes them: with room left in CEL's budget, found under short names, explained in words."""

import json
from typing import Any

import pytest

from generate.crds import RESOURCES, Resource, definition
from integration.conftest import Kubectl

BOUNDS = ("maxLength", "maxItems", "maxProperties")


def _with_bounds_times(factor: float, node: Any) -> Any:
    if isinstance(node, dict):
        return {
            key: int(value * factor)
            if key in BOUNDS and isinstance(value, int)
            else _with_bounds_times(factor, value)
            for key, value in node.items()
        }
    if isinstance(node, list):
        return [_with_bounds_times(factor, item) for item in node]
    return node


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.kind)
def test_bounds_could_grow_by_a_quarter_within_the_budget_of_cel(
    resource: Resource, kubectl: Kubectl
) -> None:
    """The budget is 10 million units a rule. The dearest rule looks for credentials in the values of sparkConf: it costs
    the number of values times their length, so a quarter more of both is half as much again."""
    wider = _with_bounds_times(1.25, definition(resource))
    done = kubectl(
        "apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-", stdin=json.dumps(wider)
    )
    assert done.returncode == 0, done.stderr


def test_the_budget_is_enforced_so_that_the_room_means_something(kubectl: Kubectl) -> None:
    wider = _with_bounds_times(4, definition(RESOURCES[0]))
    done = kubectl(
        "apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-", stdin=json.dumps(wider)
    )
    assert done.returncode == 1
    assert "estimated rule cost exceeds budget" in done.stderr


@pytest.mark.parametrize("name", ["dwj", "dtp", "sluice", "deltawritejob", "deltatablepolicies"])
def test_the_resources_are_found_by_their_short_names_and_category(
    name: str, kubectl: Kubectl, namespace: str
) -> None:
    assert kubectl("get", name, "--namespace", namespace).returncode == 0


def test_the_columns_answer_what_a_person_asks_first(kubectl: Kubectl, namespace: str) -> None:
    manifest = {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "DeltaWriteJob",
        "metadata": {"name": "nightly"},
        "spec": {"sql": "DELETE FROM orders"},
    }
    assert kubectl("apply", "-n", namespace, "-f", "-", stdin=json.dumps(manifest)).returncode == 0
    blocker = {
        "job": "shop/merge-orders",
        "uid": "u",
        "table": "orders",
        "verdict": "will",
        "rule": "oss/delete-read",
        "reason": "it changes the rows that this one reads",
    }
    status = {"phase": "Waiting", "tables": "orders", "blockedBy": [blocker], "attempt": 0}
    patch = ["patch", "dwj", "nightly", "-n", namespace, "--subresource=status", "--type=merge", "-p"]
    assert kubectl(*patch, json.dumps({"status": status})).returncode == 0
    header, row = kubectl("get", "dwj", "nightly", "-n", namespace).stdout.splitlines()
    assert header.split() == ["NAME", "PHASE", "TABLE", "BLOCKED-BY", "ATTEMPT", "AGE"]
    assert row.split()[:5] == ["nightly", "Waiting", "orders", "shop/merge-orders", "0"]


def test_explain_teaches_how_a_job_waits(kubectl: Kubectl) -> None:
    explained = " ".join(kubectl("explain", "deltawritejob.spec.admission").stdout.split())
    for words in (
        "How the job waits for its turn: how long, at which risk, and what it does while another one is in its way.",
        "timeout <string> Longest wait in the queue, such as 2h; after that the job ends as Failed without having run.",
        "enum: Wait, Skip, Fail What the job does when another one is in its way: Wait in the queue (the default), Skip",
        "suspend <boolean> true holds a waiting job back",
    ):
        assert words in explained


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.kind)
def test_explain_knows_every_field(resource: Resource, kubectl: Kubectl) -> None:
    explained = kubectl("explain", resource.plural, "--recursive")
    assert explained.returncode == 0, explained.stderr
    properties = definition(resource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    shown = explained.stdout.split()
    assert set(properties["spec"]["properties"]) | set(properties["status"]["properties"]) <= set(shown)
