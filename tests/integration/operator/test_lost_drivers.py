"""Drivers that Kubernetes or their node ended, and drivers of which nobody knows whether they still run."""

import json
import time
from pathlib import Path

import pytest
from kubernetes import client

from integration.conftest import Kubectl
from integration.leases.redis_process import RedisProcess
from integration.objects import Objects
from integration.operator.conftest import StartOperator
from integration.operator.played import Driver, Played, append, rewrite
from integration.operator.process import configuration, sluice
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json

DEAD = names.ANNOTATION_DRIVER_DEAD
AT, LATER = "2026-11-19T10:04:00Z", "2026-11-19T10:09:00Z"


def disruption(reason: str) -> Json:
    return {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": f"because of {reason}",
        "lastTransitionTime": AT,
    }


def readiness(*, node_is_silent: bool, since: str = AT) -> list[Json]:
    """As a kubelet has written it, and then a node controller that no longer hears of the node."""
    ready = "False" if node_is_silent else "True"
    return [
        {"type": "Ready", "status": ready, "lastTransitionTime": since},
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
    [attempt] = shared.reaches("silent", "Running")["attempts"]
    assert "loss" not in attempt
    driver.succeeds("file:/lake/silent")
    shared.reaches("silent", "Succeeded")


def test_a_word_that_was_said_before_the_loss_or_on_an_earlier_one_frees_nothing(
    cluster: Played, operators: StartOperator
) -> None:
    """The job says so and tells the word that does, which outlives the operator."""
    operator = operators("first")
    uid, driver = _with_its_node(cluster, "predicted")
    _declares_dead(cluster, "predicted", driver.application)
    cluster.patch_pod_status(driver.pod, {"conditions": readiness(node_is_silent=True)})
    status = cluster.reaches("predicted", "Ending")
    first = _word_in(status)
    assert f"={driver.application} names no loss that was told, and frees nothing; " in status["message"]
    cluster.delete_pod(driver.pod)
    _holds(cluster, uid)
    cluster.patch_pod_status(driver.pod, {"conditions": readiness(node_is_silent=False)})
    cluster.reaches("predicted", "Running")
    _declares_dead(cluster, "predicted", first)
    cluster.patch_pod_status(driver.pod, {"conditions": readiness(node_is_silent=True, since=LATER)})
    status = cluster.reaches("predicted", "Ending")
    second = _word_in(status)
    assert f"={first} names no loss that was told, and frees nothing; " in status["message"]
    assert first != second
    operator.kill()
    operators("second").says("the lease table was rebuilt with 1 leases")
    _holds(cluster, uid)
    assert _word_in(cluster.status("predicted")) == second
    _declares_dead(cluster, "predicted", second)
    assert cluster.reaches("predicted", "Failed")["reason"] == "DriverLost"
    _leases_go(cluster, uid)


def test_a_node_that_came_back_and_fell_silent_while_no_operator_ran_is_another_loss(
    cluster: Played, operators: StartOperator
) -> None:
    operator = operators("first")
    uid, driver = _with_its_node(cluster, "unseen")
    cluster.patch_pod_status(driver.pod, {"conditions": readiness(node_is_silent=True)})
    first = _word_in(cluster.reaches("unseen", "Ending"))
    operator.kill()
    cluster.patch_pod_status(driver.pod, {"conditions": readiness(node_is_silent=True, since=LATER)})
    _declares_dead(cluster, "unseen", first)
    cluster.delete_pod(driver.pod)
    operators("second").says("the lease table was rebuilt with 1 leases")
    second = eventually(
        lambda: (word := _word_in(cluster.status("unseen"))) != first and word, "the loss is told anew"
    )
    _holds(cluster, uid)
    _declares_dead(cluster, "unseen", second)
    cluster.reaches("unseen", "Failed")
    _leases_go(cluster, uid)


def test_a_lost_driver_whose_job_is_gone_is_freed_by_a_word_on_the_loss_that_its_application_tells(
    cluster: Played, operators: StartOperator, kubectl: Kubectl, kubeconfig: Path
) -> None:
    operators("operator").says("the lease table was rebuilt")
    uid, driver = _with_its_node(cluster, "orphan")
    cluster.patch_pod_status(driver.pod, {"conditions": readiness(node_is_silent=True)})
    cluster.reaches("orphan", "Ending")
    early = f"{DEAD}={driver.application}"
    _runs(kubectl, f"kubectl annotate sparkapplication -n {cluster.namespace} {driver.application} {early}")
    cluster.delete("orphan")
    told = eventually(
        lambda: _is_told(cluster, driver) and _listed(cluster, kubeconfig),
        "the application tells the loss",
        show=cluster.applications,
    )
    assert f"={driver.application} names no loss that was told, and frees nothing; " in told
    _holds(cluster, uid)
    assert "kubectl annotate --overwrite sparkapplication.sparkoperator.k8s.io " in told
    for command in told.rpartition("say so: ")[2].split(" && "):
        _runs(kubectl, command)
    _leases_go(cluster, uid)
    eventually(lambda: cluster.pod(driver.pod) is None, "its pod is let go")


def _is_told(cluster: Played, driver: Driver) -> bool:
    application = cluster.application(driver.application)
    return application is not None and names.ANNOTATION_DRIVER_LOST in application["metadata"]["annotations"]


def _listed(cluster: Played, kubeconfig: Path) -> str:
    done = sluice(
        kubeconfig, "leases", "-n", cluster.namespace, "-o", "json", "--redis-url", cluster.redis_url
    )
    [lease] = json.loads(done.stdout)["leases"]
    return str(lease["message"])


def test_what_the_message_says_ends_a_driver_whose_node_is_gone(shared: Played, kubectl: Kubectl) -> None:
    uid, driver = _on_a_silent_node(shared, "burnt")
    shared.apply("behind-burnt", rewrite("/lake/burnt"))
    shared.reaches("behind-burnt", "Waiting")
    status = shared.reaches("burnt", "Ending")
    message, [attempt] = status["message"], status["attempts"]
    annotation = f"{DEAD}={driver.application}@{attempt['loss']['at']}"
    assert message.endswith(
        f"kubectl delete pod -n {shared.namespace} {driver.pod} --force --wait=false && "
        f"kubectl annotate --overwrite deltawritejob -n {shared.namespace} burnt {annotation}"
    )
    deletes, _, declares = message.partition("say so: ")[2].partition(" && ")
    _runs(kubectl, deletes)
    eventually(
        lambda: "deletionTimestamp" in (shared.pod(driver.pod) or {})["metadata"], "the pod is being deleted"
    )
    assert f"{uid}/1" in shared.holders()
    _runs(kubectl, declares)
    status = shared.reaches("burnt", "Failed")
    assert (status["reason"], status["attempts"][0]["outcome"]) == ("DriverLost", "DriverLost")
    assert "somebody declared it dead" in status["message"]
    eventually(lambda: shared.pod(driver.pod) is None, "the pod goes")
    _leases_go(shared, uid)
    shared.start("behind-burnt").succeeds("file:/lake/burnt")
    shared.reaches("behind-burnt", "Succeeded")


def test_what_the_message_says_ends_a_driver_whose_pod_was_being_deleted_when_its_node_fell_silent(
    cluster: Played, operators: StartOperator, kubectl: Kubectl
) -> None:
    """The pod waits for its node: one that stayed would hold the lease again once neither its job nor its application is left."""
    operator = operators("first")
    uid, driver = _with_its_node(cluster, "drowned")
    cluster.delete_pod_gently(driver.pod)
    cluster.patch_pod_status(driver.pod, {"conditions": readiness(node_is_silent=True)})
    for command in cluster.reaches("drowned", "Ending")["message"].partition("say so: ")[2].split(" && "):
        _runs(kubectl, command)
    assert cluster.reaches("drowned", "Failed")["reason"] == "DriverLost"
    _leases_go(cluster, uid)
    eventually(lambda: cluster.pod(driver.pod) is None, "the pod goes", show=cluster.pods)
    cluster.delete("drowned")
    eventually(lambda: cluster.application(driver.application) is None, "the application goes")
    operator.kill()
    operators("second").says("the lease table was rebuilt with 0 leases")


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
    _is_replaced(shared, driver, **{DEAD: driver.application})
    shared.delete_pod(driver.pod)
    _tells_of_another_pod(shared, "framed")
    told = _word_in(shared.status("framed"))
    shared.patch_pod(driver.pod, {"metadata": {"annotations": {DEAD: told}}})
    time.sleep(7)  # more than one sweep
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


def _with_its_node(cluster: Played, name: str) -> tuple[str, Driver]:
    uid = cluster.apply(name, rewrite(f"/lake/{name}"))
    driver = cluster.start(name)
    cluster.patch_pod_status(driver.pod, {"conditions": readiness(node_is_silent=False)})
    cluster.reaches(name, "Running")
    return uid, driver


def _on_a_silent_node(cluster: Played, name: str) -> tuple[str, Driver]:
    uid, driver = _with_its_node(cluster, name)
    cluster.patch_pod_status(driver.pod, {"conditions": readiness(node_is_silent=True)})
    return uid, driver


def _runs(kubectl: Kubectl, command: str) -> None:
    """As a person does who copies it."""
    program, *arguments = command.split()
    assert program == "kubectl"
    done = kubectl(*arguments)
    assert done.returncode == 0, done.stderr


def _word_in(status: Json) -> str:
    """The word that the message tells, which is all that a person has."""
    return str(status["message"]).rpartition(f"{DEAD}=")[2]


def _declares_dead(cluster: Played, name: str, word: str) -> None:
    cluster.change(name, {"metadata": {"annotations": {DEAD: word}}})


def _holds(cluster: Played, uid: str) -> None:
    time.sleep(7)  # more than one sweep
    assert f"{uid}/1" in cluster.holders()


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
