"""Marks every commit of a run with who made it, so that it is recognised in the log whatever else happened.

The latest version of a table proves nothing, because others commit as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sluice_runner import txn
from sluice_runner.plan import Plan
from sluice_runner.settings import set_to

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONF = "spark.databricks.delta.commitInfo.userMetadata"
_KEY = "sluice"


@dataclass(frozen=True)
class Look:
    """What an attempt saw of a table before it fenced it: what the fence hides."""

    replaced: int | None
    """The highest txn version of the run's appId."""
    version: int
    """The table's version in Delta: what is committed after it, and before the fence, the look didn't see."""


@dataclass(frozen=True)
class Stamp:
    namespace: str
    run_key: str
    spec_hash: str
    token: int
    statement: int
    look: Look | None
    """Of a fence."""
    is_closing: bool

    @property
    def txn_version(self) -> int:
        if self.is_closing:
            return txn.closing(self.spec_hash)
        return txn.version(self.token, self.statement)


def stamp(plan: Plan, statement: int) -> str:
    return _text(plan, statement=statement)


def step_stamp(plan: Plan, statement: int, step: str) -> str:
    """Of a step that an application calls by a name."""
    return _text(plan, statement=statement, step=step)


def is_of_attempt(plan: Plan, user_metadata: str | None) -> bool:
    """Whether this very attempt made the commit, by whichever of its stamps but those of commits without rows."""
    found = read_stamp(user_metadata)
    if found is None or found.get("statement") == txn.FENCE:
        return False
    return (found.get("uid"), found.get("attempt"), found.get("token")) == (
        plan.job.uid,
        plan.attempt,
        plan.token,
    )


def fence_stamp(plan: Plan, look: Look) -> str:
    return _text(plan, statement=txn.FENCE, fence={"replaced": look.replaced, "version": look.version})


def closing_stamp(plan: Plan) -> str:
    return _text(plan, statement=txn.FENCE, closing=True)


def _text(plan: Plan, **what: object) -> str:
    content = {
        "runKey": plan.run_key,
        "specHash": plan.spec_hash,
        "job": f"{plan.job.namespace}/{plan.job.name}",
        "uid": plan.job.uid,
        "attempt": plan.attempt,
        "token": plan.token,
        **what,
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


def parsed(user_metadata: str | None) -> Stamp | None:
    """None also for what looks like a stamp and isn't one that a runner wrote."""
    content = read_stamp(user_metadata)
    if content is None:
        return None
    try:
        fence = content.get("fence")
        found = Stamp(
            namespace=_text_of(content["job"]).partition("/")[0],
            run_key=_text_of(content["runKey"]),
            spec_hash=_text_of(content["specHash"]),
            token=_whole(content["token"]),
            statement=_whole(content["statement"]),
            look=None if fence is None else _look(fence),
            is_closing=content.get("closing", False) is True,
        )
        txn.version(found.token, found.statement)
    except (KeyError, TypeError, ValueError):
        return None
    return found


def _look(fence: Mapping[str, Any]) -> Look:
    replaced = fence["replaced"]
    return Look(None if replaced is None else _whole(replaced), _whole(fence["version"]))


def _text_of(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(value)
    return value


@contextmanager
def stamped(spark: SparkSession, text: str) -> Iterator[None]:
    """Sets the stamp for what runs inside, and afterwards restores what the job's own sparkConf had set."""
    with set_to(spark, {CONF: text}):
        yield
