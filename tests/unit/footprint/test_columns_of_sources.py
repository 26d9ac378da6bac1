"""What is known of the columns of a source bounds where its rows land; what is not known of them bounds nothing."""

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import JobFootprint, footprint_of
from sluice.predicates import Table
from sluice.tables import LogStore, TableFacts, key_of_name, key_of_path, oss, unread
from sluice.tables.names import names_of

ORDERS, RAW = key_of_path("s3://lake/orders"), key_of_path("s3://lake/raw")
NAMES = names_of([(key_of_name("sales.orders"), ORDERS), (key_of_name("raw.orders"), RAW)])
COLUMNS = {"id": "bigint", "region": "string", "date": "date"}


def facts(columns: dict[str, str], *partitions: str) -> TableFacts:
    return TableFacts(columns=Table.of(columns, partitions), log_store=LogStore.SAFE, dialect=oss("4.4.0"))


def job(sql: str, raw: TableFacts | None, partition: str = "region") -> JobFootprint:
    return footprint_of(
        DeltaWriteJobSpec(sql=sql),
        {},
        facts={ORDERS: facts(COLUMNS, partition)},
        sources={RAW: raw} if raw is not None else {},
        names=NAMES,
    )


def lands(sql: str, raw: TableFacts | None, partition: str = "region") -> str:
    return job(sql, raw, partition).tables[-1].writes_text


EU = "SELECT * FROM raw.orders WHERE region = 'eu'"
MERGE = f"MERGE INTO sales.orders t USING ({EU}) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
WRITES = [
    f"INSERT INTO sales.orders {EU}",
    f"INSERT INTO sales.orders BY NAME {EU}",
    "INSERT INTO sales.orders SELECT id, region, date FROM delta.`s3a://lake/raw/` WHERE region = 'eu'",
    MERGE,
]


@pytest.mark.parametrize("sql", WRITES)
def test_a_text_that_is_stored_as_it_is_bounds_where_rows_land(sql: str) -> None:
    assert lands(sql, facts(COLUMNS)) == "region = 'eu'"
    assert job(sql, facts(COLUMNS)).tables[-1].told_by == (RAW,)


@pytest.mark.parametrize(
    "raw",
    [
        None,
        unread("the store is down"),
        facts(COLUMNS | {"region": "char(5)"}),
        facts(COLUMNS | {"region": "int"}),
        facts(COLUMNS | {"region": "string collate otherwise"}),
        TableFacts(columns=Table.of([]), exists=False),
    ],
)
@pytest.mark.parametrize("sql", WRITES)
def test_a_source_of_which_that_is_not_known_bounds_no_text(sql: str, raw: TableFacts | None) -> None:
    assert lands(sql, raw) == "true"
    assert job(sql, raw).tables[-1].told_by == ()


@pytest.mark.parametrize(
    ("condition", "bound"),
    [
        (
            "date >= DATE '2026-11-01' AND date < DATE '2026-12-01'",
            "date >= DATE '2026-11-01' AND date <= DATE '2026-11-30'",
        ),
        (
            "date BETWEEN DATE '2026-11-01' AND DATE '2026-11-30'",
            "date >= DATE '2026-11-01' AND date <= DATE '2026-11-30'",
        ),
        ("date = '2026-11-19'", "date = DATE '2026-11-19'"),
    ],
)
def test_so_do_ranges_and_days_that_are_written_as_texts(condition: str, bound: str) -> None:
    sql = f"INSERT INTO sales.orders SELECT * FROM raw.orders WHERE {condition}"
    assert lands(sql, facts(COLUMNS), "date") == bound


@pytest.mark.parametrize("value", ["CAST(date AS DATE)", "date", "to_date(date)"])
@pytest.mark.parametrize("said", ["CAST(date AS DATE)", "date"])
def test_a_cast_to_the_columns_own_type_is_the_column(value: str, said: str) -> None:
    day = f"{said} > DATE '2026-11-01'"
    sql = f"INSERT INTO sales.orders SELECT id, string(region), {value} FROM raw.orders WHERE region LIKE 'e%' AND {day}"
    assert lands(sql, facts(COLUMNS)) == "region LIKE 'e%'"
    assert lands(sql, facts(COLUMNS), "date") == "date >= DATE '2026-11-02'"
    for other in (facts(COLUMNS | {"date": "timestamp", "region": "string collate otherwise"}), None):
        assert lands(sql, other) == "true"
        # What is said of a timestamp is no date, except by the call that is stored.
        bounded = "CAST" in said and value != "date"
        assert lands(sql, other, "date") == ("date >= DATE '2026-11-02'" if bounded else "true")


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO sales.orders SELECT * FROM raw.orders VERSION AS OF 3 WHERE region = 'eu'",
        "INSERT INTO sales.orders SELECT * FROM delta.`s3://lake/raw@v3` WHERE region = 'eu'",
        "INSERT INTO sales.orders SELECT * FROM delta.`s3://lake/raw@20261119000000000` WHERE region = 'eu'",
        f"USE elsewhere; INSERT INTO delta.`s3://lake/orders` {EU}",
        f"ALTER TABLE raw.orders ADD COLUMNS (x INT); INSERT INTO sales.orders {EU}",
        "INSERT INTO sales.orders SELECT id, upper(region), date FROM raw.orders WHERE region = 'eu'",
    ],
)
def test_an_older_version_or_another_table_of_that_name_tells_nothing(sql: str) -> None:
    assert lands(sql, facts(COLUMNS)) == "true"


def test_columns_are_counted_as_the_source_has_them() -> None:
    turned = facts({"id": "bigint", "date": "date", "region": "string"})
    assert lands(f"INSERT INTO sales.orders {EU}", turned) == "true"
    assert lands(f"INSERT INTO sales.orders BY NAME {EU}", turned) == "region = 'eu'"


def batches(sql: str, **options: str) -> JobFootprint:
    stream = {
        "source": {"format": "delta", "path": "s3://lake/raw", "options": options},
        "trigger": {"availableNow": True},
        "checkpoint": "s3://lake/state",
        "sql": sql,
    }
    return footprint_of(
        DeltaWriteJobSpec.model_validate({"stream": stream}),
        {},
        facts={ORDERS: facts(COLUMNS, "region")},
        sources={RAW: facts(COLUMNS)},
        names=NAMES,
    )


OF_A_BATCH = "INSERT INTO sales.orders SELECT * FROM batch WHERE region = 'eu'"


def test_a_batch_has_the_columns_of_its_source() -> None:
    (found,) = batches(OF_A_BATCH, skipChangeCommits="true").tables
    assert found.writes_text == "region = 'eu'"
    assert found.told_by == (RAW,)


@pytest.mark.parametrize("option", ["schemaTrackingLocation", "SCHEMALOCATION"])
def test_a_batch_of_a_stream_that_keeps_a_schema_of_its_own_may_have_older_columns(option: str) -> None:
    found = batches(OF_A_BATCH, **{option: "s3://lake/state/_schema"})
    assert [one.writes_text for one in found.tables] == ["true"]
    assert found.streams_from == (RAW,)
    assert RAW in found.reads.tables


def test_a_table_called_source_is_not_the_source_of_a_stream_with_statements() -> None:
    (found,) = batches("INSERT INTO sales.orders SELECT * FROM source WHERE region = 'eu'").tables
    assert found.writes_text == "true"
    assert found.sources.tables == (key_of_name("source"),)
