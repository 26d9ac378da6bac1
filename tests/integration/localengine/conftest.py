"""A local engine for each test, in a namespace of its own, and the applications that it is to run.

Its drivers are a shell that has one child, as spark-submit has one: a JVM that does nothing but start a program costs a second.
Where spark-submit's own exit codes, words and signals count, a test asks for it.
"""

import os
import shlex
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from integration.forking import Forked
from integration.localengine.forked_engines import FORKED_ENGINES
from integration.objects import Objects
from integration.waiting import PATIENCE, eventually
from sluice.api.base import Json

# For a JVM that does nothing but start and run the program below.
BRIEF_JVM = os.environ.get("SLUICE_JVM_OPTIONS", "")

# Writes down that it runs, waits until it is let go, leaves a termination message, ends as it is told.
PROGRAM = """
import os, sys, time
from pathlib import Path
here, code = Path(sys.argv[1]), int(sys.argv[2])
with (here / "runs").open("a") as runs:
    runs.write(f"{os.getpid()} {os.environ.get('GREETING')}\\n")
while not (here / "go").exists():
    time.sleep(0.05)
print("the program ends now", flush=True)
for _ in range(200):  # Spark passes a program's last words on, but does not wait until it has done so
    if "the program ends now" in Path(os.environ["SLUICE_TERMINATION_LOG"]).with_name("driver.log").read_text():
        break
    time.sleep(0.05)
if code == 0:
    Path(os.environ["SLUICE_TERMINATION_LOG"]).write_text("all is well")
sys.exit(code)
"""

# The program begins at the first word that names one.
STAND_IN = f"""#!/bin/sh
while [ "${{1%.py}}" = "$1" ]; do shift; done
{shlex.quote(sys.executable)} "$@"
exit $?
"""


@dataclass
class Engine:
    """What it has done so far is in its log."""

    kubeconfig: Path
    namespace: str
    work: Path
    log: Path
    has_spark_submit: bool = False
    """Whether its drivers are started by the real one."""
    process: Forked | None = field(default=None)
    former_starts: int = 0

    def start(self, *options: str) -> None:
        self.former_starts = self.starts()
        arguments = [
            *("localengine", "--namespace", self.namespace),
            *("--kubeconfig", str(self.kubeconfig), "--work", str(self.work)),
            *("--node", self.namespace, "--stop-drivers", *options),
            *(() if self.has_spark_submit else ("--spark-submit", str(self._stand_in()))),
        ]
        with self.log.open("ab") as log:
            self.process = FORKED_ENGINES.start(arguments, os.environ, log, log)

    def _stand_in(self) -> Path:
        program = self.log.with_name("spark-submit")
        if not program.exists():
            program.write_text(STAND_IN, encoding="utf-8")
            program.chmod(0o755)
        return program

    def end(self, how: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(how)
        return self.process.wait(PATIENCE)

    def told(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    def starts(self) -> int:
        """How often it has come so far that it works."""
        return self.told().count("process mode")

    def works(self) -> bool:
        """Whether the process that was started last has come so far: before, it doesn't handle SIGTERM."""
        return self.starts() > self.former_starts

    def driver_processes(self) -> list[int]:
        """Every process that some driver of this engine consists of, however it came to be."""
        drivers = self.work / self.namespace / "drivers"
        uids = [folder.name for folder in drivers.iterdir()] if drivers.exists() else []
        return [
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit()
            and any(f"LOCALENGINE_DRIVER={uid}" in _environment(entry) for uid in uids)
        ]


@dataclass(frozen=True)
class Applications:
    """Makes SparkApplications whose program is under the test's control, and looks at what became of them."""

    objects: Objects
    folder: Path

    def create(self, name: str, *, code: int = 0, finalizers: tuple[str, ...] = (), **changes: Any) -> None:
        self._place(name).mkdir()
        program = self.folder / "program.py"
        program.write_text(PROGRAM)
        variables = [{"name": "GREETING", "value": "hello"}]
        container = {
            "name": "spark-kubernetes-driver",
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "env": changes.pop("env", variables),
        }
        metadata = {"finalizers": list(finalizers), "annotations": {"sluice.dev/token": "7"}}
        pod_spec = {"containers": [container], **changes.pop("pod_spec", {})}
        spec = {
            "type": "Python",
            "mode": "cluster",
            "sparkVersion": "4.2.0",
            "mainApplicationFile": f"local://{program}",
            "arguments": [str(self._place(name)), str(code)],
            "restartPolicy": {"type": "Never"},
            "driver": {"template": {"metadata": metadata, "spec": pod_spec}},
            "executor": {"instances": 1},
            "sparkConf": {"spark.driver.extraJavaOptions": BRIEF_JVM},
            **changes,
        }
        labels = {"sluice.dev/job": "some-job"}
        self.objects.create(
            "sparkapplication",
            {
                "apiVersion": "sparkoperator.k8s.io/v1beta2",
                "kind": "SparkApplication",
                "metadata": {"name": name, "labels": labels, "finalizers": list(finalizers)},
                "spec": spec,
            },
        )

    def let_go(self, name: str) -> None:
        (self._place(name) / "go").touch()

    def runs(self, name: str) -> list[str]:
        """A line for each time the program was started."""
        record = self._place(name) / "runs"
        return record.read_text().splitlines() if record.exists() else []

    def delete(self, kind: str, name: str, *, grace_seconds: int | None = None) -> None:
        self.objects.delete(kind, name, grace_seconds=grace_seconds)

    def suspend(self, name: str) -> None:
        self.objects.patch("sparkapplication", name, {"spec": {"suspend": True}})

    def resume(self, name: str) -> None:
        self.objects.patch("sparkapplication", name, {"spec": {"suspend": False}})

    def release(self, kind: str, name: str) -> None:
        self.objects.patch(kind, name, {"metadata": {"finalizers": None}})

    def get(self, kind: str, name: str) -> Json | None:
        return self.objects.get(kind, name)

    def pod(self, name: str) -> Json | None:
        return self.get("pod", f"{name}-driver")

    def state(self, name: str) -> str | None:
        application = self.get("sparkapplication", name)
        if application is None:
            return None
        state: str = application.get("status", {}).get("applicationState", {}).get("state", "")
        return state

    def terminated(self, name: str) -> Json | None:
        """How the driver's container ended, if the pod says so."""
        pod = self.pod(name) or {}
        [container] = pod.get("status", {}).get("containerStatuses") or [{}]
        ended: Json | None = container.get("state", {}).get("terminated")
        return ended

    def reaches(self, name: str, state: str) -> Json:
        """The application once it is in the state."""
        eventually(
            lambda: self.state(name) == state,
            f"{name} is {state}",
            show=lambda: (self.get("sparkapplication", name), self.pod(name)),
        )
        application = self.get("sparkapplication", name)
        assert application is not None
        return application

    def runs_its_program(self, name: str) -> None:
        eventually(
            lambda: self.runs(name),
            f"the program of {name} starts",
            show=lambda: (self.state(name), self.pod(name)),
        )

    def _place(self, name: str) -> Path:
        return self.folder / name


@pytest.fixture
def engine(kubeconfig: Path, namespace: str, tmp_path: Path) -> Iterator[Engine]:
    """Started by the test, so that it can choose the options; ended here with all its drivers."""
    engine = Engine(kubeconfig, namespace, tmp_path / "work", tmp_path / "engine.log")
    yield engine
    if engine.process is None or engine.process.poll() is not None:
        engine.start()
    eventually(engine.works, "the engine has started", show=engine.told)
    code = engine.end(signal.SIGTERM)
    told = engine.told()
    assert code == 0, told
    assert "Traceback" not in told, told
    assert engine.driver_processes() == [], told


@pytest.fixture
def applications(objects: Objects, tmp_path: Path) -> Applications:
    return Applications(objects, tmp_path)


def _environment(process: Path) -> str:
    try:
        return (process / "environ").read_text(errors="replace")
    except OSError:  # it has ended since the folder was listed
        return ""
