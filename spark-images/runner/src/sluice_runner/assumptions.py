"""Compares what the job was judged by with what this driver runs with: under other settings or versions nothing runs.

Settings may come from places that the operator doesn't see: spark-defaults.conf or core-site.xml of the image, a
mutating webhook, the Spark operator's own flags.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from sluice_runner.java_classes import java_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OF_SQL = (
    "spark.sql.",
    "spark.databricks.",
    "spark.delta.",
    "spark.io.delta.",
    "spark.hive.",
    "spark.hadoop.",
)
"""Settings that may change what a statement touches or how it commits. Those of Spark's core know no tables."""
_OF_STORES = "spark.hadoop."
_CREDENTIAL = re.compile(
    r"spark\.hadoop\.fs\..*(?:access\.key|secret\.key|session\.token|account\.key|password|oauth|sas\.token|auth\.)"
)
"""May come from the image: the operator takes no secrets, and none of them says which table is meant."""
_DEFAULT_FS = ("fs.defaultFS", "fs.default.name")
_ELSEWHERE = (
    r"^fs\.(viewfs\.mounttable\.|viewfs\.impl$|s3a\.bucket\..*\.accesspoint\.arn$)|^fs\.[a-z0-9]+\.impl$"
)
_MOST_TOLD = 5
_CONNECTOR = "spark.databricks.delta.v2.enableMode"
_DELTAS_OWN_CHOICE = "AUTO"


class NotAsJudgedError(Exception):
    """This driver is not what the job was judged by: nothing was run, or nothing from the statement on that it speaks of."""


@dataclass(frozen=True)
class Days:
    """On which statements may begin. On later ones current_date() may lead them to rows that they were not judged to touch."""

    first: date
    last: date


@dataclass(frozen=True)
class Assumed:
    spark_version: str | None
    delta_version: str | None
    """None: it wasn't known, and the job was judged by all versions."""
    spark_conf: Mapping[str, str]
    days: Days | None = None
    """Absent: it was judged for any day."""


NOTHING_ASSUMED = Assumed(None, None, {})
"""Of an application that brings its own image and settings."""


def refuse_other_settings(configured: Mapping[str, str], assumed: Assumed) -> None:
    """Compares the settings that Spark was started with."""
    _refuse(
        list(_other_settings(configured, assumed.spark_conf)),
        "settings",
        "put them under sparkConf of the job's runtime profile as they shall be, or remove them where they come from: the "
        "image's spark-defaults.conf, the Spark operator's flags, a webhook",
    )


def refuse_another_spark(spark: SparkSession, assumed: Assumed) -> None:
    """Compares what only a running Spark tells: versions, and what Hadoop's own files say of locations."""
    _refuse(
        list(other_versions(spark, assumed)),
        "versions",
        "name the image's versions in sparkVersion and deltaVersion of the job's runtime profile",
    )
    _refuse(
        list(_other_places(spark, assumed.spark_conf)),
        "file systems",
        "remove them from the image's core-site.xml, or write them under sparkConf of the job's runtime profile",
    )


def refuse_another_day(spark: SparkSession, assumed: Assumed) -> None:
    """Compares the day as Spark would put it into the next statement."""
    days = assumed.days
    if days is None:
        return
    [[today]] = spark.sql("SELECT current_date()").collect()
    if not days.first <= today <= days.last:
        raise NotAsJudgedError(
            f"the statement was not run, because current_date() is {today} here, and the job was judged for the days from "
            f"{days.first} to {days.last}: run sluice retry for it, which has it judged for any day, or write the day as a "
            "parameter"
        )


def refuse_another_connector(spark: SparkSession) -> None:
    """Delta has a second way to write, by its Kernel, which asks no LogStore and takes neither stamp nor transaction."""
    other = another_connector(spark)
    if other is not None:
        raise NotAsJudgedError(
            f"the statement was not run, because {other}, under which Delta commits past its LogStore: remove it"
        )


def another_connector(spark: SparkSession) -> str | None:
    """The setting that lets Delta take it."""
    mode = spark.conf.get(_CONNECTOR, _DELTAS_OWN_CHOICE) or ""
    return None if mode.upper() == _DELTAS_OWN_CHOICE else f"{_CONNECTOR} is {mode}"


def _refuse(found: list[str], what: str, cure: str) -> None:
    if not found:
        return
    more = f"; and {len(found) - _MOST_TOLD} more" if len(found) > _MOST_TOLD else ""
    told = "; ".join(found[:_MOST_TOLD])
    raise NotAsJudgedError(
        f"nothing was run, because this driver has other {what} than the job was judged by: {told}{more}: {cure}"
    )


def _other_settings(configured: Mapping[str, str], assumed: Mapping[str, str]) -> Iterator[str]:
    for name in sorted({*configured, *assumed}):
        if not name.startswith(OF_SQL):
            continue
        here, there = configured.get(name), assumed.get(name)
        if there is None:
            if not _CREDENTIAL.match(name):
                yield f"{name} is set{_shown(name, here)}, and neither job nor profile sets it"
        elif here is None:
            yield f"{name} is not set, and should be {there!r}"
        elif here.strip() != there.strip():
            yield f"{name} is{_shown(name, here, 'another value')}, and should be {there!r}"


def _shown(name: str, value: str | None, hidden: str = "") -> str:
    """The value, unless it may be a secret."""
    if name.startswith(_OF_STORES):
        return f" {hidden}" if hidden else ""
    return f" {value!r}" if hidden else f" to {value!r}"


def other_versions(spark: SparkSession, assumed: Assumed) -> Iterator[str]:
    """Rules differ between minor versions, not between patches of one."""
    if assumed.spark_version is not None and _minor(spark.version) != _minor(assumed.spark_version):
        yield f"Spark is {spark.version}, and should be {assumed.spark_version}"
    if assumed.delta_version is None:
        return
    delta: str = java_class(spark, "io.delta.package").VERSION()
    if _minor(delta) != _minor(assumed.delta_version):
        yield f"Delta is {delta}, and should be {assumed.delta_version}"


def _minor(version: str) -> list[str]:
    return version.split(".")[:2]


def _other_places(spark: SparkSession, assumed: Mapping[str, str]) -> Iterator[str]:
    hadoop: Any = spark._jsparkSession.sparkContext().hadoopConfiguration()
    known = {name[len(_OF_STORES) :] for name in assumed if name.startswith(_OF_STORES)}
    default: str = hadoop.get("fs.defaultFS")
    if not known.intersection(_DEFAULT_FS) and not default.startswith("file:"):
        yield f"fs.defaultFS is {default}, and locations without a scheme should be local folders"
    found: Any = hadoop.getValByRegex(_ELSEWHERE)
    for name, value in sorted(dict(found).items()):
        leads_elsewhere = not name.endswith(".impl") or (".viewfs." in value and name != "fs.viewfs.impl")
        if leads_elsewhere and name not in known:
            yield f"{name} is set, which makes locations lead elsewhere than they say"
