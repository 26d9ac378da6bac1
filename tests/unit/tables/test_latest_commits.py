"""Which version each of a table's latest commits is."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable

from sluice.api.base import Json
from sluice.tables import key_of_path
from sluice.tables.commit_files import CommitFiles
from sluice.tables.latest_commits import Told, latest_commits
from sluice.tables.log import commits_of_application, commits_of_run
from unit.tables import lake

OWN = json.dumps({"sluice": {"uid": "a", "attempt": 1, "statement": 1}})
OTHERS = json.dumps({"sluice": {"uid": "b", "attempt": 1, "statement": 1}})


def commit(path: Path, version: int, info: Json | None, *, day: str = "2026-11-19") -> None:
    added = {
        "path": "x",
        "partitionValues": {"date": day},
        "size": 1,
        "modificationTime": 1,
        "dataChange": True,
    }
    lines = (
        [{"add": added}] if info is None else [{"commitInfo": {"operation": "WRITE"} | info}, {"add": added}]
    )
    (path / "_delta_log" / f"{version:020}.json").write_text(
        "\n".join(map(json.dumps, lines)), encoding="utf-8"
    )


def told(opened: DeltaTable, *, since: int = 0) -> list[tuple[int, int | None]]:
    def matters(one: Told) -> bool:
        return int(one.get("timestamp", since)) >= since

    found = latest_commits(opened, CommitFiles(opened), 1000, matters)
    return [(one["version"], one.get("timestamp")) for one in found if matters(one)]


def test_what_others_commit_once_the_table_is_open_does_not_shift_the_versions_before(tmp_path: Path) -> None:
    lake.orders(tmp_path)
    for version in (1, 2, 3):
        commit(tmp_path, version, {"timestamp": version})
    opened = DeltaTable(str(tmp_path))
    for late in (4, 5):
        commit(tmp_path, late, {"timestamp": late})
        assert told(opened)[:3] == [(3, 3), (2, 2), (1, 1)]


def test_of_a_table_that_others_write_all_the_time_two_files_are_read_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.orders(tmp_path)
    for version in range(1, 30):
        commit(tmp_path, version, {"timestamp": version})
    opened = DeltaTable(str(tmp_path))
    commit(tmp_path, 30, {"timestamp": 30})
    read: list[int] = []
    info = CommitFiles.info

    def noted(files: CommitFiles, version: int) -> Json | None:
        read.append(version)
        return info(files, version)

    monkeypatch.setattr(CommitFiles, "info", noted)
    found = latest_commits(opened, CommitFiles(opened), 1000, lambda one: 10 < one["timestamp"] < 100)
    assert [(one["version"], one["timestamp"]) for one in found[:20]] == [(at, at) for at in range(29, 9, -1)]
    assert read == [29, 10]


def test_commits_that_cannot_be_told_apart_have_versions_of_their_own(tmp_path: Path) -> None:
    lake.orders(tmp_path)
    for version in (1, 2, 3):
        commit(tmp_path, version, {"timestamp": 7})
    opened = DeltaTable(str(tmp_path))
    commit(tmp_path, 4, {"timestamp": 7})
    assert told(opened)[:3] == [(3, 7), (2, 7), (1, 7)]


def test_as_many_late_commits_as_silent_ones_do_not_make_up_for_each_other(tmp_path: Path) -> None:
    lake.orders(tmp_path)
    commit(tmp_path, 1, {"timestamp": 1})
    commit(tmp_path, 2, {"timestamp": 2})
    commit(tmp_path, 3, None)
    commit(tmp_path, 4, {"timestamp": 4})
    opened = DeltaTable(str(tmp_path))
    commit(tmp_path, 5, {"timestamp": 5})
    assert told(opened, since=2)[:3] == [(4, 4), (3, None), (2, 2)]


def test_a_commit_that_says_nothing_of_itself_is_not_taken_for_the_stamped_one_before_it(
    tmp_path: Path,
) -> None:
    lake.orders(tmp_path)
    begun = datetime.now(UTC)
    now = int(begun.timestamp() * 1000)
    commit(tmp_path, 1, {"timestamp": now, "userMetadata": OWN})
    commit(tmp_path, 2, None, day="2026-11-20")
    commit(tmp_path, 3, {"timestamp": now, "userMetadata": OTHERS})
    commit(tmp_path, 4, {"timestamp": None, "userMetadata": OTHERS})
    key = key_of_path(str(tmp_path))
    assert [(one.version, one.statement) for one in commits_of_run(key, "a", 1, begun)] == [(1, 1)]
    found = [one for one in commits_of_application(key, "a", 1, begun) if one.version > 0]
    assert [(one.version, one.is_own, one.adds) for one in found] == [
        (1, True, [{"date": "2026-11-19"}]),
        (2, False, [{"date": "2026-11-20"}]),
    ]
