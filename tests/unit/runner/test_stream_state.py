"""How far a stream has come is told in a few fields, however many batches it has had."""

from __future__ import annotations

from typing import Any

import pytest

from sluice_runner.commits import Commit
from sluice_runner.stream_state import StreamState, lag

WAITS = {"message": "Waiting for data to arrive", "isDataAvailable": False, "isTriggerActive": False}
WORKS = {"message": "Processing new data", "isDataAvailable": True, "isTriggerActive": True}


def test_a_stream_tells_its_last_batch_with_rows() -> None:
    state = StreamState(lambda: "2026-11-19T10:00:00+00:00")
    assert state.document() == {"batches": 0}
    state.query_id = "6b1f"
    state.begins()
    state.committed(Commit("file:/a", 7, "MERGE", {}, None))
    state.ended(3, 2.7, has_rows=True)
    state.look({"batchId": 2, "numInputRows": 9, "sources": []}, WORKS)
    batch = {"batchAt": "2026-11-19T10:00:00+00:00", "batchSeconds": 2}
    last = {"table": "file:/a", "version": 7}
    told: dict[str, Any] = {"queryId": "6b1f", "batch": 3, "batches": 1, **batch, "lastCommit": last}
    assert state.document() == told
    state.look({"batchId": 3, "numInputRows": 5, "sources": []}, WORKS)
    assert state.document() == told | {"rows": 5}
    state.ended(4, 0.1, has_rows=False)
    state.look({"batchId": 4, "numInputRows": 0, "sources": []}, WORKS)
    assert state.document() == told | {"rows": 5, "batch": 4}


def test_a_stream_is_idle_from_when_it_found_nothing_until_its_next_batch() -> None:
    times = iter(["10:00", "10:01", "10:02"])
    state = StreamState(lambda: next(times))
    state.look(None, {"message": "Initializing sources", "isDataAvailable": False})
    assert "idleSince" not in state.document()
    state.look(None, WAITS)
    state.look(None, WAITS | {"message": "Waiting for next trigger"})
    assert state.document()["idleSince"] == "10:00"
    state.begins()
    assert "idleSince" not in state.document()
    state.look(None, WAITS)
    assert state.document()["idleSince"] == "10:01"
    state.look(None, WAITS | {"isDataAvailable": True})
    assert "idleSince" not in state.document()


@pytest.mark.parametrize(
    ("sources", "told"),
    [
        ([], None),
        ([{"description": "DeltaSource", "metrics": {}}], None),
        (
            [{"metrics": {"numFilesOutstanding": "3", "numBytesOutstanding": "4096"}}],
            {"files": 3, "bytes": 4096},
        ),
        (
            [
                {"metrics": {"avgOffsetsBehindLatest": "2.5"}, "endOffset": {"orders": {"0": 7, "1": 9}}},
                {"metrics": {"avgOffsetsBehindLatest": "1.0"}, "endOffset": '{"late": {"0": 7}}'},
            ],
            {"rows": 6},
        ),
        ([{"metrics": {"numFilesOutstanding": "many", "numBytesOutstanding": "-1", "other": "5"}}], None),
        (
            [{"metrics": {"numFilesOutstanding": "8e18", "numBytesOutstanding": "1e400"}}] * 2,
            {"files": 2**63 - 1},
        ),
        ([{"metrics": {"numFilesOutstanding": 10**400}}], None),
        *(
            ([{"metrics": {"avgOffsetsBehindLatest": "2.5"}, "endOffset": offset}], None)
            for offset in (7, "7", "shard-1@7", "[" * 10_000, [{"shard": 7}], None)
        ),
    ],
)
def test_its_lag_is_told_by_metrics_that_are_known_whatever_else_a_source_says(
    sources: Any, told: dict[str, int] | None
) -> None:
    assert lag(sources) == told
