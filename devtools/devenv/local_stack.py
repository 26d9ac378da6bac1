"""The stack that ./dev up leaves running and ./dev down stops, known across commands by its state file."""

import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path

from devenv.cache import Cache
from devenv.processes import ProcessId
from devenv.progress import step
from devenv.project import checkout_name
from devenv.service import STOP_SECONDS
from devenv.stack import Ports, Stack, StackTools


class LocalStack:
    """A stack under a name, by default one a checkout; every process is recorded as soon as it runs, so none is ever lost."""

    def __init__(self, cache: Cache, name: str | None = None) -> None:
        self._cache = cache
        self._name = name or checkout_name()
        self.folder = cache.folder / "run" / self._name
        self.kubeconfig = self.folder / "kubeconfig"
        self._state = self.folder / "state.json"

    @classmethod
    def of_this_shell(cls, cache: Cache) -> "LocalStack":
        """The one whose kubeconfig the shell exports, as `up` says to; else the checkout's."""
        folder = Path(os.environ.get("KUBECONFIG", "")).parent
        return cls(cache, folder.name if folder.parent == cache.folder / "run" else None)

    @property
    def redis_url(self) -> str:
        return f"redis://127.0.0.1:{self._ports().redis}/0"

    def running(self) -> bool:
        """Whether all of it runs."""
        processes = self._processes()
        return (
            self.kubeconfig.exists() and len(processes) > 0 and all(process.alive() for process in processes)
        )

    def up(self, tools: StackTools) -> None:
        """Starts the stack, or installs the CRDs anew in the one that runs."""
        with self._cache.locked(f"run-{self._name}"):
            if self.running():
                Stack(self.folder, tools, self._ports(), outlives_us=True).install_crds()
                return
            self._stop()
            with step("Starting etcd, Redis, kube-apiserver and kube-controller-manager"):
                self._start(Stack(self.folder, tools, outlives_us=True))

    def down(self) -> int:
        """Stops every process that `up` started; tells how many there were."""
        with self._cache.locked(f"run-{self._name}"):
            return self._stop()

    def _start(self, stack: Stack) -> None:
        try:
            stack.start(on_launch=lambda: self._record(stack))
        except BaseException:
            shutil.rmtree(self.folder / "etcd", ignore_errors=True)
            self._state.unlink(missing_ok=True)
            raise

    def _record(self, stack: Stack) -> None:
        processes = [service.process for service in stack.services if service.process is not None]
        content = {"ports": asdict(stack.ports), "processes": [asdict(process) for process in processes]}
        self._state.write_text(json.dumps(content, indent=1), encoding="utf-8")

    def _ports(self) -> Ports:
        return Ports(**json.loads(self._state.read_text(encoding="utf-8"))["ports"])

    def _processes(self) -> list[ProcessId]:
        try:
            content = json.loads(self._state.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return []
        return [ProcessId(**process) for process in content["processes"]]

    def _stop(self) -> int:
        processes = [process for process in self._processes() if process.alive()]
        for process in reversed(processes):
            process.end(STOP_SECONDS)
        shutil.rmtree(self.folder, ignore_errors=True)
        return len(processes)
