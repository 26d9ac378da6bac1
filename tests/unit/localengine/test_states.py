from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from localengine.application import DRIVER_CONTAINER, Application, refusal
from localengine.states import (
    DeleteApplication,
    DeleteDriver,
    Rest,
    Step,
    Submit,
    Wait,
    Write,
    decide,
    submission_failed,
    submitted,
)
from sluice.api.base import Json

NOW = datetime(2026, 11, 19, 12, 0, 30, tzinfo=UTC)
BODY: Json = {
    "metadata": {"namespace": "shop", "name": "load", "uid": "u-1", "resourceVersion": "5"},
    "spec": {
        "type": "Python",
        "sparkVersion": "4.2.0",
        "mainApplicationFile": "local:///opt/x.py",
        "driver": {},
        "executor": {},
    },
}


def application(
    state: str = "", *, spec: Json | None = None, deleted: bool = False, **status: Any
) -> Application:
    body = deepcopy(BODY)
    body["spec"].update(spec or {})
    if state:
        body["status"] = {
            "applicationState": {"state": state},
            "driverInfo": {"podName": "load-driver"},
            "lastSubmissionAttemptTime": "2026-11-19T12:00:00Z",
            "submissionID": "s-1",
            **status,
        }
    if deleted:
        body["metadata"]["deletionTimestamp"] = "2026-11-19T12:00:10Z"
    return Application(body)


def pod(phase: str, exit_code: int | None = None, reason: str = "Error", **metadata: Any) -> Json:
    state = {"terminated": {"exitCode": exit_code, "reason": reason}} if exit_code is not None else {}
    return {
        "metadata": {"labels": {"spark-app-selector": "spark-1"}, **metadata},
        "status": {"phase": phase, "containerStatuses": [{"name": DRIVER_CONTAINER, "state": state}]},
    }


def state_and_error(step: Step) -> tuple[str, str | None]:
    assert isinstance(step, Write)
    told = step.status["applicationState"]
    return told["state"], told.get("errorMessage")


def test_a_new_application_is_submitted() -> None:
    assert decide(application(), None, NOW) == Submit()


def test_what_the_engine_cannot_do_fails_the_submission_and_then_the_application() -> None:
    policy = {"restartPolicy": {"type": "OnFailure"}}
    first = decide(application(spec=policy), None, NOW)
    state, error = state_and_error(first)
    assert state == "SUBMISSION_FAILED"
    assert error is not None
    assert "restartPolicy Never only, not OnFailure" in error
    assert isinstance(first, Write)
    then = Application({**BODY, "status": first.status})
    assert state_and_error(decide(then, None, NOW)) == ("FAILED", error)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"mode": "client"}, "mode cluster only"),
        ({"type": "R"}, "type R"),
        ({"type": "Scala"}, "needs spec.mainClass"),
        ({"monitoring": {}}, "spec.monitoring"),
        ({"driver": {"env": []}}, "spec.driver.env"),
        ({"executor": {"volumeMounts": []}}, "spec.executor.volumeMounts"),
        (
            {"driver": {"template": {"spec": {"containers": "none"}}}},
            "spec.driver.template.spec.containers is not",
        ),
        ({"executor": {"template": {"metadata": []}, "labels": {}}}, "nothing refused"),
        ({"executor": {"template": {"metadata": ["x"]}}}, "spec.executor.template.metadata is not an object"),
        ({"deps": {"packages": ["a:b:1"]}}, "spec.deps.packages"),
    ],
)
def test_a_refusal_names_the_field(change: Json, named: str) -> None:
    assert named in (refusal(application(spec=change)) or "nothing refused")


@pytest.mark.parametrize(
    ("driver", "state", "error"),
    [
        (pod("Pending"), "SUBMITTED", None),
        (pod("Running"), "RUNNING", None),
        (pod("Running", 0), "SUCCEEDING", None),
        (pod("Running", 1), "FAILING", "driver container failed with ExitCode: 1, Reason: Error"),
        (pod("Succeeded", 0), "SUCCEEDING", None),
        (
            pod("Failed", 137, "OOMKilled"),
            "FAILING",
            "driver container failed with ExitCode: 137, Reason: OOMKilled",
        ),
        (pod("Failed", 0), "SUCCEEDING", None),
        (pod("Failed"), "FAILING", "driver container status missing"),
        (pod("Unknown"), "UNKNOWN", None),
    ],
)
def test_the_drivers_pod_decides_the_state(driver: Json, state: str, error: str | None) -> None:
    step = decide(application("SUBMITTED"), driver, NOW)
    assert state_and_error(step) == (state, error)
    assert isinstance(step, Write)
    assert step.status["sparkApplicationId"] == "spark-1"
    assert step.status.get("terminationTime") == (
        "2026-11-19T12:00:30Z" if state.endswith("ING") and "RUN" not in state else None
    )


def test_nothing_is_written_when_nothing_changed() -> None:
    assert decide(application("RUNNING", sparkApplicationId="spark-1"), pod("Running"), NOW) == Rest()


def test_a_missing_pod_has_ten_seconds_after_the_submission() -> None:
    early = datetime(2026, 11, 19, 12, 0, 4, tzinfo=UTC)
    waits = decide(application("SUBMITTED"), None, early)
    assert isinstance(waits, Wait)
    assert 6 < waits.seconds < 7
    assert state_and_error(decide(application("SUBMITTED"), None, NOW)) == ("FAILING", "driver pod not found")


def test_a_pod_that_was_seen_running_has_no_grace() -> None:
    early = datetime(2026, 11, 19, 12, 0, 4, tzinfo=UTC)
    assert state_and_error(decide(application("RUNNING"), None, early)) == ("FAILING", "driver pod not found")


@pytest.mark.parametrize(("before", "after"), [("SUCCEEDING", "COMPLETED"), ("FAILING", "FAILED")])
def test_the_last_step_needs_no_pod(before: str, after: str) -> None:
    assert state_and_error(decide(application(before), None, NOW))[0] == after


def test_an_error_message_stays_to_the_end() -> None:
    failing = application(
        "FAILING", applicationState={"state": "FAILING", "errorMessage": "driver pod not found"}
    )
    assert state_and_error(decide(failing, None, NOW)) == ("FAILED", "driver pod not found")


def test_a_deleted_application_takes_whoever_holds_its_drivers_name_along() -> None:
    dying = application("RUNNING", deleted=True)
    assert decide(dying, pod("Running"), NOW) == DeleteDriver()
    assert decide(dying, pod("Running", deletionTimestamp="2026-11-19T12:00:20Z"), NOW) == Rest()
    assert decide(dying, None, NOW) == Rest()
    assert decide(application(deleted=True), None, NOW) == Rest(), "a deleted application is never submitted"


def test_an_application_is_deleted_after_its_time_to_live() -> None:
    done = application("COMPLETED", spec={"timeToLiveSeconds": 60}, terminationTime="2026-11-19T12:00:00Z")
    waits = decide(done, None, NOW)
    assert isinstance(waits, Wait)
    assert 30 < waits.seconds < 31
    assert decide(done, None, NOW + timedelta(seconds=31)) == DeleteApplication()
    assert decide(application("COMPLETED", terminationTime="2026-11-19T12:00:00Z"), None, NOW) == Rest()


def test_a_submission_is_counted_whether_it_worked_or_not() -> None:
    good = submitted(application(), "s-2", NOW)
    assert (good["submissionAttempts"], good["executionAttempts"], good["submissionID"]) == (1, 1, "s-2")
    assert good["driverInfo"] == {"podName": "load-driver"}
    bad = submission_failed(application(), "s-2", "no room", NOW)
    assert bad["submissionAttempts"] == 1
    assert "executionAttempts" not in bad
    assert bad["applicationState"]["errorMessage"] == "failed to submit spark application: no room"


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ({}, "load-driver"),
        ({"sparkConf": {"spark.kubernetes.driver.pod.name": "by-conf"}}, "by-conf"),
        (
            {"sparkConf": {"spark.kubernetes.driver.pod.name": "by-conf"}, "driver": {"podName": "by-field"}},
            "by-field",
        ),
    ],
)
def test_the_drivers_name_is_found_where_the_real_operator_finds_it(spec: Json, name: str) -> None:
    assert application(spec=spec).driver_pod_name == name


SUSPEND = {"suspend": True}


@pytest.mark.parametrize(
    "state", ["", "SUBMITTED", "RUNNING", "SUCCEEDING", "FAILING", "SUBMISSION_FAILED", "RESUMING"]
)
def test_an_application_is_suspended_from_every_state_but_its_last_ones(state: str) -> None:
    step = decide(application(state, spec=SUSPEND), pod("Running"), NOW)
    assert isinstance(step, Write)
    assert step.status["applicationState"]["state"] == "SUSPENDING"
    assert "driverInfo" in step.status, "the resource requires it"


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED"])
def test_what_is_over_is_not_suspended(state: str) -> None:
    assert decide(application(state, spec=SUSPEND), pod("Succeeded", 0), NOW) == Rest()


def test_a_driver_goes_with_its_suspension_and_is_forgotten() -> None:
    suspending = application("SUSPENDING", spec=SUSPEND, sparkApplicationId="spark-1")
    assert decide(suspending, pod("Running"), NOW) == DeleteDriver()
    for left in (None, pod("Running", deletionTimestamp="2026-11-19T12:00:20Z")):
        step = decide(suspending, left, NOW)
        assert isinstance(step, Write)
        assert step.status["applicationState"] == {"state": "SUSPENDED", "errorMessage": None}
        assert (step.status["sparkApplicationId"], step.status["driverInfo"]) == (None, {"podName": None})


def test_it_is_resumed_once_its_former_driver_is_gone_and_then_submitted_anew() -> None:
    assert decide(application("SUSPENDED", spec=SUSPEND), None, NOW) == Rest()
    held = pod("Failed", 143, deletionTimestamp="2026-11-19T12:00:20Z")
    assert decide(application("SUSPENDED"), held, NOW) == Rest()
    step = decide(application("SUSPENDED"), None, NOW)
    assert isinstance(step, Write)
    assert step.status["applicationState"]["state"] == "RESUMING"
    assert decide(application("RESUMING"), None, NOW) == Submit()
