"""Manifests for tests, as people would write them into files."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from integration.forking import Forker
from sluice.cli.main import app

FORKED_COMMANDS = Forker("sluice.cli.main:app")
"""Processes with streams of their own."""

ORDERS = "delta.`s3://lake/orders`"
FACTS = {
    "schema": [
        {"name": "id", "type": "bigint"},
        {"name": "amount", "type": "int"},
        {"name": "date", "type": "date"},
    ],
    "partitionColumns": ["date"],
    "dialect": {"name": "oss", "version": "4.4.0"},
    "path": "s3://lake/orders",
    "logStore": "S3Conditional",
}
PINNED_DELETE = f"DELETE FROM {ORDERS} WHERE date = DATE '2026-11-19' AND id = 1"
MERGE = (
    f"MERGE INTO {ORDERS} t\n"
    "USING (SELECT * FROM delta.`s3://lake/corrections` WHERE date = DATE '2026-11-18') s\n"
    "ON t.id = s.id{more}\n"
    "WHEN MATCHED THEN UPDATE SET amount = s.amount\n"
    "WHEN NOT MATCHED THEN INSERT *"
)
UNPINNED_MERGE = MERGE.format(more="")
MERGE_BY_SOURCE = MERGE.format(more=" AND t.date = s.date")


def job(name: str, sql: str, **spec: Any) -> str:
    body = {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "DeltaWriteJob",
        "metadata": {"name": name},
        "spec": {"sql": sql, **spec},
    }
    return json.dumps(body)


def policy(name: str, **spec: Any) -> str:
    body = {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "DeltaTablePolicy",
        "metadata": {"name": name},
        "spec": spec,
    }
    return json.dumps(body)


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


def sluice(*arguments: object, terminal_width: int = 100) -> Result:
    """Runs the command and returns its result, whatever its exit code: an exception fails the test."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": str(terminal_width)})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def complaints(result: Result) -> str:
    """What is on standard error, each message in one line again."""
    return result.stderr.replace("\n  ", " ")
