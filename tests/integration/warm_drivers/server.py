"""Runs drivers in JVMs that live on: a driver costs its work then, and not the start of a JVM with Spark and Delta in it.

Each driver has a Python process, variables, an output, a SparkContext and an exit code of its own. It has a JVM for itself while it
runs, and another driver has that JVM afterwards. A test of a driver's start or end sets `SLUICE_TEST_OWN_JVM` for its drivers: the
real spark-submit starts them.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from integration.forking import Forked, Forker
from integration.warm_drivers import submit
from integration.warm_drivers.jvm import SPARK_SUBMIT, Jvm, Kind
from integration.warm_drivers.submit import LONGEST
from spark_jars import class_path

TESTS = Path(__file__).parents[2]
PATIENCE = 60.0
MOST_JVMS = 5
"""More run only where so many drivers do."""
PROGRAMS = Forker("integration.warm_drivers.program:run", "pyspark.sql", path=str(TESTS))
INHERITED = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "JAVA_HOME", "TZ")
OF_ALL_DRIVERS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
}
"""As the local engine has them: drivers of the same kind share JVMs."""


@dataclass(frozen=True)
class Submission:
    """What spark-submit is told."""

    settings: dict[str, str]
    program: list[str]
    environment: dict[str, str]
    folder: str

    @classmethod
    def of(cls, request: bytes) -> Submission:
        told = json.loads(request)
        parser = argparse.ArgumentParser(exit_on_error=False)
        parser.add_argument("--master", required=True)
        parser.add_argument("--name", required=True)
        parser.add_argument("--conf", action="append", default=[])
        parser.add_argument("program", nargs=argparse.REMAINDER)
        options = parser.parse_args(told["arguments"])
        settings = dict(setting.split("=", 1) for setting in options.conf)
        own = {
            "spark.master": options.master,
            "spark.app.name": options.name,
            "spark.submit.deployMode": "client",
            "spark.submit.pyFiles": "",
        }
        return cls({**settings, **own}, options.program, told["environment"], told["folder"])

    @property
    def application(self) -> str:
        return self.settings["spark.app.name"]

    @property
    def kind(self) -> Kind:
        return Kind.of(self.settings, self.environment)


class WarmDrivers:
    def __init__(self, folder: Path) -> None:
        self.spark_submit = folder / "spark-submit"
        """For whom it is to serve instead of the real one."""
        self.folder = folder
        self._idle: list[Jvm] = []
        self._busy: dict[str, Jvm] = {}
        """By the names of their drivers' applications."""
        self._started = 0
        self._lock = threading.Lock()
        self._may_begin = threading.Event()
        self._may_begin.set()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def __enter__(self) -> Self:
        address = self.folder / "socket"
        self._socket.bind(str(address))
        self._socket.listen(64)
        words = (sys.executable, "-ISE", submit.__file__, str(address), str(SPARK_SUBMIT))
        self.spark_submit.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
        self.spark_submit.chmod(0o755)
        threading.Thread(target=self._accept, name="server of warm drivers", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        with self._lock:
            for jvm in (*self._idle, *self._busy.values()):
                jvm.end()

    def submit(
        self, name: str, settings: Mapping[str, str], program: Sequence[str], folder: Path, *output: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        """Starts a driver as a local engine starts them. `output`: for its standard output, and its errors."""
        given = {**OF_ALL_DRIVERS, "spark.driver.extraClassPath": class_path(), **settings}
        options = [word for key, text in given.items() for word in ("--conf", f"{key}={text}")]
        stdout, stderr = output
        return subprocess.Popen(
            [str(self.spark_submit), "--master", "local[1]", "--name", name, *options, *program],
            env={name: os.environ[name] for name in INHERITED if name in os.environ}
            | {"PYSPARK_PYTHON": sys.executable},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
        )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Drivers that are submitted meanwhile do nothing until the end of this: a test makes sure that they meet."""
        self._may_begin.clear()
        try:
            yield
        finally:
            self._may_begin.set()

    def pid_of(self, application: str) -> int | None:
        """Of the JVM in which the application's driver runs."""
        with self._lock:
            jvm = self._busy.get(application)
        return None if jvm is None else jvm.pid

    def send_signal(self, application: str, number: signal.Signals) -> None:
        """Sends it to the JVM in which the application's driver runs, and to the driver's Python."""
        with self._lock:
            self._busy[application].send_signal(number)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._serve, args=(connection,), name="driver", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        request, descriptors, _, _ = socket.recv_fds(connection, LONGEST, 2)
        with connection, os.fdopen(descriptors[0], "wb") as stdout, os.fdopen(descriptors[1], "wb") as stderr:
            submission = Submission.of(request)
            with self._jvm(submission) as jvm, tempfile.TemporaryFile() as said:
                self._may_begin.wait()
                begin = jvm.logged()
                code = _run(submission, jvm, connection, stdout, said)
                # A Python's last words come last, as those of the program that ends a driver.
                jvm.copy_log(begin, stderr)
                said.seek(0)
                shutil.copyfileobj(said, stderr)
            stderr.flush()
            connection.send(str(code).encode())

    @contextmanager
    def _jvm(self, submission: Submission) -> Iterator[Jvm]:
        kind = submission.kind
        with self._lock:
            found = next((jvm for jvm in self._idle if jvm.kind == kind and jvm.is_running), None)
            if found is None:
                while self._idle and len(self._idle) + len(self._busy) >= MOST_JVMS:
                    self._idle.pop(0).end()
                self._started += 1
                found = Jvm(kind, self.folder / f"jvm-{self._started}")
            else:
                self._idle.remove(found)
            self._busy[submission.application] = found
        try:
            yield found
        finally:
            with self._lock:
                del self._busy[submission.application]
                if found.is_running:
                    self._idle.append(found)


def _run(
    submission: Submission, jvm: Jvm, connection: socket.socket, stdout: IO[bytes], stderr: IO[bytes]
) -> int:
    """The exit code. A driver that is ended takes its JVM along: what that was at must not go on."""
    settings = json.dumps(submission.settings)
    python = jvm.python = PROGRAMS.start(
        ["spark-submit", str(jvm.gateway), settings, *submission.program],
        submission.environment,
        stdout,
        stderr,
        folder=submission.folder,
    )
    if _ends_first(python, jvm, connection):
        code = python.wait(PATIENCE)
        return code if code >= 0 else 128 - code
    is_jvm_dead = not jvm.is_running
    python.kill()
    python.wait(PATIENCE)
    jvm.end()
    return 128 + (signal.SIGKILL if is_jvm_dead else signal.SIGTERM)


def _ends_first(python: Forked, jvm: Jvm, connection: socket.socket) -> bool:
    """False: its JVM has died, or the driver is to end."""
    with _watched(python.pid) as of_python, _watched(jvm.pid) as of_jvm:
        ready, _, _ = select.select([of_python, of_jvm, connection.fileno()], [], [])
        return of_python in ready


@contextmanager
def _watched(pid: int) -> Iterator[int]:
    """A descriptor that is ready once the process has ended."""
    descriptor = os.pidfd_open(pid)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
