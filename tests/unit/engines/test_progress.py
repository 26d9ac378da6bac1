"""How far a run has come is read from its driver's pod; what isn't the runner's there is nothing."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.api import names
from sluice.api.job_status import StreamProgress
from sluice.engines.progress import progress_of, stream_of
from sluice.lifecycle.streams.stream_progress import in_words, put_together

TOLD: dict[str, Any] = {
    "statement": 2,
    "of": 5,
    "operation": "MERGE",
    "since": "2026-11-25T10:00:00+00:00",
    "lastCommit": {"table": "file:/a", "version": 3},
}


def _pod(text: object) -> dict[str, Any]:
    return {"metadata": {"annotations": {names.ANNOTATION_PROGRESS: text}}}


def test_it_is_read_with_what_a_later_runner_adds_left_out() -> None:
    found = progress_of(_pod(json.dumps(TOLD | {"batch": 7, "copiedAt": "2026-11-25T10:00:00Z"})))
    assert found is not None
    assert (found.statement, found.of, found.operation, found.copied_at) == (2, 5, "MERGE", None)
    assert found.last_commit is not None
    assert (found.last_commit.table, found.last_commit.version) == ("file:/a", 3)


@pytest.mark.parametrize(
    "pod",
    [
        None,
        {"metadata": {}},
        {"metadata": {"annotations": None}},
        _pod(5),
        _pod("nonsense"),
        _pod("[" * 4000),
        _pod("[]"),
        _pod(json.dumps(TOLD | {"more": "x" * 5000})),
        _pod(json.dumps(TOLD | {"statement": 0})),
        _pod(json.dumps(TOLD | {"statement": "2"})),
        _pod(json.dumps(TOLD | {"since": "2026-11-25T10:00:00"})),
        _pod(json.dumps(TOLD | {"since": "0001-01-01T00:00:00+14:00"})),
        _pod(json.dumps(TOLD | {"lastCommit": {"table": "a\nb", "version": 3}})),
        _pod(json.dumps({"statement": 2})),
    ],
)
def test_anything_else_is_nothing(pod: dict[str, Any] | None) -> None:
    assert progress_of(pod) is None


STREAM: dict[str, Any] = {
    "queryId": "9c2b",
    "batch": 17,
    "batches": 4,
    "rows": 1200,
    "batchAt": "2026-11-25T10:00:03+00:00",
    "batchSeconds": 4,
    "idleSince": None,
    "lag": {"files": 3, "bytes": 4096, "rows": None},
    "lastCommit": {"table": "file:/a", "version": 3},
}


def _streaming(stream: object) -> dict[str, Any]:
    told = {"statement": 1, "of": 1, "operation": "STREAM", "since": "2026-11-25T10:00:00+00:00"}
    return _pod(json.dumps(told | {"stream": stream}))


def test_how_far_a_stream_has_come_is_read() -> None:
    found = stream_of(_streaming(STREAM))
    assert found is not None
    assert (found.query_id, found.batch, found.batches, found.rows) == ("9c2b", 17, 4, 1200)
    assert (found.batch_seconds, found.idle_since) == (4, None)
    assert found.lag is not None
    assert (found.lag.files, found.lag.bytes, found.lag.rows) == (3, 4096, None)
    assert found.last_commit is not None
    assert found.last_commit.version == 3
    assert progress_of(_streaming(STREAM)) is not None, "what jobs say is read beside it"


def test_of_a_stream_a_later_runners_fields_and_those_of_the_operator_are_left_out() -> None:
    more = STREAM | {"watermark": "x", "attempt": 9, "toldAt": "2026-11-25T10:00:00Z"}
    more["lag"] = {**STREAM["lag"], "partitions": 3}
    more["lastCommit"] = {**STREAM["lastCommit"], "by": "x"}
    found = stream_of(_streaming(more))
    assert found == stream_of(_streaming(STREAM))
    assert found is not None
    assert (found.attempt, found.told_at) == (None, None)


@pytest.mark.parametrize(
    "stream",
    [
        None,
        [],
        "17",
        STREAM | {"batch": -1},
        STREAM | {"batch": 2**63},
        STREAM | {"batch": 10**400},
        STREAM | {"batch": "17"},
        STREAM | {"batch": True},
        STREAM | {"batchSeconds": 1.5},
        STREAM | {"rows": 2**70},
        STREAM | {"batchAt": "2026-11-25T10:00:03"},
        STREAM | {"idleSince": "yesterday"},
        STREAM | {"idleSince": "0001-01-01T00:00:00+14:00"},
        STREAM | {"batchAt": "9999-12-31T23:59:59-23:59"},
        STREAM | {"lag": {"files": -1}},
        STREAM | {"lag": {"files": 2**64}},
        STREAM | {"lag": 3},
        STREAM | {"lastCommit": {"table": "a\nb", "version": 3}},
        STREAM | {"lastCommit": {"table": "file:/a", "version": 2**63}},
        STREAM | {"lastCommit": {"table": "file:/a"}},
        STREAM | {"queryId": "\ud800"},
        STREAM | {"queryId": {"a": 1}},
    ],
)
def test_a_stream_that_no_status_could_hold_says_nothing(stream: object) -> None:
    assert stream_of(_streaming(stream)) is None


def test_a_long_word_of_a_stream_is_shortened() -> None:
    found = stream_of(_streaming(STREAM | {"queryId": "x" * 1000}))
    assert found is not None
    assert len(found.query_id or "") == 256


@pytest.mark.parametrize("given", [None, {"metadata": {}}, _pod("[]"), _pod("{}"), _pod("[" * 4000)])
def test_a_pod_without_a_stream_says_nothing_of_one(given: dict[str, Any] | None) -> None:
    assert stream_of(given) is None


def test_a_number_that_no_status_could_hold_is_nothing() -> None:
    assert progress_of(_pod(json.dumps(TOLD | {"statement": 2**31}))) is None
    assert (
        progress_of(_pod(json.dumps(TOLD | {"lastCommit": {"table": "file:/a", "version": 2**63}}))) is None
    )


_MOMENTS = st.sampled_from(
    [
        "2026-11-25T10:00:03Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-23:59",
        "2026-11-25T10:00:03",
        "-1",
        "1e9",
        "24:00",
    ]
)
_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | _MOMENTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(sorted(STREAM)), inner, max_size=3)
    ),
    max_leaves=6,
)
_FIELDS = (*sorted(STREAM), "toldAt", "attempt")


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(_FIELDS), _ANYTHING, max_size=5), st.booleans())
def test_whatever_stands_on_a_pod_is_nothing_or_what_a_status_holds_and_can_be_told(
    forged: dict[str, Any], beside_what_is_right: bool
) -> None:
    found = stream_of(_streaming((STREAM if beside_what_is_right else {}) | forged))
    if found is None:
        return
    now = datetime(2026, 11, 25, 11, tzinfo=UTC)
    for known in (None, stream_of(_streaming(STREAM))):
        told = put_together(known, found, 2, now)
        assert told.attempt == 2
        stored = json.loads(json.dumps(told.model_dump(mode="json", by_alias=True), allow_nan=False))
        assert StreamProgress.as_stored(stored) == told
        assert in_words(told)
