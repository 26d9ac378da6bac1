"""One of several driver processes that append to one folder at the same moment; started by test_append_race.py."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from integration.runner.jobs import DELTA_SETTINGS, SMALL_SETTINGS, at, spark_jars
from sluice_runner.stamp import CONF

LOG_STORE = "spark.delta.logStore.file.impl"


def main(worker: str, races: list[tuple[Path, str, int]]) -> None:
    """For each race: waits for the others, appends, and writes down which appends were acknowledged. A driver takes as
    long to start as to append, so the same ones run all races, each race with its LogStore."""
    settings = {
        **SMALL_SETTINGS,
        **DELTA_SETTINGS,
        "spark.driver.memory": "512m",
        # Beside others, a driver would compute the table's whole state anew after each commit, for the commit's checksum.
        "spark.databricks.delta.writeChecksumFile.enabled": "false",
        "spark.jars": spark_jars(),
    }
    builder = SparkSession.builder.master("local[1]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    for folder, log_store, appends in races:
        use(spark, log_store)
        used = log_store_of(spark, folder / "table")
        (folder / f"{worker}.ready").touch()
        while not (folder / "go").exists():
            time.sleep(0.01)
        report = {**append(spark, folder / "table", worker, appends), "logStores": [used]}
        unfinished = folder / f"{worker}.part"
        unfinished.write_text(json.dumps(report))
        unfinished.rename(folder / f"{worker}.json")
    # The session's end would take seconds from the workers that still append.
    sys.stdout.flush()
    os._exit(0)


def use(spark: SparkSession, log_store: str) -> None:
    """Delta asks the context's settings, which sessions cannot change, whenever it opens a table anew."""
    jvm: Any = spark._jvm
    jvm.org.apache.spark.SparkEnv.get().conf().set(LOG_STORE, log_store)
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


def append(spark: SparkSession, table: Path, worker: str, appends: int) -> dict[str, list[str]]:
    acknowledged, refused = [], []
    for number in range(appends):
        tag = f"{worker}-{number}"
        spark.conf.set(CONF, tag)
        try:
            spark.sql(f"INSERT INTO {at(table)} VALUES ({number})")
            acknowledged.append(tag)
        except Exception as error:  # noqa: BLE001 - counted and shown: what Delta's own LogStore raises is a finding
            refused.append(f"{tag}: {type(error).__name__}: {str(error)[:300]}")
    return {"acknowledged": acknowledged, "refused": refused}


def log_store_of(spark: SparkSession, table: Path) -> str:
    """The class that Delta used, by its own word."""
    jvm: Any = spark._jvm
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, str(table))
    return str(log.store().getDelegate(log.logPath()).logStoreImpl().getClass().getName())


if __name__ == "__main__":
    main(sys.argv[1], [(Path(folder), store, appends) for folder, store, appends in json.loads(sys.argv[2])])
