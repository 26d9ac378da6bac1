"""The operator and the command line as people start them: processes, with a configuration file or with words."""

import http.client
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from signal import SIGTERM, Signals
from typing import Any

import yaml

from integration.forking import OPERATOR, Forked, Forker
from integration.waiting import PATIENCE, eventually
from sluice.controller.lease_table.table import EPOCHS_BEGIN

FORKED_OPERATORS = Forker("sluice.controller.__main__:main", "sluice.controller.command")
FORKED_COMMANDS = Forker(
    "sluice.cli.main:app",
    "sluice.online.jobs.job_commands",
    "sluice.online.doctor.examination",
    "sluice.online.leases.lease_revocation",
    "sluice.online.leases.lease_list",
    "sluice.online.jobs.rendered_application",
    "sluice.online.installation.status",
    "sluice.online.jobs.suspension",
    "sluice.online.installation.uninstall",
)

LINKING = {"spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore"}


@dataclass
class OperatorProcess:
    kubeconfig: Path
    config: dict[str, Any]
    folder: Path
    name: str = "operator"
    environment: dict[str, str] = field(default_factory=dict)
    imports_itself: bool = False
    """Whether it is started as people do, whatever that costs: also where it is given more, which may count for imports."""
    process: subprocess.Popen[bytes] | Forked | None = field(default=None)

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"

    def start(self) -> None:
        file = self.folder / f"{self.name}.yaml"
        file.write_text(yaml.safe_dump(self.config), encoding="utf-8")
        arguments = ["--config", str(file)]
        environment = _environment(self.kubeconfig) | self.environment
        with self.log.open("ab") as log:
            if self.environment or self.imports_itself:
                self.process = subprocess.Popen(
                    [sys.executable, "-m", "sluice.controller", *arguments],
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
            else:
                self.process = FORKED_OPERATORS.start(["sluice-operator", *arguments], environment, log, log)

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def signal(self, number: Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(PATIENCE)

    def stop(self, number: Signals = SIGTERM) -> int:
        """Stops it as a deployment does, or somebody at a terminal."""
        self.signal(number)
        return self.ends()

    def ends(self) -> int:
        assert self.process is not None
        return self.process.wait(PATIENCE)

    def entries(self) -> list[dict[str, Any]]:
        """Its log, of which each line must be a JSON object."""
        return [_entry(line) for line in self.told().splitlines()]

    def says(self, text: str, *, seconds: float = PATIENCE, times: int = 1) -> None:
        def said() -> bool:
            found = self.told().count(text) >= times
            assert found or self.running, f"{self.name} ended:\n{self.told()[-3000:]}"
            return found

        eventually(said, f"{self.name} says {text!r} {times} times", seconds=seconds, show=self.told)

    def get(self, path: str) -> tuple[int, str]:
        """What its HTTP server answers."""
        found = re.search(r"on port (\d+)", self.told())
        assert found is not None, self.told()
        connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=30)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def metric(self, sample: str) -> float | None:
        """Returns the value of a sample, named as Prometheus writes it, labels included."""
        found = re.search(rf"^{re.escape(sample)} (\S+)$", self.get("/metrics")[1], re.MULTILINE)
        return float(found[1]) if found else None

    def told(self) -> str:
        return self.log.read_text(encoding="utf-8") if self.log.exists() else ""


def _entry(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError as error:
        raise AssertionError(f"a line of the log is not JSON: {line}") from error
    assert isinstance(entry, dict), line
    return entry


def first_epochs() -> tuple[int, int]:
    """What an operator's first epoch may be by the clock: the hour may just be over."""
    hours = int((datetime.now(UTC) - EPOCHS_BEGIN).total_seconds()) // 3600
    return hours, hours - 1


def _environment(kubeconfig: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(OPERATOR), "KUBECONFIG": str(kubeconfig)}


def sluice(kubeconfig: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return FORKED_COMMANDS.run(["sluice", *arguments], _environment(kubeconfig))


@dataclass
class Typed:
    """A command that somebody has typed, and watches."""

    process: Forked
    out: Path
    told: Path

    def says(self, text: str) -> None:
        """Waits until it has said this on standard error."""
        eventually(lambda: text in self.stderr, f"it says {text!r}", show=lambda: self.stderr)

    @property
    def stdout(self) -> str:
        return self.out.read_text(encoding="utf-8")

    @property
    def stderr(self) -> str:
        return self.told.read_text(encoding="utf-8")

    def ends(self) -> int:
        return self.process.wait(PATIENCE)


@contextmanager
def typed(kubeconfig: Path, folder: Path, *arguments: str) -> Iterator[Typed]:
    """Starts `sluice` with these arguments; it is killed at the end if it still runs."""
    out, told = folder / "stdout", folder / "stderr"
    with out.open("wb") as stdout, told.open("wb") as stderr:
        process = FORKED_COMMANDS.start(["sluice", *arguments], _environment(kubeconfig), stdout, stderr)
    try:
        yield Typed(process, out, told)
    finally:
        process.kill()
        process.wait(PATIENCE)


def configuration(namespaces: list[str], redis_url: str, **more: Any) -> dict[str, Any]:
    return {
        "namespace": namespaces[0],
        "watchNamespaces": namespaces,
        "redisUrl": redis_url,
        "httpAddress": "127.0.0.1:0",
        "runtimes": {
            "default": {"sparkVersion": "4.2.0", "deltaVersion": "4.4.0", "sparkConf": LINKING},
            "unsafe": {"sparkVersion": "4.2.0"},
        },
        **more,
    }
