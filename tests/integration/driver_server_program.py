"""The program of a driver server: runs one Python file after the other, each as if `spark-submit` had started it.

Before and after each file, the program puts back what a driver leaves behind in its process: modules, variables, streams,
signal handlers, settings, and what Sluice's and Delta's classes keep in the JVM.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import socket
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from py4j.java_gateway import JavaPackage
from pyspark import SparkContext
from pyspark.sql import SparkSession

OURS = "sluice_runner"


def serve(address: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(address)
        SparkContext._ensure_initialized()
        for line in connection.makefile():
            connection.sendall(f"{run(json.loads(line))}\n".encode())


def run(request: Mapping[str, Any]) -> int:
    """The exit code with which Python would end."""
    with _as_a_process(request), _with_settings(request["settings"]):
        sys.argv = [request["file"], *request["arguments"]]
        try:
            runpy.run_path(request["file"], run_name="__main__")
        except SystemExit as end:
            code = end.code
            return code if isinstance(code, int) else int(code is not None)
        except BaseException:  # noqa: BLE001 - as Python itself ends
            traceback.print_exc()
            return 1
        finally:
            _stop_spark()
    return 0


@contextmanager
def _as_a_process(request: Mapping[str, Any]) -> Iterator[None]:
    environment, path, argv, folder = dict(os.environ), list(sys.path), list(sys.argv), os.getcwd()  # noqa: PTH109
    streams, at_end = (sys.stdout, sys.stderr), signal.getsignal(signal.SIGTERM)
    descriptors = [os.dup(number) for number in (1, 2)]
    for name in [name for name in sys.modules if name.partition(".")[0] == OURS]:
        del sys.modules[name]
    _become(request["environment"])
    os.chdir(request["folder"])
    for number, name in ((1, "stdout"), (2, "stderr")):
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
        os.close(file)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, kept in zip((1, 2), descriptors, strict=True):
            os.dup2(kept, number)
            os.close(kept)
        sys.stdout, sys.stderr = streams
        sys.path, sys.argv = path, argv
        signal.signal(signal.SIGTERM, at_end)
        os.chdir(folder)
        _become(environment)


def _become(environment: Mapping[str, str]) -> None:
    """Spark's gateway belongs to this process, not to the variables of a program."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PYSPARK_", "SPARK_"))}
    os.environ.clear()
    os.environ.update({**environment, **kept})


@contextmanager
def _with_settings(settings: Mapping[str, str]) -> Iterator[None]:
    """Spark's settings are properties of the JVM, where `spark-submit` puts them."""
    system: Any = SparkContext._jvm.java.lang.System  # type: ignore[union-attr]
    before = {name: system.getProperty(name) for name in settings}
    for name, value in settings.items():
        system.setProperty(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                system.clearProperty(name)
            else:
                system.setProperty(name, old)


def _stop_spark() -> None:
    session: SparkSession | None = SparkSession._instantiatedSession
    if session is not None:
        session.stop()
    jvm: Any = SparkContext._jvm
    if not isinstance(jvm.org.apache.spark.sql.delta.DeltaLog, JavaPackage):
        jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    if not isinstance(jvm.dev.sluice.delta.CommitGate, JavaPackage):
        jvm.dev.sluice.delta.CommitGate.open()
        jvm.dev.sluice.delta.BoundNames.clear()


if __name__ == "__main__":
    serve(sys.argv[1])
