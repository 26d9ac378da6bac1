"""A table that each shape finds in its first state. A copy for each would be dearer: Delta reads a log that it has not
seen with Spark, which takes longer than most statements.

What was committed is taken back: its files go, and Delta's cache gets the snapshot that it had before, of which it still
has the state. No file of the first state is ever removed, because nothing here vacuums.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

_STATE_CACHE = "org$apache$spark$sql$delta$util$StateCache$$"
_FILES = "org$apache$spark$sql$delta$stats$DataSkippingReaderBase$$withStatsCache"


class FirstState:
    def __init__(self, spark: SparkSession, place: Path) -> None:
        self.place = place
        self._files = _below(place)
        jvm = spark._jvm
        assert jvm is not None
        path = str(place)
        self._delta_log: Any = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)
        self._captured = self._delta_log.currentSnapshot()
        self._snapshot = self._captured.snapshot()
        # In this session, so that no setting of a shape has a hand in it.
        self._snapshot.computedState()
        getattr(self._snapshot, _FILES)()
        self._keep_cached()

    def commits(self) -> list[Path]:
        """What was committed since, in order."""
        return sorted(set((self.place / "_delta_log").glob("*.json")) - self._files)

    def restore(self) -> None:
        for path in _below(self.place) - self._files:
            path.unlink()
        newest = self._delta_log.currentSnapshot().snapshot()
        if not newest.equals(self._snapshot):
            newest.uncache()
        getattr(self._delta_log, "currentSnapshot_$eq")(self._captured)
        self._keep_cached()

    def _keep_cached(self) -> None:
        """Delta drops the state of a snapshot when the next one takes its place: this one finds nothing to drop."""
        getattr(self._snapshot, f"{_STATE_CACHE}cached")().clear()
        getattr(self._snapshot, f"{_STATE_CACHE}cached_refs")().clear()
        getattr(self._snapshot, f"{_STATE_CACHE}_isCached_$eq")(True)


def _below(place: Path) -> set[Path]:
    return {path for path in place.rglob("*") if path.is_file()}
