"""The result always fits a termination message, is always JSON, and says when something was left out."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice_runner.commits import Commit, selected
from sluice_runner.failures import Failure
from sluice_runner.result import COMMITTED, FAILED, MAX_BYTES, Report, Result, StatementResult, encode
from sluice_runner.stream_state import StreamState
from sluice_runner.winners import Winner

METRICS = {"numOutputRows": 2**60, "numFiles": 12, "numOutputBytes": 2**50, "executionTimeMs": 123456}


def document(result: Result) -> dict[str, Any]:
    encoded = encode(result)
    assert len(encoded) <= MAX_BYTES
    content: dict[str, Any] = json.loads(encoded.decode("utf-8"))
    return content


def committed(number: int, commits: int = 1) -> StatementResult:
    made = [Commit("s3://lake/" + "t" * 40, number + i, "MERGE", METRICS, None) for i in range(commits)]
    return StatementResult(number, COMMITTED, "MERGE", made)


def failure(message: str) -> Failure:
    return Failure(
        "ConcurrentAppendException",
        "io.delta.exceptions.ConcurrentAppendException",
        "DELTA_CONCURRENT_APPEND",
        message,
        sql_state="2D521",
        partition="date=2026-11-19",
        retriable=True,
    )


def test_success_reads_as_agreed() -> None:
    commit = Commit("file:/t", 12, "MERGE", {"numTargetRowsInserted": 3}, "stamp")
    assert document(Result(1, [StatementResult(1, COMMITTED, "MERGE", [commit])])) == {
        "version": 1,
        "outcome": "Succeeded",
        "attempt": 1,
        "statements": [
            {
                "number": 1,
                "state": "Committed",
                "operation": "MERGE",
                "commits": [
                    {
                        "table": "file:/t",
                        "version": 12,
                        "operation": "MERGE",
                        "metrics": {"numTargetRowsInserted": 3},
                    }
                ],
            }
        ],
    }


def test_a_lost_conflict_reads_as_agreed() -> None:
    engine = "Apache-Spark/4.2.0 Delta-Lake/4.4.0"
    winner = Winner(
        5, "WRITE", '{"sluice":{"runKey":"other"}}', engine, 4, in_log=True, table="file:/lake/orders"
    )
    content = document(
        Result(1, [StatementResult(1, FAILED, "DELETE")], failure("text"), failed_statement=1, winner=winner)
    )
    assert content["outcome"] == "Failed"
    assert content["exception"] == {
        "class": "ConcurrentAppendException",
        "javaClass": "io.delta.exceptions.ConcurrentAppendException",
        "errorClass": "DELTA_CONCURRENT_APPEND",
        "sqlState": "2D521",
        "message": "text",
        "statement": 1,
        "partition": "date=2026-11-19",
        "retriable": True,
        "conflictingCommit": {
            "table": "file:/lake/orders",
            "version": 5,
            "operation": "WRITE",
            "engine": engine,
            "stamp": {"runKey": "other"},
            "foreign": False,
        },
    }


@pytest.mark.parametrize(("in_log", "foreign"), [(True, True), (False, None)])
def test_a_winner_is_foreign_only_once_its_commit_was_read(in_log: bool, foreign: bool | None) -> None:
    winner = Winner(5, "WRITE", None, in_log=in_log)
    content = document(Result(1, [StatementResult(1, FAILED, "DELETE")], failure("text"), 1, winner))
    assert content["exception"]["conflictingCommit"]["foreign"] is foreign


@pytest.mark.parametrize("character", ["x", "漢", "\x00", '"', "\ud800"])
def test_whatever_others_wrote_leaves_room_for_the_rest(character: str) -> None:
    long = character * 5000
    stamp = json.dumps({"sluice": {"runKey": "k" * 1000}})
    lost = Failure(long, long, long, long, sql_state=long, partition=long)
    winner = Winner(2**63, long, stamp, long, in_log=True, table=long)
    content = document(Result(1, [committed(n) for n in range(1, 100)], lost, 99, winner))
    assert content["truncated"] is True
    assert content["exception"]["conflictingCommit"]["table"] is None
    assert content["exception"]["conflictingCommit"]["version"] == 2**63
    assert content["exception"]["partition"].endswith("…")


@pytest.mark.parametrize("character", ["x", "ü", "漢", "😀", "\x00", '"', "\\", "\ud800"])
def test_a_message_of_any_characters_is_cut_between_characters(character: str) -> None:
    content = document(Result(1, [committed(1)], failure("start " + character * 10_000), 1))
    assert content["truncated"] is True
    message = content["exception"]["message"]
    assert message.startswith("start ")
    assert message.endswith("…")
    assert content["statements"][0]["commits"][0]["metrics"] == METRICS


def test_what_is_left_out_goes_in_order_messages_then_metrics_then_commits_then_first_statements() -> None:
    by_count = {
        count: document(Result(1, [committed(n) for n in range(1, count + 1)])) for count in (5, 15, 40, 300)
    }
    assert "truncated" not in by_count[5]
    assert all("metrics" not in s["commits"][0] for s in by_count[15]["statements"])
    with_commits = [s["number"] for s in by_count[40]["statements"] if "commits" in s]
    assert len(by_count[40]["statements"]) == 40
    assert with_commits == list(range(41 - len(with_commits), 41))
    assert 0 < len(with_commits) < 40
    kept = by_count[300]["statements"]
    assert kept[-1]["number"] == 300
    assert by_count[300]["statementsLeftOut"] == 300 - len(kept) > 0
    assert all(by_count[count]["truncated"] is True for count in (15, 40, 300))


def test_a_failure_is_told_even_when_a_statement_committed_thousands_of_times() -> None:
    content = document(Result(3, [committed(1, commits=5000)], failure("why " * 5000), 1))
    assert content["exception"]["class"] == "ConcurrentAppendException"
    assert content["exception"]["message"].startswith("why why")
    assert content["statements"] == [{"number": 1, "state": "Committed", "operation": "MERGE"}]


def test_a_foreign_stamp_of_any_size_does_not_crowd_out_the_result() -> None:
    winner = Winner(5, "WRITE", json.dumps({"sluice": {"runKey": "k" * 5000}}))
    content = document(Result(1, [committed(1)], failure("text"), 1, winner))
    told = content["exception"]["conflictingCommit"]
    assert (told["version"], told["stamp"], told["foreign"]) == (5, None, False)


def test_names_read_as_agreed() -> None:
    content = document(Result(1, names=[("spark_catalog.sales.orders", "file:/lake/orders")]))
    assert content["names"] == [{"name": "spark_catalog.sales.orders", "location": "file:/lake/orders"}]
    assert "namesLeftOut" not in content
    assert "names" not in document(Result(1))


def test_names_are_left_out_before_anything_else_is_cut_and_the_first_stay_longest() -> None:
    names = [(f"spark_catalog.sales.t{number}", f"s3a://lake/t{number}") for number in range(20)]
    content = document(Result(1, [committed(1)], names=names))
    assert [name["name"] for name in content["names"]] == [name for name, _ in names[:16]]
    assert content["namesLeftOut"] == 4

    crowded = document(Result(1, [committed(1)], failure("why " * 800), 1, names=names))
    kept = len(crowded["names"])
    assert 0 < kept < 16
    assert crowded["names"][0]["name"] == names[0][0]
    assert crowded["namesLeftOut"] == 20 - kept
    assert crowded["exception"]["message"] == "why " * 800
    assert crowded["truncated"] is True


@given(
    st.text(max_size=3000),
    st.integers(0, 120),
    st.text(max_size=600),
    st.one_of(st.none(), st.text(max_size=1500)),
    st.lists(st.tuples(st.text(max_size=386), st.text(max_size=1000)), max_size=40),
)
def test_every_result_fits_and_is_json(
    message: str, statements: int, operation: str, metadata: str | None, names: list[tuple[str, str]]
) -> None:
    winner = Winner(None, operation, metadata)
    results = [committed(number) for number in range(1, statements + 1)]
    content = document(Result(1, results, failure(message), 1, winner, names=names))
    assert content["outcome"] == "Failed"
    assert len(content.get("names", [])) + content.get("namesLeftOut", 0) == len(names)


def test_metrics_are_numbers_and_only_those_that_people_ask_about() -> None:
    assert selected({"numOutputRows": "3", "numFiles": "x", "scanTimeMs": "5", "numDeletedRows": "0"}) == {
        "numOutputRows": 3,
        "numDeletedRows": 0,
    }


def looked_at(*statements: StatementResult, **given: Any) -> Any:
    return document(Result(1, list(statements), is_looked_at=True, **given)).get("footprint")


def test_nothing_is_said_of_a_footprint_where_no_statement_ran() -> None:
    assert looked_at(failure=failure("x")) is None


def test_the_statement_in_which_the_run_ended_was_not_looked_at() -> None:
    found = looked_at(committed(1), failure=failure("terminated"), failed_statement=2)
    assert found == {
        "strayed": [],
        "unlooked": "statement 2: the run ended before anybody could look",
    }
    failed = StatementResult(2, FAILED, "MERGE")
    assert looked_at(committed(1), failed, failure=failure("x"), failed_statement=2)["unlooked"] is None


def test_it_fits_whatever_is_told_of_the_footprint() -> None:
    told = StatementResult(1, FAILED, '"' * 500, strayed=['"' * 2000] * 3, unlooked='"' * 2000)
    stamp = json.dumps({"sluice": {"job": "j" * 900}})
    result = Result(
        1,
        [told],
        failure('"' * 5000),
        1,
        Winner(3, '"' * 500, stamp, '"' * 500),
        report=Report(missing='"' * 2000),
        is_looked_at=True,
    )
    found = document(result)
    assert found["footprint"]["strayed"]
    assert found["exception"]["class"] == "ConcurrentAppendException"


@pytest.mark.parametrize("character", ["x", '"', "\x01", "🚀", "\ud800"])
def test_it_fits_however_far_a_stream_has_come(character: str) -> None:
    state = StreamState()
    state.query_id = "6b1f6a3e-0a4f-4c2e-9d7c-3f1f6d2b8a11"
    state.committed(Commit(character * 5000, 2**62, "MERGE", {}, None))
    state.ended(2**62, 2**40, has_rows=True, rows=2**62)
    metrics = {"numFilesOutstanding": "9e18", "numBytesOutstanding": "9e18", "avgOffsetsBehindLatest": "9e18"}
    sources = [{"metrics": metrics, "endOffset": {"t": {"0": 1}}}]
    state.look({"sources": sources}, {"message": "Waiting for data to arrive"})
    stamp = json.dumps({"sluice": {"job": "j" * 900}})
    long = character * 5000
    failed = replace(
        failure(long), name=long, java_class=long, error_class=long, sql_state=long, partition=long
    )
    winner = Winner(2**62, long, stamp, long, 2**62, in_log=True, table=character * 400)
    result = Result(2**31 - 1, (), failed, 4095, winner, report=Report(missing=long), stream=state.document())
    told = document(result)
    assert told["stream"]["batch"] == 2**62
    assert told["stream"]["queryId"] == state.query_id
    assert told["exception"]["retriable"] is True
