"""Writers that Sluice knows nothing of, each of which can win over a job in every way that Delta has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

from arro3.core import Array, DataType, Table
from deltalake import CommitProperties, DeltaTable, Field, TableFeatures, Transaction, write_deltalake
from deltalake.schema import PrimitiveType

from integration.pipeline import foreign_spark
from integration.pipeline.foreign_spark import DONE, READY

NEW_COLUMN = "remark"


class Foreign(Protocol):
    engine: str
    """How the engine that it names in the log begins."""

    def append(self, table: Path, column: str, number: int, day: str) -> None: ...
    def delete(self, table: Path, day: str) -> None: ...
    def add_column(self, table: Path) -> None: ...
    def add_feature(self, table: Path) -> None: ...
    def append_as(self, app_id: str, table: Path, column: str, number: int, day: str) -> None: ...


class DeltaRs:
    engine = "delta-rs:"

    def append(self, table: Path, column: str, number: int, day: str) -> None:
        write_deltalake(table, rows(column, (number, day)), mode="append")

    def delete(self, table: Path, day: str) -> None:
        DeltaTable(table).delete(f"day = '{day}'")

    def add_column(self, table: Path) -> None:
        DeltaTable(table).alter.add_columns(Field(NEW_COLUMN, PrimitiveType("string"), nullable=True))

    def add_feature(self, table: Path) -> None:
        features = DeltaTable(table).alter
        features.add_feature(TableFeatures.V2Checkpoint, allow_protocol_versions_increase=True)

    def append_as(self, app_id: str, table: Path, column: str, number: int, day: str) -> None:
        under = CommitProperties(app_transactions=[Transaction(app_id, 1)])
        write_deltalake(table, rows(column, (number, day)), mode="append", commit_properties=under)


def rows(column: str, *found: tuple[int, str]) -> Table:
    return Table(
        {
            column: Array([number for number, _ in found], DataType.int64()),
            "day": Array([day for _, day in found], DataType.string()),
        }
    )


class ForeignSpark:
    """A Spark without Sluice's runner: its commits bear no stamps."""

    engine = "Apache-Spark/"

    def __init__(self, statements: IO[bytes], answers: IO[bytes], log: Path) -> None:
        self._statements = statements
        self._answers = answers
        self._log = log
        self._hears(READY)

    def append(self, table: Path, column: str, number: int, day: str) -> None:
        self._sql(f"INSERT INTO {_at(table)} ({column}, day) VALUES ({number}, '{day}')")

    def delete(self, table: Path, day: str) -> None:
        self._sql(f"DELETE FROM {_at(table)} WHERE day = '{day}'")

    def add_column(self, table: Path) -> None:
        self._sql(f"ALTER TABLE {_at(table)} ADD COLUMNS ({NEW_COLUMN} STRING)")

    def add_feature(self, table: Path) -> None:
        self._sql(f"ALTER TABLE {_at(table)} SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')")

    def append_as(self, app_id: str, table: Path, column: str, number: int, day: str) -> None:
        settings = {"txnAppId": app_id, "txnVersion": "1"}
        for name, value in settings.items():
            self._sql(f"SET spark.databricks.delta.write.{name} = {value}")
        self.append(table, column, number, day)
        for name in settings:
            self._sql(f"RESET spark.databricks.delta.write.{name}")

    def _sql(self, statement: str) -> None:
        self._statements.write(f"{statement}\n".encode())
        self._hears(DONE)

    def _hears(self, answer: bytes) -> None:
        told = self._answers.readline()
        assert told == answer, (
            f"{told!r} instead of {answer!r}\n{self._log.read_text(encoding='utf-8')[-3000:]}"
        )


def _at(table: Path) -> str:
    return f"delta.`{table}`"


@contextmanager
def running_spark(folder: Path) -> Iterator[ForeignSpark]:
    tests = Path(__file__).parents[2]
    path = os.pathsep.join([str(tests), str(tests.parent / "spark-images" / "runner" / "src")])
    log = folder / "foreign-spark.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, foreign_spark.__file__],
            env={**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable},
            cwd=folder,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        try:
            yield ForeignSpark(process.stdin, process.stdout, log)
        finally:
            process.kill()
            process.wait(60)
