"""Runs streams in a session of the test, as a driver does it."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from held_commits import held_in
from integration.runner.freezing import Freeze, wait_for
from integration.runner.jobs import Document, Driver, arguments, at, place, plan, submit
from sluice_runner import streams
from sluice_runner.job_statements import Progress
from sluice_runner.plan import Stream, decode
from sluice_runner.result import encode
from sluice_runner.stop_requests import Stop

ONCE: Document = {"availableNow": True}
DRIVER_SETTINGS: Mapping[str, str] = {"spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore"}
"""Of a driver as a process of its own."""


def stream_of(
    source: Path,
    checkpoint: Path,
    /,
    *texts: str,
    trigger: Document = ONCE,
    run_key: str = "run-1",
    **changes: object,
) -> Document:
    """Reads a Delta table. The texts run for each batch; without them, its rows are appended to what `table` names."""
    numbered = [{"number": number, "text": text} for number, text in enumerate(texts, 1)]
    stream: Document = {
        "source": {"format": "delta", "path": place(source)},
        "checkpoint": place(checkpoint),
        "trigger": trigger,
        **({"statements": numbered} if texts else {}),
        **changes,
    }
    return plan({"stream": stream}, run_key)


class Running:
    """A stream that runs in a thread."""

    def __init__(self, spark: SparkSession, document: Document) -> None:
        decoded = decode(arguments(document))
        assert isinstance(decoded.work, Stream)
        self.progress = Progress(decoded)
        self.stop = Stop()
        self._result: Document | None = None
        self._work = decoded.work
        self._thread = threading.Thread(target=self._run, args=(spark,), daemon=True)

    def start(self) -> Running:
        self._thread.start()
        return self

    @property
    def told(self) -> Mapping[str, Any]:
        return self.progress.stream.document()

    def wait_until(self, name: str, value: int) -> None:
        wait_for(lambda: self.told.get(name, -1) >= value or not self._thread.is_alive(), f"{name} {value}")

    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def result(self, seconds: float = 240) -> Document:
        self._thread.join(seconds)
        assert self._result is not None, f"the stream has not ended within {seconds} s"
        return self._result

    def _run(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        # As in a driver, where there is no other session: catalogs are made by the settings of the thread's.
        jvm.org.apache.spark.sql.SparkSession.setActiveSession(spark._jsparkSession)
        result = streams.run(spark, self.progress, self._work, self.stop)
        self._result = json.loads(encode(result))


def run_stream(spark: SparkSession, document: Document) -> Document:
    return Running(spark, document).start().result()


@contextmanager
def running(spark: SparkSession, document: Document) -> Iterator[Running]:
    """A stream that is stopped, whatever becomes of the test."""
    one = Running(spark, document).start()
    try:
        yield one
    finally:
        one.stop.ask()
        one.result()


@contextmanager
def driver_held_at_its_commit(
    folder: Path, freezes: Path, document: Document, settings: Mapping[str, str] | None = None
) -> Iterator[tuple[Driver, Freeze]]:
    """A driver whose first commit has written its files, and doesn't come into the log until that is let go."""
    freeze = Freeze(freezes, str(document["runKey"]))
    driver = submit(folder, document, {**(settings or {}), **held_in(freezes)})
    try:
        wait_for(lambda: freeze.is_reached() or driver.process.poll() is not None, "the driver's commit")
        assert freeze.is_reached(), (folder / "stderr").read_text()[-4000:]
        yield driver, freeze
    finally:
        if driver.process.poll() is None:
            os.killpg(driver.process.pid, signal.SIGKILL)
            driver.process.communicate()


def add(spark: SparkSession, table: Path, *ids: int) -> None:
    rows = ", ".join(f"({one}, DATE'2026-11-19', 'n')" for one in ids)
    spark.sql(f"INSERT INTO {at(table)} VALUES {rows}")


def ids(spark: SparkSession, table: Path) -> list[int]:
    return sorted(row[0] for row in spark.sql(f"SELECT id FROM {at(table)}").collect())
