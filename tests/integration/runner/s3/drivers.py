"""Drivers without a Spark session: JVMs of their own, each with a LogStore that is called as Delta calls it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway

from devenv.s3_server import REGION, Account
from integration.runner.s3.jars import s3_variables
from jvm_options import java_options
from spark_jars import class_path

OURS = "dev.sluice.delta.S3ConditionalLogStore"
DELTAS_OWN = "io.delta.storage.S3SingleDriverLogStore"


def hadoop_settings(endpoint: str, account: Account = Account(), region: str = REGION) -> Mapping[str, str]:  # noqa: B008 - frozen
    """For one server, with so little patience that a test of a store that doesn't answer takes seconds."""
    return {
        "fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "fs.s3a.endpoint": endpoint,
        "fs.s3a.endpoint.region": region,
        "fs.s3a.path.style.access": "true",
        "fs.s3a.access.key": account.access_key,
        "fs.s3a.secret.key": account.secret_key,
        "fs.s3a.attempts.maximum": "2",
        "fs.s3a.retry.limit": "3",
        "fs.s3a.retry.interval": "10ms",
        "fs.s3a.retry.throttle.limit": "3",
        "fs.s3a.retry.throttle.interval": "10ms",
    }


@dataclass(frozen=True)
class Refusal:
    """What Java threw."""

    java_class: str
    message: str
    causes: tuple[str, ...]

    @property
    def is_conflict(self) -> bool:
        return self.java_class == "java.nio.file.FileAlreadyExistsException"


def is_conflict(refused: Refusal | None) -> bool:
    return refused is not None and refused.is_conflict


class Driver:
    def __init__(self, gateway: Any) -> None:
        self._process: subprocess.Popen[bytes] = gateway.proc
        self._jvm = gateway.jvm

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(60)

    def store(self, settings: Mapping[str, str], name: str = OURS) -> Store:
        conf = self._jvm.org.apache.hadoop.conf.Configuration()
        for key, value in settings.items():
            conf.set(key, value)
        made = getattr(self._jvm, name)(conf)
        return Store(self._jvm, made, conf)


@dataclass(frozen=True)
class Text:
    """A commit's lines, in the JVM."""

    io: Any
    reader: Any

    def iterator(self) -> Any:
        self.reader.reset()
        return self.io.BufferedReader(self.reader).lines().iterator()


class Store:
    def __init__(self, jvm: Any, store: Any, conf: Any) -> None:
        self._jvm = jvm
        self._store = store
        self._conf = conf

    def write(self, path: str, lines: Sequence[str] | Text, *, overwrite: bool = False) -> Refusal | None:
        text = lines if isinstance(lines, Text) else self.text(lines)
        try:
            self._store.write(self._path(path), text.iterator(), overwrite, self._conf)
        except Py4JJavaError as error:
            return _refusal(error)
        return None

    def try_out(self, table: str) -> Refusal | None:
        try:
            getattr(self._jvm, OURS).refuseUnsafe(table, self._conf)
        except Py4JJavaError as error:
            return _refusal(error)
        return None

    def half_a_character(self) -> Text:
        """A line with a lone surrogate, which Python would not send."""
        builder = self._jvm.java.lang.StringBuilder()
        builder.append('{"txn":"')
        builder.appendCodePoint(0xD83D)
        builder.append('"}')
        return Text(self._jvm.java.io, self._jvm.org.apache.commons.io.input.CharSequenceReader(builder))

    def text(self, lines: Sequence[str]) -> Text:
        io = self._jvm.java.io
        return Text(io, io.StringReader("\n".join(lines)))

    def list_from(self, path: str) -> list[str]:
        files = self._store.listFrom(self._path(path), self._conf)
        found = []
        while files.hasNext():
            found.append(files.next().getPath().getName())
        return found

    def read(self, path: str) -> list[str]:
        lines = self._store.read(self._path(path), self._conf)
        found = []
        while lines.hasNext():
            found.append(lines.next())
        lines.close()
        return found

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)


def commit_name(version: int) -> str:
    return f"{version:020}.json"


def lines_in(log: Path, version: int) -> list[str]:
    """The lines of a commit, as they lie in the server's folder."""
    return (log / commit_name(version)).read_text(encoding="utf-8").splitlines()


@contextmanager
def driver(memory: str = "256m") -> Iterator[Driver]:
    conf = SparkConf(loadDefaults=False)
    conf.set("spark.driver.memory", memory)
    conf.set("spark.driver.extraClassPath", class_path())
    conf.set(
        "spark.driver.extraJavaOptions",
        java_options("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dlog4j2.level=OFF"),
    )
    with pytest.MonkeyPatch.context() as variables:  # a JVM has those of this process
        for name, value in s3_variables().items():
            variables.setenv(name, value)
        gateway: Any = launch_gateway(conf, {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL})  # type: ignore[no-untyped-call]
    made = Driver(gateway)
    try:
        yield made
    finally:
        made.kill()
        gateway.shutdown()
        gateway.proc.stdin.close()


def _refusal(error: Py4JJavaError) -> Refusal:
    java = error.java_exception
    causes: list[str] = []
    cause = java.getCause()
    while cause is not None and len(causes) < 10:
        causes.append(cause.getClass().getName())
        cause = cause.getCause()
    return Refusal(java.getClass().getName(), java.getMessage() or "", tuple(causes))
