"""What went wrong is told by class, however deep it is wrapped and whichever Delta wrote the message."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice_runner import job_statements, targets
from sluice_runner.assumptions import Assumed
from sluice_runner.exception_chains import Link
from sluice_runner.failures import (
    Failure,
    Terminated,
    classify,
    classify_of_program,
    judge,
    of_shut_down,
    terminated,
)
from sluice_runner.plan import Job, Plan, Sql, Statement
from sluice_runner.retriable import CONFLICTS
from sluice_runner.secrets_in_text import Mask
from sluice_runner.steps import StepError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def java(class_name: str, message: str, error_class: str | None = None, sql_state: str | None = None) -> Link:
    return Link(class_name, message, error_class, is_java=True, sql_state=sql_state)


@pytest.mark.parametrize("java_class", sorted(CONFLICTS))
def test_every_conflict_is_known_by_its_class_whatever_wraps_it(java_class: str) -> None:
    chain = [
        java(
            "org.apache.spark.sql.streaming.StreamingQueryException",
            "the query ended",
            "STREAM_FAILED",
            "XXKST",
        ),
        java("java.util.concurrent.ExecutionException", "wrapped"),
        java(java_class, "[DELTA_X] lost", "DELTA_X", "2D521"),
    ]
    failure = judge(chain)
    assert (failure.name, failure.java_class) == (java_class.rpartition(".")[2], java_class)
    assert (failure.error_class, failure.sql_state, failure.message) == ("DELTA_X", "2D521", "[DELTA_X] lost")
    assert failure.retriable
    assert failure.has_winner


@pytest.mark.parametrize(
    "chain",
    [
        # A user's own class, in Java and in Python.
        [java("com.example.ConcurrentWriteException", "[DELTA_CONCURRENT_WRITE] mine")],
        [Link("ConcurrentAppendException", "mine", None, is_java=False)],
        # raise_error with Delta's words, and a wrapper that repeats them.
        [
            java(
                "org.apache.spark.SparkException",
                "Job aborted: io.delta.exceptions.ConcurrentAppendException: no",
            ),
            java(
                "org.apache.spark.SparkRuntimeException",
                "[USER_RAISED_EXCEPTION] io.delta.exceptions.ConcurrentAppendException: no",
                "USER_RAISED_EXCEPTION",
                "P0001",
            ),
        ],
        # An error class that is Delta's on an exception that is not.
        [java("org.apache.spark.SparkRuntimeException", "made up", "DELTA_MAX_COMMIT_RETRIES_EXCEEDED")],
        # A class beside Delta's conflicts, and one that only begins like them.
        [java("io.delta.exceptions.SomethingElseException", "no")],
        [java("io.delta.exceptions.ConcurrentAppendExceptionOfMine", "no")],
    ],
)
def test_what_only_looks_like_a_conflict_is_none(chain: list[Link]) -> None:
    failure = judge(chain)
    assert failure.java_class not in CONFLICTS
    assert not failure.retriable
    assert not failure.has_winner


def test_only_the_author_of_a_program_can_say_whether_what_it_raises_is_worth_another_attempt() -> None:
    assert classify_of_program(ConnectionError("the service does not answer")).retriable is None
    assert classify_of_program(StepError("two steps are called load")).retriable is False
    assert classify(ConnectionError("the service does not answer")).retriable is False


@pytest.mark.parametrize(
    ("link", "retriable"),
    [
        (
            java(
                "org.apache.spark.sql.delta.DeltaIllegalStateException",
                "m",
                "DELTA_MAX_COMMIT_RETRIES_EXCEEDED",
            ),
            True,
        ),
        (
            java(
                "org.apache.spark.sql.delta.DeltaTableFeatureException",
                'm\nConflicting commit: {"operation":"WRITE"}',
                "DELTA_FEATURE_DROP_CONFLICT_REVALIDATION_FAIL",
            ),
            True,
        ),
        (
            java("org.apache.spark.sql.delta.DeltaIllegalStateException", "m", "DELTA_STATE_RECOVER_ERROR"),
            False,
        ),
        (java("io.delta.storage.commit.CommitFailedException", "the catalog said no"), False),
        (java("io.delta.kernel.exceptions.ConcurrentWriteException", "m"), True),
        (java("java.nio.file.AccessDeniedException", "s3a://lake/t: getFileStatus: Forbidden"), False),
        (java("java.lang.OutOfMemoryError", "Java heap space"), False),
    ],
)
def test_another_attempt_is_worth_it_where_the_table_says_so(link: Link, retriable: bool) -> None:
    wrapped = [java("org.apache.spark.SparkException", "Job aborted"), link]
    assert judge(wrapped).retriable is retriable
    assert judge([link]).retriable is retriable


def test_a_drop_of_a_feature_names_the_commit_that_it_lost_to() -> None:
    failure = judge(
        [
            java(
                "org.apache.spark.sql.delta.DeltaTableFeatureException",
                'Cannot drop feature\nConflicting commit: {"operation":"WRITE","readVersion":4}',
                "DELTA_FEATURE_DROP_CONFLICT_REVALIDATION_FAIL",
            )
        ]
    )
    assert failure.name == "DeltaTableFeatureException"
    assert failure.winner is not None
    assert (failure.winner.operation, failure.winner.read_version) == ("WRITE", 4)
    assert failure.has_winner


def test_a_conflict_behind_a_commit_that_has_landed_is_no_reason_for_another_attempt() -> None:
    hook = "DELTA_POST_COMMIT_HOOK_FAILED"
    failure = judge(
        [
            java(
                "org.apache.spark.sql.delta.DeltaRuntimeException",
                f"[{hook}] Committing succeeded",
                hook,
                "2DKD0",
            ),
            java("io.delta.exceptions.ConcurrentDeleteReadException", "[DELTA_CONCURRENT_DELETE_READ] lost"),
        ]
    )
    assert (failure.name, failure.error_class, failure.retriable) == ("DeltaRuntimeException", hook, False)
    assert failure.message == (
        f"[{hook}] Committing succeeded\ncaused by ConcurrentDeleteReadException: [DELTA_CONCURRENT_DELETE_READ] lost"
    )


def test_access_that_is_denied_is_told_with_the_object_and_what_to_do() -> None:
    failure = judge(
        [
            java("org.apache.spark.SparkException", "Job aborted"),
            java(
                "java.nio.file.AccessDeniedException",
                "s3a://lake/t/_delta_log: getFileStatus: Forbidden (403)",
            ),
        ]
    )
    assert failure.name == "AccessDeniedException"
    said, _, advice = failure.message.partition("\n")
    assert said == "s3a://lake/t/_delta_log: getFileStatus: Forbidden (403)"
    assert advice.startswith("The driver has no credentials for the storage, or the storage refused them")


def test_another_failure_is_its_outermost_exception_with_its_root_cause() -> None:
    failure = judge(
        [
            java("org.apache.spark.SparkException", "Job aborted"),
            java(
                "org.apache.spark.SparkArithmeticException",
                "[DIVIDE_BY_ZERO] Division",
                "DIVIDE_BY_ZERO",
                "22012",
            ),
        ]
    )
    assert failure.name == "SparkException"
    assert (failure.error_class, failure.sql_state) == ("DIVIDE_BY_ZERO", "22012")
    assert failure.message == "Job aborted\ncaused by SparkArithmeticException: [DIVIDE_BY_ZERO] Division"


def test_the_plan_that_spark_adds_to_an_analysis_error_is_left_out() -> None:
    sentence = "[UNRESOLVED_COLUMN.WITH_SUGGESTION] `nope` cannot be resolved. SQLSTATE: 42703; line 1 pos 66"
    extended = "org.apache.spark.sql.catalyst.ExtendedAnalysisException"
    failure = judge(
        [java(extended, f"{sentence};\n'Project ['nope]\n+- Relation parquet", "UNRESOLVED_COLUMN")]
    )
    assert (failure.name, failure.message) == ("AnalysisException", sentence)


def test_an_error_without_a_class_of_its_own_has_none() -> None:
    """Spark 3.5 has many of them."""
    failure = judge(
        [java("org.apache.spark.SparkException", "[NOT_A_CLASS] Job aborted due to stage failure")]
    )
    assert (failure.name, failure.error_class, failure.sql_state) == ("SparkException", None, None)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("no such column", "no such column\nThe statement names /lake/orders, main.ledger."),
        ("file:/lake/orders is broken", "file:/lake/orders is broken"),
    ],
)
def test_a_message_without_any_table_is_told_with_those_of_the_statement(message: str, told: str) -> None:
    failure = Failure("X", None, None, message).about([("delta", "/lake/orders"), ("main", "ledger")])
    assert failure.message == told
    assert Failure("X", None, None, message).about([]).message == message


@pytest.mark.parametrize(
    ("link", "advice"),
    [
        (java("java.net.ConnectException", "Connection refused"), "The storage could not be reached"),
        (
            java(
                "java.lang.ClassNotFoundException", "Class org.apache.hadoop.fs.s3a.S3AFileSystem not found"
            ),
            "The image has no jar for this storage",
        ),
        (java("a.b.DeltaX", "m", "DELTA_UNSUPPORTED_FEATURES_FOR_READ"), "A newer Delta wrote this table"),
        (
            java("o.a.s.sql.AnalysisException", "m", "TABLE_OR_VIEW_NOT_FOUND"),
            "If it is a table's name, bind it",
        ),
        (
            java("java.lang.ClassNotFoundException", "com.example.Mine"),
            "The image has no jar with this class",
        ),
        (java("java.sql.SQLException", "No suitable driver"), "The image has no JDBC driver for this URL"),
        (java("java.sql.SQLException", "No such table"), None),
        (Link("ConnectException", "Connection refused", None, is_java=False), None),
    ],
)
def test_what_to_do_is_told_where_it_is_known(link: Link, advice: str | None) -> None:
    message = judge([java("java.lang.RuntimeException", "outer"), link]).message
    told = [line for line in message.splitlines()[1:] if not line.startswith("caused by")]
    assert [line.startswith(advice or "") for line in told] == ([True] if advice else [])


def test_a_shutdown_from_outside_is_no_failure_of_the_statement() -> None:
    failure = judge(
        [java("org.apache.spark.SparkException", "Job 3 cancelled because SparkContext was shut down")]
    )
    assert failure.name == "Terminated"
    assert terminated("ended by SIGTERM").name == "Terminated"


def test_whatever_fails_once_spark_was_stopped_is_no_failure_of_the_statement_unless_it_is_known() -> None:
    missing = judge(
        [
            java("org.apache.spark.SparkException", "Executed append failed.", "INTERNAL_ERROR", "XX000"),
            java("java.lang.NullPointerException", 'Cannot invoke "DAGScheduler.cleanupQueryJobs(long)"'),
        ]
    )
    assert missing.name == "SparkException"
    stopped = of_shut_down(missing)
    assert (stopped.name, stopped.java_class) == ("Terminated", None)
    assert "Spark was shut down from outside: Executed append failed." in stopped.message
    assert of_shut_down(stopped) == stopped
    lost = judge(
        [java("io.delta.exceptions.ConcurrentAppendException", "[DELTA_X] lost", "DELTA_X", "2D521")]
    )
    assert of_shut_down(lost) == lost


def test_nothing_that_handles_exceptions_of_the_work_holds_up_a_termination(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def is_told_to_end(*_: object) -> None:
        raise Terminated("ended by SIGTERM")

    monkeypatch.setattr(targets, "analyse", is_told_to_end)
    statements = (Statement(1, "SELECT 1", 1), Statement(2, "SELECT 2", 2))
    progress = job_statements.Progress(
        Plan(Job("etl", "daily", "1"), "run", "abc", 1, 1, Sql(statements), Assumed("4.2.0", None, {}))
    )
    with pytest.raises(Terminated):
        job_statements.run(cast("SparkSession", None), progress)
    assert (progress.running, progress.statements) == (1, [])


def test_python_exceptions_keep_their_class_and_their_cause() -> None:
    error = ValueError("outer")
    error.__cause__ = KeyError("inner")
    failure = classify(error)
    assert (failure.name, failure.java_class, failure.error_class) == ("ValueError", None, None)
    assert failure.message == "outer\ncaused by KeyError: 'inner'"


def test_secrets_are_not_in_what_is_told() -> None:
    failure = classify(ValueError("connect to jdbc:x?password=hunter2 failed")).without(Mask(["hunter2"]))
    assert failure.message == "connect to jdbc:x?password=*** failed"


@given(st.lists(st.text(max_size=200), min_size=1, max_size=4))
def test_any_message_can_be_judged(messages: list[str]) -> None:
    assert judge([java("a.b.C", message) for message in messages]).name


@given(st.text(max_size=300))
def test_any_conflicting_commit_can_be_judged(text: str) -> None:
    assert judge([java("io.delta.exceptions.ConcurrentWriteException", "Conflicting commit: {" + text)]).name


def test_what_ended_a_stream_is_told_and_not_that_it_has_ended() -> None:
    ended = java(
        "org.apache.spark.sql.streaming.StreamingQueryException", "the query ended", "STREAM_FAILED", "XXKST"
    )
    lost = java(
        "org.apache.spark.sql.delta.DeltaIllegalStateException",
        "log files are gone",
        "DELTA_MISSING_FILES_UNEXPECTED_VERSION",
    )
    failure = judge([ended, lost])
    assert (failure.name, failure.error_class) == ("DeltaIllegalStateException", lost.error_class)
    assert failure.message == "log files are gone"
    assert judge([ended]).error_class == "STREAM_FAILED", "where it doesn't say of what"


def test_a_source_with_a_new_schema_is_worth_another_attempt_and_one_whose_rows_were_changed_is_not() -> None:
    ended = java("org.apache.spark.sql.streaming.StreamingQueryException", "the query ended", "STREAM_FAILED")
    delta = "org.apache.spark.sql.delta."
    for name, code, may_end_better in (
        ("DeltaIllegalStateException", "DELTA_SCHEMA_CHANGED_WITH_VERSION", True),
        ("DeltaUnsupportedOperationException", "DELTA_SOURCE_TABLE_IGNORE_CHANGES", False),
    ):
        failure = judge([ended, java(delta + name, "it changed", code)])
        assert (failure.error_class, failure.retriable) == (code, may_end_better)


@pytest.mark.parametrize(
    ("code", "name"),
    [("DELTA_MERGE_UNRESOLVED_EXPRESSION", "AnalysisException"), ("DELTA_ANY_OTHER", "SparkException")],
)
def test_an_error_of_deltas_whose_words_spark_lost_is_no_internal_error(code: str, name: str) -> None:
    spark = "org.apache.spark.SparkException"
    message = f"[INTERNAL_ERROR] Cannot find main error class '{code}' SQLSTATE: XX000"
    failure = judge([java(spark, message, "INTERNAL_ERROR", "XX000")])
    assert (failure.name, failure.error_class, failure.sql_state) == (name, code, None)
    assert failure.message.startswith(f"[{code}] Delta refused the statement")
    assert judge([java(spark, message, "OTHER")]).error_class == "OTHER", "somebody else's words"
