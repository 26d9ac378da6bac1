"""Starts Spark as the SparkApplication configured it, plus the settings that Delta needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXTENSIONS = "spark.sql.extensions"
_DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_DEFAULTS = {
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Since 4.1 Spark passes parameters to the session's parser, and Delta's (up to 4.4 at least) drops them: every
    # parameter would be unbound. If bound after parsing, as before 4.1, they arrive.
    "spark.sql.legacy.parameterSubstitution.constantsOnly": "true",
}


def completed(configured: Mapping[str, str]) -> dict[str, str]:
    """The settings to add; what the application set stays as it is."""
    added = {key: value for key, value in _DEFAULTS.items() if key not in configured}
    extensions = [name for name in configured.get(_EXTENSIONS, "").split(",") if name.strip()]
    if _DELTA_EXTENSION not in (name.strip() for name in extensions):
        added[_EXTENSIONS] = ",".join([*extensions, _DELTA_EXTENSION])
    return added


def start() -> SparkSession:
    from pyspark import SparkConf  # noqa: PLC0415 - an image without PySpark must still report that
    from pyspark.sql import SparkSession  # noqa: PLC0415

    builder = SparkSession.builder
    for key, value in completed(dict(SparkConf().getAll())).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
