"""How far a run has come is told on its pod: at most so often, only what changed, and without holding anything up."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from typing import Any, cast

import pytest

from sluice_runner.assumptions import Assumed
from sluice_runner.cluster import Cluster, NoClusterError, RequestError
from sluice_runner.commits import Commit
from sluice_runner.job_statements import Progress
from sluice_runner.plan import Application, Job, Plan, Source, Sql, Statement, Stream, Target
from sluice_runner.progress import Teller, state_of
from sluice_runner.result import COMMITTED, StatementResult
from sluice_runner.secrets_in_text import Mask

TEXTS = (
    "MERGE INTO a USING b ON a.id = b.id WHEN MATCHED THEN DELETE",
    "-- first\n /* then\n */ insert into a values (1)",
    "(",
)
COMMITTED_3 = StatementResult(1, COMMITTED, "MERGE", [Commit("file:/a", 3, "MERGE", {}, None)])


def progress() -> Progress:
    statements = tuple(Statement(number, text, 1) for number, text in enumerate(TEXTS, 1))
    return Progress(
        Plan(Job("sales", "daily", "1"), "run", "abc", 1, 1, Sql(statements), Assumed("4.2.0", None, {}))
    )


class Played:
    application = "daily-1"

    def __init__(self, error: RequestError | None = None) -> None:
        self.error = error
        self.told: list[dict[str, Any]] = []

    def request(self, method: str, path: str, body: Any, kind: str) -> Any:
        assert (method, path, kind) == (
            "PATCH",
            "/api/v1/namespaces/sales/pods/daily-1-driver",
            "application/merge-patch+json",
        )
        self.told.append(json.loads(body["metadata"]["annotations"]["sluice.dev/progress"]))
        if self.error is not None:
            raise self.error
        return {}


def teller(of: Progress, server: Played, pause: float, pause_if_forbidden: float = 60) -> Teller:
    mask, cluster = Mask(["hunter2-4711"]), cast("Cluster", server)
    return Teller(of, mask, lambda: cluster, pause, pause_if_forbidden=pause_if_forbidden)


def test_a_state_names_the_statement_that_runs_and_the_last_commit() -> None:
    run = progress()
    assert state_of(run) is None
    run.running = 1
    assert state_of(run) == {"statement": 1, "of": 3, "operation": "MERGE"}
    run.statements.append(COMMITTED_3)
    run.running = 2
    last = {"table": "file:/a", "version": 3}
    assert state_of(run) == {"statement": 2, "of": 3, "operation": "INSERT", "lastCommit": last}
    run.running = 3
    assert (state_of(run) or {})["operation"] == "UNKNOWN"


def test_only_changes_are_told_and_at_most_so_often() -> None:
    run, server = progress(), Played()
    run.running = 1
    one = teller(run, server, 1.5)
    one.start()
    _until(lambda: len(server.told) == 1)
    run.statements.append(COMMITTED_3)
    run.running = 2
    time.sleep(0.7)
    assert len(server.told) == 1  # the pause isn't over
    run.running = 3
    _until(lambda: len(server.told) == 2)
    time.sleep(1.8)
    one.end()
    assert [told["statement"] for told in server.told] == [1, 3]
    assert all("since" in told for told in server.told)


def test_who_may_not_tell_it_says_so_once_and_tries_again_later(capsys: pytest.CaptureFixture[str]) -> None:
    run, server = progress(), Played(RequestError("403 hunter2-4711 may not", 403))
    run.running = 1
    one = teller(run, server, 0.1, pause_if_forbidden=3600)
    one.start()
    _until(lambda: len(server.told) == 1)
    time.sleep(1.2)
    one.end()
    assert len(server.told) == 1
    assert capsys.readouterr().err == "sluice: progress is not told: 403 *** may not\n"
    again = teller(run, server, 0.1, pause_if_forbidden=0.1)
    again.start()
    _until(lambda: len(server.told) >= 3)
    again.end()
    assert capsys.readouterr().err.count("progress is not told") == 1


def test_a_server_that_does_not_answer_is_tried_again(capsys: pytest.CaptureFixture[str]) -> None:
    run, server = progress(), Played(RequestError("no answer"))
    run.running = 1
    one = teller(run, server, 0.1)
    one.start()
    _until(lambda: len(server.told) >= 2)
    server.error = None
    count = len(server.told)
    _until(lambda: len(server.told) > count)
    one.end()
    assert capsys.readouterr().err.count("progress is not told") == 1


def test_without_a_cluster_nothing_is_told() -> None:
    def none() -> Cluster:
        raise NoClusterError("no cluster")

    others = set(threading.enumerate())  # those of tests before this one end when they next look
    Teller(progress(), Mask([]), none).start()
    assert set(threading.enumerate()) <= others


def _until(holds: Any) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_program_tells_its_steps_by_their_names() -> None:
    run = progress()
    run = Progress(replace(run.plan, work=Application()), running=1)
    assert state_of(run) == {"statement": 1, "of": 1, "operation": "APPLICATION"}
    run.running, run.doing = 3, "load"
    assert state_of(run) == {"statement": 3, "of": 3, "operation": "load"}


def stream() -> Progress:
    work = Stream(Source(None, "delta", "/a", {}, {}), None, None, Target("/b", None), (), "/c", None)
    return Progress(replace(progress().plan, work=work))


@pytest.mark.parametrize("is_idle", [False, True])
def test_that_a_stream_begins_to_work_is_told_at_once_and_then_its_batches_are_told_seldom(
    is_idle: bool,
) -> None:
    run, server = stream(), Played()
    one = Teller(run, Mask([]), lambda: cast("Cluster", server), 3600, pause_of_streams=1.5)
    run.running = 1
    one.start()
    _until(lambda: len(server.told) == 1)
    if is_idle:
        run.stream.look(None, {"message": "Waiting for data to arrive"})
    else:
        run.stream.ended(0, 1, has_rows=True)
    _until(lambda: len(server.told) == 2)
    run.stream.ended(1, 1, has_rows=True)
    time.sleep(0.7)
    assert len(server.told) == 2  # the pause isn't over
    run.stream.ended(2, 1, has_rows=True)
    _until(lambda: len(server.told) == 3)
    one.end()
    assert [told["stream"].get("batch") for told in server.told] == [None, None if is_idle else 0, 2]


def test_a_stream_that_may_not_tell_that_it_works_tries_it_no_more_often_than_others() -> None:
    run, server = stream(), Played(RequestError("403 may not", 403))
    run.running = 1
    run.stream.ended(0, 1, has_rows=True)
    one = teller(run, server, 0.1, pause_if_forbidden=3600)
    one.start()
    _until(lambda: len(server.told) == 1)
    time.sleep(1.2)
    one.end()
    assert len(server.told) == 1


def test_a_stream_tells_how_far_it_has_come_and_no_statements() -> None:
    run = stream()
    assert state_of(run) is None
    run.running = 2
    run.stream.committed(Commit("file:/b", 3, "WRITE", {}, None))
    last = {"table": "file:/b", "version": 3}
    told = {"batches": 0, "lastCommit": last}
    assert state_of(run) == {
        "statement": 1,
        "of": 1,
        "operation": "STREAM",
        "lastCommit": last,
        "stream": told,
    }
