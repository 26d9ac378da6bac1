"""Runs one command and measures all that came of it: python -m devenv.testing.measured REPORT GRACE PATIENCE COMMAND...

Every process below the command is counted, also one that its parent left: this process adopts it, waits GRACE seconds
for its end, ends it, and names it. A first interrupt is passed on once, and the command is killed if it doesn't end
within PATIENCE seconds. REPORT gets a Measurement as JSON.
"""

import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType

from devenv.processes import adopt_orphans, descendants, end_descendants, spawn

PAUSE_SECONDS = 0.1
SAMPLE_EVERY_SECONDS = 5.0
LOOP = 500_000
# CPU time of the loop below on the machine on which the sections' budgets were set, while nothing else ran.
USUAL_LOOP_SECONDS = 0.0092


@dataclass(frozen=True)
class Measurement:
    """What a command cost. `slowness`: how much longer this machine computes than the one of the budgets, at least 1, as
    a mean over the command's time: a machine whose cores are shared changes its pace while it runs."""

    code: int
    cpu_seconds: float
    slowness: float
    left_behind: list[str]


class Command:
    """The command while it runs."""

    def __init__(self, arguments: list[str], patience: float) -> None:
        self._process = spawn(arguments, own_session=True)
        self._patience = patience
        self._killed_at: float | None = None
        self.code: int | None = None

    def interrupt(self, _number: int, _frame: FrameType | None) -> None:
        """Interrupts the command: in a session of its own it didn't see Ctrl-C. One interrupt lets it tear its fixtures down."""
        if self._killed_at is None and self.code is None:
            self._killed_at = time.monotonic() + self._patience
            self._send(signal.SIGINT)

    def look(self) -> None:
        """Counts what has ended, and kills what didn't heed an interrupt."""
        if self._killed_at is not None and time.monotonic() > self._killed_at and self.code is None:
            self._send(signal.SIGKILL)
        for pid, status in _reap():
            if pid == self._process.pid:
                self.code = os.waitstatus_to_exitcode(status)
                self._process.returncode = self.code

    def _send(self, number: signal.Signals) -> None:
        """Sends a signal. Popen's own way would first look whether the process has ended, and so wait for it in our place."""
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, number)


def measure(arguments: list[str], grace: float, patience: float) -> Measurement:
    adopt_orphans()
    command = Command(arguments, patience)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, command.interrupt)
    samples: list[float] = []
    sampled = 0.0
    while command.code is None:
        command.look()
        if time.monotonic() - sampled > SAMPLE_EVERY_SECONDS:
            samples.append(_loop_seconds())
            sampled = time.monotonic()
        time.sleep(PAUSE_SECONDS)
    left_behind = _end_what_is_left(grace)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Measurement(
        code=command.code,
        cpu_seconds=used.ru_utime + used.ru_stime,
        slowness=max(1.0, statistics.fmean(samples) / USUAL_LOOP_SECONDS) if samples else 1.0,
        left_behind=left_behind,
    )


def _end_what_is_left(grace: float) -> list[str]:
    """A JVM notices only after a moment that the Python that it served is gone."""
    until = time.monotonic() + grace
    while descendants() and time.monotonic() < until:
        _reap()
        time.sleep(PAUSE_SECONDS)
    left = list(end_descendants().values())
    _reap()
    return left


def _reap() -> list[tuple[int, int]]:
    """Reaps children that ended, adopted ones included: only what has been waited for counts as used."""
    ended: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended.append((pid, status))


def _loop_seconds() -> float:
    began = time.thread_time()
    for _ in range(LOOP):
        pass
    return time.thread_time() - began


def main() -> int:
    report, grace, patience, *arguments = sys.argv[1:]
    measurement = measure(arguments, float(grace), float(patience))
    Path(report).write_text(json.dumps(asdict(measurement)), encoding="utf-8")
    return measurement.code if measurement.code >= 0 else 128 - measurement.code


def read(report: Path, process: subprocess.Popen[bytes]) -> Measurement:
    """Returns what it wrote, or what can be said of one that was killed before it could write."""
    try:
        return Measurement(**json.loads(report.read_text(encoding="utf-8")))
    except (FileNotFoundError, json.JSONDecodeError):
        return Measurement(process.returncode or 1, 0.0, 1.0, [])


if __name__ == "__main__":
    sys.exit(main())
