"""Drivers that Kubernetes or their node ended, and drivers of which nobody knows whether they still run."""

import time
from pathlib import Path

import pytest
from kubernetes import client

from integration.leases.redis_process import RedisProcess
from integration.objects import Objects
from integration.operator.conftest import StartOperator
from integration.operator.played import Driver, Played, append, rewrite
from integration.operator.process import configuration, sluice
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json

AT = "2026-11-19T10:04:00Z"


def disruption(reason: str) -> Json:
    return {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": f"because of {reason}",
        "lastTransitionTime": AT,
    }


def readiness(*, node_is_silent: bool) -> list[Json]:
    """As a kubelet has written it, and then a node controller that no longer hears of the node."""
    ready = "False" if node_is_silent else "True"
    return [
        {"type": "Ready", "status": ready, "lastTransitionTime": AT},
        {"type": "ContainersReady", "status": "True", "lastTransitionTime": AT},
    ]


@pytest.mark.parametrize(
    "status",
    [
        {"conditions": [disruption("PreemptionByScheduler")]},
        {"conditions": [disruption("DeletionByTaintManager")]},
        {"conditions": [disruption("TerminationByKubelet")]},
        {"conditions": [disruption("DeletionByPodGC")]},
        {"reason": "Evicted", "message": "because of Evicted"},
        {"reason": "NodeShutdown", "message": "because of NodeShutdown"},
        {"reason": "Terminated", "message": "because of Terminated"},
    ],
    ids=lambda status: str(status.get("reason") or status["conditions"][0]["reason"]).lower(),
)
def test_a_driver_that_was_ended_from_outside_ends_with_its_nodes_word(shared: Played, status: Json) -> None:
    reason = str(status.get("reason") or status["conditions"][0]["reason"])
    name = f"ended-{reason.lower()}"
    uid = shared.apply(name, append(f"/lake/{name}"))
    driver = shared.start(name)
    shared.reaches(name, "Running")
    shared.patch_pod_status(driver.pod, status)
    driver.ends(143)
    _ended_as_lost(shared, name, f"({reason}: because of {reason})")
    _leases_go(shared, uid)


def test_an_evicted_driver_holds_its_leases_until_its_node_says_that_it_ended(shared: Played) -> None:
    uid = shared.apply("drained", rewrite("/lake/drained"))
    driver = shared.start("drained")
    shared.reaches("drained", "Running")
    body = client.V1Eviction(metadata=client.V1ObjectMeta(name=driver.pod))
    client.CoreV1Api(shared.api).create_namespaced_pod_eviction(driver.pod, shared.namespace, body)
    eventually(
        lambda: "on node played, but it was evicted" in shared.status("drained")["message"],
        "the job says that its driver is being ended",
        show=lambda: shared.status("drained"),
    )
    assert shared.status("drained")["phase"] == "Running"
    assert f"{uid}/1" in shared.holders()
    driver.ends(143)
    _ended_as_lost(shared, "drained", "EvictionByEvictionAPI: ")
    _leases_go(shared, uid)


def test_a_driver_that_failed_by_itself_is_not_lost_for_a_reason_that_nobody_knows(shared: Played) -> None:
    shared.apply("unheard", append("/lake/unheard"))
    driver = shared.start("unheard")
    shared.patch_pod_status(driver.pod, {"conditions": [disruption("Unheard")]})
    driver.ends(137)
    status = shared.reaches("unheard", "Failed")
    assert status["attempts"][0]["outcome"] == "Killed"
    assert "its pod says Unheard: because of Unheard" in status["message"]


def test_a_driver_on_a_silent_node_holds_its_leases_until_its_node_is_heard_of(shared: Played) -> None:
    uid, driver = _on_a_silent_node(shared, "silent")
    status = shared.reaches("silent", "Ending")
    assert f"has not been heard of since {AT}; it ran on node played: it may still write" in status["message"]
    eventually(lambda: "DriverLost" in shared.events_of("silent"), "an Event tells it")
    assert f"{uid}/1" in shared.holders()
    shared.patch_pod_status(driver.pod, {"conditions": readiness(node_is_silent=False)})
    shared.reaches("silent", "Running")
    driver.succeeds("file:/lake/silent")
    shared.reaches("silent", "Succeeded")


def test_what_the_message_says_ends_a_driver_whose_node_is_gone(shared: Played) -> None:
    uid, driver = _on_a_silent_node(shared, "burnt")
    shared.apply("behind-burnt", rewrite("/lake/burnt"))
    shared.reaches("behind-burnt", "Waiting")
    message = shared.reaches("burnt", "Ending")["message"]
    annotation = f"{names.ANNOTATION_DRIVER_DEAD}={driver.application}"
    assert message.endswith(
        f"kubectl delete pod -n {shared.namespace} {driver.pod} --force && "
        f"kubectl annotate deltawritejob -n {shared.namespace} burnt {annotation}"
    )
    shared.delete_pod(driver.pod)
    eventually(
        lambda: "deletionTimestamp" in (shared.pod(driver.pod) or {})["metadata"], "the pod is being deleted"
    )
    assert f"{uid}/1" in shared.holders()
    name, _, value = annotation.partition("=")
    shared.change("burnt", {"metadata": {"annotations": {name: value}}})
    status = shared.reaches("burnt", "Failed")
    assert (status["reason"], status["attempts"][0]["outcome"]) == ("DriverLost", "DriverLost")
    assert "somebody declared it dead" in status["message"]
    eventually(lambda: shared.pod(driver.pod) is None, "the pod goes")
    _leases_go(shared, uid)
    shared.start("behind-burnt").succeeds("file:/lake/burnt")
    shared.reaches("behind-burnt", "Succeeded")


def test_a_lost_driver_keeps_its_lease_when_its_namespace_is_deleted_and_keeps_no_namespace(
    cluster: Played, operators: StartOperator, redis: RedisProcess, kubeconfig: Path
) -> None:
    beside = Played(cluster.api, Objects(cluster.objects.server, f"{cluster.namespace}-going"), redis.url)
    beside.objects.create_namespace()
    operator = operators("both", **configuration([cluster.namespace, beside.namespace], redis.url))
    uid, driver = _on_a_silent_node(beside, "lost")
    beside.reaches("lost", "Ending")
    cluster.apply("behind-lost", rewrite("/lake/lost"))
    cluster.reaches("behind-lost", "Waiting")
    beside.objects.delete_namespace()
    operator.says("its namespace is being deleted: it is held without its objects")
    beside.delete_pod(driver.pod)  # as the garbage collector of pods does
    eventually(lambda: not _is_there(beside), "the namespace is gone", show=beside.pods)
    assert cluster.holders() == {f"{uid}/1"}
    assert cluster.status("behind-lost")["phase"] == "Waiting"
    told = cluster.operator_tells("LeasesExplained", "False")
    assert f"sluice leases revoke {uid}/1" in told["message"]
    operator.kill()
    later = operators("later", **configuration([cluster.namespace, beside.namespace], redis.url))
    later.says("the lease table was rebuilt with 1 leases")
    revoked = sluice(kubeconfig, "leases", "revoke", f"{uid}/1", "--yes", "--namespace", cluster.namespace)
    assert revoked.returncode == 0, revoked.stderr
    cluster.start("behind-lost").succeeds("file:/lake/lost")
    cluster.reaches("behind-lost", "Succeeded")


def _is_there(cluster: Played) -> bool:
    return cluster.objects.server.ask("GET", f"/api/v1/namespaces/{cluster.namespace}") is not None


def test_who_collects_pods_of_lost_nodes_releases_no_lease(shared: Played) -> None:
    """It writes the phase, and leaves what the node said last of the container."""
    uid = shared.apply("collected", append("/lake/collected"))
    driver = shared.start("collected")
    shared.reaches("collected", "Running")
    shared.patch_pod_status(driver.pod, {"phase": "Failed", "conditions": [disruption("DeletionByPodGC")]})
    shared.delete_pod(driver.pod)
    status = shared.reaches("collected", "Ending")
    assert "DeletionByPodGC: because of DeletionByPodGC" in status["message"]
    assert "it ran on node played" in status["message"]
    time.sleep(7)  # more than one sweep
    assert f"{uid}/1" in shared.holders()
    assert names.FINALIZER_LEASE in (shared.pod(driver.pod) or {})["metadata"]["finalizers"]


def test_a_pod_that_somebody_made_under_the_drivers_name_ends_nothing(shared: Played) -> None:
    uid = shared.apply("replaced", append("/lake/replaced"))
    driver = shared.start("replaced")
    shared.reaches("replaced", "Running")
    _is_replaced(shared, driver)
    driver.runs()
    driver.container_ends(0)
    _tells_of_another_pod(shared, "replaced")
    assert f"{uid}/1" in shared.holders()


def test_a_drivers_account_frees_no_lease_by_a_pod_that_says_that_the_driver_is_dead(shared: Played) -> None:
    """It may do anything to pods, and so make one of the driver's name that never had a node, and delete it."""
    uid = shared.apply("framed", rewrite("/lake/framed"))
    driver = shared.start("framed")
    shared.apply("behind-framed", rewrite("/lake/framed"))
    shared.reaches("framed", "Running")
    shared.reaches("behind-framed", "Waiting")
    _is_replaced(shared, driver, **{names.ANNOTATION_DRIVER_DEAD: driver.application})
    shared.delete_pod(driver.pod)
    _tells_of_another_pod(shared, "framed")
    assert f"{uid}/1" in shared.holders()
    assert shared.status("behind-framed")["phase"] == "Waiting"


def _is_replaced(cluster: Played, driver: Driver, **annotations: str) -> None:
    """The driver's pod is gone, and another one bears its name, its labels, its record and our finalizer."""
    first = cluster.pod(driver.pod)
    assert first is not None
    driver.vanishes()
    metadata = {key: first["metadata"][key] for key in ("name", "labels", "annotations", "finalizers")}
    metadata["annotations"] |= annotations
    containers = [{"name": "spark-kubernetes-driver", "image": "none"}]
    cluster.apply_pod({"metadata": metadata, "spec": {"restartPolicy": "Never", "containers": containers}})


def _tells_of_another_pod(cluster: Played, name: str) -> None:
    eventually(
        lambda: "another pod bears its name now" in cluster.status(name)["message"],
        "the job says that this is not its driver",
        show=lambda: cluster.status(name),
    )
    assert cluster.status(name)["reason"] == "DriverLost"


def _on_a_silent_node(cluster: Played, name: str) -> tuple[str, Driver]:
    uid = cluster.apply(name, rewrite(f"/lake/{name}"))
    driver = cluster.start(name)
    cluster.patch_pod_status(driver.pod, {"conditions": readiness(node_is_silent=False)})
    cluster.reaches(name, "Running")
    cluster.patch_pod_status(driver.pod, {"conditions": readiness(node_is_silent=True)})
    return uid, driver


def _ended_as_lost(cluster: Played, name: str, quoted: str) -> None:
    status = cluster.reaches(name, "Failed")
    [attempt] = status["attempts"]
    assert (status["reason"], attempt["outcome"], attempt["driver"]["node"]) == (
        "DriverLost",
        "DriverLost",
        "played",
    )
    assert "exception" not in attempt
    assert "the driver on node played was ended from outside" in status["message"]
    assert quoted in status["message"]
    assert "with retry it would have run again by itself" in status["message"]


def _leases_go(cluster: Played, uid: str) -> None:
    eventually(lambda: f"{uid}/1" not in cluster.holders(), "the leases go", show=cluster.holders)
