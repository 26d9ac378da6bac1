"""A JVM with Spark's gateway for Python: what spark-submit makes of one driver, kept for one driver after another."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyspark

from integration.forking import Forked

SPARK_HOME = Path(pyspark.__file__).parent
SPARK_SUBMIT = SPARK_HOME / "bin" / "spark-submit"
FIXED_SETTINGS = ("spark.driver.extraClassPath", "spark.driver.extraJavaOptions", "spark.driver.memory")
OF_ONE_DRIVER = (
    *("SLUICE_", "KUBERNETES_", "LOCALENGINE_", "SPARK_LOCAL_", "SPARK_AUTH_", "SPARK_BUFFER_"),
    *("TMPDIR", "PWD", "PYTEST_"),
)
"""How the variables begin that only a driver's Python reads, or that name a folder or a test of its own.

A shell sets PWD, and a session in this process SPARK_AUTH_SOCKET_TIMEOUT and SPARK_BUFFER_SIZE.
"""
PATIENCE = 60.0


@dataclass(frozen=True)
class Kind:
    """What a JVM has from its start to its end: a driver that wants it otherwise needs another JVM."""

    settings: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, settings: Mapping[str, str], environment: Mapping[str, str]) -> Kind:
        fixed = tuple((name, settings[name]) for name in FIXED_SETTINGS if name in settings)
        kept = sorted(
            (name, text) for name, text in environment.items() if not name.startswith(OF_ONE_DRIVER)
        )
        return cls(fixed, tuple(kept))


class Jvm:
    """It ends with its standard input, so at the latest with this process."""

    def __init__(self, kind: Kind, folder: Path) -> None:
        self.kind = kind
        self.python: Forked | None = None
        """Of the driver that runs in it."""
        self.gateway = folder / "gateway"
        """Written by the JVM once it listens: where it does, and a secret."""
        self.log = folder / "jvm.log"
        folder.mkdir()
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    str(SPARK_SUBMIT),
                    *(f"--conf={name}={text}" for name, text in kind.settings),
                    "pyspark-shell",
                ],
                env={
                    **dict(kind.environment),
                    "SPARK_HOME": str(SPARK_HOME),
                    "SPARK_CONNECT_MODE": "0",
                    "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self.gateway),
                },
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def send_signal(self, number: signal.Signals) -> None:
        """Sends it to the JVM and to the Python of its driver."""
        self._process.send_signal(number)
        if self.python is not None:
            self.python.send_signal(number)

    def end(self) -> None:
        """Kills it at once."""
        self._process.kill()
        self._process.wait(PATIENCE)
        if self._process.stdin is not None:
            self._process.stdin.close()

    def logged(self) -> int:
        return self.log.stat().st_size

    def copy_log(self, begin: int, target: IO[bytes]) -> None:
        """What it has logged since `begin`, for a driver that would have had its log for itself."""
        with self.log.open("rb") as log:
            log.seek(begin)
            shutil.copyfileobj(log, target)
