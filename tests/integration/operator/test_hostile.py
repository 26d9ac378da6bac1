"""Objects that nobody should write, all in one cluster at once: none of them does anything to another."""

import time
import uuid
from collections.abc import Callable

import pytest

from integration.operator.played import Json, Played, append, rewrite
from integration.operator.process import OperatorProcess
from integration.waiting import eventually
from sluice.api import names

GOOD = 20

STATEMENTS = [
    "MERGE INTO delta.`/x` t USING delta.`/s` s ON t.id = s.id WHEN NOT AND s.op = 'd' THEN DELETE",
    "INSERT INTO delta.`/x` FROM AND (*",
    "SELECT " + "(" * 20_000,
    "\u0000 \ufffd ; ;;; /*",
    "INSERT INTO delta.`/x` VALUES (" + "1," * 5000,
]
"""None of them is understood."""

STATUSES: list[Json] = [
    {"queuedAt": "0000-01-01T00:00:00Z"},
    {"phase": "Waiting", "since": "0000-01-01T00:00:00Z", "queuedAt": "0000-12-31T23:59:59Z"},
    {"phase": "Running", "attempt": 2147483647},
    {"blockedBy": [{"job": "", "uid": "", "table": "", "verdict": "?", "rule": "", "reason": ""}]},
]


def _application(name: str, uid: str, *, epoch: str, finalizers: tuple[str, ...] = ()) -> Json:
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {
            "name": name,
            "labels": {names.LABEL_JOB_UID: uid, names.LABEL_ATTEMPT: "one"},
            "annotations": {
                names.ANNOTATION_WRITER_EPOCH: epoch,
                names.ANNOTATION_TOKEN: "99999999999999999999",
                names.ANNOTATION_LEASE: '{"uid": "\\ud800", "tables": [{}]}',
            },
            "finalizers": list(finalizers),
        },
        "spec": {
            "type": "Python",
            "sparkVersion": "4.2.0",
            "mainApplicationFile": "local:///x.py",
            "driver": {},
            "executor": {},
        },
    }


def _pod(name: str, uid: str) -> Json:
    return {
        "metadata": {
            "name": name,
            "labels": {names.LABEL_JOB_UID: uid, names.LABEL_ATTEMPT: "00x1"},
            "annotations": {names.ANNOTATION_LEASE: "[" * 5000, names.ANNOTATION_TOKEN: "NaN"},
        },
        "spec": {"containers": [{"name": "spark-kubernetes-driver", "image": "none"}]},
    }


def test_good_jobs_end_well_beside_all_that_nobody_should_write(
    cluster: Played, operator: OperatorProcess
) -> None:
    victim = cluster.apply("victim", rewrite("/lake/victim"))
    victims_driver = cluster.start("victim")
    cluster.reaches("victim", "Running")
    for number, text in enumerate(STATEMENTS):
        cluster.apply(f"statement-{number}", {"sql": text})
    for number, status in enumerate(STATUSES):
        cluster.apply(f"status-{number}", append(f"/lake/status-{number}"))
        cluster.write_status(f"status-{number}", status)
    for number, epoch in enumerate(("99999999999999999999", "abc", "262143", "-1", "")):
        for uid in (victim, str(uuid.uuid4()), "", "no-uid"):
            name = f"foreign-{number}-{uuid.uuid4().hex[:6]}"
            cluster.apply_application(_application(name, uid, epoch=epoch))
            cluster.apply_pod(_pod(f"{name}-driver", uid))
    good = [f"good-{number}" for number in range(GOOD)]
    begun = time.monotonic()
    for name in good:
        cluster.apply(name, append(f"/lake/{name}"))
    for name in good:
        cluster.start(name).succeeds(f"file:/lake/{name}")
    for name in good:
        cluster.reaches(name, "Succeeded")
    print(f"{GOOD} good jobs took {time.monotonic() - begun:.1f} s")
    for number in range(len(STATEMENTS)):
        assert cluster.reaches(f"statement-{number}", "Failed")["reason"] == "NotUnderstood"
    assert cluster.status("victim")["phase"] == "Running"
    victims_driver.succeeds("file:/lake/victim")
    cluster.reaches("victim", "Succeeded")
    assert operator.running
    assert "Traceback" not in operator.told()


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
    assert "status.attempts.0.grantedAt" in told["message"]
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
