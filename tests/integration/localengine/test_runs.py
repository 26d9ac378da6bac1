"""An application's way from creation to its end, as the Spark operator and a kubelet would have it."""

from typing import Any

from integration.waiting import eventually


def test_a_run_completes_with_the_status_and_the_pod_of_the_real_operator(
    engine: Any, applications: Any
) -> None:
    engine.has_spark_submit = True
    engine.start()
    applications.create("good")
    applications.let_go("good")
    status = applications.reaches("good", "COMPLETED")["status"]
    assert status["driverInfo"] == {"podName": "good-driver"}
    assert status["executionAttempts"] == status["submissionAttempts"] == 1
    assert "errorMessage" not in status["applicationState"]
    assert status["lastSubmissionAttemptTime"] <= status["terminationTime"]
    pod = applications.pod("good")
    labels = pod["metadata"]["labels"]
    assert labels["spark-role"] == "driver"
    assert labels["sparkoperator.k8s.io/app-name"] == "good"
    assert labels["sparkoperator.k8s.io/submission-id"] == status["submissionID"]
    assert labels["spark-app-selector"] == status["sparkApplicationId"]
    assert labels["sluice.dev/job"] == "some-job"
    assert pod["metadata"]["annotations"]["sluice.dev/token"] == "7"
    assert pod["metadata"]["ownerReferences"][0]["name"] == "good"
    assert pod["status"]["phase"] == "Succeeded"
    ended = applications.terminated("good")
    assert (ended["exitCode"], ended["reason"], ended["message"]) == (0, "Completed", "all is well")
    assert applications.runs("good")[0].endswith(" hello")


def test_a_failing_driver_gives_its_exit_code_in_the_status_and_its_log_in_the_pod(
    engine: Any, applications: Any
) -> None:
    engine.has_spark_submit = True
    engine.start()
    applications.create("bad", code=3)
    applications.let_go("bad")
    state = applications.reaches("bad", "FAILED")["status"]["applicationState"]
    assert state["errorMessage"] == "driver container failed with ExitCode: 3, Reason: Error"
    assert applications.pod("bad")["status"]["phase"] == "Failed"
    assert "the program ends now" in applications.terminated("bad")["message"]


def test_a_driver_waits_as_a_pending_pod_until_there_is_room(engine: Any, applications: Any) -> None:
    engine.start("--drivers", "1")
    applications.create("first")
    applications.runs_its_program("first")
    applications.create("second")
    applications.reaches("second", "SUBMITTED")
    eventually(
        lambda: applications.pod("second")["status"].get("conditions"),
        "somebody says why the second one waits",
    )
    second = applications.pod("second")
    assert second["status"]["phase"] == "Pending"
    assert second["status"]["conditions"][0]["reason"] == "Unschedulable"
    assert applications.runs("second") == []
    applications.let_go("second")
    applications.let_go("first")
    applications.reaches("second", "COMPLETED")


def test_a_variable_comes_from_its_secret_and_a_missing_secret_is_named(
    engine: Any, applications: Any
) -> None:
    engine.start()
    reference = {"secretKeyRef": {"name": "greetings", "key": "morning"}}
    applications.create("secretive", env=[{"name": "GREETING", "valueFrom": reference}])

    def waits() -> object:
        [container] = (applications.pod("secretive") or {}).get("status", {}).get("containerStatuses") or [{}]
        return container.get("state", {}).get("waiting")

    eventually(waits, "the container waits for its secret")
    assert waits() == {"reason": "CreateContainerConfigError", "message": 'secret "greetings" not found'}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "greetings"},
        "stringData": {"morning": "moin"},
    }
    applications.objects.create("secret", secret)
    applications.let_go("secretive")
    applications.reaches("secretive", "COMPLETED")
    assert applications.runs("secretive")[0].endswith(" moin")


def test_what_the_engine_does_not_support_is_refused_by_name(engine: Any, applications: Any) -> None:
    engine.start()
    applications.create("restarting", restartPolicy={"type": "Always"})
    applications.create("scheduled", batchScheduler="volcano")
    state = applications.reaches("restarting", "FAILED")["status"]["applicationState"]
    assert "restartPolicy Never only, not Always" in state["errorMessage"]
    state = applications.reaches("scheduled", "FAILED")["status"]["applicationState"]
    assert "does not support spec.batchScheduler" in state["errorMessage"]
    assert applications.pod("restarting") is None


def test_a_finished_application_goes_with_its_pod_when_its_time_to_live_is_over(
    engine: Any, applications: Any
) -> None:
    engine.start()
    applications.create("brief", timeToLiveSeconds=1)
    applications.let_go("brief")
    eventually(lambda: applications.runs("brief"), "the program starts")
    eventually(
        lambda: applications.state("brief") is None, "the application goes when its time to live is over"
    )
    eventually(lambda: applications.pod("brief") is None, "the pod goes with its application")
