"""Programs of ours without the second of CPU in which Python imports what they are made of, which most of them would pay for alone.

A process that has imported it forks one for each start. What it is given, how it is signalled and how it ends is its own; what
it imports is what a Python of its own would import, which the tests of entry points and of early signals start as people do.
"""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from integration.waiting import PATIENCE

PREPARED = Path(__file__).with_name("prepared.py")
ROOT = Path(__file__).parents[2]
OPERATOR = ROOT / "operator"
MILLISECOND = 1000


class Forked:
    """One that was forked, with what tests ask of a `subprocess.Popen`. Its identity is a descriptor, which no reused pid fakes."""

    def __init__(self, forker: "Forker", pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._forker = forker
        self._descriptor = os.pidfd_open(pid)  # it stays a zombie until we ask for its end
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        return self._ended_within(0)

    def wait(self, timeout: float) -> int:
        code = self._ended_within(timeout)
        if code is None:
            raise subprocess.TimeoutExpired([str(self.pid)], timeout)
        return code

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: signal.Signals) -> None:
        with self._lock:
            if self.returncode is None:
                signal.pidfd_send_signal(self._descriptor, number)

    def _ended_within(self, seconds: float) -> int | None:
        if self.returncode is None:
            poll = select.poll()
            poll.register(self._descriptor, select.POLLIN)
            if poll.poll(seconds * MILLISECOND):
                self._reap()
        return self.returncode

    def _reap(self) -> None:
        with self._lock:
            if self.returncode is None:
                self.returncode = self._forker.ask({"reap": self.pid})
                os.close(self._descriptor)


def _all_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


class Forker:
    """Starts one program, `MODULE:FUNCTION`, again and again, from a process that has imported it and these modules."""

    def __init__(self, program: str, *imported: str, path: str = str(OPERATOR)) -> None:
        """`path`: where Python finds the program, as in `PYTHONPATH`."""
        self._command = [sys.executable, str(PREPARED), program, *imported]
        self._path = path
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    def start(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        stdout: IO[bytes],
        stderr: IO[bytes],
        *,
        folder: str | None = None,
    ) -> Forked:
        """`arguments`: the first is what it is called."""
        given = {
            "arguments": list(arguments),
            "environment": dict(environment),
            "folder": folder or str(Path.cwd()),
        }
        return Forked(self, self.ask(given, stdout.fileno(), stderr.fileno()))

    def run(
        self, arguments: Sequence[str], environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """What it says and how it ends."""
        with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
            process = self.start(arguments, environment, stdout, stderr)
            try:
                code = process.wait(PATIENCE)
            finally:
                process.kill()
                process.wait(PATIENCE)
            said = [_all_of(file) for file in (stdout, stderr)]
        return subprocess.CompletedProcess(arguments, code, *said)

    def ask(self, question: Mapping[str, object], *descriptors: int) -> int:
        with self._lock:
            if self._socket is None:
                self._socket = self._launched()
            socket.send_fds(self._socket, [json.dumps(question).encode()], descriptors)
            return int(self._socket.recv(100))

    def _launched(self) -> socket.socket:
        """It ends when its questions do, so at the latest with us."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(
                self._command,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": self._path, "RUST_LOG": "off"},
                start_new_session=True,  # who interrupts us lets us end what it has forked
            )

        def end() -> None:
            ours.close()
            process.wait(PATIENCE)

        atexit.register(end)
        return ours
