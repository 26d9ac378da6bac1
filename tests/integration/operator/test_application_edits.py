"""Nobody makes an attempt's application run again by another spec: the API server refuses it, by the chart's own policy. What
queues and garbage collection need is taken."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from devenv import kubernetes_binaries
from devenv.kubernetes_binaries import HELM
from devenv.toolchain import cache
from integration.chart.helm import RELEASE, Helm
from integration.objects import Objects, RefusedRequestError, Server
from integration.operator.fenced import Fenced, fenced
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json
from sluice.templates.shared_rules import LARGEST

REFUSED = "another spec would run its driver again without leases"
SPEC: Json = {
    "type": "Scala",
    "mode": "cluster",
    "image": "registry.example/settle:7",
    "mainClass": "com.example.Settle",
    "mainApplicationFile": "local:///app/settle.jar",
    "arguments": ["--day", "2026-11-19"],
    "sparkVersion": "4.2.0",
    "driver": {"cores": 1},
    "executor": {"instances": 1},
}
EDITS: list[Json] = [
    {"arguments": ["--day", "2026-11-20"]},
    {"driver": {"cores": 2}},
    {"driver": {"labels": {"team": "finance"}}},
    {"mainClass": None},
    {"timeToLiveSeconds": 60, "image": "registry.example/settle:8"},
]
SUSPEND: Json = {"spec": {"suspend": True}}


@pytest.fixture
def here(objects: Objects, kubeconfig: Path, tmp_path: Path) -> Iterator[Fenced]:
    """Without the policies of epochs, for which an operator keeps a parameter."""
    helm = Helm(kubernetes_binaries.ensure(cache(), HELM) / "helm")
    with fenced(helm, objects, kubeconfig, tmp_path) as made:
        made.install(f"specs.{RELEASE}.")
        attempt(objects, "probe")
        others = (str(number) for number in count())
        eventually(
            lambda: is_refused(objects, "probe", {"spec": {"arguments": [next(others)]}}),
            "the policy is in force",
        )
        yield made


def attempt(objects: Objects, name: str, spec: Json | None = None, *, is_over: bool = False) -> None:
    metadata: Json = {"name": name, "labels": {names.LABEL_JOB_UID: "a-job"}}
    if not is_over:
        metadata["finalizers"] = [names.FINALIZER_LEASE]
    kind = {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication"}
    objects.create("sparkapplication", kind | {"metadata": metadata, "spec": spec or SPEC})


def is_refused(objects: Objects, name: str, change: Json) -> bool:
    try:
        objects.patch("sparkapplication", name, change)
    except RefusedRequestError as error:
        if REFUSED not in str(error):
            raise
        return True
    return False


def test_an_edit_of_its_spec_is_refused_while_it_runs_and_when_it_is_over(
    here: Fenced, objects: Objects
) -> None:
    attempt(objects, "runs")
    attempt(objects, "is-over", is_over=True)
    for edit in EDITS:
        assert is_refused(objects, "runs", {"spec": edit}), edit
        assert is_refused(objects, "is-over", {"spec": edit}), edit
    unlabelled = {"metadata": {"labels": None}, "spec": EDITS[0]}
    assert is_refused(objects, "runs", unlabelled), "taking the label off with it doesn't help"
    by_suspending = {"spec": EDITS[0] | {"suspend": True}}
    assert is_refused(objects, "is-over", by_suspending), "it holds no leases any more"
    attempt(objects, "has-ended")
    ended = {"status": {"applicationState": {"state": "COMPLETED"}, "driverInfo": {}}}
    objects.patch("sparkapplication", "has-ended", ended, sub="status")
    assert is_refused(objects, "has-ended", by_suspending), "its leases may go at any moment"
    assert not is_refused(objects, "has-ended", SUSPEND)
    kept = objects.get("sparkapplication", "runs")
    assert kept is not None
    assert kept["spec"] == SPEC


def test_what_starts_no_driver_without_leases_is_taken_of_anybody(here: Fenced, objects: Objects) -> None:
    attempt(objects, "queued")
    noted = {"metadata": {"annotations": {"example.com/note": "seen"}}}
    placed = {"driver": {"nodeSelector": {"pool": "spot"}}}
    for change in (
        noted,
        {"spec": {"timeToLiveSeconds": 60}},
        {"spec": {**placed, "suspend": True}},
        {"spec": {"driver": {"nodeSelector": {"pool": "on-demand"}}}},
        {"spec": {**placed, "suspend": False}},
        noted | {"spec": {**placed, "arguments": SPEC["arguments"]}},
        {"metadata": {"finalizers": None}},
        SUSPEND,
    ):
        assert not is_refused(objects, "queued", change), change

    attempt(objects, "goes")
    objects.delete("sparkapplication", "goes")
    assert not is_refused(objects, "goes", {"spec": EDITS[0]}), "what is being deleted starts no driver"

    attempt(objects, "others", is_over=True)
    assert not is_refused(objects, "others", {"metadata": {"labels": None}})
    assert not is_refused(objects, "others", {"spec": EDITS[0]}), "it is no attempt of a job"


def test_the_largest_one_can_still_be_written_to_and_the_operator_never_waits_for_it(
    here: Fenced, objects: Objects
) -> None:
    attempt(objects, "large", SPEC | {"arguments": ["x" * 100] * (LARGEST // 104)})
    assert not is_refused(objects, "large", {"metadata": {"annotations": {"example.com/note": "seen"}}})
    assert is_refused(objects, "large", {"spec": EDITS[1]})
    operators = Objects(Server.of(here.kubeconfig), objects.namespace)
    # A webhook of the Spark operator's may add defaults of its own to whatever is written.
    assert not is_refused(operators, "large", {"metadata": {"finalizers": None}, "spec": EDITS[1]})
