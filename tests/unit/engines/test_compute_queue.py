"""What a job says to whoever hands out compute reaches them, and nothing else of its metadata goes along."""

from typing import Any

import pytest

from sluice.api import names
from sluice.api.base import Json
from sluice.api.engine_kind import EngineKind
from sluice.engines import RuntimeProfile, engine_for
from sluice.engines.compute_queue import passed_on
from unit.engines.test_manifest import run

LABELS = {"kueue.x-k8s.io/queue-name": "etl", "queue": "root.etl", "yunikorn.apache.org/app-id": "a"}
ANNOTATIONS = {
    "scheduling.volcano.sh/queue-name": "etl",
    "yunikorn.apache.org/task-groups": '[{"name": "d"}]',
}
OF_THE_JOB = {
    "team": "orders",
    "kueue.x-k8s.io": "no prefix",
    "queue-name": "x",
    "app.kubernetes.io/name": "x",
}
PROFILE: Json = {"sparkVersion": "4.2.0"}


def test_only_what_queues_and_schedulers_read_is_passed_on() -> None:
    for given in (LABELS, ANNOTATIONS):
        assert passed_on(given | OF_THE_JOB) == given
    assert passed_on(None) == {}


def _manifest(kind: EngineKind, **profile: Any) -> Json:
    ours = {names.LABEL_JOB_UID: "not the job's"}
    made = RuntimeProfile(**PROFILE | {"engine": kind} | profile)
    return engine_for(kind).manifest(run(made, labels=LABELS | ours, annotations=ANNOTATIONS))


@pytest.mark.parametrize("kind", list(EngineKind))
def test_applications_and_drivers_bear_it_and_what_is_ours_counts(kind: EngineKind) -> None:
    body = _manifest(kind)
    driver = body["spec"].get("driverSpec", {}).get("podTemplateSpec") or body["spec"]["driver"]["template"]
    for metadata in (body["metadata"], driver["metadata"]):
        assert metadata["labels"].items() >= LABELS.items()
        assert metadata["annotations"].items() >= ANNOTATIONS.items()
        assert metadata["labels"][names.LABEL_JOB_UID] == run().job_uid
        assert names.ANNOTATION_LEASE in metadata["annotations"]
    assert "suspend" not in body["spec"], "that field is the queue's"


def test_executors_bear_it() -> None:
    executor = _manifest(EngineKind.KUBEFLOW)["spec"]["executor"]
    assert executor["labels"].items() >= LABELS.items()
    assert executor["annotations"] == ANNOTATIONS
    conf = _manifest(EngineKind.APACHE)["spec"]["sparkConf"]
    assert conf["spark.kubernetes.executor.label.kueue.x-k8s.io/queue-name"] == "etl"
    assert conf["spark.kubernetes.executor.annotation.scheduling.volcano.sh/queue-name"] == "etl"


def test_a_profile_names_the_batch_scheduler_of_kubeflows_operator() -> None:
    options = {"queue": "etl", "priorityClassName": "high", "resources": {"cpu": "4"}}
    spec = _manifest(EngineKind.KUBEFLOW, batchScheduler="volcano", batchSchedulerOptions=options)["spec"]
    assert (spec["batchScheduler"], spec["batchSchedulerOptions"]) == ("volcano", options)
    assert not {"batchScheduler", "batchSchedulerOptions"} & _manifest(EngineKind.KUBEFLOW)["spec"].keys()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"batchScheduler": "slurm"}, "kube-scheduler"),
        ({"batchSchedulerOptions": {"queues": "x"}}, "queues"),
        ({"batchSchedulerOptions": {"queue": ""}}, "at least 1"),
        ({"engine": "apache", "batchScheduler": "volcano"}, "engine apache knows no batchScheduler"),
    ],
)
def test_what_no_operator_knows_is_refused(given: Json, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        RuntimeProfile(**PROFILE | given)
