"""Attempts that ended through no fault of their own: what is retried, what waits for proof, and what the status says."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest
from kubernetes import client

from integration.operator.played import Played, append
from integration.operator.process import OperatorProcess
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json
from sluice.engines.placeholder import is_placeholder

AT = "2026-11-19T10:04:00Z"
ALL_BUT = {
    cause: [other for other in ("Conflict", "DriverLost", "NotStarted", "Error") if other != cause]
    for cause in ("DriverLost", "NotStarted", "Error")
}
NOTHING = "it had committed nothing, according to the tables' logs"


def _applied(cluster: Played, name: str, table: Path, on: list[str], **more: object) -> str:
    return cluster.apply(name, append(str(table), retry={"limit": 1, "backoff": "1s", "on": on}, **more))


def _is_retried(cluster: Played, name: str, cause: str, why: str) -> None:
    """It says so, and another attempt does what is left."""
    retried = eventually(
        lambda: (status := cluster.status(name)).get("retries") == 1 and status,
        f"{name} is retried",
        show=lambda: cluster.status(name),
    )
    if retried["phase"] == "BackingOff":  # it may have been for less time than a look takes
        at = datetime.fromisoformat(retried["retryAt"])
        assert retried["message"] == (
            f"attempt 1 ended as {cause}: {why}; it queues again, keeping its age, at {at:%H:%M:%S} UTC, for retry 1 of 1"
        )
    assert retried["attempts"][0]["message"] == why
    eventually(lambda: cluster.status(name).get("attempt") == 2, "it has another attempt")
    cluster.start(name).succeeds("file:/lake/played")
    status = cluster.reaches(name, "Succeeded")
    assert len(status["attempts"]) == 2
    assert "Retrying" in cluster.events_of(name)


def _is_not_retried(cluster: Played, name: str, cause: str, why: str) -> None:
    status = cluster.reaches(name, "Failed")
    assert status["message"] == f"{why}; it is not retried, because retry.on doesn't name {cause}"
    assert len(status["attempts"]) == 1


def _goes_on(cluster: Played, name: str, cause: str, on: list[str], why: str) -> None:
    (_is_retried if cause in on else _is_not_retried)(cluster, name, cause, why)


def _named(prefix: str, on: list[str]) -> str:
    return f"{prefix}-{len(on)}"


@pytest.mark.parametrize("on", [["DriverLost"], ALL_BUT["DriverLost"]], ids=len)
def test_a_driver_that_makes_room_for_another_pod(shared: Played, tmp_path: Path, on: list[str]) -> None:
    name = _named("preempted", on)
    _applied(shared, name, tmp_path / "orders", on)
    driver = shared.start(name)
    shared.reaches(name, "Running")
    preempted = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": "default-scheduler: preempting to accommodate a higher priority pod",
        "lastTransitionTime": AT,
    }
    shared.patch_pod_status(driver.pod, {"conditions": [preempted]})
    shared.delete_pod_gently(driver.pod)
    made_room = (
        "a pod of a higher priority took its place (PreemptionByScheduler: default-scheduler: preempting to "
        "accommodate a higher priority pod)"
    )
    _says(
        shared,
        name,
        f"SparkApplication {driver.application} runs on node played, but {made_room}; its outcome comes when the driver ends",
    )
    driver.ends(143)
    why = f"the driver on node played was ended from outside: {made_room}, exit code 143; {NOTHING}"
    _goes_on(shared, name, "DriverLost", on, why)


@pytest.mark.parametrize("on", [["NotStarted"], ALL_BUT["NotStarted"]], ids=len)
def test_a_driver_whose_image_is_nowhere(shared: Played, tmp_path: Path, on: list[str]) -> None:
    name = _named("no-image", on)
    _applied(shared, name, tmp_path / "orders", on, admission={"startTimeout": "3s"})
    driver = shared.submitted(name)
    driver.container_waits("ImagePullBackOff", 'Back-off pulling image "nowhere/spark:9"')
    waits = 'the driver\'s container waits: ImagePullBackOff: Back-off pulling image "nowhere/spark:9"'
    late = f"its driver didn't start within spec.admission.startTimeout (3s): {waits}"
    _says(shared, name, f"SparkApplication {driver.application} is being ended: {late}")
    driver.container_is_ended_unstarted()
    shared.delete_pod(driver.pod)
    _goes_on(shared, name, "NotStarted", on, f"no driver was started: {late}")


@pytest.mark.parametrize("on", [["Error"], ALL_BUT["Error"]], ids=len)
def test_a_driver_that_needs_more_memory_than_it_has(shared: Played, tmp_path: Path, on: list[str]) -> None:
    name = _named("out-of-memory", on)
    _applied(shared, name, tmp_path / "orders", on)
    shared.start(name).ends(137, reason="OOMKilled")
    why = (
        "the driver was killed (exit code 137, OOMKilled) without a result: it needed more memory than its pod may have, and "
        "another attempt has no more: create the job with a higher runtime.driver.memory; in the template of an application "
        f"it is driver.memory, or for Apache's operator spark.driver.memory in its sparkConf; {NOTHING}"
    )
    _goes_on(shared, name, "Error", on, why)


def test_executors_that_are_lost_are_no_failure_of_the_attempt(shared: Played) -> None:
    shared.apply(
        "executors-lost", append("/lake/executors-lost", retry={"limit": 1, "on": ["DriverLost", "Error"]})
    )
    driver = shared.start("executors-lost")
    before = shared.reaches("executors-lost", "Running")
    body = shared.pod(driver.pod)
    assert body is not None
    labels = body["metadata"]["labels"] | {"spark-role": "executor"}
    for number, end in enumerate(
        ({"exitCode": 137, "reason": "OOMKilled"}, {"exitCode": 143, "reason": "Error"})
    ):
        executor = f"{driver.application}-exec-{number}"
        containers = [{"name": "spark-kubernetes-executor", "image": "none"}]
        shared.apply_pod(
            {"metadata": {"name": executor, "labels": labels}, "spec": {"containers": containers}}
        )
        container = {
            "name": "spark-kubernetes-executor",
            "image": "none",
            "imageID": "none",
            "ready": False,
            "restartCount": 0,
            "state": {"terminated": end},
        }
        shared.patch_pod_status(executor, {"phase": "Failed", "containerStatuses": [container]})
        shared.delete_pod(executor)
    shared.apply("executors-lost-next", append("/lake/executors-lost-next"))
    shared.start("executors-lost-next").succeeds("file:/lake/executors-lost-next")
    shared.reaches("executors-lost-next", "Succeeded")
    assert shared.status("executors-lost") == before, (
        "what came after them was seen, and they changed nothing"
    )
    driver.succeeds("file:/lake/executors-lost")
    assert len(shared.reaches("executors-lost", "Succeeded")["attempts"]) == 1


COLLECTED: dict[str, tuple[list[Json], str]] = {
    "orphan": (
        [
            {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "DeletionByPodGC",
                "message": "PodGC: node no longer exists",
                "lastTransitionTime": AT,
            }
        ],
        "the driver's pod is Failed: its node is no longer there (DeletionByPodGC: PodGC: node no longer exists)",
    ),
    "out-of-service": ([], "the driver's pod is Failed"),
}
"""What is written of the pods of a node that was removed, and of one that somebody marked out of service."""


@pytest.mark.parametrize("on", [["DriverLost"], ALL_BUT["DriverLost"]], ids=len)
@pytest.mark.parametrize("kind", COLLECTED)
def test_a_driver_whose_node_is_gone_waits_for_a_persons_word(
    shared: Played, tmp_path: Path, kind: str, on: list[str]
) -> None:
    """Whoever collects the pods of such nodes ends their objects, and proves nothing of the process."""
    name, (conditions, told) = _named(kind, on), COLLECTED[kind]
    uid = _applied(shared, name, tmp_path / "orders", on)
    driver = shared.start(name)
    shared.reaches(name, "Running")
    shared.patch_pod_status(driver.pod, {"phase": "Failed", "conditions": conditions})
    shared.delete_pod(driver.pod)
    [attempt] = shared.reaches(name, "Ending")["attempts"]
    word = f"{names.ANNOTATION_DRIVER_DEAD}={driver.application}@{attempt['loss']['at']}"
    lost = f"{told}, and its node has not said that the driver's container ended; it ran on node played"
    _says(
        shared,
        name,
        f"{lost}: it may still write, so its leases are held; once you know that it is dead, say so: "
        f"kubectl delete pod -n {shared.namespace} {driver.pod} --force --wait=false && "
        f"kubectl annotate --overwrite deltawritejob -n {shared.namespace} {name} {word}",
    )
    assert shared.status(name)["phase"] == "Ending"
    assert "retryAt" not in shared.status(name), "no retry before the proof"
    assert f"{uid}/1" in shared.holders()
    annotation, _, value = word.partition("=")
    shared.change(name, {"metadata": {"annotations": {annotation: value}}})
    why = f"{told}, and its node has not said that the driver's container ended; somebody declared it dead; {NOTHING}"
    _goes_on(shared, name, "DriverLost", on, why)


@contextmanager
def _quota(cluster: Played, **hard: str) -> Iterator[None]:
    """What is used is written by a controller elsewhere."""
    core = client.CoreV1Api(cluster.api)
    limits = {name.replace("_", "."): amount for name, amount in hard.items()}
    quota = client.V1ResourceQuota(
        metadata=client.V1ObjectMeta(name="small"), spec=client.V1ResourceQuotaSpec(hard=limits)
    )
    core.create_namespaced_resource_quota(cluster.namespace, quota)
    used = {"hard": limits, "used": dict.fromkeys(limits, "0")}
    core.patch_namespaced_resource_quota_status("small", cluster.namespace, {"status": used})
    yield
    core.delete_namespaced_resource_quota("small", cluster.namespace)


@contextmanager
def _bounds(cluster: Played, of: str, **least: str) -> Iterator[None]:
    core = client.CoreV1Api(cluster.api)
    item = client.V1LimitRangeItem(type=of, min=least)
    bounds = client.V1LimitRange(
        metadata=client.V1ObjectMeta(name="least"), spec=client.V1LimitRangeSpec(limits=[item])
    )
    core.create_namespaced_limit_range(cluster.namespace, bounds)
    yield
    core.delete_namespaced_limit_range("least", cluster.namespace)


def _is_refused_its_driver(cluster: Played, name: str, quota: str) -> Json:
    """The Spark operator is, and says so of the application."""
    cluster.apply(name, append(f"/lake/{name}", retry={"limit": 1, "backoff": "1s"}))
    application = eventually(cluster.applications, "it has its application")[0]
    with pytest.raises(client.ApiException, match=quota):
        cluster.driver_for(application)
    cluster.application_is(application["metadata"]["name"], "FAILED", f"failed to run spark-submit: {quota}")
    return application


def _is_retried_for_quota(cluster: Played, name: str, quota: str) -> None:
    status = eventually(
        lambda: (seen := cluster.status(name)).get("retries") == 1 and seen,
        f"{name} is retried",
        show=lambda: cluster.status(name),
    )
    first = status["attempts"][0]
    assert (first["outcome"], first["message"]) == (
        "NotStarted",
        f"no driver was started: failed to run spark-submit: {quota}",
    )


@pytest.mark.parametrize("of", ["Pod", "Container"])
@pytest.mark.parametrize("quota", [{}, {"limits_memory": "8Gi", "limits_cpu": "8"}], ids=["free", "quota"])
def test_that_no_driver_starts_is_proved_where_a_namespace_wants_a_least_of_each(
    cluster: Played, operator: OperatorProcess, of: str, quota: dict[str, str]
) -> None:
    assert operator.running
    name = f"least-{of.lower()}-{len(quota)}"
    with _bounds(cluster, of, cpu="100m", memory="64Mi"), _quota(cluster, **quota):
        cluster.apply(name, append(f"/lake/{name}"))
        application = eventually(cluster.applications, "it has its application")[0]
        cluster.application_is(application["metadata"]["name"], "FAILED", "failed to run spark-submit")
        status = cluster.reaches(name, "Failed")
    assert status["attempts"][0]["outcome"] == "NotStarted"
    eventually(lambda: not cluster.holders(), "its leases are released", show=cluster.holders)


def test_a_driver_for_which_the_quota_has_no_room_waits_with_its_leases_until_nobody_can_start_it(
    cluster: Played, operator: OperatorProcess
) -> None:
    """The pod by which it is proved that none starts is one too many, too."""
    assert operator.running
    with _quota(cluster, pods="0"):
        application = _is_refused_its_driver(cluster, "no-room", "exceeded quota: small")
        pod = application["spec"]["driver"]["podName"]
        _says(
            cluster,
            "no-room",
            f'the API server refuses a request for this job: pods "{pod}" is forbidden: exceeded quota: small, '
            "requested: pods=1, used: pods=0, limited: pods=0; trying again",
        )
        assert len(cluster.holders()) == 1
    _is_retried_for_quota(cluster, "no-room", "exceeded quota: small")
    eventually(lambda: cluster.status("no-room").get("attempt") == 2, "it has another attempt")
    cluster.start("no-room").succeeds("file:/lake/no-room")
    cluster.reaches("no-room", "Succeeded")


def test_a_quota_of_compute_keeps_nobody_from_proving_that_no_driver_starts(
    cluster: Played, operator: OperatorProcess
) -> None:
    """It refuses each pod that doesn't say how much it needs."""
    assert operator.running
    with _quota(cluster, requests_cpu="0", limits_memory="0"):
        application = _is_refused_its_driver(cluster, "no-compute", "failed quota: small")
        _is_retried_for_quota(cluster, "no-compute", "failed quota: small")
        taken = cluster.pod(application["spec"]["driver"]["podName"])
        assert taken is not None
        assert is_placeholder(taken)


def _says(cluster: Played, name: str, message: str) -> None:
    eventually(
        lambda: cluster.status(name).get("message") == message,
        f"{name} says {message!r}",
        show=lambda: cluster.status(name),
    )
