"""One local stack for all processes of a test run: the first that needs it starts it and outlasts the others.

Who uses the stack holds a shared lock, which the kernel takes from a process that is killed; who started it ends it once it
gets the lock alone. If that one is killed, the stack dies with it, and who asks next starts another.
"""

import fcntl
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import pytest

from devenv.processes import ProcessId
from devenv.stack import Stack
from devenv.toolchain import cache, ensure_stack_tools


@dataclass(frozen=True)
class Access:
    """The way to a stack that others use, too: nothing to stop, kill or freeze it with."""

    kubeconfig: Path
    kubectl: Path


class SharedStack:
    """This process's part in the stack of the folder, which all processes of the run know."""

    def __init__(self, folder: Path, make: Callable[[Path], Stack]) -> None:
        self._folder = folder
        self._make = make
        self._state = folder / "state.json"
        self._use: IO[str] | None = None
        self._ours: Stack | None = None

    def attach(self) -> Access:
        self._folder.mkdir(parents=True, exist_ok=True)
        with _locked(self._folder / "starting.lock"):
            self._use = (self._folder / "used.lock").open("w", encoding="utf-8")
            fcntl.flock(self._use, fcntl.LOCK_SH)
            found = self._running()
            if found is None:
                found = self._start()
        return found

    def release(self) -> None:
        if self._use is None:
            return
        if self._ours is not None:
            fcntl.flock(self._use, fcntl.LOCK_EX)
            self._state.unlink()
            end(self._ours)
            self._ours = None
        self._use.close()
        self._use = None

    def _running(self) -> Access | None:
        try:
            state = json.loads(self._state.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        if not all(ProcessId(**process).alive() for process in state["processes"]):
            return None
        return Access(Path(state["kubeconfig"]), Path(state["kubectl"]))

    def _start(self) -> Access:
        shutil.rmtree(self._folder / "stack", ignore_errors=True)
        (self._folder / "stack").mkdir()
        stack = self._make(self._folder / "stack")
        stack.start()
        self._ours = stack
        processes = [asdict(service.process) for service in stack.services if service.process is not None]
        state = {
            "kubeconfig": str(stack.kubeconfig),
            "kubectl": str(stack.kubectl),
            "processes": processes,
        }
        self._state.write_text(json.dumps(state), encoding="utf-8")
        return Access(stack.kubeconfig, stack.kubectl)


def end(stack: Stack) -> None:
    """Kills the stack at once, since nothing that it stored is needed any more."""
    for service in reversed(stack.services):
        service.thaw()
        service.kill()
    shutil.rmtree(stack.folder / "etcd", ignore_errors=True)


@contextmanager
def unshared_stack(folder: Path) -> Iterator[Stack]:
    stack = Stack(folder, ensure_stack_tools(cache()))
    stack.start()
    try:
        yield stack
    finally:
        end(stack)


def folder_of_the_run(config: pytest.Config, temporary: pytest.TempPathFactory) -> Path:
    """The same for all processes that share the run's tests."""
    ours = temporary.getbasetemp()
    return ours.parent if hasattr(config, "workerinput") else ours


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    with file.open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
