"""The runner's result is believed, and nothing else that may stand in a termination message."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.api.job_status import Attempt, Outcome
from sluice.engines.result import parse

RESULT: dict[str, Any] = {
    "version": 1,
    "outcome": "Succeeded",
    "attempt": 1,
    "statements": [
        {
            "number": 2,
            "state": "Committed",
            "operation": "MERGE",
            "commits": [
                {
                    "table": "file:/t",
                    "version": 12,
                    "operation": "MERGE",
                    "metrics": {"rows": 3, "text": "x", "flag": True, "huge": 2**70},
                }
            ],
        },
        {"number": 3, "state": "NoCommit", "operation": None, "commits": []},
    ],
    "more": "of a later version",
}
EXCEPTION = {
    "class": "ConcurrentAppendException",
    "javaClass": "io.delta.exceptions.ConcurrentAppendException",
    "errorClass": "DELTA_CONCURRENT_APPEND",
    "message": "x" * 5000,
    "statement": 1,
    "conflictingCommit": {"version": 5, "operation": "WRITE", "stamp": {"sluice": {"job": "etl/other"}}},
}


def test_commits_are_read_with_the_metrics_that_are_whole_numbers() -> None:
    result = parse(json.dumps(RESULT))
    assert result is not None
    (commit,) = result.commits
    assert (commit.table, commit.version, commit.statement, commit.operation) == ("file:/t", 12, 2, "MERGE")
    assert commit.metrics == {"rows": 3}
    assert result.outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize("stamp", [{"sluice": {"job": "etl/other"}}, {"job": "etl/other"}])
def test_an_exception_names_the_winner(stamp: dict[str, Any]) -> None:
    exception = EXCEPTION | {"conflictingCommit": {"version": 5, "operation": "WRITE", "stamp": stamp}}
    result = parse(json.dumps(RESULT | {"outcome": "Failed", "exception": exception}))
    assert result is not None
    assert result.exception is not None
    assert len(result.exception.message) <= 2048
    assert result.exception.conflicting_commit is not None
    assert result.exception.conflicting_commit.job == "etl/other"


@pytest.mark.parametrize(
    "message",
    [
        None,
        "",
        "Traceback (most recent call last):",
        "{}",
        "[]",
        "1",
        "null",
        "[" * 4096,
        '{"version":1}',
        '{"version":2,"outcome":"Succeeded"}',
        '{"version":1,"outcome":"Perhaps"}',
        json.dumps(RESULT)[:-3],
        json.dumps(RESULT | {"statements": ["nonsense"]}),
        json.dumps(RESULT | {"statements": None}),
        json.dumps(RESULT | {"statements": [{"number": 1, "commits": ["x"]}]}),
        json.dumps(
            RESULT
            | {"statements": [{"number": 1, "commits": [{"table": "t", "version": 2**70, "operation": "W"}]}]}
        ),
        json.dumps(RESULT | {"exception": "text"}),
        json.dumps(RESULT | {"exception": EXCEPTION | {"statement": 2**40}}),
        json.dumps(RESULT | {"exception": EXCEPTION | {"conflictingCommit": {"stamp": "text"}}}),
    ],
)
def test_what_is_no_result_is_none(message: str | None) -> None:
    assert parse(message) is None


KEYS = ["version", "outcome", "statements", "number", "commits", "table", "operation", "metrics", "exception"]
KEYS += ["class", "message", "statement", "conflictingCommit", "stamp", "sluice", "job", "errorClass"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON, JSON, JSON)
def test_nothing_in_a_message_raises(statements: Any, exception: Any, commit: Any) -> None:
    for message in (
        {"version": 1, "outcome": "Failed", "statements": statements, "exception": exception},
        {"version": 1, "outcome": "Succeeded", "statements": [{"number": 1, "commits": [commit]}]},
        statements,
    ):
        result = parse(json.dumps(message))
        if result is not None:
            Attempt.model_validate(
                {
                    "number": 1,
                    "token": 1,
                    "hash": "x",
                    "application": "x",
                    "granted_at": "2026-11-19T00:00:00Z",
                    "commits": result.commits,
                    "exception": result.exception,
                }
            )
