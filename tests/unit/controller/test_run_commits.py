"""What a run committed is asked of its tables' logs, and nothing else has to wait meanwhile."""

import asyncio
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sluice.api.job_status import MAX_FOOTPRINTS, Attempt
from sluice.controller import run_commits
from sluice.controller.run_commits import RunLogs, commits_of_run, what_logs_say
from sluice.engines import RuntimeProfile
from sluice.lifecycle.job import JobView
from sluice.tables import TableKey, key_of_path
from sluice.tables.log import LogUnreadableError, StampedCommit
from unit.controller.bodies import job_body
from unit.tables.lake import orders

BEGUN = datetime.now(UTC)
NEVER_BEGINS = (sys.executable, "-c", "import time; time.sleep(600)")
HANGS = (sys.executable, "-c", "import time; print('reading', flush=True); time.sleep(600)")
SLOW_TO_BEGIN = (
    sys.executable,
    "-c",
    """import json, time; time.sleep(3); print('reading', flush=True); print(json.dumps({'commits': []}))""",
)
FAILS = (sys.executable, "-c", "raise SystemExit('no more memory')")


def stamped(table: Path, version: int, uid: str, attempt: int, statement: int) -> None:
    stamp = json.dumps({"sluice": {"uid": uid, "attempt": attempt, "statement": statement}})
    info = {"timestamp": version, "operation": "WRITE", "userMetadata": stamp}
    line = json.dumps({"commitInfo": info})
    (table / "_delta_log" / f"{version:020}.json").write_text(line + "\n", encoding="utf-8")


async def test_the_commits_of_one_attempt_are_told_in_their_order(tmp_path: Path) -> None:
    orders(tmp_path / "orders")
    for version, uid, attempt in ((1, "a", 1), (2, "b", 1), (3, "a", 2), (4, "a", 1)):
        stamped(tmp_path / "orders", version, uid, attempt, statement=version)
    found = await commits_of_run(key_of_path(str(tmp_path / "orders")), "a", 1, BEGUN, patience=60)
    assert found == [StampedCommit(1, "WRITE", 1), StampedCommit(4, "WRITE", 4)]


async def test_where_there_is_no_table_nothing_was_committed(tmp_path: Path) -> None:
    assert await commits_of_run(key_of_path(str(tmp_path / "none")), "a", 1, BEGUN, patience=60) == []


async def test_a_log_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(LogUnreadableError, match="does not know ftp"):
        await commits_of_run(key_of_path("ftp://lake/orders"), "a", 1, BEGUN, patience=60)


async def test_a_log_that_does_not_answer_is_left_in_time() -> None:
    began = time.monotonic()
    with pytest.raises(LogUnreadableError, match=r"did not answer within 0\.5 s"):
        await commits_of_run(key_of_path("/lake/orders"), "a", 1, BEGUN, patience=0.5, program=HANGS)
    assert time.monotonic() - began < 60


async def test_the_start_of_what_reads_a_log_is_not_taken_for_the_logs_silence() -> None:
    key = key_of_path("/lake/orders")
    assert await commits_of_run(key, "a", 1, BEGUN, patience=2.5, program=SLOW_TO_BEGIN) == []
    with pytest.raises(LogUnreadableError, match=r"did not start within 0\.5 s"):
        await commits_of_run(key, "a", 1, BEGUN, start_patience=0.5, program=NEVER_BEGINS)


async def test_a_reader_that_fails_says_its_last_words() -> None:
    with pytest.raises(LogUnreadableError, match="no more memory"):
        await commits_of_run(key_of_path("/lake/orders"), "a", 1, BEGUN, patience=60, program=FAILS)


def _job(name: str, log: Path) -> JobView:
    touched = {"table": f"file:{log}", "statement": 1, "operation": "DELETE", "reads": "", "writes": ""}
    return JobView(job_body(name) | {"status": {"footprint": [touched]}}, {}, BEGUN)


async def test_a_log_that_hangs_holds_up_nobody_who_asks_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six drivers killed while a storage hung kept an unrelated job waiting for the six of them in turn."""
    hangs, answered = asyncio.Event(), asyncio.Queue[str]()

    async def commits(table: TableKey, *_: Any) -> list[StampedCommit]:
        if table.text.endswith("/hangs"):
            await hangs.wait()
        return [StampedCommit(1, "WRITE", 1)]

    monkeypatch.setattr(run_commits, "commits_of_run", commits)
    logs = RunLogs(answered.put_nowait)
    attempt = Attempt(number=1, token=1, hash="x", application="a-1", granted_at=BEGUN)
    stuck = [_job(f"stuck-{number}", tmp_path / "hangs") for number in range(6)]
    well = _job("well", tmp_path / "answers")
    assert [logs.ask(job, attempt) for job in (*stuck, well)] == [None] * 7
    assert await answered.get() == "uid-well"
    told = logs.ask(well, attempt)
    assert told is not None
    assert [commit.version for commit in told.commits] == [1]
    assert [logs.ask(job, attempt) for job in stuck] == [None] * 6
    hangs.set()
    assert {await answered.get() for _ in stuck} == {job.uid for job in stuck}
    assert all(logs.ask(job, attempt) for job in stuck)
    logs.forget(well, attempt)
    assert logs.ask(well, attempt) is None, "it is asked anew"
    logs.close()


async def test_the_logs_of_all_tables_are_asked_though_a_status_has_no_room_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A killed driver's commits to the tables of its last statements were "nothing"."""
    many = MAX_FOOTPRINTS + 6
    tables = [f"/lake/t{number}" for number in range(many)]
    body = job_body("many", sql="; ".join(f"DELETE FROM delta.`{table}`" for table in tables))
    profiles = {"default": RuntimeProfile(spark_version="4.2.0")}
    shown = [
        entry.model_dump(mode="json", by_alias=True) for entry in JobView(body, profiles, BEGUN).recorded
    ]
    job = JobView(body | {"status": {"footprint": shown}}, profiles, BEGUN)

    async def commits(table: TableKey, *_: Any) -> list[StampedCommit]:
        return [StampedCommit(1, "DELETE", 1)]

    monkeypatch.setattr(run_commits, "commits_of_run", commits)
    attempt = Attempt(number=1, token=1, hash=job.spec_hash, application="a-1", granted_at=BEGUN)
    said = await what_logs_say(job, attempt)
    assert ({one.table for one in said.commits}, said.unread) == ({f"file:{table}" for table in tables}, ())
    other = await what_logs_say(job, attempt.model_copy(update={"hash": "of another spec"}))
    assert "the tables of the others are not known any more: its spec has changed" in str(other)
