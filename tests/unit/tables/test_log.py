"""What a table's log is taken to say of a run."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

import sluice
from sluice.api.base import Json
from sluice.tables import key_of_path
from sluice.tables.log import FoundCommit, LogUnreadableError, commits_of_application, commits_of_run
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


def test_nothing_is_said_of_a_log_that_was_cleaned_up_since_the_attempts_start(tmp_path: Path) -> None:
    lake.orders(tmp_path)
    begun = datetime.now(UTC)
    log = tmp_path / "_delta_log"
    own = json.dumps({"sluice": {"uid": "a", "attempt": 1, "statement": 1}})
    for version in (1, 2, 3):
        at = begun + timedelta(seconds=version)
        write(tmp_path, version, [], at=at, metadata=own if version == 1 else None)
    key = key_of_path(str(tmp_path))
    assert [commit.version for commit in commits_of_run(key, "a", 1, begun)] == [1]
    DeltaTable(str(tmp_path), version=2).create_checkpoint()
    for version in (0, 1):
        (log / f"{version:020}.json").unlink()
    for asked in (commits_of_run, commits_of_application):
        with pytest.raises(LogUnreadableError, match="was cleaned up, and begins after that at version 2"):
            asked(key, "a", 1, begun)
    assert commits_of_run(key, "a", 1, begun + timedelta(seconds=2)) == []


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


def write(
    path: Path,
    version: int,
    actions: list[Json],
    *,
    at: datetime | None,
    metadata: str | None,
    engine: str | None = None,
) -> None:
    info: Json = {"operation": "WRITE"} | ({"engineInfo": engine} if engine is not None else {})
    info |= {"timestamp": int(at.timestamp() * 1000)} if at is not None else {}
    info |= {"userMetadata": metadata} if metadata is not None else {}
    lines = [json.dumps(action) for action in ({"commitInfo": info}, *actions)]
    (path / "_delta_log" / f"{version:020}.json").write_text("\n".join(lines) + "\n", encoding="utf-8")


def file(kind: str, **partition: str | None) -> Json:
    return {
        kind: {
            "path": "x",
            "partitionValues": partition,
            "size": 1,
            "modificationTime": 1,
            "dataChange": True,
        }
    }


def test_an_applications_commits_are_told_with_the_partitions_that_they_touched(tmp_path: Path) -> None:
    lake.orders(tmp_path)
    begun = datetime.now(UTC)
    own = json.dumps({"sluice": {"uid": "a", "attempt": 2, "token": 7}})
    others = json.dumps({"sluice": {"uid": "b", "attempt": 2, "statement": 1}})
    fence = json.dumps({"sluice": {"uid": "a", "attempt": 2, "statement": 0}})
    library = json.dumps({"sluice": {"uid": "a", "attempt": 2, "statement": 3}})
    day = "2026-11-19"
    write(
        tmp_path,
        1,
        [file("add", date=day), file("add", date=day), file("remove", date=None)],
        at=begun,
        metadata=own,
    )
    write(tmp_path, 2, [file("add", date=day)], at=begun, metadata=others)
    write(tmp_path, 3, [file("add", date=day)], at=begun, metadata="nightly", engine="Apache-Spark/4.2.0")
    write(tmp_path, 4, [file("add", date=day)], at=begun - timedelta(hours=1), metadata=None)
    write(tmp_path, 5, [file("add", date=day)], at=begun, metadata=fence)
    write(tmp_path, 6, [{"remove": {"path": "x", "dataChange": True}}], at=begun, metadata=library)
    found = commits_of_application(key_of_path(str(tmp_path)), "a", 2, begun)
    created, *since = found
    assert (created.version, created.is_own, created.changes_metadata) == (0, False, True)
    assert (created.engine or "").startswith("delta-rs")
    assert since == [
        FoundCommit(1, "WRITE", is_own=True, adds=[{"date": day}], removes=[{"date": None}]),
        FoundCommit(3, "WRITE", is_own=False, engine="Apache-Spark/4.2.0", adds=[{"date": day}]),
        FoundCommit(
            6,
            "WRITE",
            is_own=True,
            statement=3,
            unlooked="it doesn't tell of which partition a file is that it removes",
        ),
    ]


def test_partitions_are_told_by_their_columns_names_whatever_the_log_calls_them(tmp_path: Path) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir(parents=True)
    mapped = lake.column(
        "date", "date", **{"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
    )
    properties = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
    made = lake.metadata(mapped, partition_by=("date",), properties=properties)
    features = {"readerFeatures": ["columnMapping"], "writerFeatures": ["columnMapping"]}
    protocol = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}
    own = json.dumps({"sluice": {"uid": "a", "attempt": 1}})
    begun = datetime.now(UTC)
    actions = [protocol, made, file("add", **{"col-1": "2026-11-19"})]
    write(tmp_path, 0, actions, at=begun, metadata=own)
    (found,) = commits_of_application(key_of_path(str(tmp_path)), "a", 1, begun)
    assert (found.adds, found.unlooked) == ([{"date": "2026-11-19"}], None)


@pytest.mark.parametrize("number", [True, 2**31, 10**40, -1, 1.5, "1"])
def test_a_number_that_no_statement_has_is_none(tmp_path: Path, number: object) -> None:
    lake.orders(tmp_path)
    begun = datetime.now(UTC)
    forged = json.dumps({"sluice": {"uid": "a", "attempt": 1, "statement": number}})
    write(tmp_path, 1, [file("add", date="2026-11-19")], at=begun, metadata=forged)
    key = key_of_path(str(tmp_path))
    assert commits_of_run(key, "a", 1, begun) == []
    *_, found = commits_of_application(key, "a", 1, begun)
    assert (found.version, found.is_own, found.statement) == (1, True, None)


def test_a_partition_whose_value_is_no_text_leaves_its_commit_unlooked(tmp_path: Path) -> None:
    lake.orders(tmp_path, partition_by=("region",))
    begun = datetime.now(UTC)
    odd = {
        "path": "x",
        "partitionValues": {"region": 5},
        "size": 1,
        "modificationTime": 1,
        "dataChange": True,
    }
    write(tmp_path, 1, [{"add": odd}], at=begun, metadata=None)
    *_, found = commits_of_application(key_of_path(str(tmp_path)), "a", 1, begun)
    assert found.unlooked == "it doesn't tell of which partition a file is that it adds"


def test_of_more_partitions_than_anybody_can_judge_other_commits_than_its_own_are_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.orders(tmp_path)
    begun = datetime.now(UTC)
    own = json.dumps({"sluice": {"uid": "a", "attempt": 1}})
    days = [file("add", date=f"2026-11-{day}") for day in (17, 18, 19)]
    for version, metadata in ((1, own), (2, None), (3, None)):
        write(tmp_path, version, days, at=begun + timedelta(seconds=version), metadata=metadata)
    monkeypatch.setattr("sluice.tables.log._MOST_PARTITIONS", 5)
    _, *found = commits_of_application(key_of_path(str(tmp_path)), "a", 1, begun)
    assert [(one.version, len(one.adds), one.unlooked) for one in found] == [
        (1, 3, None),
        (2, 0, "other commits touched more than 5 partitions"),
        (3, 3, None),
    ]


def test_its_own_commits_are_told_where_there_is_no_time_for_the_files_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.orders(tmp_path)
    begun = datetime.now(UTC)
    own = json.dumps({"sluice": {"uid": "a", "attempt": 1}})
    write(tmp_path, 1, [file("add", date="2026-11-19")], at=begun, metadata=own)
    monkeypatch.setattr("sluice.tables.log._TIME_FOR_FILES", -1)
    *_, found = commits_of_application(key_of_path(str(tmp_path)), "a", 1, begun)
    assert (found.version, found.is_own) == (1, True)
    assert "s went by with other commits of the table" in (found.unlooked or "")


def test_the_process_that_reads_logs_loads_no_models_and_no_parser() -> None:
    code = (
        "import sys, sluice.tables.table_answers; print('pydantic' in sys.modules, 'sqlglot' in sys.modules)"
    )
    source = str(Path(sluice.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": source}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False"]
