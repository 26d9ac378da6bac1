"""Attempts that run, start or wait for compute for too long: they are ended by proof, and their leases go then and not before."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kubernetes import client

from integration.operator.forbidden import forbidden
from integration.operator.played import Driver, Played, append, rewrite, told_to_end
from integration.operator.process import OperatorProcess
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json
from sluice.engines.placeholder import is_placeholder


def _is_ending(cluster: Played, name: str, reason: str) -> Json:
    """The status once the attempt's record says why; where nothing can be deleted, the job then says that."""

    def told() -> Json | None:
        status = cluster.status(name)
        attempts = status.get("attempts") or [{}]
        is_told = status.get("phase") == "Ending" and attempts[-1].get("ending", {}).get("reason") == reason
        return status if is_told else None

    return eventually(told, f"{name} is ending for {reason}", show=lambda: cluster.status(name))


def _is_being_deleted(cluster: Played, driver: Driver) -> None:
    """Waits until its application is being deleted and its driver's pod told to end."""

    def going() -> bool:
        bodies = (cluster.application(driver.application), cluster.pod(driver.pod))
        return all(body is not None and "deletionTimestamp" in body["metadata"] for body in bodies)

    eventually(going, f"{driver.application} and its driver's pod are being deleted")


def _is_gone(cluster: Played, application: str) -> None:
    eventually(lambda: cluster.application(application) is None, f"{application} is gone")


def _released(cluster: Played, *uids: str) -> None:
    held = {f"{uid}/1" for uid in uids}
    eventually(lambda: not cluster.holders() & held, "the leases are released", show=cluster.holders)


@contextmanager
def _applications_stay(cluster: Played) -> Iterator[None]:
    """No SparkApplication can be deleted meanwhile, as where somebody's policy forbids it."""
    probe: Json = {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": "kept-probe"},
        "spec": {
            "type": "Python",
            "sparkVersion": "4.2.0",
            "mainApplicationFile": "local:///x.py",
            "driver": {},
            "executor": {},
        },
    }

    def refuses() -> bool:
        if cluster.application("kept-probe") is None:
            cluster.apply_application(probe)
        try:
            cluster.delete_application("kept-probe")
        except client.ApiException as error:
            return error.status in (403, 422)
        return False

    with forbidden(cluster, "DELETE", "nothing is deleted here"):
        eventually(refuses, "no application can be deleted")
        yield


def test_a_run_that_takes_too_long_is_ended_and_holds_its_leases_until_its_driver_has_ended(
    shared: Played, tmp_path: Path
) -> None:
    table = str(tmp_path / "orders")
    uid = shared.apply("d-long", rewrite(table, activeDeadlineSeconds=2))
    driver = shared.start("d-long")
    shared.apply("d-long-next", rewrite(table))
    status = _is_ending(shared, "d-long", "DeadlineExceeded")
    assert status["reason"] == "DeadlineExceeded"
    assert "spec.activeDeadlineSeconds allows, which is 2 s" in status["message"]
    _is_being_deleted(shared, driver)
    shared.reaches("d-long-next", "Waiting")
    assert f"{uid}/1" in shared.holders()
    driver.container_ends(1, told_to_end())
    status = shared.reaches("d-long", "Failed")
    attempt = status["attempts"][0]
    assert (status["reason"], attempt["outcome"]) == ("DeadlineExceeded", "DeadlineExceeded")
    assert "it had committed nothing, according to the tables' logs" in status["message"]
    assert len(status["attempts"]) == 1, "it is not retried"
    eventually(lambda: "DeadlineExceeded" in shared.events_of("d-long"), "an Event tells it")
    shared.delete_pod(driver.pod)
    _is_gone(shared, driver.application)
    shared.start("d-long-next").succeeds(f"file:{table}")
    shared.reaches("d-long-next", "Succeeded")


def test_work_that_is_done_by_the_deadline_counts(shared: Played) -> None:
    uid = shared.apply("d-done", append("/lake/d-done", activeDeadlineSeconds=1))
    driver = shared.start("d-done")
    _is_ending(shared, "d-done", "DeadlineExceeded")
    driver.succeeds("file:/lake/d-done", 3)
    status = shared.reaches("d-done", "Succeeded")
    assert status["attempts"][0]["commits"][0]["version"] == 3
    _released(shared, uid)


def test_a_driver_whose_image_cannot_be_pulled_is_ended_once_the_start_takes_too_long(
    shared: Played, tmp_path: Path
) -> None:
    limits = {"startTimeout": "3s", "quotaTimeout": "1s"}
    uid = shared.apply("d-pull", rewrite(str(tmp_path / "orders"), admission=limits))
    driver = shared.submitted("d-pull")
    driver.container_waits("ImagePullBackOff", 'Back-off pulling image "nowhere/spark:9"')
    status = _is_ending(shared, "d-pull", "StartTimedOut")
    assert status["reason"] == "StartTimedOut"
    assert 'ImagePullBackOff: Back-off pulling image "nowhere/spark:9"' in status["message"]
    _is_being_deleted(shared, driver)
    assert f"{uid}/1" in shared.holders()
    driver.container_is_ended_unstarted()
    status = shared.reaches("d-pull", "Failed")
    assert (status["reason"], status["attempts"][0]["outcome"]) == ("DriverNotStarted", "NotStarted")
    assert "spec.admission.startTimeout (3s)" in status["message"]
    assert "nowhere/spark:9" in status["message"]
    shared.delete_pod(driver.pod)
    _is_gone(shared, driver.application)
    _released(shared, uid)


@pytest.mark.parametrize(
    ("name", "reason", "is_known"),
    [
        ("d-full", "Unschedulable", True),
        ("d-unseen", "Unschedulable", False),
        ("d-gated", "SchedulingGated", True),
    ],
)
def test_a_driver_that_gets_no_node_gives_its_leases_back_and_its_job_queues_again_with_its_age(
    shared: Played, name: str, reason: str, is_known: bool
) -> None:
    """`is_known`: whether the Spark operator has seen the driver's pod."""
    table = f"/lake/{name}"
    uid = shared.apply(name, rewrite(table, admission={"quotaTimeout": "4s"}))
    driver = shared.submitted(name)
    if is_known:
        shared.application_is(driver.application, "SUBMITTED", driver="spark-1")
    driver.has_no_node(reason, "0/3 nodes are available")
    shared.apply(f"{name}-next", rewrite(table))
    status = eventually(
        lambda: (told := shared.status(name)).get("reason") == "WaitingForCompute" and told,
        "it says that it waits for compute",
    )
    assert f"{reason}: 0/3 nodes are available" in status["message"]
    status = shared.reaches(name, "BackingOff")
    queued = status["queuedAt"]
    assert (status["reason"], status["attempts"][0]["outcome"]) == ("WaitingForCompute", "Withdrawn")
    assert "it queues again, keeping its age" in status["message"]
    eventually(lambda: "WaitingForCompute" in shared.events_of(name), "an Event tells it")
    _is_gone(shared, driver.application)
    shared.start(f"{name}-next").succeeds(f"file:{table}")
    shared.reaches(f"{name}-next", "Succeeded")
    again = eventually(
        lambda: next(
            (one for one in shared.applications_of(uid) if one["metadata"]["name"] != driver.application),
            None,
        ),
        f"{name} has another application",
    )
    second = shared.driver_for(again)
    second.runs()
    second.succeeds(f"file:{table}", 2)
    status = shared.reaches(name, "Succeeded")
    assert status["queuedAt"] == queued
    assert [one["outcome"] for one in status["attempts"]] == ["Withdrawn", "Succeeded"]


def test_an_application_that_is_suspended_before_its_driver_runs_waits_no_longer_than_for_compute(
    shared: Played,
) -> None:
    uid = shared.apply("d-held", append("/lake/d-held", admission={"quotaTimeout": "3s"}))
    [application] = eventually(lambda: shared.applications_of(uid), "it has its application")
    name = application["metadata"]["name"]
    shared.patch_application(name, {"spec": {"suspend": True}})
    shared.application_is(name, "SUSPENDED")
    status = shared.reaches("d-held", "BackingOff")
    assert "it is suspended (spec.suspend)" in status["message"]
    assert status["attempts"][0]["outcome"] == "Withdrawn"
    _is_gone(shared, name)
    eventually(lambda: f"{uid}/1" not in shared.holders(), "its leases are released")
    placeholder = shared.pod(f"{name}-driver")
    assert placeholder is not None, "a submission that is under way finds the name taken"
    assert is_placeholder(placeholder)


def test_an_application_that_is_suspended_while_it_runs_is_removed_once_its_driver_has_ended(
    shared: Played,
) -> None:
    """Resumed, it would start another driver, and nobody would hold a lease for that one."""
    uid = shared.apply("d-preempted", rewrite("/lake/d-preempted"))
    driver = shared.start("d-preempted")
    shared.reaches("d-preempted", "Running")
    shared.patch_application(driver.application, {"spec": {"suspend": True}})
    shared.application_is(driver.application, "SUSPENDED", driver="")
    shared.delete_pod_gently(driver.pod)
    assert shared.status("d-preempted")["phase"] == "Running"
    driver.container_ends(143)
    status = shared.reaches("d-preempted", "Failed")
    attempt = status["attempts"][0]
    assert (attempt["outcome"], attempt["ending"]["reason"]) == ("DriverLost", "Preempted")
    assert "preempted: its SparkApplication was suspended while it ran" in status["message"]
    pod = shared.pod(driver.pod)
    if pod is not None and not is_placeholder(pod):
        shared.delete_pod(driver.pod)
    _is_gone(shared, driver.application)
    _released(shared, uid)


def test_limits_that_are_shorter_than_a_start_end_it_once_and_cleanly(shared: Played) -> None:
    limits = {"activeDeadlineSeconds": 1, "admission": {"startTimeout": "1s", "quotaTimeout": "1h"}}
    before = shared.objects.version()
    uid = shared.apply("d-short", rewrite("/lake/d-short", **limits))
    status = shared.reaches("d-short", "Failed")
    attempt = status["attempts"][0]
    assert (status["reason"], attempt["outcome"]) == ("DriverNotStarted", "NotStarted")
    assert attempt["ending"]["reason"] == "StartTimedOut"
    _released(shared, uid)
    written = [
        write for write in shared.writes_since(before) if write.startswith("MODIFIED") and "d-short" in write
    ]
    assert len(written) <= 12, written


def test_whoever_leads_next_ends_what_was_to_be_ended(cluster: Played, operator: OperatorProcess) -> None:
    with _applications_stay(cluster):
        uid = cluster.apply("d-taken-over", rewrite("/lake/d-taken-over", activeDeadlineSeconds=2))
        driver = cluster.start("d-taken-over")
        _is_ending(cluster, "d-taken-over", "DeadlineExceeded")
        operator.kill()
        application = cluster.application(driver.application)
        assert application is not None
        assert "deletionTimestamp" not in application["metadata"]
    operator.start()
    _is_being_deleted(cluster, driver)
    assert f"{uid}/1" in cluster.holders()
    driver.container_ends(143)
    status = cluster.reaches("d-taken-over", "Failed")
    assert status["reason"] == "DeadlineExceeded"
    cluster.delete_pod(driver.pod)
    _released(cluster, uid)


def test_a_driver_that_runs_at_the_last_moment_is_left_alone(
    cluster: Played, operator: OperatorProcess
) -> None:
    with _applications_stay(cluster):
        uid = cluster.apply("d-last", rewrite("/lake/d-last", admission={"startTimeout": "2s"}))
        driver = cluster.submitted("d-last")
        _is_ending(cluster, "d-last", "StartTimedOut")
        driver.runs()
        status = cluster.reaches("d-last", "Running")
        assert "ending" not in status["attempts"][0]
    driver.succeeds("file:/lake/d-last")
    cluster.reaches("d-last", "Succeeded")
    _released(cluster, uid)


def test_no_driver_starts_any_more_once_its_start_took_too_long(shared: Played) -> None:
    uid = shared.apply("d-late", rewrite("/lake/d-late", admission={"startTimeout": "1s"}))
    [application] = eventually(lambda: shared.applications_of(uid), "it has its application")
    name = application["metadata"]["name"]
    eventually(
        lambda: (body := shared.application(name)) is None or "deletionTimestamp" in body["metadata"],
        "its application is being deleted",
    )
    status = shared.reaches("d-late", "Failed")
    assert status["attempts"][0]["outcome"] == "NotStarted"
    with pytest.raises(client.ApiException, match="AlreadyExists"):
        shared.driver_for(application)
    assert names.LABEL_PLACEHOLDER in (shared.pod(f"{name}-driver") or {})["metadata"]["labels"]
    _released(shared, uid)
