"""Finds out before a statement computes anything whether its table's store keeps the commits of several drivers apart.

Only for the LogStore that rests on what the store does: it would find out by itself, but at the commit, when all is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from sluice_runner.assumptions import NotAsJudgedError
from sluice_runner.java_classes import java_class
from sluice_runner.repeatable import WRITES_ONE_TABLE
from sluice_runner.targets import ParsedStatement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OF_S3 = ("s3", "s3a", "s3n")
_CONDITIONAL = "dev.sluice.delta.S3ConditionalLogStore"


def refuse_unsafe(
    spark: SparkSession, conf: Mapping[str, str], statement: ParsedStatement, locations: Iterable[str]
) -> None:
    """`conf`: what the driver was started with. Tables that a statement may only read are not written to, even for a try."""
    if statement.command not in WRITES_ONE_TABLE:
        return
    for location in locations:
        _refuse_another_spelling(conf, location)
        if commits_conditionally(conf, location):
            hadoop: Any = spark._jsparkSession.sessionState().newHadoopConf()
            java_class(spark, _CONDITIONAL).refuseUnsafe(location, hadoop)


def _refuse_another_spelling(conf: Mapping[str, str], location: str) -> None:
    """Delta looks the LogStore up by the scheme. Where a catalog spells it otherwise than the policy, by which the job was
    judged, Delta's own LogStore would commit."""
    scheme = location.partition(":")[0]
    if scheme not in _OF_S3 or commits_conditionally(conf, location):
        return
    named = [other for other in _OF_S3 if commits_conditionally(conf, f"{other}:")]
    if named:
        raise NotAsJudgedError(
            f"the statement was not run, because {location} would be committed to without Sluice's LogStore, which the settings "
            f"name for {', '.join(named)} alone: set spark.delta.logStore.{scheme}.impl in the job's runtime profile, too"
        )


def commits_conditionally(conf: Mapping[str, str], location: str) -> bool:
    scheme = location.partition(":")[0]
    named = (conf.get(name) for name in ("spark.delta.logStore.class", f"spark.delta.logStore.{scheme}.impl"))
    return _CONDITIONAL in named
