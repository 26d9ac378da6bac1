"""One long-running process of the local stack, which a test may stop, kill, freeze and start again."""

import signal
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from devenv.errors import DevError
from devenv.processes import Argument, ProcessId, last_lines, spawn, wait_until

READY_SECONDS = 90.0
PAUSE = 0.01
"""Seconds between looks: tests start a Redis again and again, which is ready within some hundredths of a second."""
STOP_SECONDS = 10.0

# The kernel ties a child's death signal to the thread that started it, so one thread that lives as long as the
# program starts them all: a test may restart a service from a thread that ends before the test does.
_starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="service-starter")


class Service:
    """A process with its log, its way to tell that it is ready, and its identity while it runs."""

    def __init__(
        self,
        name: str,
        arguments: Sequence[Argument],
        log: Path,
        ready: Callable[[], bool],
        *,
        outlives_us: bool = False,
        pause: float = PAUSE,
    ) -> None:
        self.name = name
        self.arguments = [str(argument) for argument in arguments]
        self.log = log
        self.ready = ready
        self.outlives_us = outlives_us
        self.pause = pause
        self.process: ProcessId | None = None
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def alive(self) -> bool:
        if self._child is not None:
            self._child.poll()
        return self.process is not None and self.process.alive()

    def launch(self) -> None:
        """Starts the process without waiting for it to be of use."""
        if not self.alive:
            self._child = _starter.submit(self._spawn).result()
            self.process = ProcessId.of(self._child.pid)

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as output:
            return spawn(self.arguments, output, own_session=True, outlives_us=self.outlives_us)

    def wait_ready(self) -> None:
        came = wait_until(lambda: not self.alive or self.ready(), READY_SECONDS, self.pause)
        if not came or not self.alive:
            state = f"wasn't ready after {READY_SECONDS:.0f} s" if self.alive else "ended while starting"
            raise DevError(f"{self.name} {state}; the end of its log {self.log}:\n{last_lines(self.log)}")

    def start(self) -> None:
        self.launch()
        self.wait_ready()

    def stop(self) -> None:
        """Lets it end in order."""
        if self.process is not None:
            self.process.end(STOP_SECONDS)
        self._reap()

    def kill(self) -> None:
        """Ends it as a crash would."""
        if self.process is not None:
            self.process.send(signal.SIGKILL)
        self._reap()

    def restart(self) -> None:
        self.stop()
        self.start()

    def freeze(self) -> None:
        """Makes it hang: connections stay open, nothing is answered."""
        if self.process is not None:
            self.process.send(signal.SIGSTOP)

    def thaw(self) -> None:
        if self.process is not None:
            self.process.send(signal.SIGCONT)

    def _reap(self) -> None:
        if self._child is not None:
            self._child.wait(STOP_SECONDS)
        elif self.process is not None:
            wait_until(lambda: not self.alive, STOP_SECONDS)
        self.process = None
