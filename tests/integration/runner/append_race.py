"""A program whose writers append when they are told to; test_append_race.py runs several of them on one table.

Each writer has a folder with two pipes. It reads one stamp a line, appends a row under it, and answers each with a line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from integration.runner.jobs import at
from sluice_runner.stamp import CONF

COMMANDS, ANSWERS = "commands", "answers"


def write(spark: SparkSession, table: Path, folders: Sequence[Path]) -> None:
    """Runs a writer for each folder until the pipe of its commands ends."""
    with ThreadPoolExecutor(len(folders)) as threads:
        for done in [threads.submit(serve, spark.newSession(), table, folder) for folder in folders]:
            done.result()


def serve(spark: SparkSession, table: Path, folder: Path) -> None:
    # Beside others, a driver would compute the table's whole state anew after each commit, for the commit's checksum.
    spark.conf.set("spark.databricks.delta.writeChecksumFile.enabled", "false")
    with (folder / COMMANDS).open() as commands, (folder / ANSWERS).open("wb", buffering=0) as answers:
        os.write(answers.fileno(), line_of({"logStore": log_store_of(spark, table)}))
        for line in commands:
            os.write(answers.fileno(), line_of({"refused": append(spark, table, line.strip())}))


def line_of(content: dict[str, str | None]) -> bytes:
    return json.dumps(content).encode() + b"\n"


def append(spark: SparkSession, table: Path, tag: str) -> str | None:
    """Why the append was refused, if it was."""
    spark.conf.set(CONF, tag)
    try:
        spark.sql(f"INSERT INTO {at(table)} VALUES (1)")
    except Exception as error:  # noqa: BLE001 - the test shows it
        return f"{tag}: {type(error).__name__}: {str(error)[:300]}"
    return None


def log_store_of(spark: SparkSession, table: Path) -> str:
    """The class that Delta used, by its own word."""
    jvm: Any = spark._jvm
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, str(table))
    return str(log.store().getDelegate(log.logPath()).logStoreImpl().getClass().getName())


if __name__ == "__main__":
    write(SparkSession.builder.getOrCreate(), Path(sys.argv[1]), [Path(folder) for folder in sys.argv[2:]])
