"""Programs of a job's own, run in a session of the test or in a driver of their own."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from integration.runner.jobs import Document, Driver, place, submit_file
from integration.warm_drivers.jvm import SPARK_SUBMIT
from sluice_runner import application, attempt
from sluice_runner.steps import Steps

TOKEN = 1 << 32


def packed(document: Mapping[str, Any]) -> str:
    """A plan as it is in SLUICE_PLAN."""
    return base64.b64encode(zlib.compress(json.dumps(document).encode())).decode()


def program(number: int = 1, *tables: Path, run_key: str = "program", **changes: object) -> Document:
    """The plan of an attempt of a job with a program of its own that declares these tables."""
    document: Document = {
        "version": 2,
        "job": {"namespace": "sales", "name": "nightly", "uid": f"of-{run_key}"},
        "runKey": run_key,
        "specHash": "abc",
        "attempt": number,
        "token": TOKEN + number,
        "application": {},
        "touched": [{"statement": None, "table": {"path": place(table)}} for table in tables],
    }
    return {name: value for name, value in {**document, **changes}.items() if value is not None}


def retried(number: int, *tables: Path, run_key: str = "program", **changes: object) -> Document:
    """Likewise, of a job that may be tried again."""
    run = {
        "appId": "sluice/slot/0",
        "closes": False,
        "firstToken": TOKEN + 1,
        "tables": [{"path": place(table)} for table in tables],
    }
    return program(number, *tables, run_key=run_key, **{"run": run, **changes})


def with_key(number: int, *tables: Path, run_key: str, **changes: object) -> Document:
    """Likewise, of a job with a run key."""
    document = retried(number, *tables, run_key=run_key, **changes)
    return {**document, "run": {**document["run"], "appId": f"sluice/run/sales/{run_key}", "closes": True}}


@dataclass
class Drivers:
    """Runs attempts one after another in this process, of which each counts as a driver of its own."""

    spark: SparkSession
    log: Path
    monkeypatch: pytest.MonkeyPatch

    def prepare(self, document: Mapping[str, Any] | None) -> None:
        self.monkeypatch.setattr(application, "_has_begun", False)
        if document is None:
            self.monkeypatch.delenv("SLUICE_PLAN", raising=False)
        else:
            self.monkeypatch.setenv("SLUICE_PLAN", packed(document))
        self.monkeypatch.setenv("SLUICE_TERMINATION_LOG", str(self.log))
        self.log.unlink(missing_ok=True)

    @contextmanager
    def attempt(self, document: Mapping[str, Any] | None) -> Iterator[Steps]:
        self.prepare(document)
        with attempt(self.spark) as steps:
            yield steps

    def run(self, document: Mapping[str, Any], work: Callable[[Steps], object]) -> None:
        with self.attempt(document) as steps:
            work(steps)

    def result(self) -> Document:
        content: Document = json.loads(self.log.read_bytes())
        return content


def stamps(table: Path) -> list[Document | None]:
    """Whose each commit of a table is, oldest first."""
    found = []
    for file in sorted((table / "_delta_log").glob("*.json")):
        infos = [json.loads(line).get("commitInfo") for line in file.read_text().splitlines()]
        text = next(info for info in infos if info is not None).get("userMetadata")
        found.append(None if text is None else json.loads(text).get("sluice"))
    return found


def submit_program(
    folder: Path,
    file: Path,
    parameters: Sequence[str],
    document: Document,
    settings: Mapping[str, str],
    *,
    command: Sequence[str | Path] = (SPARK_SUBMIT,),
) -> Driver:
    """Starts a driver of a program, as its SparkApplication would."""
    plan = {"SLUICE_PLAN": packed(document)}
    return submit_file(folder, file, parameters, settings, environment=plan, command=command)
