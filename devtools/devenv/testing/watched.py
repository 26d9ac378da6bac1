"""Commands whose output is shown line by line, each with the name of its section, and kept."""

import fcntl
import os
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from devenv.errors import DevError
from devenv.processes import spawn
from devenv.progress import silence
from devenv.project import ROOT
from devenv.testing.measured import Measurement, read

INTERRUPT_PATIENCE = 30.0
GRACE_SECONDS = 10.0
LOOK_SECONDS = 0.2
MOST_AT_ONCE = 65536
# After its own patience with the command, what measures it ends what was left and writes its report.
EXTRA_PATIENCE = 20.0

_screen = threading.Lock()


@dataclass(frozen=True)
class Watch:
    """How commands of one section are shown and kept, and how they hear that the run is over."""

    prefix: str
    log: Path
    stop: threading.Event

    def run(self, command: Sequence[str], variables: Mapping[str, str], report: Path) -> Measurement:
        """Runs a command to its end and tells what it cost."""
        report.unlink(missing_ok=True)
        arguments = [str(report), str(GRACE_SECONDS), str(INTERRUPT_PATIENCE), *command]
        with self.log.open("ab") as log:
            log.write(f"$ {' '.join(command)}\n".encode(errors="backslashreplace"))
            process = spawn(
                [sys.executable, "-P", "-m", "devenv.testing.measured", *arguments],
                subprocess.PIPE,
                environment=dict(variables),
                folder=ROOT,
                own_session=True,
            )
            output = _Lines(self.prefix, log)
            assert process.stdout is not None  # noqa: S101 - it was asked for
            with process.stdout as pipe:
                try:
                    self._pump(process, pipe, output)
                    output.end()
                except BaseException:
                    self.stop.set()
                    self._pump(process, pipe, output)
                    output.end()
                    raise
        return read(report, process)

    def _pump(self, process: subprocess.Popen[bytes], pipe: IO[bytes], output: "_Lines") -> None:
        """Until the process has ended: what it left behind may hold its output open for ever."""
        killed_at: float | None = None
        while process.poll() is None:
            ready = select.select([pipe], [], [], LOOK_SECONDS)[0]
            content = os.read(pipe.fileno(), MOST_AT_ONCE) if ready else b""
            output.write(content)
            if ready and not content:
                time.sleep(LOOK_SECONDS)  # it closed its output and still runs
            if self.stop.is_set() and killed_at is None:
                killed_at = time.monotonic() + INTERRUPT_PATIENCE + GRACE_SECONDS + EXTRA_PATIENCE
                process.send_signal(signal.SIGINT)
            if killed_at is not None and time.monotonic() > killed_at:
                process.kill()
        output.write(os.read(pipe.fileno(), _waiting_in(pipe)))


def _waiting_in(pipe: IO[bytes]) -> int:
    """So many bytes were written and not yet read: who still holds the pipe may go on writing for ever."""
    answer = fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))
    return int.from_bytes(answer, sys.byteorder)


class _Lines:
    """Whole lines onto the screen, but for endless ones, everything into the log at once."""

    def __init__(self, prefix: str, log: IO[bytes]) -> None:
        self._prefix = prefix.encode()
        self._log = log
        self._rest = b""

    def write(self, content: bytes) -> None:
        self._log.write(content)
        self._log.flush()
        *lines, self._rest = (self._rest + content).split(b"\n")
        if len(self._rest) > MOST_AT_ONCE:
            lines.append(self._rest)
            self._rest = b""
        self._show(lines)

    def end(self) -> None:
        self._show([self._rest] if self._rest else [])
        self._rest = b""

    def _show(self, lines: list[bytes]) -> None:
        if lines:
            with _screen:
                try:
                    sys.stdout.flush()
                    sys.stdout.buffer.write(b"".join(self._prefix + line + b"\n" for line in lines))
                    sys.stdout.flush()
                except OSError as error:
                    silence(sys.stdout)
                    raise DevError(
                        f"the tests were stopped, because their output couldn't be shown any more: {error}"
                    ) from error
