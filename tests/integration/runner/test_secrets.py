"""Secrets that a source's options bring into a driver are in nothing that the driver writes.

Without being told to, Spark 4.2 logs some: `WARN ParseMode: <value> is not a valid parse mode`, whenever a file is read.
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from integration.runner.jobs import TELLING_ALL, Document, plan, submit
from integration.warm_drivers.server import WarmDrivers

AWKWARD = "s3cr3t \"pass'wörd/\\ 7"
SECRETS = {
    "mode": "s3cr3t-mode-4711",
    "nullValue": "s3cr3t-null-4711",
    "password": "s3cr3t-pass-4711",
    "encoding": AWKWARD,
    "url": "jdbc:derby:memory:shop;create=true;user=me;password=s3cr3t-in-url-4711",
}
DERBY = {
    "driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
    "query": "SELECT CAST(1 AS BIGINT) AS id FROM sysibm.sysdummy1",
}
SETTINGS = {
    "spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore",
    "spark.hadoop.fs.s3a.secret.key": "s3cr3t-of-a-store",
    **TELLING_ALL,
}
VARIABLES = {
    **{f"SECRET_{name}": value for name, value in SECRETS.items()},
    "SOME_API_TOKEN": "s3cr3t-of-the-environment",
}
"""Of the driver's JVM as well, from its start."""


@dataclass(frozen=True)
class Case:
    format: str
    options: Mapping[str, str]
    secrets: Sequence[str]
    outcome: str
    told: str


@pytest.mark.parametrize(
    "case",
    [
        Case("csv", {}, ["mode", "nullValue", "password"], "Succeeded", "*** is not a valid parse mode"),
        Case("csv", {}, ["encoding", "password"], "Failed", "but got ***"),
        Case("jdbc", DERBY, ["url", "password"], "Succeeded", "committed version 0"),
    ],
    ids=["read", "wrong encoding", "database"],
)
def test_no_secret_of_an_option_is_written_anywhere(warm: WarmDrivers, tmp_path: Path, case: Case) -> None:
    source: Document = {
        "format": case.format,
        "options": dict(case.options),
        "optionsFromEnv": {name: f"SECRET_{name}" for name in case.secrets},
    }
    if case.format == "csv":
        (tmp_path / "rows.csv").write_text("7;2026-11-21;c\nx;;\n")
        source["path"] = str(tmp_path / "rows.csv")
    events = tmp_path / "events"
    events.mkdir()
    work = {"write": {"table": {"path": str(tmp_path / "orders")}, "source": source}}
    settings = {**SETTINGS, "spark.eventLog.dir": str(events)}
    driver = submit(tmp_path, plan(work), settings, variables=VARIABLES, command=[warm.spark_submit])
    stdout, _ = driver.process.communicate(timeout=500)
    (tmp_path / "stdout").write_text(stdout)
    assert driver.result()["outcome"] == case.outcome, driver.result()
    assert case.told in stdout + (tmp_path / "stderr").read_text()
    written = [file for folder in (tmp_path, warm.folder) for file in folder.rglob("*") if file.is_file()]
    assert any(file.is_relative_to(events) for file in written)
    for file in written:
        content = file.read_text(errors="replace")
        for secret in [*SECRETS.values(), *_in_other_words(AWKWARD), "s3cr3t"]:
            assert secret not in content, f"{file.name}: {_around(content, secret)}"
    assert (tmp_path / "orders" / "_delta_log").exists() == (case.outcome == "Succeeded")


def _in_other_words(secret: str) -> list[str]:
    return [
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        urllib.parse.quote(secret, safe=""),
        secret[:8],
        secret[-8:],
    ]


def _around(content: str, secret: str) -> str:
    at = content.index(secret)
    return content[max(0, at - 300) : at + 100]
