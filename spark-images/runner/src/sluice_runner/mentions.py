"""All names that the text of a statement mentions, those of its sources and subqueries as well. Those of its own WITH are among
them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.errors import ParseException

from sluice_runner.catalogs import Name
from sluice_runner.targets import name_in, simple_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OF_AN_OLDER_VERSION = frozenset({"RelationTimeTravel", "TimeTravel"})
"""Spark's own word for it, and Delta's: neither tells the table below it as a child."""


def mentioned(spark: SparkSession, text: str) -> list[Name]:
    """None of a text that Spark can't parse: it isn't run either."""
    try:
        plan: Any = spark._jsparkSession.sessionState().sqlParser().parsePlan(text)
    except ParseException:
        return []
    return list(dict.fromkeys(_mentioned(plan)))


def _mentioned(plan: Any) -> Iterator[Name]:
    kind = simple_name(plan)
    name = name_in(plan, kind)
    if name is not None:
        yield name
    if kind in _OF_AN_OLDER_VERSION:
        yield from _mentioned(plan.relation())
    for below in (plan.children(), plan.innerChildren(), plan.subqueries()):
        for index in range(below.length()):
            yield from _mentioned(below.apply(index))
