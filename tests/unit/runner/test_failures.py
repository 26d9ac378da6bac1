"""What went wrong is told by class, however deep it is wrapped and whichever Delta wrote the message."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice_runner import targets, work
from sluice_runner.failures import CONFLICTS, Link, Terminated, classify, judge, terminated
from sluice_runner.plan import Job, Plan, Sql, Statement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DELTA_4_4 = (
    "[DELTA_CONCURRENT_APPEND.WITH_PARTITION_HINT] Transaction conflict detected. a concurrent WRITE added data to"
    " table delta.`file:/lake/t` committed at version 4. The concurrent operation modified data in the partition"
    " [d=2026-01-01] that should have been read by this operation. Please retry the operation."
)
DELTA_4_4_DELETE = (
    "[DELTA_CONCURRENT_DELETE_READ.WITH_PARTITION_HINT] Transaction conflict detected, a concurrent CREATE OR REPLACE"
    " TABLE AS SELECT deleted data from table delta.`file:/lake/t` (committed at version 25) that this transaction read."
)
# As Delta 3.3.3 writes it: parameters without quotes, so the whole is no JSON.
DELTA_3_3 = (
    "[DELTA_CONCURRENT_APPEND] ConcurrentAppendException: Files were added to partition [d=2026-01-01] by a concurrent"
    ' update. Please try the operation again.\nConflicting commit: {"timestamp":1795220424629,"operation":"WRITE",'
    '"operationParameters":{"mode":Append,"partitionBy":[]},"readVersion":3,"isolationLevel":"Serializable",'
    '"isBlindAppend":true,"operationMetrics":{"numFiles":"1"},"userMetadata":"{\\"sluice\\":{\\"runKey\\":\\"W\\"}}",'
    '"engineInfo":"Apache-Spark/3.5.9 Delta-Lake/3.3.3","txnId":"c1ac"}\nRefer to https://docs.delta.io for more details.'
)


def java(class_name: str, message: str, error_class: str | None = None) -> Link:
    return Link(class_name, message, error_class, is_java=True)


@pytest.mark.parametrize("name", sorted(CONFLICTS))
@pytest.mark.parametrize("package", ["io.delta.exceptions", "org.apache.spark.sql.delta"])
def test_every_conflict_is_known_by_its_class_whatever_wraps_it(name: str, package: str) -> None:
    chain = [
        java("org.apache.spark.sql.streaming.StreamingQueryException", "the query ended"),
        java("java.util.concurrent.ExecutionException", "wrapped"),
        java(f"{package}.{name}", "[DELTA_X] lost", "DELTA_X"),
    ]
    failure = judge(chain)
    assert (failure.name, failure.java_class) == (name, f"io.delta.exceptions.{name}")
    assert (failure.error_class, failure.message) == ("DELTA_X", "[DELTA_X] lost")


def test_a_conflict_that_is_only_text_in_another_exception_is_found() -> None:
    failure = judge(
        [
            java(
                "org.apache.spark.SparkException",
                f"Job failed: io.delta.exceptions.ConcurrentAppendException: {DELTA_4_4}",
            )
        ]
    )
    assert failure.name == "ConcurrentAppendException"
    assert failure.error_class == "DELTA_CONCURRENT_APPEND.WITH_PARTITION_HINT"
    assert failure.winner is not None
    assert failure.winner.version == 4


@pytest.mark.parametrize(
    ("message", "version", "operation", "stamp"),
    [
        (DELTA_4_4, 4, "WRITE", None),
        (DELTA_4_4_DELETE, 25, "CREATE OR REPLACE TABLE AS SELECT", None),
        (DELTA_3_3, None, "WRITE", {"runKey": "W"}),
        ('Conflicting commit: {"operation":"WRITE","userMetadata":"by hand"}', None, "WRITE", None),
        ("Conflicting commit: {", None, None, None),
    ],
)
def test_the_winning_commit_is_read_from_the_messages_of_all_versions(
    message: str, version: int | None, operation: str | None, stamp: object
) -> None:
    winner = judge([java("io.delta.exceptions.ConcurrentAppendException", message)]).winner
    assert winner is not None
    assert (winner.version, winner.operation, winner.stamp) == (version, operation, stamp)


def test_a_conflict_that_tells_no_winner_has_none() -> None:
    assert (
        judge([java("io.delta.exceptions.MetadataChangedException", "the metadata changed")]).winner is None
    )


def test_another_failure_is_its_outermost_exception_with_its_root_cause() -> None:
    failure = judge(
        [
            java("org.apache.spark.SparkException", "Job aborted"),
            java("org.apache.spark.SparkArithmeticException", "[DIVIDE_BY_ZERO] Division", "DIVIDE_BY_ZERO"),
        ]
    )
    assert failure.name == "SparkException"
    assert failure.error_class == "DIVIDE_BY_ZERO"
    assert failure.message == "Job aborted\ncaused by SparkArithmeticException: [DIVIDE_BY_ZERO] Division"


def test_the_plan_that_spark_adds_to_an_analysis_error_is_left_out() -> None:
    sentence = "[UNRESOLVED_COLUMN.WITH_SUGGESTION] `nope` cannot be resolved. SQLSTATE: 42703; line 1 pos 66"
    extended = "org.apache.spark.sql.catalyst.ExtendedAnalysisException"
    failure = judge(
        [java(extended, f"{sentence};\n'Project ['nope]\n+- Relation parquet", "UNRESOLVED_COLUMN")]
    )
    assert (failure.name, failure.message) == ("AnalysisException", sentence)


def test_a_shutdown_from_outside_is_no_failure_of_the_statement() -> None:
    failure = judge(
        [java("org.apache.spark.SparkException", "Job 3 cancelled because SparkContext was shut down")]
    )
    assert failure.name == "Terminated"
    assert terminated("ended by SIGTERM").name == "Terminated"


def test_nothing_that_handles_exceptions_of_the_work_holds_up_a_termination(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def is_told_to_end(*_: object) -> None:
        raise Terminated("ended by SIGTERM")

    monkeypatch.setattr(targets, "analyse", is_told_to_end)
    statements = (Statement(1, "SELECT 1", 1), Statement(2, "SELECT 2", 2))
    progress = work.Progress(Plan(Job("etl", "daily", "1"), "run", "abc", 1, 1, {}, Sql(statements)))
    with pytest.raises(Terminated):
        work.run(cast("SparkSession", None), progress)
    assert (progress.running, progress.statements) == (1, [])


def test_python_exceptions_keep_their_class_and_their_cause() -> None:
    error = ValueError("outer")
    error.__cause__ = KeyError("inner")
    failure = classify(error)
    assert (failure.name, failure.java_class, failure.error_class) == ("ValueError", None, None)
    assert failure.message == "outer\ncaused by KeyError: 'inner'"


def test_secrets_are_not_in_what_is_told() -> None:
    failure = classify(ValueError("connect to jdbc:x?password=hunter2 failed")).without(["hunter2"])
    assert failure.message == "connect to jdbc:x?password=*** failed"


@given(st.lists(st.text(max_size=200), min_size=1, max_size=4))
def test_any_message_can_be_judged(messages: list[str]) -> None:
    assert judge([java("a.b.C", message) for message in messages]).name


@given(st.text(max_size=300))
def test_any_conflicting_commit_can_be_judged(text: str) -> None:
    assert judge([java("io.delta.exceptions.ConcurrentWriteException", "Conflicting commit: {" + text)]).name
