"""Writers that Sluice knows nothing of, each of which can win over a job in every way that Delta has."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from arro3.core import Array, DataType, Table
from deltalake import CommitProperties, DeltaTable, Field, TableFeatures, Transaction, write_deltalake
from deltalake.schema import PrimitiveType

from integration.pipeline import foreign_spark
from integration.waiting import PATIENCE
from integration.warm_drivers.server import WarmDrivers

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

    def __init__(self, connection: socket.socket, log: Path) -> None:
        self._connection = connection
        self._answers = connection.makefile("rb")
        self._log = log

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
        self._connection.sendall(f"{statement}\n".encode())
        told = self._answers.readline()
        assert told == b"done\n", f"{told!r}: {self._log.read_text(encoding='utf-8')[-3000:]}"


def _at(table: Path) -> str:
    return f"delta.`{table}`"


@contextmanager
def running_spark(warm: WarmDrivers, settings: Mapping[str, str], folder: Path) -> Iterator[ForeignSpark]:
    address, log = folder / "socket", folder / "foreign-spark.log"
    with socket.socket(socket.AF_UNIX) as listener, log.open("wb") as output:
        listener.bind(str(address))
        listener.listen()
        listener.settimeout(PATIENCE)
        driver = warm.submit(
            "foreign", settings, [foreign_spark.__file__, str(address)], folder, output, output
        )
        try:
            connection, _ = listener.accept()
            with connection:
                yield ForeignSpark(connection, log)
                connection.shutdown(socket.SHUT_RDWR)
                driver.wait(PATIENCE)
        finally:
            driver.terminate()
            driver.wait(PATIENCE)
