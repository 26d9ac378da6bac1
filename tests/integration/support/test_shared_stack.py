"""A stack for several processes begins with the first, ends with the last, and never outlives a run."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from devenv.processes import ProcessId, wait_until
from devenv.project import ROOT
from devenv.service import Service
from integration.shared_stack import SharedStack

SECONDS = 60.0
OTHER_PROCESS = """
import sys
from pathlib import Path
from integration.shared_stack import SharedStack
from integration.support.test_shared_stack import Sleeping
used = SharedStack(Path(sys.argv[1]), Sleeping)
used.attach()
print("attached", flush=True)
sys.stdin.read()
used.release()
"""


class Sleeping:
    """A stack of one process that does nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        self.kubectl = folder / "kubectl"
        self.services = (Service("sleep", ["sleep", "infinity"], folder / "sleep.log", lambda: True),)

    def start(self) -> None:
        self.services[0].start()


class Counted:
    """Makes stacks and keeps them."""

    def __init__(self) -> None:
        self.made: list[Sleeping] = []

    def __call__(self, folder: Path) -> Any:
        self.made.append(Sleeping(folder))
        return self.made[-1]

    @property
    def processes(self) -> list[ProcessId]:
        return [stack.services[0].process for stack in self.made if stack.services[0].process is not None]


def other_process(folder: Path) -> subprocess.Popen[str]:
    """One that uses the stack until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", OTHER_PROCESS, str(folder)],
        env={"PYTHONPATH": f"{ROOT / 'tests'}:{ROOT / 'devtools'}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "attached\n"
    return process


def test_all_use_the_one_that_the_first_started(tmp_path: Path) -> None:
    make = Counted()
    first, second = SharedStack(tmp_path / "run", make), SharedStack(tmp_path / "run", make)
    assert first.attach() == second.attach()
    assert len(make.made) == 1
    [process] = make.processes
    second.release()
    assert process.alive()
    first.release()
    assert not process.alive()


def test_it_does_not_end_before_another_process_is_done_with_it(tmp_path: Path) -> None:
    make = Counted()
    ours = SharedStack(tmp_path / "run", make)
    ours.attach()
    [process] = make.processes
    with other_process(tmp_path / "run") as other:
        other.kill()  # its lock goes with it
    with other_process(tmp_path / "run") as other:
        assert process.alive()
        other.communicate("")
    ours.release()
    assert not process.alive()


def test_one_whose_starter_was_killed_is_followed_by_another(tmp_path: Path) -> None:
    with other_process(tmp_path / "run") as starter:
        starter.send_signal(signal.SIGKILL)
    make = Counted()
    ours = SharedStack(tmp_path / "run", make)
    assert wait_until(lambda: not _running_in(tmp_path), SECONDS)
    ours.attach()
    assert len(make.made) == 1
    ours.release()


def _running_in(folder: Path) -> bool:
    state = folder / "run" / "state.json"
    return any(ProcessId(**process).alive() for process in json.loads(state.read_text())["processes"])
