"""Applications that the API server refuses for certain: a quota, a webhook, a policy."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from kubernetes import client

from integration.operator.forbidden import forbidden
from integration.operator.played import Played, rewrite
from integration.operator.process import OperatorProcess
from integration.waiting import eventually
from sluice.api.base import Json

COUNT = "count/sparkapplications.sparkoperator.k8s.io"
SHORT = {"admission": {"quotaTimeout": "4s"}}
LONG = {"admission": {"quotaTimeout": "1h"}}


@contextmanager
def _quota(cluster: Played) -> Iterator[None]:
    """No application fits. What is used is written by a controller elsewhere."""
    core = client.CoreV1Api(cluster.api)
    none = {COUNT: "0"}
    core.create_namespaced_resource_quota(
        cluster.namespace,
        client.V1ResourceQuota(
            metadata=client.V1ObjectMeta(name="small"), spec=client.V1ResourceQuotaSpec(hard=none)
        ),
    )
    core.patch_namespaced_resource_quota_status(
        "small", cluster.namespace, {"status": {"hard": none, "used": none}}
    )
    yield
    core.delete_namespaced_resource_quota("small", cluster.namespace)


@contextmanager
def _policy(cluster: Played) -> Iterator[None]:
    """Refuses every create of a SparkApplication, as somebody's webhook would."""
    with forbidden(cluster, "CREATE", "no Spark on Mondays"):
        yield


def _refuses(cluster: Played) -> bool:
    """Whether the API server refuses applications by now."""
    body = {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": "probe"},
        "spec": {
            "type": "Python",
            "sparkVersion": "4.2.0",
            "mainApplicationFile": "local:///x.py",
            "driver": {},
            "executor": {},
        },
    }
    try:
        cluster.apply_application(body)
    except client.ApiException as error:
        return error.status in (403, 422)
    cluster.delete_application("probe")
    return False


@contextmanager
def applications_are_refused(cluster: Played) -> Iterator[None]:
    with _policy(cluster):
        eventually(lambda: _refuses(cluster), "applications are refused")
        yield


def _refused(cluster: Played, name: str) -> Json:
    return eventually(
        lambda: (
            (status := cluster.status(name)).get("reason") == "ApplicationRefused"
            and status["phase"] == "Starting"
            and status
        ),
        f"{name} says that its application is refused",
        show=lambda: cluster.status(name),
    )


@pytest.mark.parametrize(
    ("refusing", "words"), [(_quota, "exceeded quota: small"), (_policy, "no Spark on Mondays")]
)
def test_what_is_refused_too_long_gives_its_leases_back_and_queues_again_with_its_age(
    cluster: Played,
    operator: OperatorProcess,
    refusing: Callable[[Played], AbstractContextManager[None]],
    words: str,
) -> None:
    with refusing(cluster):
        eventually(lambda: _refuses(cluster), "applications are refused")
        uid = cluster.apply("refused", rewrite("/lake/refused", **SHORT))
        told = _refused(cluster, "refused")
        assert words in told["message"]
        queued = told["queuedAt"]
        status = cluster.reaches("refused", "BackingOff")
        assert words in status["message"]
        assert status["queuedAt"] == queued
        assert [one["outcome"] for one in status["attempts"]] == ["Withdrawn"]
        eventually(lambda: f"{uid}/1" not in cluster.holders(), "the lease is released")
    cluster.start("refused").succeeds("file:/lake/refused")
    status = cluster.reaches("refused", "Succeeded")
    assert status["queuedAt"] == queued
    assert [one["outcome"] for one in status["attempts"]][-1] == "Succeeded"
    assert "finishedAt" in status
    assert "ApplicationRefused" in cluster.events_of("refused")


def test_others_have_its_tables_while_it_backs_off(cluster: Played, operator: OperatorProcess) -> None:
    with _policy(cluster):
        eventually(lambda: _refuses(cluster), "applications are refused")
        cluster.apply("refused", rewrite("/lake/shared", admission={"quotaTimeout": "20s"}))
        _refused(cluster, "refused")
        cluster.apply("next", rewrite("/lake/shared", **LONG))
        cluster.reaches("next", "Waiting")
        cluster.reaches("refused", "BackingOff")
        _refused(cluster, "next")
        blocked = cluster.reaches("refused", "Waiting")
        assert [blocker["job"] for blocker in blocked["blockedBy"]] == [f"{cluster.namespace}/next"]
    cluster.start("next").succeeds("file:/lake/shared")
    cluster.start("refused").succeeds("file:/lake/shared", 2)
    cluster.reaches("refused", "Succeeded")


def test_as_long_as_the_job_bears_it_the_lease_stays_and_it_starts_once_it_may(
    cluster: Played, operator: OperatorProcess
) -> None:
    with _policy(cluster):
        eventually(lambda: _refuses(cluster), "applications are refused")
        uid = cluster.apply("patient", rewrite("/lake/patient", **LONG))
        _refused(cluster, "patient")
        time.sleep(7)  # more than one sweep
        assert cluster.holders() == {f"{uid}/1"}
    cluster.start("patient").succeeds("file:/lake/patient")
    status = cluster.reaches("patient", "Succeeded")
    assert [one["outcome"] for one in status["attempts"]] == ["Succeeded"]


def test_a_leader_that_found_the_intent_takes_the_drivers_name_before_it_withdraws(
    cluster: Played, operators: Callable[..., OperatorProcess]
) -> None:
    """What its predecessor sent may land yet, for all that it knows."""
    first = operators("first")
    with _policy(cluster):
        eventually(lambda: _refuses(cluster), "applications are refused")
        uid = cluster.apply("inherited", rewrite("/lake/inherited", admission={"quotaTimeout": "25s"}))
        _refused(cluster, "inherited")
        application = cluster.status("inherited")["attempts"][0]["application"]
        first.signal(signal.SIGKILL)
        operators("second")
        cluster.reaches("inherited", "BackingOff")
        pod = cluster.pod(f"{application}-driver")
        assert pod is not None
        assert pod["spec"]["schedulingGates"]
        eventually(lambda: f"{uid}/1" not in cluster.holders(), "the lease is released")
    cluster.start("inherited").succeeds("file:/lake/inherited")
    cluster.reaches("inherited", "Succeeded")
