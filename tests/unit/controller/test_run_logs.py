"""What a run committed is asked of its tables' logs, and nothing else has to wait meanwhile."""

import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sluice.controller.run_logs import commits_of_run
from sluice.tables import key_of_path
from sluice.tables.log import LogUnreadableError, StampedCommit
from unit.tables.lake import orders

BEGUN = datetime.now(UTC)
HANGS = (sys.executable, "-c", "import time; time.sleep(600)")
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
    with pytest.raises(LogUnreadableError, match="did not answer within"):
        await commits_of_run(key_of_path("/lake/orders"), "a", 1, BEGUN, patience=0.5, program=HANGS)
    assert time.monotonic() - began < 10


async def test_a_reader_that_fails_says_its_last_words() -> None:
    with pytest.raises(LogUnreadableError, match="no more memory"):
        await commits_of_run(key_of_path("/lake/orders"), "a", 1, BEGUN, patience=60, program=FAILS)
