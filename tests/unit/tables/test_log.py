"""What a table's log is taken to say of a run."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sluice.tables import key_of_path
from sluice.tables.log import LogUnreadableError, commits_of_run
from unit.tables import lake


def test_nothing_is_said_of_a_log_that_was_not_read_back_to_the_attempts_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.orders(tmp_path)
    begun = datetime.now(UTC)
    for version in (1, 2, 3):
        info = {"timestamp": int(begun.timestamp() * 1000) + version, "operation": "WRITE"}
        line = json.dumps({"commitInfo": info})
        (tmp_path / "_delta_log" / f"{version:020}.json").write_text(line + "\n", encoding="utf-8")
    assert commits_of_run(key_of_path(str(tmp_path)), "a", 1, begun) == []
    monkeypatch.setattr("sluice.tables.log._LOOK_BACK", 2)
    with pytest.raises(LogUnreadableError, match="more than 2 commits since"):
        commits_of_run(key_of_path(str(tmp_path)), "a", 1, begun)


def test_a_folder_that_the_operator_does_not_have_tells_nothing(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    assert commits_of_run(key_of_path(str(tmp_path / "none")), "a", 1, now) == []
    with pytest.raises(LogUnreadableError, match="does not exist where the operator runs"):
        commits_of_run(key_of_path(str(tmp_path / "lake" / "none")), "a", 1, now)


def test_only_stamps_of_the_attempts_statements_count(tmp_path: Path) -> None:
    lake.orders(tmp_path)
    begun = datetime.now(UTC)
    ours = {"uid": "a", "attempt": 2}
    stamps = [
        {**ours, "statement": 0, "fence": {"replaced": None, "version": 0}},
        {**ours, "statement": 1},
        {**ours, "attempt": 1, "statement": 1},
        {**ours, "uid": "b", "statement": 1},
        {**ours, "statement": "two"},
        {**ours},
        {**ours, "statement": 0, "closing": True},
    ]
    for version, stamp in enumerate(stamps, 1):
        info = {"operation": "WRITE", "userMetadata": json.dumps({"sluice": stamp})}
        (tmp_path / "_delta_log" / f"{version:020}.json").write_text(
            json.dumps({"commitInfo": info}) + "\n", encoding="utf-8"
        )
    found = commits_of_run(key_of_path(str(tmp_path)), "a", 2, begun)
    assert [(commit.version, commit.statement) for commit in found] == [(2, 1)]
