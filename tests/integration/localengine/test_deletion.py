"""Pods and applications that are deleted while a driver runs, and names that are taken: what proofs of death rest on."""

from typing import Any

from integration.objects import JSON_PATCH
from integration.waiting import eventually


def test_a_deleted_pod_ends_its_process_and_is_gone_only_then(engine: Any, applications: Any) -> None:
    engine.has_spark_submit = True
    engine.start()
    applications.create("run")
    applications.runs_its_program("run")
    applications.delete("pod", "run-driver")
    eventually(lambda: applications.pod("run") is None, "the pod goes")
    assert engine.driver_processes() == []
    state = applications.reaches("run", "FAILED")["status"]["applicationState"]
    # Which of both the operator sees depends on whether it looks before the pod is gone.
    assert state["errorMessage"] in (
        "driver container failed with ExitCode: 143, Reason: Error",
        "driver pod not found",
    )


def test_a_finalizer_holds_a_deleted_pod_which_then_tells_how_its_container_ended(
    engine: Any, applications: Any
) -> None:
    engine.start()
    applications.create("held", finalizers=("sluice.dev/lease",))
    applications.runs_its_program("held")
    applications.delete("pod", "held-driver")
    eventually(lambda: applications.terminated("held"), "the pod tells of its container's end")
    assert applications.terminated("held")["exitCode"] == 143
    assert engine.driver_processes() == []
    state = applications.reaches("held", "FAILED")["status"]["applicationState"]
    assert state["errorMessage"] == "driver container failed with ExitCode: 143, Reason: Error"
    assert applications.pod("held")["metadata"]["finalizers"] == ["sluice.dev/lease"]
    applications.release("pod", "held-driver")
    eventually(lambda: applications.pod("held") is None, "the pod goes without its finalizer")
    applications.release("sparkapplication", "held")


def test_a_pod_deleted_by_force_takes_its_process_along(engine: Any, applications: Any) -> None:
    engine.start()
    applications.create("forced")
    applications.runs_its_program("forced")
    applications.delete("pod", "forced-driver", grace_seconds=0)
    eventually(lambda: not engine.driver_processes(), "the process ends with its pod")
    state = applications.reaches("forced", "FAILED")["status"]["applicationState"]
    assert state["errorMessage"] == "driver pod not found"


def test_a_deleted_application_ends_its_driver_while_both_are_held_by_finalizers(
    engine: Any, applications: Any
) -> None:
    engine.start()
    applications.create("ended", finalizers=("sluice.dev/lease",))
    applications.runs_its_program("ended")
    applications.delete("sparkapplication", "ended")
    eventually(lambda: applications.terminated("ended"), "the pod tells of its container's end")
    assert engine.driver_processes() == []
    assert applications.get("sparkapplication", "ended") is not None
    applications.release("sparkapplication", "ended")
    applications.release("pod", "ended-driver")
    eventually(lambda: applications.pod("ended") is None, "the pod goes")
    assert applications.get("sparkapplication", "ended") is None


def test_an_application_that_is_gone_at_once_takes_its_driver_along(engine: Any, applications: Any) -> None:
    engine.start()
    applications.create("gone")
    applications.runs_its_program("gone")
    applications.delete("sparkapplication", "gone")
    eventually(lambda: applications.pod("gone") is None, "the pod goes with its application")
    eventually(lambda: not engine.driver_processes(), "the process ends with its application")


def test_a_taken_name_fails_the_submission_and_the_pod_that_took_it_never_starts(
    engine: Any, applications: Any
) -> None:
    container = {"name": "spark-kubernetes-driver", "image": "none"}
    applications.objects.create(
        "pod",
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "late-driver"},
            "spec": {"schedulingGates": [{"name": "sluice.dev/ended"}], "containers": [container]},
        },
    )
    engine.start()
    applications.create("late")
    state = applications.reaches("late", "FAILED")["status"]["applicationState"]
    assert state["errorMessage"].endswith("driver pod already exist")
    assert applications.runs("late") == []
    assert applications.pod("late")["status"]["phase"] == "Pending"


def test_a_driver_with_a_scheduling_gate_starts_when_the_gate_is_gone(engine: Any, applications: Any) -> None:
    engine.start()
    applications.create("gated", pod_spec={"schedulingGates": [{"name": "wait"}]})
    applications.reaches("gated", "SUBMITTED")
    applications.create("other")
    applications.runs_its_program("other")  # the engine had time and room
    assert applications.runs("gated") == []
    applications.let_go("other")
    applications.let_go("gated")
    remove = [{"op": "remove", "path": "/spec/schedulingGates"}]
    applications.objects.patch("pod", "gated-driver", remove, content=JSON_PATCH)
    applications.reaches("gated", "COMPLETED")


def test_a_driver_that_is_deleted_while_it_waits_for_room_never_starts(
    engine: Any, applications: Any
) -> None:
    engine.start("--drivers", "1")
    applications.create("first")
    applications.runs_its_program("first")
    applications.create("second", finalizers=("sluice.dev/lease",))
    applications.reaches("second", "SUBMITTED")
    applications.delete("sparkapplication", "second")
    eventually(lambda: "deletionTimestamp" in applications.pod("second")["metadata"], "the pod is deleted")
    applications.create("third")
    applications.let_go("first")
    applications.runs_its_program("third")  # it got the room that the second one waited for
    second = applications.pod("second")
    assert "nodeName" not in second["spec"], "only a pod without a node proves that it can't start"
    assert applications.runs("second") == []
    applications.let_go("third")
    applications.release("pod", "second-driver")
    applications.release("sparkapplication", "second")
