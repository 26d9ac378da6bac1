"""Starts Spark as the SparkApplication configured it, which must be what the job was judged by, plus the settings that
Delta needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sluice_runner.assumptions import Assumed, refuse_another_spark, refuse_other_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXTENSIONS = "spark.sql.extensions"
_DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_DEFAULTS = {
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def completed(configured: Mapping[str, str]) -> dict[str, str]:
    """The settings to add; what the application set stays as it is."""
    added = {key: value for key, value in _DEFAULTS.items() if key not in configured}
    extensions = [name for name in configured.get(_EXTENSIONS, "").split(",") if name.strip()]
    if _DELTA_EXTENSION not in (name.strip() for name in extensions):
        added[_EXTENSIONS] = ",".join([*extensions, _DELTA_EXTENSION])
    return added


def has_delta_sql(spark: SparkSession) -> bool:
    extensions = spark.sparkContext.getConf().get(_EXTENSIONS, "") or ""
    return _DELTA_EXTENSION in (name.strip() for name in extensions.split(","))


def start(assumed: Assumed, *, gated: bool = False) -> SparkSession:
    """`gated`: commits are to be looked at before they are made."""
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - an image without PySpark must still report that
    from pyspark.sql import SparkSession  # noqa: PLC0415

    from sluice_runner import promise  # noqa: PLC0415

    # Without its JVM, SparkConf is empty: what spark-submit was told is known there.
    SparkContext._ensure_initialized()
    configured = dict(SparkConf().getAll())
    refuse_other_settings(configured, assumed)
    added = completed(configured)
    if gated:
        added |= promise.gated(configured)
    builder = SparkSession.builder
    for key, value in added.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    refuse_another_spark(spark, assumed)
    return spark


def is_stopped(spark: SparkSession) -> bool:
    """Whether Spark is being stopped, or is gone."""
    from py4j.protocol import Py4JError  # noqa: PLC0415

    try:
        return bool(spark.sparkContext._jsc.sc().isStopped())
    except (Py4JError, OSError):
        return True  # nobody answers in its JVM
