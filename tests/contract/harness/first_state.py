"""A table that finds its first state again. A copy for each use would be dearer: Delta reads a log that it has not seen
with Spark, which takes longer than most statements.

What was committed is taken back: its files go, and Delta's cache gets the snapshot that it had before, of which it still
has the state.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

_STATE_CACHE = "org$apache$spark$sql$delta$util$StateCache$$"
_FILES = "org$apache$spark$sql$delta$stats$DataSkippingReaderBase$$withStatsCache"


class LostStateError(Exception):
    """A file of the first state is gone or changed, as by VACUUM: the table has to be made anew."""


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
        # In this session, so that no setting of a user has a hand in it.
        self._snapshot.computedState()
        getattr(self._snapshot, _FILES)()
        self._keep_cached()

    def commits(self) -> list[Path]:
        """What was committed since, in order."""
        return sorted(set((self.place / "_delta_log").glob("*.json")) - self._files.keys())

    def restore(self) -> None:
        found = _below(self.place)
        for path in found.keys() - self._files.keys():
            path.unlink()
        if any(found.get(path) != state for path, state in self._files.items()):
            raise LostStateError(str(self.place))
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


def _below(place: Path) -> dict[Path, tuple[int, int]]:
    """Each file with its size and the time of its last change."""
    return {path: _state(path) for path in place.rglob("*") if path.is_file()}


def _state(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns
