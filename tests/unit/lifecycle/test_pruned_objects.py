"""What is kept of an object says the same as all of it, whatever somebody made of it."""

import copy
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from integration.operator import hostile
from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import Attempt
from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.engines import RuntimeProfile
from sluice.footprint import NotUnderstoodError
from sluice.lifecycle.evidence.attempt_evidence import annotations_of, evidence_of, labels_of, words
from sluice.lifecycle.evidence.deletion import leaving
from sluice.lifecycle.job import pruned_objects
from sluice.lifecycle.job.job_view import JobView
from unit.controller.bodies import job_body
from unit.lifecycle.objects import (
    LEASE,
    NAME,
    RUNNING,
    TERMINATED,
    TOKEN,
    application,
    executor,
    placeholder,
    pod,
)

NOW = datetime(2026, 11, 19, 10, tzinfo=UTC)
INTENT = Attempt(number=1, token=TOKEN, hash="hash", application=NAME, granted_at=NOW)
GONE = object()
INSTEAD: tuple[Any, ...] = (GONE, None, "text", 7, 0, [], {}, [None], ["text"], [[]], {"a": 1})
BY_SERVER = {"metadata", "name", "namespace", "uid", "resourceVersion", "creationTimestamp"}
"""What the API server itself holds to be so."""

FAILED = {"phase": "Failed", "reason": "Evicted", "message": "the node was low on memory"}
NO_NODE = {
    "phase": "Pending",
    "conditions": [
        {"type": "Initialized", "status": "False", "message": "other"},
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"},
    ],
}
SINCE = {"lastTransitionTime": "2026-11-19T10:04:00Z"}
DISRUPTED = [
    {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "message": "no node"} | SINCE
]
SILENT = [
    {"type": type_, "status": said} | SINCE
    for type_, said in (("Ready", "False"), ("ContainersReady", "True"))
]
SIDECAR = {"name": "istio-proxy", "state": {"terminated": {"exitCode": 1}}, "restartCount": 4}


def _applications() -> Iterator[Json]:
    for state in ("", "SUBMITTED", "RUNNING", "FAILED", "COMPLETED"):
        yield application(state)
    yield application("RUNNING", deletionTimestamp="2026-11-19T10:06:00Z")
    yield application("SUSPENDED")
    yield application() | {"spec": {"suspend": True}}


def _pods() -> Iterator[Json]:
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
    for state in (None, RUNNING, TERMINATED, waiting):
        yield pod(state)
        yield pod(state, deletionTimestamp="2026-11-19T10:06:00Z")
    beside = pod(TERMINATED)
    beside["status"]["containerStatuses"] = [SIDECAR, *beside["status"]["containerStatuses"], SIDECAR]
    yield beside
    yield pod() | {"status": FAILED}
    yield pod() | {"status": NO_NODE, "spec": {}}
    for state, conditions in ((TERMINATED, DISRUPTED), (RUNNING, SILENT)):
        told = pod(state)
        told["status"]["conditions"] = conditions
        yield told
    yield placeholder()
    yield executor()


def _paths(body: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for key, value in items:
        path = (*before, key)
        if not (path[0] == "metadata" and path[-1] in BY_SERVER):
            yield path
        yield from _paths(value, path)


def _changed(body: Json) -> Iterator[Json]:
    """Yields the body as it is, then with something else in each place and at each end of a list."""
    yield body
    for path in _paths(body):
        for instead in INSTEAD:
            other = copy.deepcopy(body)
            at = other
            for key in path[:-1]:
                at = at[key]
            if instead is GONE:
                del at[path[-1]]
            else:
                at[path[-1]] = copy.deepcopy(instead)
            yield other
        if isinstance(path[-1], int):
            other = copy.deepcopy(body)
            within: Any = other
            for key in path[:-1]:
                within = within[key]
            within.insert(path[-1], "text")
            yield other


def _says(applications: list[Json], pods: list[Json], intent: bool) -> Any:
    """All that is concluded from them, or how that fails."""
    attempts = [INTENT.model_dump(mode="json", by_alias=True, exclude_none=True)] if intent else []
    body = job_body("a") | {"status": {"attempts": attempts}}
    job = JobView(body, {"default": RuntimeProfile(spark_version="4.2.0")}, NOW)
    try:
        found = evidence_of(LEASE.uid, job, applications, pods)
        each = [
            (name, one.number, one.seen, one.holds, one.is_marked, one.declared_dead, one.told_beside)
            for name, one in found.by_application.items()
        ]
        steps = [type(leaving(one, "etl")).__name__ for one in found.by_application.values()]
        doubts = [(one.why, one.holds, words(one.body)) for one in found.doubts]
        marks = [
            (_ours(annotations_of(one)), _ours(labels_of(one)), words(one)) for one in (*applications, *pods)
        ]
        return each, steps, doubts, marks, found.of(INTENT).beside
    except Exception as error:  # noqa: BLE001 - the same one is to come of both
        return type(error), str(error)


def _ours(given: Json) -> Json:
    return {name: text for name, text in given.items() if name.startswith(names.GROUP)}


def _same(whole: Json, kept: Json, *, is_pod: bool) -> None:
    for intent in (True, False):
        for beside in ([], [application("RUNNING")]):
            if is_pod:
                assert _says(beside, [kept], intent) == _says(beside, [whole], intent), whole
            else:
                assert _says([kept], [], intent) == _says([whole], [], intent), whole


@pytest.mark.parametrize("body", list(_applications()))
def test_of_an_application_all_is_kept_that_is_evidence(body: Json) -> None:
    for whole in _changed(body):
        _same(whole, pruned_objects.of_application(whole), is_pod=False)


@pytest.mark.parametrize("body", list(_pods()))
def test_of_a_pod_all_is_kept_that_is_evidence(body: Json) -> None:
    for whole in _changed(body):
        _same(whole, pruned_objects.of_pod(whole), is_pod=True)


def test_of_what_nobody_should_write_all_is_kept_that_is_evidence() -> None:
    victim = hostile.Victim("etl", LEASE.uid, INTENT.model_dump(mode="json", by_alias=True))
    for one in hostile.objects(victim):
        body = copy.deepcopy(one.body)
        body["metadata"] = {"namespace": "etl", "uid": "u", "resourceVersion": "1"} | body["metadata"]
        body["metadata"].setdefault("creationTimestamp", "2026-11-19T10:00:00Z")
        keep = pruned_objects.of_pod if one.is_pod else pruned_objects.of_application
        _same(body, keep(body), is_pod=one.is_pod)


def test_of_a_job_spec_and_status_are_kept_and_of_its_metadata_what_is_read() -> None:
    body = job_body("a")
    read = body["metadata"] | {"annotations": {names.ANNOTATION_DRIVER_DEAD: "a-1"}, "labels": {}}
    written = {
        "managedFields": [{"manager": "kubectl"}],
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", **read["annotations"]},
        "labels": {"team": "etl"},
        "ownerReferences": [{"kind": "Workflow"}],
    }
    kept = pruned_objects.of_job(body | {"metadata": body["metadata"] | written, "status": "text"})
    assert kept == body | {"metadata": read, "status": "text"}
    nothing = {"metadata": {"annotations": None, "labels": "none"}}
    assert pruned_objects.of_job(nothing) == nothing


def _nested(levels: int) -> Json:
    deep: Any = "x"
    for at in range(levels):
        deep = [deep] if at % 2 else {"a": deep}
    template = {"type": "Python", "sparkVersion": "4.2.0", "later": deep}
    footprint = [{"table": {"path": "/lake/orders"}, "operation": "Append"}]
    spec = {"application": {"engine": "kubeflow", "template": template}, "footprint": footprint}
    return job_body("a") | {"spec": spec}


@pytest.mark.parametrize("levels", [100, 480, 5000])
def test_a_job_whose_template_is_nested_too_deeply_is_kept_and_refused(levels: int) -> None:
    world = ClusterCache({})
    world.job_seen(_nested(levels))
    job = world.jobs["uid-a"]
    assert job.work_hash
    with pytest.raises(NotUnderstoodError, match="nested more than"):
        assert job.spec_hash


def test_a_job_that_is_nested_too_deeply_is_refused_where_all_of_it_is_read() -> None:
    with pytest.raises(NotUnderstoodError, match="nested more than"):
        assert JobView(_nested(300), {}, NOW).spec_hash


@pytest.mark.parametrize(
    ("keep", "body"),
    [
        (pruned_objects.of_application, application("RUNNING")),
        (pruned_objects.of_pod, pod(TERMINATED)),
        (pruned_objects.of_job, job_body("a") | {"status": {"phase": "Waiting", "tables": "Waiting"}}),
    ],
)
def test_a_text_that_stands_in_many_objects_or_many_times_in_one_is_kept_once(keep: Any, body: Json) -> None:
    one, other = (keep(json.loads(json.dumps(body))) for _ in range(2))
    kept = [*_texts(one), *_texts(other)]
    assert len(kept) > len(set(kept))
    assert len({id(text) for text in kept}) == len(set(kept))


def _texts(body: Any) -> Iterator[str]:
    if isinstance(body, str):
        yield body
    elif isinstance(body, dict):
        yield from (text for item in body.items() for inner in item for text in _texts(inner))
    elif isinstance(body, list):
        yield from (text for inner in body for text in _texts(inner))


@pytest.mark.parametrize(
    ("keep", "body"),
    [
        (pruned_objects.of_application, application("RUNNING")),
        (pruned_objects.of_pod, pod(TERMINATED)),
        (pruned_objects.of_job, job_body("a")),
    ],
)
def test_what_is_kept_is_kept_whole_when_it_is_seen_again(keep: Any, body: Json) -> None:
    assert keep(keep(body)) == keep(body)


def test_what_a_job_says_to_queues_is_kept_and_other_labels_are_not() -> None:
    body = job_body("a")
    queues = {"kueue.x-k8s.io/queue-name": "etl"}
    body["metadata"] |= {"labels": {"team": "x"} | queues, "annotations": {"note": "y", "volcano.sh/z": "1"}}
    kept = pruned_objects.of_job(body)["metadata"]
    assert kept["labels"] == queues
    assert kept["annotations"] == {"volcano.sh/z": "1"}


def test_what_runs_is_not_kept_of_an_application_nor_of_a_pod() -> None:
    kept = pruned_objects.of_application(
        application("RUNNING") | {"spec": {"suspend": True, "arguments": ["x" * 5000]}}
    )
    assert kept["spec"] == {"suspend": True}
    whole = pod(TERMINATED)
    whole["spec"]["containers"] = [{"name": "spark-kubernetes-driver", "env": ["x" * 5000]}]
    whole["status"]["containerStatuses"].append(SIDECAR)
    kept = pruned_objects.of_pod(whole)
    assert kept["spec"] == {"nodeName": "node-1"}
    assert [one["name"] for one in kept["status"]["containerStatuses"]] == ["spark-kubernetes-driver"]


@pytest.mark.parametrize(
    ("keep", "body"),
    [(pruned_objects.of_application, application("RUNNING")), (pruned_objects.of_pod, pod(TERMINATED))],
)
def test_what_others_note_on_an_object_is_not_kept(keep: Any, body: Json) -> None:
    noted = copy.deepcopy(body)
    noted["metadata"]["labels"]["spark-app-name"] = "a"
    noted["metadata"]["annotations"]["cni.projectcalico.org/podIP"] = "10.0.0.1/32"
    noted["metadata"] |= {"ownerReferences": [{"kind": "SparkApplication"}], "generateName": "a-"}
    assert keep(noted) == keep(body)
