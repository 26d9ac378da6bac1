"""Runs driver programs one after the other in one JVM, for tests that do not ask how a driver starts, ends or dies.

A driver costs about ten seconds of CPU, most of them for the start of its JVM. `spark-submit` starts the server as it starts a
driver. The server then runs each program in its Python, as `spark-submit` would: with arguments, variables and settings of
the program, and with a Spark context that the program starts and stops itself.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pyspark

PROGRAM = Path(__file__).with_name("driver_server_program.py")
START_SECONDS = 240


@dataclass
class Running:
    """A program that the server runs. Its streams are the files stdout and stderr in the folder."""

    server: DriverServer
    folder: Path
    returncode: int | None = None

    @property
    def stdout(self) -> str:
        return (self.folder / "stdout").read_text()

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr").read_text()

    def has_ended(self) -> bool:
        """Whether the program has ended, or the server with it."""
        return self.returncode is not None or self.server.has_answered()

    def wait(self, seconds: float = 500) -> int:
        if self.returncode is None:
            self.returncode = self.server.answer(seconds)
        return self.returncode


@dataclass
class DriverServer:
    """A JVM with these settings and variables. The first program starts the JVM; a program that never ends costs it its life."""

    settings: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None
    _socket: socket.socket | None = None
    _folder: Path | None = None
    _is_busy: bool = False

    def start(
        self,
        folder: Path,
        file: Path,
        arguments: Sequence[str],
        *,
        settings: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Running:
        """Starts a Python file in this folder. `settings`: those that the program has beside the server's."""
        if self._is_busy:  # an earlier test did not come to its end
            self.close()
        request = {
            "file": str(file),
            "arguments": list(arguments),
            "settings": dict(settings or {}),
            "environment": {**os.environ, **self.environment, **(environment or {})},
            "folder": str(folder),
        }
        self._connected().sendall(json.dumps(request).encode() + b"\n")
        self._is_busy = True
        return Running(self, folder)

    def has_answered(self) -> bool:
        """Whether an answer is there, or none can come any more."""
        return bool(select.select([self._connected()], [], [], 0)[0])

    def answer(self, seconds: float) -> int:
        """The exit code of the program that runs."""
        connection = self._connected()
        connection.settimeout(seconds)
        line = b""
        while not line.endswith(b"\n"):
            piece = connection.recv(1)
            assert piece, f"the driver server ended: {self.log()[-4000:]}"
            line += piece
        self._is_busy = False
        return int(line)

    def log(self) -> str:
        """What the JVM wrote, for all programs together."""
        assert self._folder is not None, "the server has not been started"
        return (self._folder / "log").read_text(errors="replace")

    def signal(self, number: signal.Signals) -> None:
        """Sends it to the JVM and to the Python that it started."""
        assert self._process is not None, "the server has not been started"
        os.killpg(self._process.pid, number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(60)
        if self._socket is not None:
            self._socket.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._process = self._socket = self._folder = None
        self._is_busy = False

    def _connected(self) -> socket.socket:
        if self._socket is None:
            self._folder = Path(tempfile.mkdtemp(prefix="driver-server-"))
            self._socket = self._launched(self._folder)
        return self._socket

    def _launched(self, folder: Path) -> socket.socket:
        address = folder / "socket"
        with (
            socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener,
            (folder / "log").open("wb") as log,
        ):
            listener.bind(str(address))
            listener.listen(1)
            self._process = subprocess.Popen(
                [*self._command(), str(PROGRAM), str(address)],
                cwd=folder,
                env={**os.environ, **self.environment, "PYSPARK_PYTHON": sys.executable},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            listener.settimeout(1)
            for _ in range(START_SECONDS):
                with suppress(TimeoutError):
                    return listener.accept()[0]
                assert self._process.poll() is None, f"the driver server did not start: {self.log()[-4000:]}"
        raise AssertionError(f"the driver server did not start in {START_SECONDS} s: {self.log()[-4000:]}")

    def _command(self) -> list[str]:
        home = Path(pyspark.__file__).parent
        options = [f"--conf={key}={value}" for key, value in self.settings.items()]
        return [str(home / "bin" / "spark-submit"), "--master=local[1]", *options]
