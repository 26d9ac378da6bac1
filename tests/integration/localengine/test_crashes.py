"""An engine that is killed and started again: its drivers go on, nothing is started twice, nothing is forgotten."""

import os
import signal
import time
from pathlib import Path
from typing import Any

from integration.waiting import eventually


def test_a_driver_survives_the_engine_and_is_reported_by_the_next_one(engine: Any, applications: Any) -> None:
    engine.has_spark_submit = True
    engine.start("--drivers", "2")
    applications.create("through")
    applications.create("meanwhile", code=5)
    for name in ("through", "meanwhile"):
        applications.runs_its_program(name)
    engine.end(signal.SIGKILL)
    applications.let_go("meanwhile")
    eventually(
        lambda: len(_exits(engine)) == 1, "the driver that ended without an engine leaves its exit code"
    )
    engine.start("--drivers", "2")
    state = applications.reaches("meanwhile", "FAILED")["status"]["applicationState"]
    assert state["errorMessage"] == "driver container failed with ExitCode: 5, Reason: Error"
    assert applications.state("through") == "RUNNING"
    applications.let_go("through")
    applications.reaches("through", "COMPLETED")
    assert [len(applications.runs(name)) for name in ("through", "meanwhile")] == [1, 1]


def test_no_moment_to_kill_the_engine_makes_it_start_a_driver_twice(engine: Any, applications: Any) -> None:
    """It is killed again and again, each time a little later, from before the submission until after the start.

    Killed between its note that it submits and the pod, it cannot know whether the pod will come: it fails the application
    rather than submit it twice.
    """
    applications.create("once")
    for life, pause in enumerate((0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6)):
        engine.start()

        def has_started(lives: int = life + 1) -> bool:
            return bool(engine.starts() == lives)

        eventually(
            has_started,
            f"the engine starts in life {life}",
            show=engine.told,
        )
        time.sleep(pause)
        engine.end(signal.SIGKILL)
    engine.start()

    def ran_or_failed() -> object:
        return applications.runs("once") or applications.state("once") == "FAILED"

    eventually(ran_or_failed, "the driver starts, or is given up", show=engine.told)
    if applications.state("once") == "FAILED":
        status = applications.get("sparkapplication", "once")["status"]
        assert status["applicationState"]["errorMessage"] == "driver pod not found"
        assert applications.runs("once") == []
        assert engine.driver_processes() == []
    else:
        applications.let_go("once")
        applications.reaches("once", "COMPLETED")
        assert len(applications.runs("once")) == 1


def test_a_driver_whose_supervisor_was_killed_is_reported_when_it_is_dead(
    engine: Any, applications: Any
) -> None:
    engine.start("--drivers", "2")
    applications.create("orphan")
    applications.runs_its_program("orphan")
    [supervisor] = _supervisors(engine)
    os.kill(supervisor, signal.SIGKILL)
    engine.end(signal.SIGKILL)
    engine.start("--drivers", "2")
    applications.create("another")
    applications.runs_its_program("another")  # the engine had time to look at both
    assert applications.state("orphan") == "RUNNING"
    applications.let_go("orphan")
    state = applications.reaches("orphan", "FAILED")["status"]["applicationState"]
    assert (
        state["errorMessage"] == "driver container failed with ExitCode: 137, Reason: ContainerStatusUnknown"
    )
    assert applications.terminated("orphan")["message"] == "all is well"


def test_a_deletion_made_while_the_engine_was_down_is_carried_out(engine: Any, applications: Any) -> None:
    engine.start()
    applications.create("missed")
    applications.runs_its_program("missed")
    engine.end(signal.SIGKILL)
    applications.delete("sparkapplication", "missed")
    engine.start()
    eventually(lambda: applications.pod("missed") is None, "the pod goes with its application")
    eventually(lambda: not engine.driver_processes(), "the process ends with its application")


def test_an_engine_that_loses_its_status_fails_an_application_whose_driver_runs(
    engine: Any, applications: Any
) -> None:
    """The real operator's hazard, on demand: FAILED alone proves nothing about the driver."""
    engine.start("--fault", "lose-status")
    applications.create("doubted")
    state = applications.reaches("doubted", "FAILED")["status"]["applicationState"]
    assert state["errorMessage"].endswith("driver pod already exist")
    applications.runs_its_program("doubted")
    assert applications.terminated("doubted") is None
    assert applications.pod("doubted")["status"]["phase"] == "Running"


def test_a_second_engine_on_the_same_folder_is_refused(engine: Any, tmp_path: Path) -> None:
    engine.start()
    first, former_starts = engine.process, engine.former_starts
    lock = engine.work / engine.namespace / "engine.lock"
    eventually(lambda: lock.exists() or first.poll() is not None, "the first engine has its folder")
    assert first.poll() is None
    engine.start()
    assert engine.process.wait(30) == 1
    assert "another local engine works in" in engine.told()
    engine.process, engine.former_starts = first, former_starts


def _exits(engine: Any) -> list[Path]:
    return list((engine.work / engine.namespace / "drivers").glob("*/exit.json"))


def _supervisors(engine: Any) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_text()
            except OSError:  # it has ended since the folder was listed
                continue
            if "localengine.supervisor" in command and str(engine.work) in command:
                found.append(int(entry.name))
    return found
