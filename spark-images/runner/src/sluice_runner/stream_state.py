"""How far a stream has come: what its pod's annotation and its result tell of it, whatever number of batches it has had."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any

from sluice_runner.commits import Commit

_MOST_TABLE = 256
_WAITS = ("Waiting for data", "Waiting for next trigger")
_MOST = 2**63 - 1


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")  # noqa: UP017 - images may have Python 3.10


class StreamState:
    """Written by the stream's threads, and read by the one that tells it."""

    def __init__(self, clock: Callable[[], str] = _now) -> None:
        self._clock = clock
        self.query_id: str | None = None
        self.batch: int | None = None
        """Number of the last batch that ended."""
        self.batches = 0
        """How many with rows have ended in this attempt."""
        self._of_batch: Mapping[str, Any] = {}
        """Of the last one with rows, as it is told."""
        self._with_rows: int | None = None
        self._idle_since: str | None = None
        self._lag: Mapping[str, int] | None = None
        self._last_commit: Mapping[str, Any] | None = None

    def begins(self) -> None:
        self._idle_since = None

    def committed(self, commit: Commit) -> None:
        self._last_commit = {"table": commit.table[:_MOST_TABLE], "version": commit.version}

    def ended(self, number: int, seconds: float, *, has_rows: bool, rows: int | None = None) -> None:
        """`rows`: how many it read; None: as Spark will tell."""
        self.batch = number
        if has_rows:
            self.batches += 1
            self._with_rows = number
            told = {"batchAt": self._clock(), "batchSeconds": int(seconds)}
            self._of_batch = told if rows is None else {"rows": rows, **told}

    def look(self, progress: Mapping[str, Any] | None, status: Mapping[str, Any]) -> None:
        """What Spark tells of the query: the progress of its last trigger, and what it does now."""
        if progress is not None:
            if progress.get("batchId") == self._with_rows and "rows" not in self._of_batch:
                self._of_batch = {**self._of_batch, "rows": int(progress.get("numInputRows", 0))}
            self._lag = lag(progress.get("sources") or ())
        waits = str(status.get("message", "")).startswith(_WAITS) and not status.get("isDataAvailable")
        if not waits:
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = self._clock()

    def document(self) -> dict[str, Any]:
        told = {
            "queryId": self.query_id,
            "batch": self.batch,
            "batches": self.batches,
            **self._of_batch,
            "idleSince": self._idle_since,
            "lag": self._lag,
            "lastCommit": self._last_commit,
        }
        return {name: value for name, value in told.items() if value is not None}


def lag(sources: Any) -> dict[str, int] | None:
    """How far the stream is behind its source, by those of its metrics that are known to tell it."""
    found: dict[str, int] = {}
    for source in sources:
        metrics = source.get("metrics") or {}
        for name, metric in (("files", "numFilesOutstanding"), ("bytes", "numBytesOutstanding")):
            count = _number(metrics.get(metric))
            if count is not None:
                found[name] = found.get(name, 0) + int(count)
        behind = _number(metrics.get("avgOffsetsBehindLatest"))
        partitions = _partitions(source.get("endOffset"))
        if behind is not None and partitions is not None:
            found["rows"] = found.get("rows", 0) + round(behind * partitions)
    return {name: min(count, _MOST) for name, count in found.items()} or None


def _partitions(offsets: Any) -> int | None:
    """Of Kafka's topics together: each tells an offset for each of its partitions. None for another source's offsets, which may
    be anything."""
    try:
        topics = json.loads(offsets) if isinstance(offsets, str) else offsets
    except (ValueError, RecursionError):
        return None
    if not isinstance(topics, dict):
        return None
    return sum(len(topic) for topic in topics.values() if isinstance(topic, dict))


def _number(text: Any) -> float | None:
    try:
        found = float(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if 0 <= found <= _MOST else None
