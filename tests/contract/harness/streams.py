"""Streams without Sluice, one each in a session of its own: each batch is written by foreachBatch, as Sluice's runner writes it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from contract.harness.session import activate
from sluice_runner import failures

SCHEMA = "id BIGINT, v STRING"
PATIENCE = 120.0
USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"

Batch = Callable[[DataFrame, int], None]


def appended_to(table: Path, app_id: str) -> Batch:
    def run(batch: DataFrame, number: int) -> None:
        writer = batch.write.format("delta").mode("append").option("txnAppId", app_id)
        writer.option("txnVersion", number).save(str(table))

    return run


def merged_into(table: Path) -> Batch:
    def run(batch: DataFrame, _number: int) -> None:
        batch.createOrReplaceTempView("batch")
        batch.sparkSession.sql(
            f"MERGE INTO delta.`{table}` t USING batch b ON t.id = b.id "
            "WHEN MATCHED THEN UPDATE SET v = b.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (b.id, b.v)"
        )

    return run


@dataclass
class Feed:
    folder: Path
    given: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)

    def give(self, number: int | None = None) -> None:
        row = {"id": self.given if number is None else number, "v": self.folder.name}
        file = self.folder / f".{self.given}.json"
        file.write_text(json.dumps(row), encoding="utf-8")
        file.rename(self.folder / f"{self.given}.json")
        self.given += 1


@dataclass
class Running:
    """A stream from a folder or a table. Its commits carry its name."""

    spark: SparkSession
    folder: Path
    name: str
    source: Path
    options: dict[str, str] | None
    """None: the source is a folder of JSON, not a table."""
    batch: Batch
    error: Exception | None = field(default=None, init=False)
    batches: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        session = self.spark.newSession()
        activate(session)
        reader = session.readStream
        if self.options is None:
            rows = reader.format("json").schema(SCHEMA).load(str(self.source))
        else:
            rows = reader.format("delta").options(**self.options).load(str(self.source))
        writer = rows.writeStream.option("checkpointLocation", str(self.folder / f"checkpoint-{self.name}"))
        self.query = writer.trigger(processingTime="0 seconds").foreachBatch(self._run).start()

    def _run(self, batch: DataFrame, number: int) -> None:
        batch.sparkSession.conf.set(USER_METADATA, self.name)
        try:
            self.batch(batch, number)
        except Exception as error:
            self.error = error
            raise
        self.batches += 1

    @property
    def has_failed(self) -> bool:
        return not self.query.isActive

    @property
    def failure(self) -> str | None:
        """The class of the exception that ended it."""
        error: Any = self.error or self.query.exception()
        if error is None:
            return None
        found = failures.classify(error)
        text = str(error)
        code = text[1 : text.index("]")] if text.startswith("[") else found.error_class
        return f"{found.name} {code or ''}".strip()

    def until_more_than(self, batches: int) -> None:
        until(lambda: self.has_failed or self.batches > batches, f"{self.name} ends no batch")

    def stop(self) -> None:
        self.query.stop()


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
