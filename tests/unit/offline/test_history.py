"""A table's own log: who wrote, who would be in whose way, and what of it a pin or a split would have freed."""

import json
from pathlib import Path
from typing import Any

import pytest

from sluice.api.base import Json
from sluice.offline.history import CommitFate, HistoryReport, LogNotFoundError, read_log, replayed
from sluice.offline.history.commit_reads import bounds_of
from sluice.offline.history.writers import writer_of
from unit.cli.folders import complaints, sluice

METADATA: Json = {"metaData": {"partitionColumns": ["date"], "schemaString": "{}", "configuration": {}}}
MINUTE = 60_000


def commit(
    table: Path, version: int, operation: str, *actions: Json, read: int | None = None, **info: Any
) -> None:
    log = table / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    whole: Json = {"timestamp": 1_790_000_000_000 + version * MINUTE, "operation": operation, **info}
    if read is not None:
        whole["readVersion"] = read
    lines = [{"commitInfo": whole}, *actions]
    (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")


def add(*days: str) -> list[Json]:
    return [{"add": {"path": f"date={day}/x", "partitionValues": {"date": day}}} for day in days]


def remove(*days: str) -> list[Json]:
    return [{"remove": {"path": f"date={day}/x", "dataChange": True}} for day in days]


def predicate(text: str) -> Json:
    return {"predicate": json.dumps([text])}


def history(table: Path) -> HistoryReport:
    return replayed(read_log(table))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    commit(tmp_path, 0, "CREATE TABLE", METADATA)
    return tmp_path


def merged_beside_an_append(
    table: Path, text: str, merged: tuple[str, ...], appended: str
) -> dict[CommitFate, int]:
    commit(table, 1, "WRITE", *add(appended), read=0, isBlindAppend=True, userMetadata="loader")
    commit(
        table,
        2,
        "MERGE",
        *add(*merged),
        *remove(*merged),
        read=0,
        operationParameters=predicate(text),
        userMetadata="upserts",
    )
    found = history(table)
    assert found.overlaps == 1
    assert all("CREATE" not in name for one in found.collisions for name in one.writers)
    return {fate: n for one in found.collisions for fate, n in one.side_by_side.items() if n}


def test_what_a_merge_did_not_say_a_pin_would_have_freed(table: Path) -> None:
    met = merged_beside_an_append(table, "(id#1 = id#2)", ("2026-11-19",), "2026-11-18")
    assert met == {CommitFate.PIN: 1}


def test_a_merge_that_is_pinned_elsewhere_meets_nobody(table: Path) -> None:
    text = "((id#1 = id#2) AND (date#3 = 2026-11-19))"
    assert merged_beside_an_append(table, text, ("2026-11-19",), "2026-11-18") == {}


def test_a_job_of_many_partitions_is_held_up_by_the_few_that_it_shares(table: Path) -> None:
    days = ("2026-11-17", "2026-11-18", "2026-11-19")
    assert merged_beside_an_append(table, "(id#1 = id#2)", days, "2026-11-18") == {CommitFate.SPLIT: 1}


def test_the_same_partition_has_to_wait(table: Path) -> None:
    met = merged_beside_an_append(table, "(id#1 = id#2)", ("2026-11-18",), "2026-11-18")
    assert met == {CommitFate.SAME: 1}


def test_blind_appends_never_meet(table: Path) -> None:
    for version in (1, 2, 3):
        commit(table, version, "WRITE", *add("2026-11-18"), read=0, isBlindAppend=True)
    found = history(table)
    assert found.overlaps == 3
    assert found.widest == 3
    assert found.collisions == []


def test_writers_shortly_after_one_another_are_told_apart_from_those_that_overlapped(table: Path) -> None:
    for version, who in enumerate(("a", "b"), start=1):
        commit(
            table,
            version,
            "DELETE",
            *remove("2026-11-18"),
            read=version - 1,
            userMetadata=who,
            isBlindAppend=False,
        )
    one = history(table).collisions[0]
    assert not one.side_by_side
    assert one.close_together[CommitFate.SAME] == 1
    assert one.example == (1, 2)


def test_a_change_of_metadata_meets_everybody(table: Path) -> None:
    commit(table, 1, "SET TBLPROPERTIES", METADATA, read=0)
    commit(table, 2, "WRITE", *add("2026-11-18"), read=0, isBlindAppend=True)
    (met,) = [one for one in history(table).collisions if one.side_by_side]
    assert met.writers == ("unknown: SET TBLPROPERTIES", "unknown: WRITE")
    assert met.side_by_side == {CommitFate.SAME: 1}


@pytest.mark.parametrize(
    ("info", "who"),
    [
        ({"userMetadata": '{"sluice":{"job":"etl/clean","uid":"1"}}'}, "etl/clean: DELETE"),
        ({"userMetadata": "nightly 2026-11-19"}, "nightly *: DELETE"),
        ({"userMetadata": "run 7"}, "run *: DELETE"),
        ({"job": {"jobId": "9", "jobName": "upserts"}}, "upserts: DELETE"),
        ({"notebook": {"notebookId": "77"}}, "notebook 77: DELETE"),
        (
            {"engineInfo": "Apache-Spark/4.2.0 Delta-Lake/4.4.0"},
            "Apache-Spark/4.2.0 Delta-Lake/4.4.0: DELETE",
        ),
        ({}, "unknown: DELETE"),
    ],
)
def test_a_writer_is_one_through_all_its_runs(info: Json, who: str) -> None:
    assert writer_of({"operation": "DELETE", **info}, []).name == who


QUERY = "31903704-77f5-4e8f-aa6e-0f7886555cd7"
OTHER_QUERY = "84ac0ec1-77f5-4e8f-aa6e-0f7886555cd7"
STREAMING: Json = {"operation": "STREAMING UPDATE"}


@pytest.mark.parametrize(
    ("info", "app_ids", "who"),
    [
        (STREAMING, [QUERY], "stream 31903704: STREAMING UPDATE"),
        (
            {**STREAMING, "operationParameters": {"queryId": QUERY, "epochId": "7"}},
            [],
            "stream 31903704: STREAMING UPDATE",
        ),
        ({"operation": "MERGE"}, [f"{QUERY}/1"], "stream 31903704: MERGE"),
        ({**STREAMING, "userMetadata": "orders"}, [QUERY], "orders, stream 31903704: STREAMING UPDATE"),
        ({"operation": "MERGE"}, ["nightly-2026-11-19"], "txn nightly-*: MERGE"),
    ],
)
def test_a_stream_is_known_by_the_id_of_its_query(info: Json, app_ids: list[str], who: str) -> None:
    assert writer_of(info, app_ids) == (who, True)


def test_two_streams_are_two_writers_also_under_one_name(table: Path) -> None:
    for version, query in enumerate((QUERY, OTHER_QUERY, QUERY), start=1):
        txn = {"txn": {"appId": query, "version": version}}
        commit(
            table,
            version,
            "STREAMING UPDATE",
            txn,
            *add("2026-11-18"),
            read=version - 1,
            userMetadata="orders",
        )
    names = [(writer.name, writer.commits) for writer in history(table).writers]
    assert names[:2] == [
        ("orders, stream 31903704: STREAMING UPDATE", 2),
        ("orders, stream 84ac0ec1: STREAMING UPDATE", 1),
    ]


def met_daily(table: Path, days: int, **info: Any) -> None:
    """Each day at 02:10 UTC a DELETE of 90 s, which began before an append of two minutes earlier."""
    day, first = 24 * 60 * MINUTE, 1_789_956_600_000
    for number in range(days):
        at = first + number * day
        version = 1 + 2 * number
        commit(
            table,
            version,
            "WRITE",
            *add("2026-11-18"),
            read=version - 1,
            timestamp=at - 2 * MINUTE,
            isBlindAppend=True,
        )
        commit(
            table,
            version + 1,
            "DELETE",
            *remove("2026-11-18"),
            read=version - 1,
            timestamp=at,
            operationMetrics={"executionTimeMs": "90000"},
            **info,
        )


def test_it_is_told_when_two_writers_meet_and_what_that_may_cost(table: Path) -> None:
    met_daily(table, 5, userMetadata="cleaner")
    result = sluice("explain", "--history", table, "-o", "json")
    (met,) = json.loads(result.stdout)["collisions"]
    assert (met["hours"], met["atStakeSeconds"], met["unmeasured"]) == ({"2": 5}, 450.0, 0)
    shown = sluice("explain", "--history", table, terminal_width=160).stdout
    row = next(
        line for line in shown.splitlines() if line.startswith("and unknown: WRITE") or " 02-03 " in line
    )
    assert "7m 30s" in row
    assert "hours are those of the day, in UTC" in " ".join(shown.split())


def test_what_a_commit_may_lose_is_counted_once_however_many_it_meets(table: Path) -> None:
    for version in (1, 2, 3):
        commit(table, version, "WRITE", *add("2026-11-18"), read=0, isBlindAppend=True)
    metrics = {"operationMetrics": {"executionTimeMs": "60000"}}
    commit(table, 4, "DELETE", *remove("2026-11-18"), read=0, userMetadata="cleaner", **metrics)
    (met,) = history(table).collisions
    assert (met.met, met.at_stake, sum(met.hours.values())) == (3, 60_000, 1)


def test_writers_without_a_name_are_told_how_to_get_one(table: Path) -> None:
    met_daily(table, 1, engineInfo="Apache-Spark/4.2.0 Delta-Lake/4.4.0")
    told = " ".join(sluice("explain", "--history", table).stdout.split())
    assert "--conf spark.databricks.delta.commitInfo.userMetadata=NAME of spark-submit" in told
    named = json.loads(sluice("explain", "--history", table, "-o", "json").stdout)["writers"]
    assert not any(writer["named"] for writer in named)


def test_nobody_is_told_to_name_what_has_a_name(tmp_path: Path) -> None:
    commit(tmp_path, 0, "WRITE", METADATA, *add("2026-11-18"), userMetadata="loader")
    assert "userMetadata" not in sluice("explain", "--history", tmp_path).stdout


@pytest.mark.parametrize(
    ("logged", "inside", "outside"),
    [
        ("(date#13452 = 2026-11-30)", "2026-11-30", "2026-11-29"),
        ("(date#1 >= 2026-11-10) AND (date#1 < 2026-11-20)", "2026-11-19", "2026-11-20"),
        ("(spark_catalog.sales.orders.date = DATE '2026-11-30')", "2026-11-30", "2026-11-29"),
        ("date#1 IN (2026-11-30,2026-11-29)", "2026-11-29", "2026-11-28"),
    ],
)
def test_conditions_as_the_log_prints_them_are_read(logged: str, inside: str, outside: str) -> None:
    bounds = bounds_of(predicate(logged), ("date",))
    assert bounds.hold((inside,), ("date",))
    assert not bounds.hold((outside,), ("date",))


@pytest.mark.parametrize(
    "logged", ["(id#1 = 7)", "(date#1 = date#2)", "f(date#1)", "", "(((", "date#1 = x OR a = b"]
)
def test_what_cannot_be_read_is_no_bound(logged: str) -> None:
    assert bounds_of(predicate(logged), ("date",)).hold(("2026-11-30",), ("date",))


def test_a_log_without_its_beginning_is_read_from_where_it_begins(tmp_path: Path) -> None:
    for version in (41, 42):
        commit(tmp_path, version, "DELETE", *add("2026-11-18"), *remove("2026-11-18"), read=40)
    (tmp_path / "_delta_log" / f"{42:020}.checkpoint.parquet").write_bytes(b"")
    result = sluice("explain", "--history", tmp_path)
    assert result.exit_code == 0
    assert "partitioned by date" in result.stdout
    told = " ".join(result.stdout.split())
    assert "versions below 41 are missing: they were cleaned up, or not copied" in told


def test_a_broken_commit_is_named_and_the_rest_is_replayed(table: Path) -> None:
    commit(table, 1, "WRITE", *add("2026-11-18"), read=0)
    (table / "_delta_log" / f"{2:020}.json").write_text("{half", encoding="utf-8")
    result = sluice("explain", "--history", table, "-o", "json")
    assert result.exit_code == 3
    found = json.loads(result.stdout)
    assert found["commits"] == 2
    assert found["unreadable"] == [f"{2:020}.json: this is not JSON, as a commit is: copy the file again"]
    assert "1 commit cannot be read, such as" in sluice("explain", "--history", table).stdout


def test_a_folder_without_a_log_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(LogNotFoundError, match="no _delta_log folder"):
        read_log(tmp_path)
    assert sluice("explain", "--history", tmp_path / "nowhere").exit_code == 3


def test_a_log_of_which_nothing_can_be_read_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / f"{0:020}.json").write_bytes(b"\x80")
    result = sluice("explain", "--history", tmp_path)
    assert result.exit_code == 3
    assert "no commit can be read" in complaints(result)
    assert "this is not UTF-8 text" in complaints(result)


def test_json_that_is_no_commit_is_told_in_words_of_the_log(table: Path) -> None:
    (table / "_delta_log" / f"{2:020}.json").write_text("1\n", encoding="utf-8")
    found = json.loads(sluice("explain", "--history", table, "-o", "json").stdout)
    assert "not a commit as Delta writes it" in found["unreadable"][0]


def test_a_log_of_one_commit_is_counted_in_the_singular(table: Path) -> None:
    shown = " ".join(sluice("explain", "--history", table).stdout.split())
    assert "1 commit (version 0, " in shown
    assert "by 1 writer; partitioned by date" in shown


def test_all_lines_fit_the_width(table: Path) -> None:
    merged_beside_an_append(table, "(id#1 = id#2)", ("2026-11-19",), "2026-11-18")
    shown = sluice("explain", "--history", table).stdout
    assert "loader: WRITE" in shown
    assert all(line == line.rstrip() for line in shown.splitlines())


def test_commits_that_are_missing_in_between_are_counted(table: Path) -> None:
    for version in (1, 4):
        commit(table, version, "WRITE", *add("2026-11-18"), read=version - 1)
    (table / "_delta_log" / f"{3:020}.checkpoint.parquet").write_bytes(b"")
    found = json.loads(sluice("explain", "--history", table, "-o", "json").stdout)
    assert (found["missing"], found["checkpoints"]) == (2, 1)
    told = " ".join(sluice("explain", "--history", table).stdout.split())
    assert "2 versions in between are missing" in told


def test_a_log_of_checkpoints_alone_says_where_its_commits_went(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / f"{10:020}.checkpoint.parquet").write_bytes(b"")
    with pytest.raises(LogNotFoundError, match=r"only checkpoints.*logRetentionDuration"):
        read_log(tmp_path)


@pytest.mark.parametrize(
    ("location", "copies"),
    [
        ("s3://lake/orders", "aws s3 sync s3://lake/orders/_delta_log ./orders/_delta_log"),
        ("s3a://lake/orders/_delta_log", "aws s3 sync s3://lake/orders/_delta_log ./orders/_delta_log"),
        ("gs://lake/orders", "gcloud storage rsync gs://lake/orders/_delta_log ./orders/_delta_log"),
        ("hdfs://a/lake/orders", "Copy hdfs://a/lake/orders/_delta_log to ./orders/_delta_log, then"),
    ],
)
def test_a_table_in_an_object_store_is_answered_with_the_commands_that_replay_it(
    location: str, copies: str
) -> None:
    told = " ".join(sluice("explain", "--history", location).stderr.split())
    assert "only local folders are read" in told
    assert copies in told
    assert "sluice explain --history ./orders" in told


def test_the_first_commit_of_a_table_lacks_no_pin(tmp_path: Path) -> None:
    commit(tmp_path, 0, "WRITE", METADATA, *add("2026-11-17"), operationParameters={"mode": "ErrorIfExists"})
    commit(tmp_path, 1, "WRITE", *add("2026-11-18"), read=0, isBlindAppend=True, userMetadata="other")
    found = history(tmp_path)
    assert [writer.without_pin for writer in found.writers] == [0, 0]


def test_names_of_writers_are_not_torn_at_eighty_columns(table: Path) -> None:
    merged_beside_an_append(table, "(id#1 = id#2)", ("2026-11-19",), "2026-11-18")
    lines = sluice("explain", "--history", table, terminal_width=80).stdout.splitlines()
    row = next(number for number, line in enumerate(lines) if line.startswith("Who met whom")) + 1
    assert lines[row].startswith("loader: WRITE ")
    assert lines[row + 1] == "and upserts: MERGE"
