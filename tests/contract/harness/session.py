"""A local Spark with Delta in which a writer can be held exactly before its commit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from held_commits import held_in
from jvm_options import java_options
from spark_jars import class_path


@contextmanager
def freezing_spark(freezes: Path, warehouse: Path) -> Iterator[SparkSession]:
    """Settings that make small things quick change no decision of Delta's: one file a partition, no generated code."""
    settings = {
        # Where an archive of classes counts, which shortens the start.
        "spark.driver.extraClassPath": class_path(),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        **held_in(freezes),
        # Two sessions of this JVM shall meet: with its lock, the one that is held would keep the other out.
        "spark.databricks.delta.commitLock.enabled": "false",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.default.parallelism": "1",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.leafNodeDefaultParallelism": "1",
        # VACUUM lists files in so many tasks.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.lightweightPlanChangeValidation": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(warehouse),
        "spark.sql.ui.retainedExecutions": "1",
        # Describing plans for nobody takes a quarter of the time.
        "spark.sql.ui.explainMode": "simple",
        "spark.sql.maxPlanStringLength": "0",
        "spark.sql.debug.maxToStringFields": "1",
        # Without these Spark 4 walks the stack for each expression that Delta makes, and keeps figures for a page that is off.
        "spark.sql.dataFrameQueryContext.enabled": "false",
        "spark.ui.liveUpdate.period": "-1",
        "spark.sql.streaming.stopTimeout": "30s",
        # A stream at rest lists its source this often: every 10 ms would keep a core busy.
        "spark.sql.streaming.pollingDelay": "500ms",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        # Most of the time goes into planning small queries: compiled well, and never thrown out of a full code cache.
        "spark.driver.extraJavaOptions": java_options(
            "-XX:+UseSerialGC",
            "-XX:ReservedCodeCacheSize=400m",
            *("-Xms1g", "-Xmn512m"),
            "-XX:MetaspaceSize=256m",
        ),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    builder = SparkSession.builder.master("local[2]").appName("truth")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        spark.sparkContext.setLogLevel("OFF")
        yield spark
    finally:
        spark.stop()


def forget_tables(spark: SparkSession) -> None:
    """Delta keeps what it knows of each path; races are run on many paths, each once."""
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]


def activate(session: SparkSession) -> None:
    """Makes this the session of the thread: Delta reads some of its settings from there."""
    jvm = session._jvm
    assert jvm is not None
    jvm.org.apache.spark.sql.SparkSession.setActiveSession(session._jsparkSession)


def define_opaque(session: SparkSession) -> None:
    """A function of this session, `opaque`, as a user's own: what it does nobody can read from SQL."""
    registry = session._jsparkSession.sessionState().functionRegistry()
    registry.createOrReplaceTempFunction(
        "opaque", registry.lookupFunctionBuilder(_upper(registry)).get(), "scala_udf"
    )


def _upper(registry: Any) -> Any:
    """Returns the identifier that this Spark keeps `upper` under: it differs between versions."""
    names = registry.listFunction().iterator()
    while names.hasNext():
        name = names.next()
        if name.funcName() == "upper":
            return name
    raise LookupError("upper")
