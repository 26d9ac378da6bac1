"""What a batch that is run again leaves out, and what it tells: decided without Spark."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.errors import AnalysisException

from sluice_runner import batches
from sluice_runner.assumptions import NotAsJudgedError
from sluice_runner.commits import Commit
from sluice_runner.failures import Failure, classify
from sluice_runner.result import FAILED, StatementResult
from sluice_runner.statement_execution import Outcome
from sluice_runner.stop_requests import Boundary
from sluice_runner.stream_state import StreamState
from sluice_runner.tables import Table, UnreachableStorageError

APP_IDS = {1: "q/1", 2: "q/2", 5: "q/5"}


@dataclass(frozen=True)
class Remembers:
    versions: Mapping[str, int]
    location: str = "s3a://lake/orders"

    def txn_version(self, app_id: str) -> int | None:
        return self.versions.get(app_id)


@pytest.mark.parametrize(
    ("remembered", "last"),
    [
        ([], 0),
        ([{}], 0),
        ([{"q/1": 6, "q/2": 6, "q/5": 6}], 0),
        ([{"q/1": 7, "q/2": 6}], 1),
        ([{"q/1": 6}, {"q/5": 7}], 5),
        ([{"q/2": 8}, {"q/1": 7}], 2),
        ([{"another": 7, "q": 7, "q/3": 7}], 0),
    ],
)
def test_a_statement_is_done_if_any_table_remembers_it_or_a_later_one_for_this_batch_or_a_later_one(
    remembered: Sequence[Mapping[str, int]], last: int
) -> None:
    found = [cast("Table", Remembers(versions)) for versions in remembered]
    assert batches.last_done(APP_IDS, found, 7) == last


def test_each_statement_of_a_batch_has_an_id_of_its_own_or_delta_would_skip_all_but_the_first() -> None:
    numbered = batches.Numbered(cast("Any", None), cast("Any", SimpleNamespace(table=None)), "q")
    assert [numbered.app_id(number) for number in APP_IDS] == list(APP_IDS.values())


class Told(AnalysisException):
    def __init__(self, code: str) -> None:
        Exception.__init__(self, code)
        self._code = code

    def getCondition(self) -> str:  # noqa: N802 - as in PySpark
        return self._code


@pytest.mark.parametrize(
    ("code", "expected"),
    [("_LEGACY_ERROR_TEMP_3065", UnreachableStorageError), ("REQUIRES_SINGLE_PART_NAMESPACE", Told)],
)
def test_nothing_is_taken_for_undone_because_its_table_can_not_be_looked_at(
    code: str, expected: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A DELETE that was done and found nothing would destroy what the INSERT after it has written."""

    def fail(_spark: object, _name: object) -> tuple[Table, ...]:
        raise Told(code)

    rooms = batches._Rooms.__new__(batches._Rooms)
    given: Any = rooms
    given._spark = given._stream = None
    given.context = SimpleNamespace(bound=None)
    given._plan = SimpleNamespace(touched=())
    monkeypatch.setattr(batches, "_written", lambda *_given: [("sales", "orders")])
    monkeypatch.setattr("sluice_runner.tables._behind", fail)
    with pytest.raises(expected):
        rooms._written()


STACK = "\n".join(
    [
        "py4j.protocol.Py4JJavaError: An error occurred while calling o1.isEmpty.",
        *["\tat x.y(Z.scala:1)"] * 999,
    ]
)


class SourceLostError(Exception):
    pass


def batches_that(monkeypatch: pytest.MonkeyPatch, run: Callable[[batches.Batches], None]) -> batches.Batches:
    progress: Any = SimpleNamespace(plan=None, stream=StreamState())
    stream: Any = None
    monkeypatch.setattr(batches, "failure_of", lambda _plan, error: classify(error))
    monkeypatch.setattr(batches.Batches, "_run", lambda self, _batch, _number: run(self))
    return batches.Batches(progress, stream, progress.stream, Boundary())


def told_to_spark(found: batches.Batches) -> str:
    """What py4j tells Java of the exception."""
    no_rows: Any = None
    with pytest.raises(batches.BatchFailed) as failed:
        found.run(no_rows, 7)
    assert found.last is None
    return "".join(traceback.format_exception(failed.value))


def test_spark_is_told_of_a_failure_in_one_line_and_the_log_has_all_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lose(_batches: batches.Batches) -> None:
        raise SourceLostError(f"lost: {'x' * 999}\n{STACK}")

    found = batches_that(monkeypatch, lose)
    told = told_to_spark(found)
    assert isinstance(found.error, SourceLostError)
    assert "An error occurred while calling" not in told
    assert len(told) < 2_000
    said = capsys.readouterr()
    assert f"sluice: batch 7: failed: SourceLostError: lost: {'x' * 506}\n" in said.out
    assert "\tat x.y(Z.scala:1)" in said.err


def test_a_statement_that_fails_is_told_with_its_number(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(of: batches.Batches) -> None:
        failure = Failure("MetadataChangedException", None, None, f"the schema changed\n{STACK}")
        of.failed = Outcome(StatementResult(2, FAILED, "MERGE"), failure)

    told = told_to_spark(batches_that(monkeypatch, fail))
    line = "statement 2 failed: MetadataChangedException: the schema changed"
    assert told.rstrip().endswith(line)
    assert capsys.readouterr().out == f"sluice: batch 7: {line}\n"


def test_a_batch_that_ends_is_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    found = batches_that(monkeypatch, lambda _batches: None)
    no_rows: Any = None
    found.run(no_rows, 7)
    assert (found.last, found.error, found.failed) == (7, None, None)


def test_rows_are_counted_by_the_append_whatever_compacts_after_it() -> None:
    append = Commit("s3a://lake/orders", 7, "WRITE", {"numFiles": 1, "numOutputRows": 5}, None)
    compaction = Commit("s3a://lake/orders", 8, "OPTIMIZE", {"numRemovedFiles": 9}, None)
    assert batches.rows_of([append]) == 5
    assert batches.rows_of([append, compaction]) == 5
    assert batches.rows_of([]) is None


@pytest.mark.parametrize("told", [None, ""])
def test_a_batch_of_an_unknown_query_writes_nothing(told: str | None) -> None:
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(getLocalProperty=lambda _name: told))
    with pytest.raises(NotAsJudgedError, match="PYSPARK_PIN_THREAD"):
        batches._query_id(spark)
