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
from devenv.processes import ProcessId, fetch, run, spawn, wait_until


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
        assert process.wait(60) == -signal.SIGKILL
        assert not identity.alive()
    finally:
        process.kill()
        process.wait(60)


def test_a_process_that_ignores_being_asked_is_killed(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        process = spawn(["bash", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"], log)
    try:
        assert wait_until(lambda: "ready" in (tmp_path / "log").read_text(), 60)
        ProcessId.of(process.pid).end(patience=0.3)
        assert process.wait(60) == -signal.SIGKILL
    finally:
        process.kill()
        process.wait(60)


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
        assert wait_until(lambda: noted.exists() and noted.read_text() != "", 60)
        child = ProcessId.of(int(noted.read_text()))
        assert child.alive()
        parent.kill()
        parent.wait(60)
        assert wait_until(lambda: not child.alive(), 60)
    finally:
        parent.kill()
        parent.wait(60)


def test_a_failed_command_says_the_sentence_and_the_end_of_its_output(tmp_path: Path) -> None:
    with pytest.raises(DevError, match=r"(?s)Install it by hand\..*out of luck.*build\.log"):
        run(["bash", "-c", "echo out of luck; exit 3"], tmp_path / "build.log", failure="Install it by hand.")


BREAKS_OFF_TWICE = """
import sys
from pathlib import Path
asked = Path(sys.argv[1])
times = int(asked.read_text()) + 1 if asked.exists() else 1
asked.write_text(str(times))
sys.exit(times <= 2)
"""


def test_a_transfer_that_breaks_off_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(processes, "_PAUSE", 0.0)
    asked = tmp_path / "asked"
    transfer = [sys.executable, "-c", BREAKS_OFF_TWICE, str(asked)]
    fetch(transfer, tmp_path / "log", failure="It could not be fetched.")
    assert asked.read_text() == "3"
    assert capsys.readouterr().err.count("is asked again") == 2


def test_what_never_comes_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_PAUSE", 0.0)
    log = tmp_path / "log"
    with pytest.raises(DevError, match=r"It could not be fetched\."):
        fetch(["bash", "-c", "echo no answer; exit 1"], log, failure="It could not be fetched.")
    assert log.read_text().splitlines().count("no answer") == processes.FETCH_ATTEMPTS


def test_what_transfers_nothing_is_run_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with pytest.raises(DevError, match=r"It does not compile\."):
        run(["bash", "-c", "echo error; exit 1"], log, failure="It does not compile.")
    assert log.read_text().splitlines().count("error") == 1
