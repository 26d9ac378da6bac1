"""The cluster seen from outside: start it, run commands inside of it, give it images, end it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Self

from cluster import certificates
from cluster.layout import Layout
from devenv.errors import DevError
from devenv.images import Image
from devenv.processes import Argument, ProcessId, last_lines, spawn, wait_until
from devenv.project import ROOT

UP_SECONDS = 180.0


class Cluster:
    """One cluster in a folder; as a context manager it ends with the block.

    Nothing of it can be reached but through `popen` and `run`.
    """

    def __init__(self, folder: Path, *, outlives_us: bool = False) -> None:
        self._layout = Layout.of(folder)
        self._outlives_us = outlives_us
        self._namespaces: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    @property
    def kubeconfig(self) -> Path:
        return self._layout.kubeconfig

    @property
    def logs(self) -> Path:
        return self._layout.logs

    def program(self, name: str) -> Path:
        return self._layout.program(name)

    def up(self, image: Image) -> None:
        layout = self._layout
        if self._first_process() is not None:
            raise DevError(
                f"A cluster runs in {layout.folder} already: end it with `python -m cluster down`."
            )
        shutil.rmtree(layout.folder, ignore_errors=True)
        layout.logs.mkdir(parents=True)
        certificates.issue(layout)
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "devtools")}
        inside = [sys.executable, "-m", "cluster.inside", str(layout.folder), image.name]
        with (layout.logs / "up").open("wb") as log:
            self._namespaces = spawn(
                ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", *inside],
                log,
                environment=environment,
                own_session=True,
                outlives_us=self._outlives_us,
            )
        layout.process.write_text(json.dumps(asdict(ProcessId.of(self._namespaces.pid))))
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="image-import") as beside:
            loading = beside.submit(self._load_when_possible, image.archive, self._namespaces)
            self._wait_until_ready(self._namespaces)
            loading.result()

    def popen(
        self, command: Sequence[Argument], log: Path, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Starts a command inside that runs on, with its output in a log; it dies with the cluster at the latest."""
        with log.open("ab") as output:
            return spawn(self.command(command), output, environment=environment)

    def run(self, *command: Argument, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Runs a command inside to its end; the caller looks at returncode, stdout and stderr."""
        return subprocess.run(self.command(command), input=stdin, capture_output=True, text=True, check=False)

    def kubectl(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return self.run(self.program("kubectl"), f"--kubeconfig={self.kubeconfig}", *arguments, stdin=stdin)

    def helm(self, *arguments: Argument) -> subprocess.CompletedProcess[str]:
        return self.run(self.program("helm"), f"--kubeconfig={self.kubeconfig}", *arguments)

    def load(self, archive: Path) -> None:
        done = self.run(
            self.program("ctr"),
            "-a",
            self._layout.containerd_socket,
            "-n",
            "k8s.io",
            "images",
            "import",
            archive,
        )
        if done.returncode != 0:
            raise DevError(f"containerd refused {archive}: {done.stderr.strip()}")

    def _load_when_possible(self, archive: Path, namespaces: subprocess.Popen[bytes]) -> None:
        """Loads it beside the start of the rest: containerd comes long before the node is ready."""
        wait_until(
            lambda: self._layout.containerd_socket.exists() or namespaces.poll() is not None, UP_SECONDS
        )
        self.load(archive)

    def down(self) -> bool:
        """Ends every process of the cluster and removes its folder; says whether there was one."""
        first = self._first_process()
        if first is not None:
            with suppress(ProcessLookupError):
                os.kill(first, signal.SIGKILL)
            recorded = ProcessId(**json.loads(self._layout.process.read_text()))
            if self._namespaces is not None:
                self._namespaces.wait(30)
            elif not wait_until(lambda: not recorded.alive(), 30):
                raise DevError(f"process {recorded.pid} of the cluster in {self._layout.folder} doesn't end.")
        shutil.rmtree(self._layout.folder, ignore_errors=True)
        return first is not None

    def _wait_until_ready(self, namespaces: subprocess.Popen[bytes]) -> None:
        ended = False

        def over() -> bool:
            nonlocal ended
            ended = namespaces.poll() is not None
            return ended or self._layout.ready.exists()

        if not wait_until(over, UP_SECONDS, 0.2) or ended:
            told = last_lines(self._layout.logs / "up")
            self.down()
            raise DevError(f"The cluster didn't come up:\n{told}")

    def command(self, command: Sequence[Argument]) -> list[str]:
        """The command line that runs a command inside."""
        first = self._first_process()
        if first is None:
            raise DevError(f"No cluster runs in {self._layout.folder}: start it with `python -m cluster up`.")
        into = ["nsenter", "--target", str(first), "--net", "--mount", "--pid", f"--wd={Path.cwd()}"]
        return [*into, *map(str, command)]

    def _first_process(self) -> int | None:
        """The process that is number 1 inside, by its number outside."""
        try:
            recorded = ProcessId(**json.loads(self._layout.process.read_text()))
            children = Path(f"/proc/{recorded.pid}/task/{recorded.pid}/children").read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return int(children[0]) if recorded.alive() and children else None
