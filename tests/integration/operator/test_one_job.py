"""A job alone: all the way, and each way in which it can end."""

import json
import random
import string
import time
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from integration.operator.played import Played, append, lost_a_race, rewrite
from integration.waiting import eventually
from sluice.api import names


def _let_go(cluster: Played, uid: str, application: str) -> None:
    def done() -> bool:
        app, pod = cluster.application(application), cluster.pod(f"{application}-driver")
        held = [
            body
            for body in (app, pod)
            if body and names.FINALIZER_LEASE in body["metadata"].get("finalizers", [])
        ]
        return not held and not any(holder.startswith(uid) for holder in cluster.holders())

    eventually(done, f"finalizers of {application} are off and its leases are released")


def _garbage_was_collected(cluster: Played) -> None:
    """What has an owner that is no more is gone, however long ago the owner went."""
    name = "abandoned"
    gone = {"apiVersion": "v1", "kind": "ConfigMap", "name": "never-was", "uid": str(uuid.uuid4())}
    cluster.objects.create("configmap", {"metadata": {"name": name, "ownerReferences": [gone]}})
    eventually(lambda: cluster.objects.get("configmap", name) is None, "the garbage collector has passed")


def test_a_job_goes_all_the_way(shared: Played) -> None:
    table = "/lake/all-the-way"
    uid = shared.apply("all-the-way", append(table))
    driver = shared.start("all-the-way")
    shared.reaches("all-the-way", "Running")
    assert f"{uid}/1" in shared.holders()
    driver.succeeds(f"file:{table}", 7)
    status = shared.reaches("all-the-way", "Succeeded")
    attempt = status["attempts"][0]
    assert attempt["commits"] == [
        {
            "table": f"file:{table}",
            "version": 7,
            "statement": 1,
            "operation": "WRITE",
            "metrics": {"numFiles": 3},
        }
    ]
    assert (attempt["outcome"], attempt["exitCode"]) == ("Succeeded", 0)
    conditions = {condition["type"]: condition["status"] for condition in status["conditions"]}
    assert conditions == {"Ready": "True", "Reconciling": "False", "Stalled": "False"}
    _let_go(shared, uid, driver.application)
    assert shared.application(driver.application) is not None


def test_a_job_costs_at_most_eight_writes_beside_four_events(shared: Played) -> None:
    before = shared.objects.version()
    shared.apply("frugal", append("/lake/frugal"))
    driver = shared.submitted("frugal")
    shared.reaches("frugal", "Starting")
    driver.runs()
    shared.reaches("frugal", "Running")
    driver.succeeds("file:/lake/frugal")
    uid = (shared.job("frugal") or {})["metadata"]["uid"]
    _let_go(shared, uid, driver.application)
    writes = [write for write in shared.writes_since(before) if "frugal" in write]
    by_the_test = 1 + 3 + 4  # the job; the application's states; the pod: created, bound, runs, ends
    assert len(writes) - by_the_test <= 8, writes
    assert len(shared.events_of("frugal")) <= 4


def test_how_far_a_run_has_come_is_copied_into_its_status_once_a_minute(shared: Played) -> None:
    shared.apply("slow", append("/lake/slow"))
    driver = shared.submitted("slow")
    driver.runs((datetime.now(UTC) - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ"))
    shared.reaches("slow", "Running")
    _tell_progress(shared, driver.pod, 1)
    eventually(lambda: _progress(shared), "the first progress is copied")
    first = _progress(shared)
    assert (first["statement"], first["of"], first["operation"]) == (1, 3, "MERGE")
    before = shared.objects.version()
    for statement in (2, 3):
        _tell_progress(shared, driver.pod, statement)
        time.sleep(2)
    writes = [write for write in shared.writes_since(before) if write == "MODIFIED DeltaWriteJob slow"]
    assert (writes, _progress(shared)) == ([], first)
    driver.succeeds("file:/lake/slow")
    ended = shared.reaches("slow", "Succeeded")["attempts"][0]
    assert "progress" not in ended


def _tell_progress(cluster: Played, pod: str, statement: int) -> None:
    told = {"statement": statement, "of": 3, "operation": "MERGE", "since": "2026-11-25T10:00:00Z"}
    cluster.patch_pod(pod, {"metadata": {"annotations": {names.ANNOTATION_PROGRESS: json.dumps(told)}}})


def _progress(cluster: Played) -> Any:
    return cluster.status("slow")["attempts"][0].get("progress")


def test_what_a_statement_failed_of_stands_in_the_status(shared: Played) -> None:
    shared.apply("fails", rewrite("/lake/fails"))
    shared.start("fails").ends(1, lost_a_race())
    status = shared.reaches("fails", "Failed")
    assert status["reason"] == "ConcurrentAppendException"
    exception = status["attempts"][0]["exception"]
    assert exception["conflictingCommit"] == {
        "version": 5,
        "operation": "WRITE",
        "engine": "delta-rs:1.6.6",
        "foreign": True,
    }
    assert (exception["sqlState"], exception["partition"], exception["retriable"]) == (
        "2D521",
        "date=2026-11-19",
        True,
    )
    assert exception["rule"] == "added-files"
    assert exception["advice"].startswith("let what made that commit run as a DeltaWriteJob, too")
    assert status["message"] == (
        "statement 1: ConcurrentAppendException on partition date=2026-11-19: version 5 (WRITE) by no Sluice job "
        "(delta-rs:1.6.6) was committed first"
    )
    stalled = next(c for c in status["conditions"] if c["type"] == "Stalled")
    assert stalled["status"] == "True"


@pytest.mark.parametrize(
    ("ended", "outcome", "says"),
    [
        ((137, ""), "Killed", "was killed"),
        ((143, ""), "Killed", "was terminated"),
        ((1, "Traceback: no such module"), "Failed", "exit code 1"),
        ((0, "the end of a log"), "Unknown", "without a result"),
        ((1, '{"version":1,"outcome":"Failed","statements":["nonsense"]}'), "Failed", "without a result"),
        ((1, "[" * 4000), "Failed", "without a result"),
    ],
)
def test_a_driver_that_leaves_no_result_is_told_apart(
    shared: Played, tmp_path: Path, ended: tuple[int, str], outcome: str, says: str
) -> None:
    name = f"mute-{abs(hash(ended)) % 10**8}"
    uid = shared.apply(name, append(f"{tmp_path}/{name}"))
    driver = shared.start(name)
    driver.ends(*ended)
    status = shared.reaches(name, "Failed")
    assert status["attempts"][0]["outcome"] == outcome
    assert says in status["message"]
    assert "committed nothing" in status["message"]
    _let_go(shared, uid, driver.application)


def test_of_a_folder_that_only_drivers_have_nothing_is_said(shared: Played) -> None:
    shared.apply("elsewhere", append("/lake/only-drivers-have-it"))
    shared.start("elsewhere").ends(137)
    message = shared.reaches("elsewhere", "Failed")["message"]
    assert "what it committed is not known" in message
    assert "does not exist where the operator runs" in message


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"sql": "INSERT INTO delta.`/lake/x` VALUES (1);\n\nDROP TABLE orders"}, "statement 2, line 3"),
        ({"sql": "DROP TABLE orders"}, "statement 1, line 1"),
        ({"sql": "SELECT 1"}, "spec.sql has no statement that writes a table"),
        (append("/lake/x", runtimeRef="nowhere"), "spec.runtimeRef"),
        (
            {
                "application": {"engine": "kubeflow", "template": {"mode": "client"}},
                "footprint": [{"table": {"path": "/lake/x"}, "operation": "Append"}],
            },
            "spec.application.template.mode",
        ),
        (
            {"sql": "SELECT " + "(" * 20_000 + "1" + ")" * 20_000},
            "spec.sql has no statement that writes a table",
        ),
        (
            {
                "write": {
                    "table": {"path": "/lake/x"},
                    "source": {"sql": "SELECT " + "(" * 20_000 + "1" + ")" * 20_000},
                    "runtimeRef": None,
                }
            },
            None,
        ),
    ],
)
def test_what_is_not_understood_ends_with_the_place(
    shared: Played, spec: dict[str, Any], says: str | None
) -> None:
    name = f"odd-{abs(hash(json.dumps(spec))) % 10**8}"
    spec.get("write", {}).pop("runtimeRef", None)
    shared.apply(name, spec)
    if says is None:
        shared.start(name).succeeds("file:/lake/x")
        shared.reaches(name, "Succeeded")
        return
    status = shared.reaches(name, "Failed")
    assert status["reason"] == "NotUnderstood"
    assert says in status["message"]
    assert "attempts" not in status


def test_an_application_that_failed_without_a_pod_never_started(shared: Played) -> None:
    uid = shared.apply("podless", append("/lake/podless"))
    application = eventually(lambda: shared.applications_of(uid), "the application")[0]["metadata"]["name"]
    shared.application_is(application, "FAILED", "failed to run spark-submit: quota exceeded")
    status = shared.reaches("podless", "Failed")
    assert status["reason"] == "DriverNotStarted"
    assert status["attempts"][0]["outcome"] == "NotStarted"
    assert "quota exceeded" in status["message"]
    placeholder = shared.pod(f"{application}-driver")
    assert placeholder is not None
    assert placeholder["spec"]["schedulingGates"]
    _let_go(shared, uid, application)


def test_a_failed_submission_whose_driver_runs_all_the_same_is_waited_for(shared: Played) -> None:
    uid = shared.apply("false-alarm", append("/lake/false-alarm"))
    driver = shared.start("false-alarm")
    shared.application_is(driver.application, "FAILED", "driver pod already exist")
    shared.reaches("false-alarm", "Running")
    assert f"{uid}/1" in shared.holders()
    driver.succeeds("file:/lake/false-alarm", 3)
    shared.reaches("false-alarm", "Succeeded")


def test_a_completed_application_without_a_pod_is_not_taken_for_one_that_never_started(
    shared: Played,
) -> None:
    shared.apply("unseen", append("/lake/unseen"))
    driver = shared.submitted("unseen")
    shared.bind(driver.pod)  # one that is deleted without a node is known not to have started
    driver.vanishes()
    shared.application_is(driver.application, "COMPLETED")
    status = shared.reaches("unseen", "Ending")
    assert status["reason"] == "DriverLost"
    assert shared.pod(driver.pod) is None


def test_a_lost_driver_holds_its_leases_until_it_is_said_to_be_dead(shared: Played) -> None:
    uid = shared.apply("lost", rewrite("/lake/lost"))
    driver = shared.start("lost")
    shared.reaches("lost", "Running")
    driver.vanishes()
    status = shared.reaches("lost", "Ending")
    words = status["message"].split("kubectl ")[1].split()
    annotation = words[-1]
    assert words[0] == "annotate"
    shared.apply("behind-lost", append("/lake/lost"))
    shared.reaches("behind-lost", "Waiting")
    assert f"{uid}/1" in shared.holders()
    name, _, value = annotation.partition("=")
    shared.change("lost", {"metadata": {"annotations": {name: value}}})
    shared.reaches("lost", "Failed")
    _let_go(shared, uid, driver.application)
    shared.start("behind-lost").succeeds("file:/lake/lost")
    shared.reaches("behind-lost", "Succeeded")


def test_a_pod_that_failed_without_a_word_about_its_container_proves_nothing(shared: Played) -> None:
    uid = shared.apply("node-lost", append("/lake/node-lost"))
    driver = shared.start("node-lost")
    shared.reaches("node-lost", "Running")
    shared.patch_pod_status(driver.pod, {"phase": "Failed", "reason": "NodeLost", "containerStatuses": None})
    status = shared.reaches("node-lost", "Ending")
    assert "NodeLost" in status["message"]
    assert f"{uid}/1" in shared.holders()


def test_a_driver_that_cannot_be_placed_says_so(shared: Played) -> None:
    uid = shared.apply("no-room", append("/lake/no-room"))
    driver = shared.submitted("no-room")
    unschedulable = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/3 nodes",
    }
    shared.patch_pod_status(driver.pod, {"conditions": [unschedulable]})
    eventually(lambda: "0/3 nodes" in shared.status("no-room").get("message", ""), "the status says why")
    shared.delete("no-room")
    _let_go(shared, uid, driver.application)


def test_a_deleted_job_ends_its_driver_before_its_leases_go(shared: Played) -> None:
    uid = shared.apply("deleted", rewrite("/lake/deleted"))
    driver = shared.start("deleted")
    shared.reaches("deleted", "Running")
    shared.apply("behind-deleted", rewrite("/lake/deleted"))
    shared.reaches("behind-deleted", "Waiting")
    shared.delete("deleted")
    eventually(
        lambda: "deletionTimestamp" in (shared.pod(driver.pod) or {}).get("metadata", {}),
        "the operator deletes the driver's pod",
    )
    assert f"{uid}/1" in shared.holders()
    assert shared.status("behind-deleted")["phase"] == "Waiting"
    driver.container_ends(143)
    shared.delete_pod(driver.pod)  # as the kubelet does once all containers have ended
    eventually(lambda: shared.pod(driver.pod) is None, "the pod goes")
    eventually(lambda: shared.application(driver.application) is None, "the application goes")
    shared.start("behind-deleted").succeeds("file:/lake/deleted")
    shared.reaches("behind-deleted", "Succeeded")


def test_a_job_deleted_before_its_driver_exists_leaves_its_drivers_name_taken(shared: Played) -> None:
    """A submission that is under way creates its driver later, when job and application are gone."""
    uid = shared.apply("early", append("/lake/early"))
    application = eventually(lambda: shared.applications_of(uid), "the application")[0]["metadata"]["name"]
    shared.delete("early")
    eventually(lambda: shared.application(application) is None, "the application goes")
    eventually(lambda: f"{uid}/1" not in shared.holders(), "the leases go")
    _garbage_was_collected(shared)
    placeholder = shared.pod(f"{application}-driver")
    assert placeholder is not None
    assert placeholder["spec"]["schedulingGates"]


def test_the_name_of_a_driver_that_may_still_come_stays_taken_when_its_placeholder_is_deleted_or_evicted(
    shared: Played,
) -> None:
    """Else a submission that is under way finds it free, and its driver writes beside the job that has the leases by then."""
    uid = shared.apply("freed", append("/lake/freed"))
    application = eventually(lambda: shared.applications_of(uid), "the application")[0]["metadata"]["name"]
    shared.delete("freed")
    eventually(lambda: f"{uid}/1" not in shared.holders(), "the leases go")
    pod = f"{application}-driver"
    taken = shared.pod(pod)
    assert taken is not None
    shared.evict_pod(pod)
    shared.delete_pod(pod)
    time.sleep(1)
    left = shared.pod(pod)
    assert left is not None
    assert left["metadata"]["uid"] == taken["metadata"]["uid"]
    assert "deletionTimestamp" in left["metadata"]


def test_an_application_that_misses_its_driver_is_waited_for(shared: Played) -> None:
    """The spark-operator says FAILING of drivers, too, that it has not found yet."""
    uid = shared.apply("missing", append("/lake/missing"))
    application = eventually(lambda: shared.applications_of(uid), "the application")[0]["metadata"]["name"]
    shared.application_is(application, "FAILING", "driver pod not found")
    time.sleep(7)  # more than one sweep
    assert shared.status("missing")["phase"] == "Starting"
    shared.application_is(application, "FAILED", "driver pod not found")
    assert shared.reaches("missing", "Failed")["reason"] == "DriverNotStarted"
    _let_go(shared, uid, application)


def test_an_application_deleted_by_hand_ends_its_attempt_by_proof(shared: Played) -> None:
    uid = shared.apply("undone", append("/lake/undone"))
    application = eventually(lambda: shared.applications_of(uid), "the application")[0]["metadata"]["name"]
    shared.delete_application(application)
    status = shared.reaches("undone", "Failed")
    assert status["attempts"][0]["outcome"] == "NotStarted"
    eventually(lambda: shared.application(application) is None, "the application goes")


def test_the_largest_job_gets_through(shared: Played) -> None:
    chance = random.Random(7)  # noqa: S311 - not a secret
    text = "".join(chance.choices(string.ascii_letters, k=159 * 1024))
    shared.apply("large", {"sql": f"INSERT INTO delta.`/lake/large` VALUES ('{text}')"})
    driver = shared.start("large")
    shared.reaches("large", "Running")
    driver.succeeds("file:/lake/large")
    shared.reaches("large", "Succeeded")


def test_a_second_application_of_a_job_is_told_and_holds_until_it_has_ended_too(shared: Played) -> None:
    uid = shared.apply("copied", rewrite("/lake/copied"))
    driver = shared.start("copied")
    shared.reaches("copied", "Running")
    original = shared.application(driver.application)
    assert original is not None
    copy = {key: original[key] for key in ("apiVersion", "kind", "spec")}
    copy["metadata"] = {key: original["metadata"][key] for key in ("labels", "annotations", "finalizers")} | {
        "name": "the-copy"
    }
    copy["spec"] = copy["spec"] | {"driver": copy["spec"]["driver"] | {"podName": "the-copy-driver"}}
    shared.apply_application(copy)
    second = shared.driver_for({**copy, "metadata": (shared.application("the-copy") or {})["metadata"]})
    second.runs()
    eventually(lambda: "the-copy" in shared.status("copied")["message"], "the job names the second one")
    eventually(lambda: "SecondApplication" in shared.events_of("copied"), "an Event tells it")
    shared.apply("after-copy", rewrite("/lake/copied"))
    driver.succeeds("file:/lake/copied")
    shared.reaches("copied", "Succeeded")
    shared.reaches("after-copy", "Waiting")
    time.sleep(7)  # more than one sweep
    assert f"{uid}/1" in shared.holders()
    second.container_ends(143)
    shared.start("after-copy").succeeds("file:/lake/copied", 2)
    shared.reaches("after-copy", "Succeeded")


def test_an_application_deleted_under_way_is_told_as_that_and_not_as_a_killed_driver(shared: Played) -> None:
    shared.apply("deleted-app", rewrite("/lake/deleted-app"))
    driver = shared.start("deleted-app")
    shared.reaches("deleted-app", "Running")
    shared.delete_application(driver.application)
    driver.container_ends(143)
    status = shared.reaches("deleted-app", "Failed")
    assert status["reason"] == "ApplicationDeleted"
    assert "its SparkApplication was deleted" in status["message"]
