"""Processes are told apart from others under the same pid, and none outlives its starter by accident."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from devenv import processes
from devenv.errors import DevError
from devenv.processes import ProcessId, run, spawn, wait_until


def test_another_process_under_a_recorded_pid_is_left_alone(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        process = spawn(["sleep", "60"], log)
    try:
        identity = ProcessId.of(process.pid)
        stale = replace(identity, started="another boot:1")
        assert identity.alive()
        assert not stale.alive()
        stale.end(patience=0.1)
        assert process.poll() is None
        identity.send(signal.SIGKILL)
        assert process.wait(10) == -signal.SIGKILL
        assert not identity.alive()
    finally:
        process.kill()
        process.wait(10)


def test_a_process_that_ignores_being_asked_is_killed(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        process = spawn(["bash", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"], log)
    try:
        assert wait_until(lambda: "ready" in (tmp_path / "log").read_text(), 10)
        ProcessId.of(process.pid).end(patience=0.3)
        assert process.wait(10) == -signal.SIGKILL
    finally:
        process.kill()
        process.wait(10)


PARENT = """
import sys, time
from pathlib import Path
from devenv.processes import spawn
with open(sys.argv[1], "wb") as log:
    child = spawn(["sleep", "60"], log)
Path(sys.argv[2]).write_text(str(child.pid))
time.sleep(60)
"""


def test_a_child_ends_when_its_starter_is_killed(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "log"), str(noted)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        assert wait_until(lambda: noted.exists() and noted.read_text() != "", 20)
        child = ProcessId.of(int(noted.read_text()))
        assert child.alive()
        parent.kill()
        parent.wait(10)
        assert wait_until(lambda: not child.alive(), 10)
    finally:
        parent.kill()
        parent.wait(10)


def test_a_failed_command_says_the_sentence_and_the_end_of_its_output(tmp_path: Path) -> None:
    with pytest.raises(DevError, match=r"(?s)Install it by hand\..*out of luck.*build\.log"):
        run(["bash", "-c", "echo out of luck; exit 3"], tmp_path / "build.log", failure="Install it by hand.")


def test_what_fetches_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_PAUSE", 0.0)
    tries = tmp_path / "tries"
    third = f'echo try >> {tries}; [ "$(wc -l < {tries})" = 3 ]'
    run(["bash", "-c", third], tmp_path / "log", failure="It could not be fetched.", attempts=4)
    assert len(tries.read_text().splitlines()) == 3
    with pytest.raises(DevError, match=r"It could not be fetched\."):
        run(["bash", "-c", "exit 1"], tmp_path / "log", failure="It could not be fetched.", attempts=2)
