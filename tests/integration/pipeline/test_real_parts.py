"""What a user sees when jobs go all the way through real parts, and when one of these parts fails.

In the order of the file: the first test makes the table that the others write.
"""

import os
import signal
import time
from datetime import datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable

from devenv.processes import wait_until
from integration.pipeline.conftest import PATIENCE_SECONDS, Pipeline

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def orders(pipeline: Pipeline) -> str:
    """A table of ten rows, made by a job while Redis was down at first."""
    table = pipeline.table("orders")
    pipeline.apply(
        "create-orders",
        {
            "sql": f"CREATE TABLE {table} (id BIGINT, date DATE) USING delta PARTITIONED BY (date);\n"
            f"INSERT INTO {table} SELECT id, DATE '2026-11-19' FROM range(10)",
            "runtimeRef": "own-jvm",
        },
    )
    return table


def _rows(pipeline: Pipeline) -> int:
    return int(DeltaTable(str(pipeline.lake / "orders")).count())


def test_a_job_goes_from_manifest_to_commit(
    pipeline: Pipeline, orders: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = pipeline.until("create-orders", "Succeeded")
    attempt = status["attempts"][-1]
    assert [(c["statement"], c["version"], c["operation"]) for c in attempt["commits"]] == [
        (1, 0, "CREATE TABLE"),
        (2, 1, "WRITE"),
    ]
    assert status["reason"] == "Committed"
    assert _rows(pipeline) == 10
    applied = pipeline.applied_at["create-orders"]
    with capsys.disabled():
        print(
            f"\nkubectl apply -> granted {_at(attempt['grantedAt']) - applied:.2f} s, "
            f"driver started {_at(attempt['startedAt']) - applied:.1f} s, Succeeded {_at(status['finishedAt']) - applied:.1f} s"
        )


def _at(time_text: str) -> float:
    """Texts don't compare: a driver's end is told in whole seconds, a grant in microseconds."""
    return datetime.fromisoformat(time_text).timestamp()


def test_appends_run_together_and_a_merge_waits_for_them(pipeline: Pipeline, orders: str) -> None:
    pipeline.until("create-orders", "Succeeded")
    with pipeline.warm.held():
        for name in ("append-1", "append-2"):
            pipeline.apply(name, {"sql": f"INSERT INTO {orders} SELECT id, DATE '2026-11-20' FROM range(5)"})
            pipeline.until(name, "Running")
        pipeline.apply(
            "merge",
            {
                "sql": f"MERGE INTO {orders} t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
            },
        )
        blocked = pipeline.until("merge", "Waiting")
    assert blocked["blockedBy"][0]["job"] in (
        f"{pipeline.namespace}/append-1",
        f"{pipeline.namespace}/append-2",
    )
    assert blocked["blockedBy"][0]["exception"].startswith("Concurrent")
    first, second = (pipeline.until(name, "Succeeded")["attempts"][-1] for name in ("append-1", "append-2"))
    merged = pipeline.until("merge", "Succeeded")["attempts"][-1]
    both_granted = max(_at(attempt["grantedAt"]) for attempt in (first, second))
    ends = [_at(attempt["endedAt"]) for attempt in (first, second)]
    assert both_granted < min(ends)
    assert _at(merged["grantedAt"]) > max(ends)
    assert _rows(pipeline) == 10 + 5 + 5 - 3


def test_a_folder_that_is_no_delta_table_and_a_statement_that_fails(pipeline: Pipeline, orders: str) -> None:
    other = pipeline.lake / "other"
    other.mkdir()
    (other / "notes.txt").write_text("not a table")
    pipeline.apply("no-table", {"sql": f"DELETE FROM delta.`{other}` WHERE id = 1"})
    pipeline.apply("no-column", {"sql": f"UPDATE {orders} SET id = nope WHERE date = DATE '2026-11-19'"})
    for name, told in (("no-table", "other"), ("no-column", "nope")):
        status = pipeline.until(name, "Failed")
        exception = status["attempts"][-1]["exception"]
        assert told in exception["message"], exception
        assert exception["statement"] == 1
        assert status["reason"] == exception["class"]
    assert [file.name for file in other.iterdir()] == ["notes.txt"]


def test_a_killed_driver_ends_its_job_with_what_it_had_committed(pipeline: Pipeline, orders: str) -> None:
    sleeper = "SELECT count(*) FROM range(0, 4000000000, 1, 1) WHERE rand() < 0"
    before = _rows(pipeline)
    pipeline.apply(
        "killed",
        {
            "sql": f"INSERT INTO {orders} VALUES (100, DATE '2026-11-21');\n"
            f"INSERT INTO {orders} SELECT 101, DATE '2026-11-21' WHERE ({sleeper}) > 0",
            "runtimeRef": "own-jvm",
        },
    )
    pipeline.until("killed", "Running")
    _until_rows(pipeline, before + 1)
    os.kill(pipeline.driver("killed").pid, signal.SIGKILL)
    status = pipeline.until("killed", "Failed")
    assert status["reason"] == "DriverKilled"
    assert "was killed (exit code 137" in status["message"]
    commits = status["attempts"][-1]["commits"]
    assert [commit["statement"] for commit in commits] == [1], status
    assert _rows(pipeline) == before + 1


def _until_rows(pipeline: Pipeline, rows: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while _rows(pipeline) < rows:
        assert time.monotonic() < deadline
        time.sleep(0.5)


def test_an_operator_killed_while_a_job_runs_finds_it_again_and_runs_it_once(
    pipeline: Pipeline, orders: str
) -> None:
    before = _rows(pipeline)
    with pipeline.warm.held():
        pipeline.apply("survivor", {"sql": f"INSERT INTO {orders} VALUES (200, DATE '2026-11-22')"})
        pipeline.until("survivor", "Running")
        pipeline.operator.kill()
    pipeline.operator.start()
    status = pipeline.until("survivor", "Succeeded")
    assert [attempt["number"] for attempt in status["attempts"]] == [1]
    assert _rows(pipeline) == before + 1
    owned = [a for a in pipeline.applications() if a["metadata"]["labels"]["sluice.dev/job"] == "survivor"]
    assert len(owned) == 1


def test_a_redis_that_is_down_is_waited_for_and_said_to_be(pipeline: Pipeline, orders: str) -> None:
    before = _rows(pipeline)
    pipeline.operator.kill()
    pipeline.redis.service.kill()
    pipeline.operator.start()
    pipeline.apply("patient", {"sql": f"INSERT INTO {orders} VALUES (300, DATE '2026-11-23')"})
    pipeline.until("patient", "Pending")  # at first it may say that the table's log is being read
    assert wait_until(lambda: pipeline.status("patient")["reason"] == "LeasesUnavailable", PATIENCE_SECONDS)
    status = pipeline.status("patient")
    assert status["phase"] == "Pending"
    assert "Redis" in status["message"]
    pipeline.redis.service.start()
    pipeline.until("patient", "Succeeded")
    assert _rows(pipeline) == before + 1


def test_nothing_holds_a_lease_when_all_is_done(pipeline: Pipeline) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while held := [a["metadata"]["name"] for a in pipeline.applications() if a["metadata"].get("finalizers")]:
        assert time.monotonic() < deadline, held
        time.sleep(0.5)
    pods = pipeline.kubectl.json("get", "pods", "-n", pipeline.namespace)["items"]
    assert isinstance(pods, list)
    assert all(not pod["metadata"].get("finalizers") for pod in pods)
    assert Path(pipeline.lake).is_dir()
