"""Applications that are held back, as by a queue, before and while their drivers run."""

from typing import Any

from integration.waiting import eventually


def test_what_is_suspended_from_the_start_runs_once_it_is_resumed(engine: Any, applications: Any) -> None:
    engine.start()
    applications.create("held", suspend=True)
    applications.reaches("held", "SUSPENDED")
    assert applications.pod("held") is None
    applications.resume("held")
    applications.runs_its_program("held")
    applications.let_go("held")
    applications.reaches("held", "COMPLETED")
    assert len(applications.runs("held")) == 1


def test_what_is_suspended_while_it_runs_ends_and_runs_again_once_its_former_driver_has_gone(
    engine: Any, applications: Any
) -> None:
    engine.has_spark_submit = True
    engine.start()
    applications.create("preempted", finalizers=("sluice.dev/lease",))
    applications.runs_its_program("preempted")
    applications.suspend("preempted")
    status = applications.reaches("preempted", "SUSPENDED")["status"]
    assert "sparkApplicationId" not in status
    eventually(lambda: applications.terminated("preempted"), "the pod tells of its container's end")
    assert applications.terminated("preempted")["exitCode"] == 143
    assert engine.driver_processes() == []
    applications.resume("preempted")
    assert len(applications.runs("preempted")) == 1, "its former driver's pod is held"
    assert applications.state("preempted") == "SUSPENDED"
    applications.release("pod", "preempted-driver")
    eventually(lambda: len(applications.runs("preempted")) == 2, "it runs again")
    applications.let_go("preempted")
    applications.reaches("preempted", "COMPLETED")
    applications.release("pod", "preempted-driver")
    applications.release("sparkapplication", "preempted")
