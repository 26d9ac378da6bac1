"""Whether what a statement committed is what the job was judged to touch: other jobs were let in beside it for that.

A look afterwards, by the log. It finds where Sluice has understood a statement wrongly, or a declaration doesn't hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sluice_runner import tables, write
from sluice_runner.commits import Commit, file_of
from sluice_runner.java_classes import java_class
from sluice_runner.partitions import Conditions
from sluice_runner.plan import Touched

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STRAYED = "dev.sluice.delta.Strayed"
_MOST_TOLD = 3


class GoneError(Exception):
    """The table can't be looked at any more."""


class Judged:
    """What the job was judged to touch."""

    def __init__(self, spark: SparkSession, touched: Sequence[Touched], conditions: Conditions) -> None:
        self._spark = spark
        self._conditions = conditions
        self._touched = [(write.table_name(one.table), one) for one in touched]

    def strayed(self, statement: int, own: Sequence[Commit]) -> list[str]:
        """What of a statement's commits lies elsewhere, for people; the first of it."""
        relevant = [(name, one) for name, one in self._touched if one.statement in (None, statement)]
        if not self._touched or not own:
            return []
        locations = {name: self._locations(name) for name in dict.fromkeys(name for name, _ in relevant)}
        found = [
            place
            for commit in own
            for place in self._of_commit(
                commit, [one for name, one in relevant if _without_scheme(commit.table) in locations[name]]
            )
        ]
        return found[:_MOST_TOLD]

    def _locations(self, name: tuple[str, ...]) -> set[str]:
        return {_without_scheme(table.location) for table in tables.find_for_sure(self._spark, name)}

    def _of_commit(self, commit: Commit, touched: Sequence[Touched]) -> list[str]:
        version = f"version {commit.version} of {commit.table}"
        adds, removes = _any_of([one.adds for one in touched]), _any_of([one.removes for one in touched])
        if touched and adds is None and removes is None:
            return []
        found = tables.find_for_sure(self._spark, tables.path_name(commit.table))
        if len(found) != 1:
            raise GoneError(f"after {version} there is no such Delta table any more")
        if not touched:
            return [f"{version} is of a table that the statement wasn't judged to write"]
        strayed = java_class(self._spark, STRAYED)
        conf: Any = self._spark._jsparkSession.sessionState().newHadoopConf()
        conditions = [
            None if text is None else self._conditions.on(found[0], [text]) for text in (adds, removes)
        ]
        return [f"{version} {place}" for place in strayed.of(file_of(commit), conf, *conditions, _MOST_TOLD)]


def _any_of(alternatives: Sequence[str | None]) -> str | None:
    """None: anywhere."""
    texts = dict.fromkeys(alternatives)
    return None if None in texts else " OR ".join(f"({text})" for text in texts)


def _without_scheme(location: str) -> str:
    """One bucket has several schemes, and a table is named by any of them."""
    return location.partition(":")[2]
