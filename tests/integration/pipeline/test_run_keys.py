"""A run with a key takes effect once, however often its job is created."""

import pytest
from deltalake import DeltaTable

from integration.pipeline.conftest import Pipeline
from integration.waiting import eventually

pytestmark = pytest.mark.timeout(900)


def test_a_run_that_is_doubled_and_created_again_takes_effect_once(pipeline: Pipeline) -> None:
    table, other = pipeline.table("run"), pipeline.table("run-other")
    run = {
        "sql": f"CREATE TABLE IF NOT EXISTS {table} (id BIGINT) USING delta; "
        f"INSERT INTO {table} SELECT id FROM range(5); "
        f"DELETE FROM {table} WHERE id > 100; "
        f"CREATE TABLE IF NOT EXISTS {other} (id BIGINT) USING delta; "
        f"INSERT INTO {other} SELECT id FROM {table}",
        "runKey": "load/2026-11-19",
    }
    with pipeline.warm.held():
        pipeline.apply("run-first", run)
        pipeline.until("run-first", "Running")
        pipeline.apply("run-double", run)
        waits = pipeline.until("run-double", "Waiting")
    assert [one["rule"] for one in waits["blockedBy"]] == ["same-run"]
    assert waits["runKey"] == "load/2026-11-19"

    first = pipeline.until("run-first", "Succeeded")
    assert first["reason"] == "Committed"
    double = pipeline.until("run-double", "Succeeded")
    assert double["reason"] == "AlreadyCommitted"
    assert double["attempts"][-1]["outcome"] == "AlreadyCommitted"
    done = contents(pipeline)
    assert [rows for _, rows in done] == [5, 5]

    assert pipeline.kubectl("delete", "deltawritejob", "run-first", "-n", pipeline.namespace).returncode == 0
    pipeline.apply("run-first", run | {"priority": 7})
    eventually(lambda: pipeline.status("run-first").get("phase"), "it is looked at")
    assert pipeline.until("run-first", "Succeeded")["reason"] == "AlreadyCommitted"
    assert contents(pipeline) == done

    pipeline.apply("run-reused", {"sql": f"DELETE FROM {other}", "runKey": "load/2026-11-19"})
    reused = pipeline.until("run-reused", "Failed")
    assert reused["reason"] == "RunKeyReused"
    assert "give this job a run key of its own" in reused["message"]
    assert contents(pipeline) == done


def contents(pipeline: Pipeline) -> list[tuple[int, int]]:
    """Each table's version, and how many rows it has."""
    tables = [DeltaTable(str(pipeline.lake / name)) for name in ("run", "run-other")]
    return [(one.version(), int(one.count())) for one in tables]
