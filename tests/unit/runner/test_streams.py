"""How a stream ends that is asked to stop: as paused only if that is what ended it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sluice_runner import streams
from sluice_runner.result import Result
from sluice_runner.stop_requests import Boundary, NoMoreBatches, Stop
from sluice_runner.streams import _Run


class SourceFailedError(Exception):
    pass


class Query:
    """A query that does something of itself when it is looked at."""

    def __init__(self, does: Callable[[Query], None], failure: Exception | None = None) -> None:
        self.isActive = True
        self.was_stopped = False
        self._does, self._failure = does, failure
        status = SimpleNamespace(json=lambda: '{"message": "Waiting for data"}')
        self._jsq = SimpleNamespace(lastProgress=self._last_progress, status=lambda: status)

    def _last_progress(self) -> None:
        self._does(self)

    def end(self) -> None:
        self.isActive = False

    def stop(self) -> None:
        self.was_stopped = True
        self.end()

    def awaitTermination(self) -> None:  # noqa: N802 - as in Spark
        if self._failure is not None:
            raise self._failure


def run(query: Query, boundary: Boundary, every: str | None = None) -> Result:
    given: Any = _Run.__new__(_Run)
    stop = Stop()
    stop.ask()
    given._stop, given._boundary = stop, boundary
    given._stream = SimpleNamespace(every=every)
    given._state = SimpleNamespace(look=lambda *_told: None)
    given._batches = SimpleNamespace(failed=None, error=None, last=None)
    given._progress = SimpleNamespace(
        paused=lambda: Result(1, is_paused=True), succeeded=lambda: Result(1), plan=None
    )
    asked = cast("_Run", given)
    spark_query = cast("Any", query)
    return asked._told(spark_query, asked._followed(spark_query))


def test_a_stream_that_is_stopped_has_paused() -> None:
    query = Query(lambda _query: None)
    assert run(query, Boundary()).outcome == "Paused"
    assert query.was_stopped


def test_a_stream_that_ends_by_itself_while_it_is_stopped_has_not_paused() -> None:
    assert run(Query(Query.end), Boundary()).outcome == "Succeeded"
    with pytest.raises(SourceFailedError):
        run(Query(Query.end, SourceFailedError()), Boundary(), "1 minute")


def test_a_stream_of_which_a_batch_was_kept_from_beginning_has_paused() -> None:
    boundary = Boundary()

    def begin_a_batch(query: Query) -> None:
        if boundary.close(0) and query.isActive:
            with pytest.raises(NoMoreBatches), boundary.inside():
                pytest.fail("a batch has begun")
            query.end()

    assert run(Query(begin_a_batch, NoMoreBatches()), boundary).outcome == "Paused"


class Hangs(Query):
    def stop(self) -> None:
        threading.Event().wait(30)


class Refuses(Query):
    def stop(self) -> None:
        raise TimeoutError("the thread of the query goes on")


@pytest.mark.parametrize(
    ("kind", "told"),
    [(Hangs, "has not stopped the stream within 0 s"), (Refuses, "the thread of the query goes on")],
)
def test_a_query_that_does_not_stop_keeps_nobody_waiting_once_no_batch_begins_any_more(
    kind: type[Query], told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(streams, "_STOPS_WITHIN", 0.2)
    boundary = Boundary()
    assert run(kind(lambda _query: None), boundary).outcome == "Paused"
    assert told in capsys.readouterr().err
    with pytest.raises(NoMoreBatches), boundary.inside():
        pytest.fail("a batch has begun")


class Progress:
    def __init__(self, batch: int, timestamp: str) -> None:
        self._batch, self._timestamp = batch, timestamp
        self.read = 0

    def batchId(self) -> int:  # noqa: N802 - as in Spark
        return self._batch

    def timestamp(self) -> str:
        return self._timestamp

    def json(self) -> str:
        self.read += 1
        return f'{{"batchId": {self._batch}}}'


def test_what_spark_tells_of_a_batch_is_read_once() -> None:
    given: Any = _Run.__new__(_Run)
    given._read_last = None
    first, again, other = Progress(3, "10:00"), Progress(3, "10:00"), Progress(3, "10:10")
    told = [given._read(one) for one in (None, first, again, again, other)]
    assert told == [None, {"batchId": 3}, None, None, {"batchId": 3}]
    assert (first.read, again.read, other.read) == (1, 0, 1)
