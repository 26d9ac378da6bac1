"""Marks every commit of a statement with the job that made it, so that it is recognised in the log whatever else
happened.

The latest version of a table proves nothing, because others commit as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sluice_runner.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONF = "spark.databricks.delta.commitInfo.userMetadata"
_KEY = "sluice"


def stamp(plan: Plan, statement: int) -> str:
    content = {
        "runKey": plan.run_key,
        "specHash": plan.spec_hash,
        "job": f"{plan.job.namespace}/{plan.job.name}",
        "uid": plan.job.uid,
        "attempt": plan.attempt,
        "token": plan.token,
        "statement": statement,
    }
    return json.dumps({_KEY: content}, ensure_ascii=False, separators=(",", ":"))


def read_stamp(user_metadata: str | None) -> Mapping[str, Any] | None:
    """The stamp of any Sluice job; None for other commits, whose metadata may be any text."""
    if user_metadata is None:
        return None
    try:
        content = json.loads(user_metadata)
    except (ValueError, RecursionError):
        return None
    found = content.get(_KEY) if isinstance(content, dict) else None
    return found if isinstance(found, dict) else None


@contextmanager
def stamped(spark: SparkSession, text: str) -> Iterator[None]:
    """Sets the stamp for what runs inside, and afterwards restores what the job's own sparkConf had set."""
    before = spark.conf.get(CONF, None)
    spark.conf.set(CONF, text)
    try:
        yield
    except Exception:
        _restore(spark, before)
        raise
    # Not while the driver is being ended: Spark may be gone already, and its error would hide the reason.
    _restore(spark, before)


def _restore(spark: SparkSession, before: str | None) -> None:
    if before is None:
        spark.conf.unset(CONF)
    else:
        spark.conf.set(CONF, before)
