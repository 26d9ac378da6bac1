"""A driver process that appends when it is told to; test_append_race.py starts several of them on one table.

It reads one stamp a line, appends a row under it, and answers each with a line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from integration.runner.jobs import DELTA_SETTINGS, SMALL_SETTINGS, at, class_path
from sluice_runner.stamp import CONF


def main(table: Path, freezes: Path) -> None:
    # The JVM inherits standard output and may have something of its own to say there.
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    spark = start(freezes)
    answer(answers, {"logStore": log_store_of(spark, table)})
    for line in sys.stdin:
        answer(answers, {"refused": append(spark, table, line.strip())})
    # Nothing is left to be finished, and the end of a session takes seconds.
    os._exit(0)


def start(freezes: Path) -> SparkSession:
    settings = {
        **SMALL_SETTINGS,
        **DELTA_SETTINGS,
        "spark.driver.memory": "512m",
        # Beside others, a driver would compute the table's whole state anew after each commit, for the commit's checksum.
        "spark.databricks.delta.writeChecksumFile.enabled": "false",
        "spark.hadoop.sluice.test.freezeDir": str(freezes),
        "spark.driver.extraClassPath": class_path(),
    }
    builder = SparkSession.builder.master("local[1]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def answer(answers: int, content: dict[str, str | None]) -> None:
    os.write(answers, json.dumps(content).encode() + b"\n")


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
    main(Path(sys.argv[1]), Path(sys.argv[2]))
