"""A stream runs for months: what a driver holds doesn't grow with its batches, neither in Python nor in the JVM."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import pytest
from py4j.finalizer import ThreadSafeFinalizer
from pyspark.sql import SparkSession

from integration.runner.jobs import Document, at, place
from integration.runner.streaming import Running, running, stream_of

BATCHES = 150
WARM = 50
"""Batches after which whatever is kept once, or for a bounded number of batches, is there."""
PATIENT_FOR = 25
"""Batches that a slow machine ends while one is patient."""
AT_ONCE = {"processingTime": "0 seconds"}


def held(spark: SparkSession) -> dict[str, int]:
    gc.collect()
    java: Any = spark._jvm.java.lang  # type: ignore[union-attr]
    for _ in range(3):
        java.System.gc()
    runtime = java.Runtime.getRuntime()
    listeners = spark._jsc.sc().listenerBus().listeners().size()
    gateway: Any = spark.sparkContext._gateway
    return {
        "Python objects": len(gc.get_objects()),
        "Java objects that Python holds": len(ThreadSafeFinalizer.finalizers),
        "Python objects that Java holds": len(gateway.gateway_property.pool),
        "listeners": listeners,
        "MiB of the JVM": int(runtime.totalMemory() - runtime.freeMemory()) >> 20,
    }


def after(spark: SparkSession, stream: Running, batch: int) -> dict[str, int]:
    stream.wait_until("batch", batch)
    return held(spark)


@pytest.mark.long(minutes=4)
def test_what_a_driver_holds_does_not_grow_with_its_batches(
    spark: SparkSession, target: Path, checkpoint: Path, tmp_path: Path
) -> None:
    table = tmp_path / "many"
    spark.range(BATCHES, numPartitions=BATCHES).write.format("delta").save(place(table))
    source = {"format": "delta", "path": place(table), "options": {"maxFilesPerTrigger": "1"}}
    append: Document = {
        "table": {"path": place(target)},
        "source": source,
        "query": "SELECT * FROM source WHERE id % 3 > 0",
    }
    with running(spark, stream_of(table, checkpoint, trigger=AT_ONCE, **append)) as stream:
        first = after(spark, stream, WARM)
        for batch in range(WARM, BATCHES, PATIENT_FOR):
            stream.wait_until("batch", batch)
        last = after(spark, stream, BATCHES - 1)
    told = "\n".join(
        f"{name}: {first[name]} after {WARM} batches, {last[name]} after {BATCHES}" for name in first
    )
    sys.stdout.write(f"{told}\n")
    assert spark.sql(f"SELECT * FROM {at(target)}").count() == BATCHES * 2 // 3
    between = BATCHES - WARM
    assert last["Python objects"] - first["Python objects"] < between, told
    assert last["Java objects that Python holds"] - first["Java objects that Python holds"] < between, told
    assert last["Python objects that Java holds"] == first["Python objects that Java holds"], told
    assert last["listeners"] == first["listeners"], told
    assert last["MiB of the JVM"] - first["MiB of the JVM"] < 50, told
