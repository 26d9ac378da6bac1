"""Objects that nobody should write, all in one cluster at once: none of them does anything to another."""

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from kubernetes import client

from integration.leases.redis_process import RedisProcess
from integration.objects import Objects
from integration.operator import hostile
from integration.operator.conftest import StartOperator
from integration.operator.played import Played, append, rewrite
from integration.operator.process import OperatorProcess
from integration.waiting import eventually
from sluice.api import names
from sluice.leases import Epochs, Lease

GOOD = 20
MANY = 100
SLOWER, MORE = 2.0, 10.0
"""How much longer good jobs may take beside the corpus, as a factor and in seconds."""


def _good_jobs(cluster: Played, prefix: str, number: int) -> float:
    """Seconds until all of them have ended well."""
    good = [f"{prefix}-{one}" for one in range(number)]
    begun = time.monotonic()
    for name in good:
        cluster.apply(name, append(f"/lake/{name}"))
    for name in good:
        cluster.start(name).succeeds(f"file:/lake/{name}")
    for name in good:
        cluster.reaches(name, "Succeeded")
    return time.monotonic() - begun


Entry = hostile.HostileJob | hostile.HostileObject | hostile.HostilePolicy


def _apply(cluster: Played, corpus: Sequence[Entry]) -> int:
    """How many of them the API server let through."""
    taken = 0
    for number, entry in enumerate(corpus):
        try:
            if isinstance(entry, hostile.HostileObject):
                (cluster.apply_pod if entry.is_pod else cluster.apply_application)(entry.body)
            elif isinstance(entry, hostile.HostilePolicy):
                cluster.declare(entry.name, entry.spec)
            else:
                name = entry.metadata.get("name", f"hostile-{number}")
                cluster.apply(name, entry.spec, entry.metadata)
                if entry.status is not None:
                    cluster.write_status(name, entry.status)
        except client.ApiException as error:
            if error.status not in (400, 413, 422):
                raise
            print(f"refused: {entry.attacks}: {error.status}")
        else:
            taken += 1
    return taken


@pytest.mark.timeout(300)  # hundreds of objects are made, told and told again
@pytest.mark.parametrize("good", [GOOD, pytest.param(MANY, marks=pytest.mark.long(minutes=3))])
def test_good_jobs_end_well_in_their_time_beside_all_that_nobody_should_write(
    cluster: Played, operator: OperatorProcess, redis: RedisProcess, good: int
) -> None:
    alone = _good_jobs(cluster, "alone", good)
    uid = cluster.apply("victim", rewrite("/lake/victim"))
    victims_driver = cluster.start("victim")
    attempt = cluster.reaches("victim", "Running")["attempts"][0]
    victim = hostile.Victim(cluster.namespace, uid, attempt)
    policies = [*hostile.policies()]
    others: list[Entry] = [*hostile.jobs(victim), *hostile.objects(victim)]
    corpus = [*policies, *others]
    taken = _apply(cluster, policies)
    eventually(lambda: not _untold(cluster), "every policy is told", show=lambda: _untold(cluster))
    taken += _apply(cluster, others)
    beside = _good_jobs(cluster, "beside", good)
    print(
        f"{good} good jobs took {alone:.1f} s, and {beside:.1f} s beside {taken} of {len(corpus)} that nobody should write"
    )
    assert beside < SLOWER * alone + MORE
    assert cluster.status("victim")["phase"] == "Running"
    redis.restart_from(None)  # so that all there is is read again, and its epochs heeded
    operator.says("the lease table was rebuilt", times=2)
    cluster.apply("after", append("/lake/after"))
    cluster.start("after").succeeds("file:/lake/after")
    status = cluster.reaches("after", "Succeeded")
    assert Epochs.of(status["attempts"][0]["token"]) < Epochs.END // 2
    victims_driver.succeeds("file:/lake/victim")
    cluster.reaches("victim", "Succeeded")
    eventually(
        lambda: not _untold(cluster),
        "every job and policy says what is wrong with it",
        show=lambda: _untold(cluster),
    )
    assert operator.running
    assert "Traceback" not in operator.told()


def _untold(cluster: Played) -> list[str]:
    """What somebody wrote that it has ended is taken as it is."""
    ended = ("Succeeded", "Failed")
    statuses = {job["metadata"]["name"]: job.get("status") or {} for job in cluster.jobs()}
    jobs = [
        name
        for name, status in statuses.items()
        if "reason" not in status and status.get("phase") not in ended
    ]
    policies = cluster.objects.every("deltatablepolicy")
    return jobs + [one["metadata"]["name"] for one in policies if "reason" not in one.get("status", {})]


def test_a_status_that_hides_what_its_job_did_stops_that_job_and_its_tables_alone(
    cluster: Played, operator: OperatorProcess
) -> None:
    cluster.apply("edited", rewrite("/lake/edited"))
    driver = cluster.start("edited")
    before = cluster.reaches("edited", "Running")
    (attempt,) = before["attempts"]
    cluster.write_status("edited", {"attempts": [attempt | {"grantedAt": "0000-01-01T00:00:00Z"}]})
    told = eventually(
        lambda: (
            (found := cluster.condition("edited", "Stalled")).get("reason") == "StatusUnreadable" and found
        ),
        "the job says that its status can't be read",
    )
    assert "status.attempts[0].grantedAt" in told["message"]
    held = cluster.operator_tells("HoldersReadable", "False")
    assert f"{cluster.namespace}/edited" in held["message"]
    assert "file:/lake/edited" in held["message"]
    eventually(lambda: "NotHoldersReadable" in cluster.events_of_the_operator(), "an Event tells it")
    cluster.apply("behind", rewrite("/lake/edited"))
    cluster.apply("elsewhere", rewrite("/lake/elsewhere"))
    cluster.start("elsewhere").succeeds("file:/lake/elsewhere")
    cluster.reaches("elsewhere", "Succeeded")
    cluster.reaches("behind", "Waiting")
    cluster.write_status("edited", {"attempts": [attempt]})
    driver.succeeds("file:/lake/edited")
    cluster.reaches("edited", "Succeeded")
    cluster.operator_tells("HoldersReadable", "True")
    cluster.start("behind").succeeds("file:/lake/edited", 2)
    cluster.reaches("behind", "Succeeded")


def _without_its_application(cluster: Played, application: str) -> None:
    cluster.patch_application(application, {"metadata": {"finalizers": None}})
    cluster.delete_application(application)


def _with_its_application(cluster: Played, application: str) -> None:
    cluster.patch_application(application, {"metadata": {"finalizers": None}})


@pytest.mark.parametrize("strip", [_with_its_application, _without_its_application])
def test_a_finalizer_that_somebody_took_off_frees_nothing_while_its_driver_lives(
    cluster: Played, operator: OperatorProcess, strip: Callable[[Played, str], None]
) -> None:
    uid = cluster.apply("stripped", rewrite("/lake/stripped"))
    driver = cluster.start("stripped")
    cluster.reaches("stripped", "Running")
    cluster.apply("next", rewrite("/lake/stripped"))
    cluster.reaches("next", "Waiting")
    cluster.patch_pod(driver.pod, {"metadata": {"finalizers": None}})
    strip(cluster, driver.application)
    cluster.delete("stripped")
    eventually(
        lambda: "deletionTimestamp" in (cluster.pod(driver.pod) or {}).get("metadata", {}),
        "the operator ends the driver",
    )
    time.sleep(7)  # more than one sweep
    assert f"{uid}/1" in cluster.holders()
    assert cluster.status("next")["phase"] == "Waiting"
    driver.container_ends(143)
    cluster.start("next").succeeds("file:/lake/stripped")
    cluster.reaches("next", "Succeeded")
    assert operator.running


@pytest.mark.parametrize("label", [None, "another-uid"])
def test_labels_that_somebody_changed_are_put_back_and_free_nothing(
    cluster: Played, operator: OperatorProcess, label: str | None
) -> None:
    cluster.apply("relabelled", rewrite("/lake/relabelled"))
    driver = cluster.start("relabelled")
    cluster.reaches("relabelled", "Running")
    cluster.apply("next", rewrite("/lake/relabelled"))
    cluster.reaches("next", "Waiting")
    change = {"metadata": {"labels": {names.LABEL_JOB_UID: label}}}
    cluster.patch_pod(driver.pod, change)
    cluster.patch_application(driver.application, change)
    cluster.delete("relabelled")
    eventually(
        lambda: "deletionTimestamp" in (cluster.pod(driver.pod) or {}).get("metadata", {}),
        "the operator ends the driver",
    )
    assert cluster.status("next")["phase"] == "Waiting"
    driver.container_ends(143)
    cluster.start("next").succeeds("file:/lake/relabelled")
    cluster.reaches("next", "Succeeded")
    assert operator.running


def _as_placeholder(pod: str, uid: str) -> dict[str, Any]:
    labels = {names.LABEL_JOB_UID: uid, names.LABEL_ATTEMPT: "1", names.LABEL_PLACEHOLDER: "true"}
    container = {"name": "x", "image": "none"}
    return {"metadata": {"name": pod, "labels": labels}, "spec": {"containers": [container]}}


def _forged(application: str, uid: str, namespace: str) -> dict[str, Any]:
    record = Lease(uid, 1, "hash", f"{namespace}/x", ("file:/hostile/nothing",))
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {
            "name": application,
            "labels": {names.LABEL_JOB_UID: uid, names.LABEL_ATTEMPT: "1"},
            "finalizers": [names.FINALIZER_LEASE],
            "annotations": {
                names.ANNOTATION_LEASE: record.to_json(),
                names.ANNOTATION_TOKEN: str(Epochs.token(1, 1)),
            },
        },
        "spec": {
            "type": "Python",
            "sparkVersion": "4.2.0",
            "mainApplicationFile": "local:///x.py",
            "driver": {},
            "executor": {},
        },
    }


def test_who_may_write_in_another_namespace_frees_nothing_of_a_job(
    cluster: Played, operators: StartOperator, redis: RedisProcess
) -> None:
    other = Objects(cluster.objects.server, f"other-{uuid.uuid4().hex[:10]}")
    other.create_namespace()
    operator = operators(watchNamespaces=[cluster.namespace, other.namespace])
    operator.says("the lease table was rebuilt")
    uid = cluster.apply("first", rewrite("/lake/first"))
    driver = cluster.start("first")
    cluster.reaches("first", "Running")
    cluster.apply("next", rewrite("/lake/first"))
    cluster.reaches("next", "Waiting")
    elsewhere = replace(cluster, objects=other)
    elsewhere.apply_pod(_as_placeholder(driver.pod, uid))
    elsewhere.apply_application(_forged(driver.application, uid, other.namespace))
    time.sleep(7)  # more than one sweep
    redis.restart_from(None)
    operator.says("the lease table was rebuilt", times=2)
    time.sleep(7)
    assert cluster.status("first")["reason"] == "DriverRunning"
    assert cluster.status("next")["phase"] == "Waiting"
    driver.succeeds("file:/lake/first")
    cluster.reaches("first", "Succeeded")
    cluster.start("next").succeeds("file:/lake/first", 2)
    cluster.reaches("next", "Succeeded")


def test_a_driver_that_somebody_labels_as_a_placeholder_goes_on_to_hold(
    cluster: Played, operator: OperatorProcess
) -> None:
    cluster.apply("labelled", rewrite("/lake/labelled"))
    driver = cluster.start("labelled")
    cluster.reaches("labelled", "Running")
    cluster.apply("next", rewrite("/lake/labelled"))
    cluster.reaches("next", "Waiting")
    cluster.patch_pod(driver.pod, {"metadata": {"labels": {names.LABEL_PLACEHOLDER: "true"}}})
    time.sleep(7)  # more than one sweep
    assert cluster.status("labelled")["phase"] == "Running"
    assert cluster.status("next")["phase"] == "Waiting"
    driver.succeeds("file:/lake/labelled")
    cluster.reaches("labelled", "Succeeded")
    cluster.start("next")


@pytest.mark.parametrize("taken_out", [("attempts",), ("attempts", "attempt", "phase", "footprint")])
def test_an_attempt_that_somebody_took_out_of_the_status_is_written_again(
    cluster: Played, operator: OperatorProcess, taken_out: tuple[str, ...]
) -> None:
    cluster.apply("cleared", rewrite("/lake/cleared"))
    driver = cluster.start("cleared")
    before = cluster.reaches("cleared", "Running")["attempts"][0]
    cluster.write_status("cleared", dict.fromkeys(taken_out))
    after = eventually(
        lambda: (
            cluster.status("cleared").get("phase") == "Running" and cluster.status("cleared").get("attempts")
        ),
        "the attempt is there again",
        show=lambda: cluster.status("cleared"),
    )
    assert (after[0]["token"], after[0]["application"]) == (before["token"], before["application"])
    driver.succeeds("file:/lake/cleared")
    assert len(cluster.reaches("cleared", "Succeeded")["attempts"]) == 1
