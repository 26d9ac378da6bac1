"""What a table's log says of it, whoever wrote it; and that nobody is told what was true before."""

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable, Field
from deltalake.schema import PrimitiveType

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import footprint_of
from sluice.predicates import Kind
from sluice.tables import TableFacts, TableKey, key_of_name, key_of_path, open_tables
from sluice.tables.address import LogUnreadableError
from sluice.tables.catalog_managed_tables import refuse_managed
from sluice.tables.open_tables import REOPEN_SECONDS, OpenTables
from sluice.tables.snapshot import facts_of
from unit.tables.lake import column, commit, metadata, orders, protocol


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_columns_partitions_and_properties(tmp_path: Path) -> None:
    orders(tmp_path / "t", properties={"delta.enableChangeDataFeed": "true"})
    facts = OpenTables().facts(key_of_path(str(tmp_path / "t")))
    assert [(column.name, column.type.text) for column in facts.columns.columns] == [
        ("id", "long"),
        ("date", "date"),
        ("region", "string"),
    ]
    assert [column.name for column in facts.columns.partition_columns] == ["date"]
    assert facts.enabled("delta.enableChangeDataFeed")
    assert facts.exists
    assert facts.unread is None
    assert facts.clustering_columns == ()
    assert not facts.write_serializable
    assert not facts.serializable


@pytest.mark.parametrize(
    ("columns", "partitions", "why"),
    [
        (10_000, 100, None),
        (10_001, 1, "the table has 10001 columns, and Sluice understands at most 10000"),
        (200, 101, "the table has 101 partition columns, and Sluice understands at most 100"),
    ],
)
def test_a_table_of_more_columns_than_jobs_can_be_compared_by_counts_as_unread(
    tmp_path: Path, columns: int, partitions: int, why: str | None
) -> None:
    names = [f"c{number}" for number in range(columns)]
    wide = metadata(*(column(name, "long") for name in names), partition_by=tuple(names[:partitions]))
    commit(tmp_path / "t", 0, protocol(), wide)
    unread = OpenTables().facts(key_of_path(str(tmp_path / "t"))).unread
    assert unread is None if why is None else why in (unread or "")


def test_what_columns_say_beside_their_types(tmp_path: Path) -> None:
    commit(
        tmp_path / "t",
        0,
        protocol("identityColumns", "generatedColumns", "clustering", "domainMetadata", "not-invented-yet"),
        metadata(
            column("Id", "long", **{"delta.identity.start": 1, "delta.identity.step": 1}),
            column("at", "timestamp"),
            column("day", "date", **{"delta.generationExpression": "CAST(at AS DATE)"}),
            column("short", "string", __CHAR_VARCHAR_TYPE_STRING="char(3)"),
            column("long", "string", __CHAR_VARCHAR_TYPE_STRING="varchar(9)"),
            column("caseless", "string", __COLLATIONS={"caseless": "spark.UTF8_LCASE"}),
            column("parts", {"type": "array", "elementType": "string", "containsNull": True}),
            properties={"delta.isolationLevel": "WriteSerializable"},
        ),
    )
    facts = OpenTables().facts(key_of_path(str(tmp_path / "t")))
    assert facts.identity_columns == {"id"}
    assert facts.generated_columns == {"day": "CAST(at AS DATE)"}
    assert facts.clustering_columns is None
    assert facts.write_serializable
    kinds = {column.name: column.type.kind for column in facts.columns.columns}
    assert (kinds["short"], kinds["caseless"], kinds["parts"]) == (Kind.OPAQUE,) * 3
    assert kinds["long"] is Kind.STRING


def test_a_metadata_commit_is_seen_by_whoever_asks_next(tmp_path: Path) -> None:
    table = orders(tmp_path / "t")
    key, tables = key_of_path(str(tmp_path / "t")), OpenTables()
    before = tables.facts(key)
    assert tables.facts(key) == before
    table.alter.add_columns([Field("note", PrimitiveType("string"), nullable=True)])
    after = tables.facts(key)
    assert after != before
    assert after.columns.find("note") is not None
    table.alter.set_table_properties({"delta.isolationLevel": "Serializable"})
    assert tables.facts(key).properties["delta.isolationLevel"] == "Serializable"
    assert tables.facts(key).serializable


def test_a_commit_of_rows_alone_changes_no_fact(tmp_path: Path) -> None:
    orders(tmp_path / "t")
    key, tables = key_of_path(str(tmp_path / "t")), OpenTables()
    before = tables.facts(key)
    commit(tmp_path / "t", 1)
    assert tables.facts(key) is before


def test_facts_of_a_version_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    orders(tmp_path / "t")
    key, tables = key_of_path(str(tmp_path / "t")), OpenTables()
    versions: list[int | None] = []

    def counted(table: DeltaTable) -> TableFacts:
        versions.append(table.version())
        return facts_of(table)

    monkeypatch.setattr(open_tables, "facts_of", counted)
    before = tables.facts(key)
    assert all(tables.facts(key) is before for _ in range(5))
    assert versions == [0]
    commit(tmp_path / "t", 1)
    assert all(tables.facts(key) is before for _ in range(5))
    assert versions == [0, 1]


@pytest.mark.parametrize("versions", [1, 2, 5])
def test_a_table_made_anew_is_another_one_however_long_its_log_is(tmp_path: Path, versions: int) -> None:
    path = tmp_path / "t"
    orders(path)
    commit(path, 1)
    key, tables = key_of_path(str(path)), OpenTables()
    tables.facts(key)
    shutil.rmtree(path)
    orders(path, partition_by=("region",))
    for version in range(1, versions):
        commit(path, version)
    assert [column.name for column in tables.facts(key).columns.partition_columns] == ["region"]


def test_a_table_that_goes_and_comes(tmp_path: Path) -> None:
    path = tmp_path / "t"
    key, tables = key_of_path(str(path)), OpenTables()
    assert not tables.facts(key).exists
    orders(path)
    assert tables.facts(key).exists
    shutil.rmtree(path)
    assert not tables.facts(key).exists
    assert tables.open_keys() == ()


def test_a_folder_without_a_log_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "_delta_log").mkdir()
    facts = OpenTables().facts(key_of_path(str(tmp_path / "t")))
    assert not facts.exists
    assert facts.unread is None


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("{here}/not/mounted", "the folder around it does not exist"),
        ("{here}/50%25", "location differently"),
        ("s3://lake/my orders", "location differently"),
        ("{here}/orders/date=2026-11-19", "partition's folder"),
        ("wobble://lake/orders", "wobble"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, path: str, why: str) -> None:
    facts = OpenTables().facts(key_of_path(path.format(here=tmp_path)))
    assert facts.unread is not None
    assert why in facts.unread
    assert "\x1b" not in facts.unread
    assert "\n" not in facts.unread


def test_a_name_is_not_read_without_a_location() -> None:
    facts = OpenTables().facts(key_of_name("sales.orders"))
    assert "DeltaTablePolicy" in (facts.unread or "")


@pytest.mark.parametrize(
    "content",
    [
        "{broken",
        '{"commitInfo": {}}\n',
        '{"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["x"], "writerFeatures": ["x"]}}\n',
    ],
)
def test_a_log_that_cannot_be_understood_says_why_and_is_read_again_when_it_can(
    tmp_path: Path, content: str
) -> None:
    path = tmp_path / "t"
    commit(path, 0)
    (path / "_delta_log" / f"{0:020}.json").write_text(content, encoding="utf-8")
    key, tables = key_of_path(str(path)), OpenTables()
    why = tables.facts(key).unread
    assert why is not None
    assert str(path) in why
    commit(path, 0, protocol(), metadata(column("id", "long")))
    assert tables.facts(key).unread is None


def test_a_commit_that_cannot_be_understood_takes_what_was_known(tmp_path: Path) -> None:
    path = tmp_path / "t"
    orders(path)
    key, tables = key_of_path(str(path)), OpenTables()
    assert tables.facts(key).unread is None
    commit(path, 1, metadata(column("where", "geometry")))
    assert tables.facts(key).unread is not None


def test_columns_that_the_log_contradicts_are_not_believed(tmp_path: Path) -> None:
    commit(tmp_path / "t", 0, protocol(), metadata(column("id", "long"), partition_by=("date",)))
    assert OpenTables().facts(key_of_path(str(tmp_path / "t"))).unread is not None


def test_only_so_many_tables_stay_open_and_the_last_used_ones_do(tmp_path: Path) -> None:
    tables = OpenTables(most_tables=2)
    keys = []
    for name in ("a", "b", "c"):
        orders(tmp_path / name)
        keys.append(key_of_path(str(tmp_path / name)))
    for key in (keys[0], keys[1], keys[0], keys[2]):
        tables.facts(key)
    assert tables.open_keys() == (keys[0], keys[2])
    assert tables.facts(keys[1]).exists


def test_a_table_of_too_many_files_does_not_stay_open(tmp_path: Path) -> None:
    add = {"path": "f", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    adds = [{"add": add | {"path": f"part-{number}"}} for number in range(5)]
    commit(tmp_path / "big", 0, protocol(), metadata(column("id", "long")), *adds)
    orders(tmp_path / "small")
    tables = OpenTables(most_files=4)
    big, small = key_of_path(str(tmp_path / "big")), key_of_path(str(tmp_path / "small"))
    tables.facts(small)
    assert tables.facts(big).exists
    assert big not in tables.open_keys()
    tables.facts(small)
    assert tables.open_keys() == (small,)


def test_an_open_table_is_opened_anew_now_and_then(tmp_path: Path) -> None:
    orders(tmp_path / "t")
    clock = Clock()
    key, tables = key_of_path(str(tmp_path / "t")), OpenTables(now=clock)
    before = tables.facts(key)
    clock.now = REOPEN_SECONDS + 1
    assert tables.facts(key) == before


@pytest.mark.parametrize("name", ["a b", "a#b", "a?b", "käse"])
def test_folders_of_any_name_are_read_as_hadoop_names_them(tmp_path: Path, name: str) -> None:
    orders(tmp_path / name)
    assert OpenTables().facts(key_of_path(f"{tmp_path}/{name}")).exists


def test_a_table_keeps_its_id_under_whatever_path_leads_to_it(tmp_path: Path) -> None:
    orders(tmp_path / "t")
    orders(tmp_path / "other")
    (tmp_path / "link").symlink_to(tmp_path / "t")
    tables = OpenTables()
    straight, linked, other = (
        tables.facts(key_of_path(f"{tmp_path}/{name}")) for name in ("t", "link", "other")
    )
    assert straight.table_id is not None
    assert straight.table_id == linked.table_id
    assert straight.table_id != other.table_id


MANAGED = ["catalogManaged", "catalogOwned-preview"]


def catalogs_table(path: Path, feature: str) -> TableKey:
    asked = protocol(feature, "inCommitTimestamp")
    asked["protocol"] |= {"minReaderVersion": 3, "readerFeatures": [feature]}
    properties = {"delta.enableInCommitTimestamps": "true"}
    commit(path, 0, asked, metadata(column("id", "long"), properties=properties))
    return key_of_path(str(path))


@pytest.mark.parametrize("feature", MANAGED)
def test_a_catalogs_table_is_not_known_by_its_folder(tmp_path: Path, feature: str) -> None:
    facts = OpenTables().facts(catalogs_table(tmp_path / "t", feature))
    assert facts.columns.columns == ()
    assert facts.table_id is None
    assert "may not be in its folder yet" in str(facts.unread)


@pytest.mark.parametrize("feature", MANAGED)
def test_nor_by_a_reader_that_would_open_it(feature: str) -> None:
    with pytest.raises(LogUnreadableError, match="may not be in its folder yet"):
        refuse_managed(["appendOnly", feature])
    refuse_managed(["appendOnly", "inCommitTimestamp"])


def test_nor_is_a_table_whose_commits_a_coordinator_takes() -> None:
    with pytest.raises(
        LogUnreadableError, match=r"a coordinator takes its commits .* may not be in its folder yet"
    ):
        refuse_managed(["inCommitTimestamp", "coordinatedCommits-preview"])


def test_who_writes_a_catalogs_table_by_its_path_reads_that_delta_will_refuse_it(tmp_path: Path) -> None:
    key = catalogs_table(tmp_path / "t", "catalogManaged")
    spec = DeltaWriteJobSpec.model_validate({"sql": f"DELETE FROM delta.`{tmp_path}/t` WHERE id = 1"})
    (found,) = footprint_of(spec, {}, facts={key: OpenTables().facts(key)}).tables
    assert found.reads.is_everything
    assert any("Delta refuses its path" in why for why in found.widened)
