"""The runner's result is believed, and nothing else that may stand in a termination message."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.api.job_status import Attempt, AttemptException, Outcome
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


def test_what_an_earlier_attempt_committed_is_not_this_ones() -> None:
    left_out = RESULT["statements"][0] | {"number": 1, "state": "AlreadyCommitted"}
    result = parse(json.dumps(RESULT | {"statements": [left_out, *RESULT["statements"]]}))
    assert result is not None
    assert [commit.statement for commit in result.commits] == [2]


def test_a_run_of_which_nothing_was_left_has_the_commits_of_earlier_attempts() -> None:
    left_out = RESULT["statements"][0] | {"state": "AlreadyCommitted"}
    result = parse(json.dumps(RESULT | {"outcome": "AlreadyCommitted", "statements": [left_out]}))
    assert result is not None
    assert result.outcome is Outcome.ALREADY_COMMITTED
    assert [commit.version for commit in result.commits] == [12]


@pytest.mark.parametrize("stamp", [{"sluice": {"job": "etl/other"}}, {"job": "etl/other"}])
def test_an_exception_names_the_winner(stamp: dict[str, Any]) -> None:
    exception = EXCEPTION | {"conflictingCommit": {"version": 5, "operation": "WRITE", "stamp": stamp}}
    result = parse(json.dumps(RESULT | {"outcome": "Failed", "exception": exception}))
    assert result is not None
    assert result.exception is not None
    assert len(result.exception.message) <= 2048
    assert result.exception.conflicting_commit is not None
    assert result.exception.conflicting_commit.job == "etl/other"


def _exception(**more: Any) -> AttemptException:
    result = parse(json.dumps(RESULT | {"outcome": "Failed", "exception": EXCEPTION | more}))
    assert result is not None
    assert result.exception is not None
    return result.exception


def test_an_exception_tells_where_the_two_met_and_whether_another_attempt_may_end_better() -> None:
    told = _exception(sqlState="2D521", partition="date=2026-11-19", retriable=True)
    assert (told.sql_state, told.partition, told.retriable) == ("2D521", "date=2026-11-19", True)
    older = _exception()
    assert (older.sql_state, older.partition, older.retriable) == (None, None, None)


@pytest.mark.parametrize(
    ("commit", "job", "foreign"),
    [
        ({"version": 5, "stamp": None, "foreign": True}, None, True),
        ({"version": 5, "stamp": None, "foreign": None}, None, None),
        ({"version": 5, "stamp": {"job": "etl/other"}, "foreign": False}, "etl/other", False),
        # A stamp says more than a runner that contradicts it.
        ({"version": 5, "stamp": {"job": "etl/other"}, "foreign": True}, "etl/other", False),
        # A stamp that had no room.
        ({"version": 5, "stamp": None, "foreign": False}, None, False),
        ({"version": 5, "stamp": None, "foreign": "yes"}, None, None),
    ],
)
def test_a_winner_is_a_job_or_foreign_or_not_known(
    commit: dict[str, Any], job: str | None, foreign: bool | None
) -> None:
    engine = "Apache-Spark/4.2.0 Delta-Lake/4.4.0"
    won = _exception(conflictingCommit=commit | {"engine": engine}).conflicting_commit
    assert won is not None
    assert (won.job, won.foreign, won.engine) == (job, foreign, engine)


@pytest.mark.parametrize("value", ["x" * 5000, 2**70, ["x"], {"x": 1}, True])
def test_new_fields_hold_whatever_stands_there_within_their_bounds(value: Any) -> None:
    told = _exception(sqlState=value, partition=value, retriable=value)
    assert told.sql_state is not None
    assert told.partition is not None
    assert (len(told.sql_state) <= 16, len(told.partition) <= 512) == (True, True)
    assert told.retriable is (True if value is True else None)


@pytest.mark.parametrize(
    ("statements", "operation"),
    [
        (
            [
                {"number": 1, "state": "Committed", "operation": "WRITE"},
                {"number": 2, "state": "Failed", "operation": "X"},
            ],
            "X",
        ),
        ([{"number": 1, "state": "Failed", "operation": None}], None),
        ([], None),
    ],
)
def test_the_operation_that_failed_is_that_of_the_failed_statement(
    statements: list[dict[str, Any]], operation: str | None
) -> None:
    result = parse(
        json.dumps(RESULT | {"outcome": "Failed", "statements": statements, "exception": EXCEPTION})
    )
    assert result is not None
    assert result.failed_operation == operation


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
KEYS += ["sqlState", "partition", "retriable", "engine", "foreign", "state"]
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


@pytest.mark.parametrize(
    ("told", "config_map", "missing"),
    [
        ({"configMap": "a-1-report"}, "a-1-report", None),
        ({"missing": "no report was written: 403"}, None, "no report was written: 403"),
    ],
)
def test_it_is_read_where_the_full_report_is(
    told: dict[str, str], config_map: str | None, missing: str | None
) -> None:
    result = parse(json.dumps(RESULT | {"report": told}))
    assert result is not None
    assert result.report is not None
    assert (result.report.config_map, result.report.missing) == (config_map, missing)


@pytest.mark.parametrize("told", [None, "text", 5, [], ["x"]])
def test_what_is_said_of_a_report_costs_nothing_of_a_result(told: object) -> None:
    result = parse(json.dumps(RESULT | {"report": told}))
    assert result is not None
    assert (len(result.commits), result.report) == (1, None)


@pytest.mark.parametrize(
    ("footprint", "kept"),
    [
        ({"strayed": [], "unlooked": None}, True),
        ({"strayed": [], "unlooked": "statement 1: gone"}, None),
        ({"strayed": ["statement 1: adds to x=1"], "unlooked": "statement 2: gone"}, False),
        (None, None),
        ([], None),
    ],
)
def test_a_footprint_counts_as_kept_to_where_everything_was_looked_at(
    footprint: Any, kept: bool | None
) -> None:
    result = parse(json.dumps(RESULT | {"footprint": footprint}))
    assert result is not None
    assert result.has_kept_to_footprint is kept


def test_half_a_character_costs_nothing_of_the_result() -> None:
    result = parse(json.dumps(RESULT | {"footprint": {"strayed": ["\ud800"]}}))
    assert result is not None
    assert result.strayed == ("?",)


def test_names_are_read_as_far_as_a_job_could_say_them() -> None:
    said = [
        {"name": "lake.sales.orders", "location": "s3a://lake/orders"},
        {"name": "a view; DROP", "location": "s3://lake/orders"},
        {"name": "lake.sales.items", "location": "warehouse/items"},
        {"name": "lake.sales.parts", "location": "s3://key:secret@lake/parts"},
        {"name": "lake.sales.logs", "location": "s3://lake/orders/_delta_log"},
        {"name": ["x"], "location": None},
        "lake.sales.all",
    ]
    result = parse(json.dumps(RESULT | {"names": said}))
    assert result is not None
    assert [(one.name, one.table) for one in result.names] == [("lake.sales.orders", "s3a://lake/orders")]


@pytest.mark.parametrize("said", [{}, "names", 3, None])
def test_names_in_another_shape_cost_nothing_of_the_result(said: object) -> None:
    result = parse(json.dumps(RESULT | {"names": said}))
    assert result is not None
    assert result.names == ()
    assert result.commits


def test_no_more_names_are_read_than_a_status_holds() -> None:
    said = [{"name": f"lake.sales.t{number}", "location": f"s3://lake/{number}"} for number in range(40)]
    result = parse(json.dumps(RESULT | {"names": said}))
    assert result is not None
    assert len(result.names) == 16


def test_a_stream_that_pauses_says_how_far_it_has_come() -> None:
    told = {"version": 1, "outcome": "Paused", "attempt": 2, "statements": []}
    stream = {
        "queryId": "9c2b",
        "batch": 17,
        "batches": 4,
        "batchAt": "2026-11-25T10:00:03Z",
        "lag": {"files": 0},
    }
    result = parse(json.dumps(told | {"stream": stream}))
    assert result is not None
    assert result.outcome is Outcome.PAUSED
    assert result.stream is not None
    assert (result.stream.batch, result.stream.batches) == (17, 4)


def test_a_stream_that_is_not_understood_costs_nothing_of_the_result() -> None:
    made_up: tuple[Any, ...] = ("17", [], {"batch": -1}, {"batch": 2**80})
    for nonsense in made_up:
        result = parse(json.dumps(RESULT | {"stream": nonsense}))
        assert result is not None
        assert result.stream is None
