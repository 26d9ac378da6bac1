"""Whether what a statement committed is what the job was judged to touch: other jobs were let in beside it for that.

A look afterwards, by the log. It finds where Sluice has understood a statement wrongly, or a declaration doesn't hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sluice_runner import partitions, tables, write
from sluice_runner.commits import Commit, file_of
from sluice_runner.plan import Touched
from sluice_runner.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST_TOLD = 3


class Judged:
    """What the job was judged to touch."""

    def __init__(self, spark: SparkSession, touched: Sequence[Touched]) -> None:
        self._spark = spark
        self._touched = touched

    def strayed(self, statement: int, own: Sequence[Commit]) -> list[str]:
        """What of a statement's commits lies elsewhere, for people; the first of it."""
        if not self._touched:
            return []
        found = [place for commit in own for place in self._of_commit(statement, commit)]
        return found[:_MOST_TOLD]

    def _of_commit(self, statement: int, commit: Commit) -> list[str]:
        (table,) = tables.find_for_sure(self._spark, tables.path_name(commit.table))
        touched = [
            one for one in self._touched if one.statement in (None, statement) and self._is_of(one, table)
        ]
        version = f"version {commit.version} of {commit.table}"
        if not touched:
            return [f"{version} is of a table that the statement wasn't judged to write"]
        adds = self._any_of(table, [one.adds for one in touched])
        removes = self._any_of(table, [one.removes for one in touched])
        if adds is None and removes is None:
            return []
        strayed: Any = self._spark._jvm.dev.sluice.delta.Strayed  # type: ignore[union-attr]
        conf: Any = self._spark._jsparkSession.sessionState().newHadoopConf()
        return [
            f"{version} {place}" for place in strayed.of(file_of(commit), conf, adds, removes, _MOST_TOLD)
        ]

    def _is_of(self, one: Touched, table: Table) -> bool:
        found = tables.find(self._spark, write.table_name(one.table))
        return _without_scheme(table.location) in (_without_scheme(other.location) for other in found)

    def _any_of(self, table: Table, alternatives: Sequence[str | None]) -> Any:
        """None: anywhere."""
        texts = [text for text in alternatives if text is not None]
        if len(texts) < len(alternatives):
            return None
        return partitions.condition(
            self._spark, table, [" OR ".join(f"({text})" for text in dict.fromkeys(texts))]
        )


def _without_scheme(location: str) -> str:
    """One bucket has several schemes, and a table is named by any of them."""
    return location.partition(":")[2]
