"""A look tells what a log says of its table now, and what its commits said, each read once. What isn't known is not told."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from arro3.core import Array, DataType, Table
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.schema import PrimitiveType

from sluice.api.base import Json
from sluice.tables import TableKey, key_of_name, key_of_path
from sluice.tables.log_commits import ReadCommit, read_commit
from sluice.tables.log_files import LogFiles
from sluice.tables.table_observation import CLUSTERING, TableObservation
from sluice.tables.table_observer import FORGOTTEN_AFTER, REREAD, TableObserver
from unit.tables.lake import column, metadata, orders, protocol

NOON = datetime(2026, 11, 19, 12, tzinfo=UTC)
CLUSTERED = ("clustering", "domainMetadata")


class Clock:
    now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def looks(clock: Clock) -> TableObserver:
    return TableObserver(now=clock)


@pytest.fixture
def key(tmp_path: Path) -> TableKey:
    return key_of_path(str(tmp_path / "t"))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "t"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The versions of the commits that were read."""
    versions: list[int] = []

    def counted(files: LogFiles, version: int) -> ReadCommit:
        versions.append(version)
        return read_commit(files, version)

    monkeypatch.setattr("sluice.tables.table_observer.read_commit", counted)
    return versions


def info(minute: int = 0, operation: str = "WRITE", **more: object) -> Json:
    at = NOON - timedelta(days=1) + timedelta(minutes=minute)
    return {"commitInfo": {"timestamp": int(at.timestamp() * 1000), "operation": operation, **more}}


def stamped(job: object, **more: object) -> str:
    return json.dumps({"sluice": {"job": job, "uid": "u-1", "attempt": 1, "statement": 1, **more}})


def commit(table: Path, version: int, *actions: Json) -> None:
    log = table / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    (log / f"{version:020}.json").write_text("".join(f"{json.dumps(one)}\n" for one in actions), "utf-8")


def domain(*columns: tuple[str, ...], removed: bool = False) -> Json:
    configuration = json.dumps({"clusteringColumns": columns})
    return {
        "domainMetadata": {"domain": "delta.clustering", "configuration": configuration, "removed": removed}
    }


def add(path: str, size: int = 10, deleted_rows: int = 0, **partition: str | None) -> Json:
    stats = json.dumps({"numRecords": 100})
    added: Json = {
        "path": path,
        "partitionValues": partition,
        "size": size,
        "modificationTime": 1,
        "dataChange": True,
        "stats": stats,
    }
    if deleted_rows:
        added["deletionVector"] = {
            "storageType": "u",
            "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
            "offset": 1,
            "sizeInBytes": 36,
            "cardinality": deleted_rows,
        }
    return {"add": added}


def remove(path: str, deleted_rows: int = 0) -> Json:
    vector = add(path, deleted_rows=deleted_rows)["add"].get("deletionVector")
    return {"remove": {"path": path, "deletionTimestamp": 1, "dataChange": True, "deletionVector": vector}}


def read_with(*features: str) -> Json:
    """The protocol of a table that readers must know these features for."""
    return {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": features,
            "writerFeatures": [*features, *CLUSTERED],
        }
    }


def deleted_rows(look: TableObservation) -> list[int]:
    assert look.files is not None
    return sorted(file.deleted_rows for file in look.files)


# ------------------------------------------------------------------------------------------------------------------------- state


def test_a_look_tells_what_delta_rs_wrote(looks: TableObserver, key: TableKey, table: Path) -> None:
    created = orders(table, properties={"delta.enableChangeDataFeed": "true"})
    look = looks.look(key)
    assert look.at == NOON
    assert look.state.exists
    assert look.state.unread is None
    assert (look.state.version, look.state.table_id) == (0, str(created.metadata().id))
    assert look.state.columns == ("id", "date", "region")
    assert look.state.partition_by == ("date",)
    assert look.state.cluster_by == ()
    assert look.state.properties == {"delta.enableChangeDataFeed": "true"}
    assert look.state.writer_version == created.protocol().min_writer_version
    assert look.facts.table_id == look.state.table_id
    assert (look.files, look.size, look.count) == ((), 0, 0)


def test_files_are_told_under_the_schemas_names_with_values_as_in_logs(
    looks: TableObserver, key: TableKey, table: Path
) -> None:
    rows = Table(
        {
            "id": Array([1, 2, 3], DataType.int64()),
            "region": Array(["a b", "50% off/ü", None], DataType.string()),
            "n": Array([7, None, -7], DataType.int64()),
        }
    )
    write_deltalake(str(table), rows, partition_by=["region", "n"])
    look = looks.look(key)
    assert look.files is not None
    assert {(file.partition["region"], file.partition["n"]) for file in look.files} == {
        ("a b", "7"),
        ("50% off/ü", None),
        (None, "-7"),
    }
    assert [file.rows for file in look.files] == [1, 1, 1]
    assert look.size == sum(file.size for file in look.files)
    assert look.count == 3


def test_where_there_is_no_table_the_look_says_so(looks: TableObserver, key: TableKey) -> None:
    look = looks.look(key)
    assert not look.state.exists
    assert look.state.unread is None
    assert not look.facts.exists


@pytest.mark.parametrize(
    ("names", "holds"),
    [
        ([], None),
        (["_started", ".part-0.crc"], None),
        (["_SUCCESS", "part-0.parquet"], "part-0.parquet"),
        (["date=2026-11-19/part-0.parquet"], "date=2026-11-19"),
        (["_delta_log/_staged/a", "part-0.parquet"], None),
    ],
)
def test_what_lies_in_the_place_of_a_table_is_told(
    looks: TableObserver, key: TableKey, table: Path, names: list[str], holds: str | None
) -> None:
    table.mkdir()
    for name in names:
        (table / name).parent.mkdir(parents=True, exist_ok=True)
        (table / name).touch()
    look = looks.look(key)
    assert (look.state.exists, look.state.unread, look.state.holds) == (False, None, holds)


def test_a_log_that_cannot_be_read_is_told_with_its_reason(
    looks: TableObserver, key: TableKey, table: Path
) -> None:
    commit(table, 0, {"commitInfo": {}}, read_with("catalogManaged"), metadata(column("id", "long")))
    assert "catalog" in str(looks.look(key).state.unread)
    assert "no DeltaTablePolicy binds it" in str(looks.look(key_of_name("a.b")).state.unread)


def test_a_table_that_is_removed_is_gone_at_the_next_look(
    looks: TableObserver, key: TableKey, table: Path
) -> None:
    orders(table)
    assert looks.look(key).state.exists
    shutil.rmtree(table)
    assert not looks.look(key).state.exists


# -------------------------------------------------------------------------------------------------------------------- clustering


def known_in_files_as(name: str, number: int) -> Json:
    return {"delta.columnMapping.physicalName": name, "delta.columnMapping.id": number}


def mapped() -> Json:
    inner = column("b", "long", **known_in_files_as("col-2", 3))
    return metadata(
        column("id", "long", **known_in_files_as("col-0", 1)),
        column("a", {"type": "struct", "fields": [inner]}, **known_in_files_as("col-1", 2)),
        properties={"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "3"},
    )


def test_clustering_columns_are_told_under_the_schemas_names(
    looks: TableObserver, key: TableKey, table: Path
) -> None:
    commit(
        table,
        0,
        info(),
        read_with("columnMapping"),
        mapped(),
        domain(("col-1", "col-2"), ("col-0",)),
    )
    look = looks.look(key)
    assert look.state.cluster_by == ("a.b", "id")
    assert look.facts.clustering_columns == ("a.b", "id")


def test_columns_that_the_schema_does_not_have_are_not_known(
    looks: TableObserver, key: TableKey, table: Path
) -> None:
    commit(table, 0, info(), protocol(*CLUSTERED), metadata(column("id", "long")), domain(("col-9",)))
    assert looks.look(key).state.cluster_by is None


@pytest.mark.parametrize(
    ("later", "cluster_by"),
    [
        ((domain(("date",)),), ("date",)),
        ((domain(),), ()),
        ((domain(("date",), removed=True),), ()),
        (({"domainMetadata": {"domain": "mine", "configuration": "{}", "removed": False}},), ("id",)),
    ],
)
def test_the_last_commit_that_speaks_of_clustering_counts(
    looks: TableObserver, key: TableKey, table: Path, later: tuple[Json, ...], cluster_by: tuple[str, ...]
) -> None:
    columns = metadata(column("id", "long"), column("date", "date"))
    commit(table, 0, info(), protocol(*CLUSTERED), columns, domain(("id",)))
    commit(table, 1, info(1), *later)
    assert looks.look(key).state.cluster_by == cluster_by
    assert TableObserver().look(key).state.cluster_by == cluster_by


def test_who_clustered_the_table_anew_is_told(looks: TableObserver, key: TableKey, table: Path) -> None:
    commit(table, 0, info(), protocol(*CLUSTERED), metadata(column("id", "long")), domain(("id",)))
    commit(table, 1, info(1, "OPTIMIZE"), domain(("id",)))
    assert looks.look(key).history.changed_by[CLUSTERING].version == 0
    commit(table, 2, info(2, "CLUSTER BY"), domain())
    assert looks.look(key).history.changed_by[CLUSTERING].version == 2


def test_clustering_is_unknown_where_the_log_that_told_it_is_gone(
    looks: TableObserver, key: TableKey, table: Path
) -> None:
    """delta-rs writes no clustering columns into its checkpoints' pointer, and here there is none at all."""
    commit(table, 0, info(), protocol(*CLUSTERED), metadata(column("id", "long")), domain(("id",)))
    commit(table, 1, info(1))
    log = table / "_delta_log"
    DeltaTable(str(table)).create_checkpoint()
    commit(table, 2, info(2))
    (log / f"{0:020}.json").unlink()
    (log / "_last_checkpoint").unlink()
    assert looks.look(key).state.cluster_by is None


# --------------------------------------------------------------------------------------------------------------- deletion vectors


def test_deleted_rows_are_those_of_each_files_latest_deletion_vector(
    looks: TableObserver, key: TableKey, table: Path
) -> None:
    commit(
        table, 0, info(), read_with("deletionVectors"), metadata(column("id", "long")), add("a"), add("b%20c")
    )
    assert deleted_rows(looks.look(key)) == [0, 0]
    commit(table, 1, info(1), add("b%20c", deleted_rows=3), remove("b%20c"))
    assert deleted_rows(looks.look(key)) == [0, 3]
    commit(
        table,
        2,
        info(2),
        add("b%20c", deleted_rows=5),
        remove("b%20c", 3),
        add("a", deleted_rows=1),
        remove("a"),
    )
    assert deleted_rows(looks.look(key)) == [1, 5]
    commit(table, 3, info(3), remove("b%20c", 5), add("d"))
    assert deleted_rows(looks.look(key)) == [0, 1]
    assert deleted_rows(TableObserver().look(key)) == [0, 1]


def test_files_are_not_known_where_deletion_vectors_are_not(
    looks: TableObserver, key: TableKey, table: Path
) -> None:
    columns = metadata(column("id", "long"))
    commit(table, 0, info(), read_with("deletionVectors"), columns, add("a", deleted_rows=1), add("b"))
    DeltaTable(str(table)).create_checkpoint()
    commit(table, 1, info(1))
    (table / "_delta_log" / f"{0:020}.json").unlink()
    assert deleted_rows(looks.look(key)) == [0, 1], "the checkpoint tells them"
    (table / "_delta_log" / "_last_checkpoint").unlink()
    look = TableObserver().look(key)
    assert look.files is None
    assert (look.count, look.size) == (2, 20)


def test_of_more_files_than_there_is_room_for_only_number_and_size_are_told(tmp_path: Path) -> None:
    looks = TableObserver(most_files=3)
    for name in ("one", "two"):
        commit(tmp_path / name, 0, info(), protocol(), metadata(column("id", "long")), add("a"), add("b"))
    one, two = (looks.look(key_of_path(str(tmp_path / name))) for name in ("one", "two"))
    assert one.files is not None
    assert len(one.files) == 2
    assert (two.files, two.count, two.size) == (None, 2, 20)
    looks.forget(key_of_path(str(tmp_path / "one")))
    commit(tmp_path / "two", 1, info(1), remove("b"))
    assert looks.look(key_of_path(str(tmp_path / "two"))).files == one.files[:1]


def test_a_table_that_nobody_looks_at_any_more_takes_no_room(tmp_path: Path, clock: Clock) -> None:
    looks = TableObserver(now=clock, most_files=1)
    keys = [key_of_path(str(tmp_path / name)) for name in ("one", "two")]
    for name in ("one", "two"):
        commit(tmp_path / name, 0, info(), protocol(), metadata(column("id", "long")), add("a"))
    assert [looks.look(key).files is None for key in keys] == [False, True]
    clock.now += FORGOTTEN_AFTER + timedelta(minutes=1)
    looks.look(keys[1])
    clock.now += REREAD
    assert looks.look(keys[1]).files is not None


# ------------------------------------------------------------------------------------------------------------------------ history


def test_each_commit_is_read_once(looks: TableObserver, key: TableKey, table: Path, read: list[int]) -> None:
    orders(table)
    commit(table, 1, info(1))
    looks.look(key)
    assert sorted(read) == [0, 1]
    looks.look(key)
    assert sorted(read) == [0, 1]
    commit(table, 2, info(2))
    history = looks.look(key).history
    assert sorted(read) == [0, 1, 2]
    assert history.foreign_commits == 3
    assert history.since is None


def test_a_table_without_news_is_not_even_opened(
    looks: TableObserver, key: TableKey, table: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders(table)
    first = looks.look(key)
    clock.now += timedelta(minutes=5)
    with monkeypatch.context() as forbidden:
        forbidden.setattr("sluice.tables.table_observer.open_table", None)
        again = looks.look(key)
    assert again.state is first.state
    assert again.at == clock.now
    clock.now += REREAD
    assert looks.look(key).state is not first.state


def test_who_changed_a_property_last_is_told(looks: TableObserver, key: TableKey, table: Path) -> None:
    columns = column("id", "long")
    one = metadata(columns, properties={"a": "1", "b": "1"})
    commit(table, 0, info(0, "CREATE TABLE"), protocol(), one)
    commit(table, 1, info(1, "SET TBLPROPERTIES"), metadata(columns, properties={"a": "1", "b": "2"}))
    changed = looks.look(key).history.changed_by
    assert {name: by.version for name, by in changed.items()} == {"a": 0, "b": 1}
    foreign = info(2, "SET TBLPROPERTIES", engineInfo="Trino/470")
    commit(table, 2, foreign, metadata(columns, properties={"b": "2"}))
    changed = looks.look(key).history.changed_by
    assert {name: by.version for name, by in changed.items()} == {"a": 2, "b": 1}
    assert changed["a"].engine == "Trino/470"


def test_what_changed_before_the_commits_that_are_known_is_laid_to_nobody(
    key: TableKey, table: Path, clock: Clock
) -> None:
    columns = column("id", "long")
    commit(table, 0, info(0), protocol(), metadata(columns, properties={"a": "1"}))
    for version in (1, 2, 3):
        commit(
            table, version, info(version), metadata(columns, properties={"a": "1", "b": str(version // 2)})
        )
    history = TableObserver(now=clock, most_commits=2).look(key).history
    assert history.changed_by == {}, "1 in version 2 may have been there before"
    assert history.since == NOON - timedelta(days=1) + timedelta(minutes=2)
    assert history.removals.known_since == history.since


def test_foreign_commits_are_counted_and_named(looks: TableObserver, key: TableKey, table: Path) -> None:
    orders(table)
    commit(table, 1, info(1, "MERGE", userMetadata=stamped("etl/nightly"), engineInfo="Apache-Spark/4.2.0"))
    commit(table, 2, info(2, "DELETE", clientVersion="delta-rs.py-1.6.6", userMetadata="by hand"))
    history = looks.look(key).history
    assert history.foreign_commits == 2
    assert history.last_foreign is not None
    assert (history.last_foreign.version, history.last_foreign.engine) == (2, "delta-rs.py-1.6.6")
    assert history.last_by_operation["MERGE"].job == "etl/nightly"
    assert history.last_by_operation["DELETE"].job is None


@pytest.mark.parametrize(
    "metadata_of_user",
    [
        stamped("nightly"),
        stamped(["etl/nightly"]),
        stamped("etl/" + "a" * 300),
        stamped("etl/<script>"),
        stamped("etl/nightly", uid=7),
        stamped("etl/nightly", uid=""),
        '{"sluice": []}',
        "[" * 100_000,
        {"sluice": {"job": "etl/nightly", "uid": "u"}},
        7,
    ],
)
def test_what_no_job_can_have_written_is_foreign(
    looks: TableObserver, key: TableKey, table: Path, metadata_of_user: object
) -> None:
    orders(table)
    commit(table, 1, info(1, userMetadata=metadata_of_user))
    history = looks.look(key).history
    assert history.foreign_commits == 2
    assert history.last_by_operation["WRITE"].job is None


def test_a_commit_that_says_nothing_of_itself_counts(
    looks: TableObserver, key: TableKey, table: Path
) -> None:
    orders(table)
    commit(table, 1, info(1))
    commit(table, 2, add("a", date=None))
    history = looks.look(key).history
    assert history.foreign_commits == 3
    assert history.last_foreign is not None
    assert history.last_foreign.operation is None
    assert history.last_foreign.at == NOON - timedelta(days=1) + timedelta(minutes=1), (
        "not before the one before"
    )


@pytest.mark.parametrize("timestamp", [2**63, -(2**63), "soon", None, 4_000_000_000_000])
def test_no_commit_is_later_than_it_was_read(
    looks: TableObserver, key: TableKey, table: Path, timestamp: object
) -> None:
    commit(
        table,
        0,
        {"commitInfo": {"timestamp": timestamp, "operation": "WRITE"}},
        protocol(),
        metadata(column("id", "long")),
        remove("a"),
    )
    history = looks.look(key).history
    assert history.last_by_operation["WRITE"].at == NOON
    assert history.removals.at == (NOON,)


def test_a_broken_commit_hides_all_before_it(looks: TableObserver, key: TableKey, table: Path) -> None:
    orders(table)
    commit(table, 1, {"commitInfo": {"operation": "WRITE", "timestamp": 1}})
    DeltaTable(str(table)).create_checkpoint()
    commit(table, 2, info(2))
    (table / "_delta_log" / f"{0:020}.json").write_text("neither JSON nor anything\n", "utf-8")
    history = looks.look(key).history
    assert history.since is not None
    assert history.foreign_commits == 2


def test_what_a_commit_before_the_checkpoint_says_need_not_be_json_as_others_read_it(
    looks: TableObserver, key: TableKey, table: Path
) -> None:
    orders(table)
    commit(table, 1, info(1))
    commit(table, 2, info(2))
    DeltaTable(str(table)).create_checkpoint()
    log = table / "_delta_log"
    (log / f"{1:020}.json").write_text('{"commitInfo":{"operation":"half \\ud800","timestamp":1}}', "utf-8")
    assert "half ?" in looks.look(key).history.last_by_operation
    (log / f"{1:020}.json").write_text('{"add":{"path":"a","deletionVector":{"cardinality":1e400}}}', "utf-8")
    history = TableObserver().look(key).history
    assert history.foreign_commits == 1
    assert history.since is not None


def test_a_log_that_was_cleaned_up_meanwhile_is_followed_as_long_as_nothing_is_missing(
    looks: TableObserver, key: TableKey, table: Path
) -> None:
    orders(table)
    commit(table, 1, info(1))
    looks.look(key)
    commit(table, 2, info(2))
    DeltaTable(str(table)).create_checkpoint()
    (table / "_delta_log" / f"{0:020}.json").unlink()
    assert looks.look(key).history.since is None
    commit(table, 3, info(3))
    commit(table, 4, info(4))
    DeltaTable(str(table)).create_checkpoint()
    for version in (1, 2, 3):
        (table / "_delta_log" / f"{version:020}.json").unlink()
    history = looks.look(key).history
    assert history.since == NOON - timedelta(days=1) + timedelta(minutes=4)
    assert history.foreign_commits == 1


def test_a_table_that_was_created_again_has_a_history_of_its_own(
    looks: TableObserver, key: TableKey, table: Path
) -> None:
    orders(table)
    commit(table, 1, info(1, "MERGE"))
    assert "MERGE" in looks.look(key).history.last_by_operation
    shutil.rmtree(table)
    orders(table)
    for version in (1, 2, 3):
        commit(table, version, info(version, "DELETE"))
    history = looks.look(key).history
    assert "MERGE" not in history.last_by_operation
    assert history.foreign_commits == 4
    shutil.rmtree(table)
    orders(table)
    assert looks.look(key).history.foreign_commits == 1


def test_a_table_that_was_changed_by_delta_rs_meanwhile_is_followed(
    looks: TableObserver, key: TableKey, table: Path
) -> None:
    created = orders(table)
    looks.look(key)
    created.alter.set_table_properties({"delta.appendOnly": "true"})
    created.alter.add_columns([Field("note", PrimitiveType("string"), nullable=True)])
    look = looks.look(key)
    assert look.state.properties["delta.appendOnly"] == "true"
    assert look.state.columns == ("id", "date", "region", "note")
    assert look.history.changed_by["delta.appendOnly"].version == 1
    assert "delta-rs" in str(look.history.changed_by["delta.appendOnly"].engine)


# ------------------------------------------------------------------------------------------------------------- removals and VACUUM


def test_commits_that_removed_files_are_told(looks: TableObserver, key: TableKey, table: Path) -> None:
    orders(table)
    commit(table, 1, info(1), add("a", date=None))
    commit(table, 2, info(2), remove("a"))
    removals = looks.look(key).history.removals
    assert removals.at == (NOON - timedelta(days=1) + timedelta(minutes=2),)
    assert removals.known_since is None


def vacuum(minute: int, operation: str, **parameters: object) -> Json:
    return info(minute, operation, operationParameters=parameters)


def test_a_vacuum_that_ended_is_told_with_what_it_kept(
    looks: TableObserver, key: TableKey, table: Path
) -> None:
    orders(table)
    commit(table, 1, vacuum(1, "VACUUM START", retentionCheckEnabled=True, defaultRetentionMillis=3_600_000))
    assert looks.look(key).history.last_vacuum is None
    commit(table, 2, vacuum(2, "VACUUM END", status="COMPLETED"))
    last = looks.look(key).history.last_vacuum
    assert last is not None
    assert last.at == NOON - timedelta(days=1) + timedelta(minutes=2)
    assert last.retention == timedelta(hours=1)


@pytest.mark.parametrize(
    ("commits", "hours"),
    [
        ([("VACUUM START", {"defaultRetentionMillis": 1}), ("VACUUM END", {"status": "FAILED"})], None),
        ([("VACUUM END", {"status": "COMPLETED"})], None),
        ([("VACUUM START", {}), ("VACUUM END", {"status": "COMPLETED"})], None),
        (
            [
                ("VACUUM START", {"defaultRetentionMillis": "7200000", "specifiedRetentionMillis": "0"}),
                ("VACUUM END", {"status": "COMPLETED"}),
            ],
            2,
        ),
        (
            [
                ("VACUUM START", {"defaultRetentionMillis": 7200000}),
                ("VACUUM START", {"defaultRetentionMillis": 3600000}),
                ("VACUUM END", {"status": "COMPLETED"}),
                ("VACUUM END", {"status": "COMPLETED"}),
            ],
            2,
        ),
        (
            [
                ("VACUUM START", {"defaultRetentionMillis": 10**30}),
                ("VACUUM END", {"status": "COMPLETED"}),
            ],
            24 * 366_000,
        ),
        ([("VACUUM START", {"defaultRetentionMillis": -1}), ("VACUUM END", {"status": "COMPLETED"})], None),
    ],
    ids=["failed", "begun before", "says nothing", "specified less", "two at once", "for ever", "negative"],
)
def test_a_vacuum_counts_only_with_what_it_kept_at_most(
    looks: TableObserver, key: TableKey, table: Path, commits: list[tuple[str, Json]], hours: int | None
) -> None:
    orders(table)
    for version, (operation, parameters) in enumerate(commits, start=1):
        commit(table, version, vacuum(version, operation, **parameters))
    last = looks.look(key).history.last_vacuum
    assert (None if last is None else last.retention) == (None if hours is None else timedelta(hours=hours))
