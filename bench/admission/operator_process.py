"""The operator as a process of its own: what it says, and what it costs."""

import asyncio
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import aiohttp
import psutil
import yaml
from bench.admission.cluster import NAMESPACE, BenchError

from devenv.processes import Argument, last_lines, spawn

LEADS = "leading as"
LOST = "no longer leading"
LOOK_EVERY = 0.02
STOP_SECONDS = 30.0
METRICS_SECONDS = 30.0
LINE = 300
"""Characters that are shown of each of its last lines."""

_SERVED = re.compile(r"/metrics on port (\d+)")
_LINKING = {"spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore"}


def configuration(redis_url: str, *beside: str) -> dict[str, Any]:
    """The operator's configuration. `beside`: other namespaces whose jobs it runs, too."""
    return {
        "namespace": NAMESPACE,
        "watchNamespaces": [NAMESPACE, *beside],
        "redisUrl": redis_url,
        "httpAddress": "127.0.0.1:0",
        "runtimes": {"default": {"sparkVersion": "4.2.0", "deltaVersion": "4.4.0", "sparkConf": _LINKING}},
    }


class Operator:
    """As a context manager, it is killed at the end, however that comes."""

    def __init__(
        self,
        folder: Path,
        kubeconfig: Path,
        config: dict[str, Any],
        *,
        name: str,
        environment: dict[str, str],
        wrapped: tuple[str, ...] = (),
    ) -> None:
        self.log = folder / f"{name}.log"
        self._config = folder / f"{name}.yaml"
        self._config.write_text(yaml.safe_dump(config), encoding="utf-8")
        self._environment = {**os.environ, **environment, "KUBECONFIG": str(kubeconfig)}
        self._wrapped = wrapped
        self._process: subprocess.Popen[bytes] | None = None
        self.peak_bytes = 0

    def __enter__(self) -> "Operator":
        program: list[Argument] = [
            sys.executable,
            *self._wrapped,
            "-m",
            "sluice.controller",
            "--config",
            self._config,
        ]
        with self.log.open("ab") as log:
            self._process = spawn(program, log, environment=self._environment)
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise BenchError("the operator was not started")
        return self._process

    @property
    def runs(self) -> bool:
        return self.process.poll() is None

    def must_run(self) -> None:
        if not self.runs:
            said = "\n".join(line[:LINE] for line in last_lines(self.log).splitlines())
            raise BenchError(f"the operator ended with {self.process.returncode}:\n{said}")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    async def stop(self) -> None:
        """Stops it as a deployment does; kills it if it doesn't stop."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(self.process.wait, STOP_SECONDS)
        self.kill()

    async def says(self, text: str, seconds: float) -> bool:
        """Returns whether the text came to its log within that time."""
        end = monotonic() + seconds
        while self.times_said(text) == 0:
            self.must_run()
            if monotonic() > end:
                return False
            await asyncio.sleep(LOOK_EVERY)
        return True

    def times_said(self, text: str) -> int:
        return self.log.read_text(encoding="utf-8", errors="replace").count(text)

    @property
    def times_lost(self) -> int:
        return self.times_said(LOST)

    def cpu_seconds(self) -> float:
        """CPU seconds, including processes that it started and that have ended."""
        self.must_run()
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)

    @property
    def computes(self) -> bool:
        """Whether its main thread has something to compute now, even if it waits for a core."""
        self.must_run()
        return bool(psutil.Process(self.process.pid).status() == psutil.STATUS_RUNNING)

    def look_at_memory(self) -> None:
        if self.runs:
            self.peak_bytes = max(self.peak_bytes, psutil.Process(self.process.pid).memory_info().rss)

    def memory(self) -> tuple[int, int]:
        """Memory in bytes: what is resident now, and how much of that is its own alone."""
        self.must_run()
        found = psutil.Process(self.process.pid).memory_full_info()
        return int(found.rss), int(found.uss)

    async def metrics(self) -> str:
        """What it says of itself; empty if it doesn't answer in time."""
        served = _SERVED.search(self.log.read_text(encoding="utf-8", errors="replace"))
        if served is None or not self.runs:
            return ""
        url, patience = f"http://127.0.0.1:{served[1]}/metrics", aiohttp.ClientTimeout(METRICS_SECONDS)
        try:
            async with aiohttp.ClientSession(timeout=patience) as session, session.get(url) as answer:
                return await answer.text()
        except (aiohttp.ClientError, TimeoutError):
            return ""
