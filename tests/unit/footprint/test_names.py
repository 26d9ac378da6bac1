"""Tables by name: bound ones are read as if they stood there by their path, others may be views, and sessions may move them."""

from typing import Any

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import JobFootprint, NotUnderstoodError, TableFootprint, footprint_of
from sluice.predicates import Table
from sluice.tables import LogStore, TableFacts, key_of_name, key_of_path, oss
from sluice.tables.names import names_of

ORDERS, RAW = key_of_path("s3://lake/orders"), key_of_path("s3://lake/raw")
NAMES = names_of(
    [
        (key_of_name("prod.sales.orders"), ORDERS),
        (key_of_name("prod.raw.orders"), RAW),
        (key_of_name("prod.raw.unplaced"), None),
        (key_of_name("sales.returns"), key_of_path("s3://lake/returns")),
    ]
).with_reports({key_of_name("prod.raw.reported"): frozenset({key_of_path("s3://lake/reported")})})
FACTS = {
    ORDERS: TableFacts(
        columns=Table.of({"id": "bigint", "v": "string", "date": "date"}, ["date"]),
        log_store=LogStore.SAFE,
        dialect=oss("4.4.0"),
    )
}
DAY = "DATE '2026-11-19'"
MERGE = (
    f"MERGE INTO prod.sales.orders t USING (SELECT * FROM {{source}} WHERE date = {DAY}) s "
    f"ON t.id = s.id AND t.date = {DAY} WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
)


def job(sql: str, conf: dict[str, str] | None = None, **spec: Any) -> JobFootprint:
    return footprint_of(DeltaWriteJobSpec(sql=sql, **spec), conf or {}, facts=FACTS, names=NAMES)


def last(sql: str, conf: dict[str, str] | None = None, **spec: Any) -> TableFootprint:
    return job(sql, conf, **spec).tables[-1]


def bounds(found: TableFootprint) -> tuple[str, str]:
    return found.reads_text, found.writes_text


PINNED = (f"date = {DAY}", f"date = {DAY}")


@pytest.mark.parametrize(
    ("source", "narrow"),
    [
        ("prod.raw.orders", True),
        ("PROD.`raw`.Orders", True),
        ("delta.`s3a://lake/raw/`", True),
        ("prod.raw.unplaced", True),  # it has a policy, so it is a table, and the path is another name's
        ("prod.raw.views", False),
        ("prod.raw.reported", False),  # those who hold leases since before the report have compared nothing
        ("raw.orders", False),  # whose catalog?
        ("parquet.`s3://lake/files`", True),
    ],
)
def test_a_source_that_is_surely_another_table_leaves_a_merge_as_narrow_as_its_condition(
    source: str, narrow: bool
) -> None:
    assert bounds(last(MERGE.format(source=source))) == (PINNED if narrow else ("true", PINNED[1]))


@pytest.mark.parametrize(
    ("source", "blind"),
    [
        ("prod.raw.orders", True),
        ("prod.raw.unplaced", True),
        ("prod.raw.views", False),
        ("prod.raw.reported", False),
        ("prod.sales.orders", False),
        ("delta.`s3://lake/orders`", False),
        ("delta.`s3://lake/orders/date=2026-11-19`", False),
    ],
)
def test_an_append_is_blind_if_no_source_can_be_its_table(source: str, blind: bool) -> None:
    for target in ("prod.sales.orders", "delta.`s3://lake/orders`"):
        assert last(f"INSERT INTO {target} SELECT * FROM {source}").blind is blind


@pytest.mark.parametrize(
    "sql",
    [
        f"DELETE FROM prod.sales.orders WHERE orders.date = {DAY}",
        f"DELETE FROM prod.sales.orders WHERE prod.sales.orders.date = {DAY}",
        f"DELETE FROM delta.`s3://lake/orders` WHERE date = {DAY}",
        f"UPDATE prod.sales.orders SET v = 'x' WHERE orders.date = {DAY}",
    ],
)
def test_a_statement_may_call_its_table_by_the_name_that_it_gives(sql: str) -> None:
    found = last(sql)
    assert found.table == ORDERS
    assert found.reads_text == f"date = {DAY}"


def test_what_is_read_by_name_is_kept_under_the_path() -> None:
    found = job("INSERT INTO prod.sales.orders SELECT * FROM prod.raw.orders JOIN prod.raw.views USING (id)")
    assert found.reads.tables == (RAW, key_of_name("prod.raw.views"))
    assert found.streams_from == ()


@pytest.mark.parametrize("use", ["USE other", "USE CATALOG other", "USE prod.sales"])
def test_after_a_use_names_are_bound_to_nothing_and_paths_stay(use: str) -> None:
    found = last(f"{use}; DELETE FROM prod.sales.orders WHERE date = {DAY}", writes=(f"date = {DAY}",))
    assert found.table == key_of_name("prod.sales.orders")
    assert bounds(found) == ("true", "true")
    assert not last(f"{use}; INSERT INTO delta.`s3://lake/orders` SELECT * FROM prod.raw.orders").blind
    assert last(f"{use}; INSERT INTO delta.`s3://lake/orders` SELECT * FROM delta.`s3://lake/raw`").blind


@pytest.mark.parametrize(
    ("catalog", "name", "key"),
    [
        ("prod", "sales.orders", ORDERS),
        ("prod", "prod.sales.orders", ORDERS),
        ("prod", "sales.returns", key_of_name("prod.sales.returns")),
        ("prod", "orders", key_of_name("orders")),
        ("spark_catalog", "sales.returns", key_of_path("s3://lake/returns")),
        ("spark_catalog", "sales.orders", key_of_name("sales.orders")),
    ],
)
def test_names_without_a_catalog_are_those_of_the_session_s(catalog: str, name: str, key: object) -> None:
    for sql, conf in (
        (f"DELETE FROM {name}", {"spark.sql.defaultCatalog": catalog}),
        (f"SET spark.sql.defaultCatalog = {catalog}; DELETE FROM {name}", {}),
    ):
        assert last(sql, conf).table == key


def test_a_table_that_a_job_has_changed_is_unknown_by_all_its_names() -> None:
    found = last(
        f"ALTER TABLE delta.`s3://lake/orders` ADD COLUMNS (x INT); DELETE FROM prod.sales.orders WHERE date = {DAY}"
    )
    assert found.table == ORDERS
    assert found.reads_text == "true"


@pytest.mark.parametrize(
    "written",
    [
        "spark_catalog.delta.`s3://lake/orders`",
        "`spark_catalog`.Delta.`s3a://lake/orders/`",
    ],
)
def test_a_location_within_spark_s_catalog_is_the_same_table_as_the_location(written: str) -> None:
    assert last(f"DELETE FROM {written} WHERE date = {DAY}").table == ORDERS
    assert not last(f"INSERT INTO prod.sales.orders SELECT * FROM {written}").is_blind


def test_a_location_within_another_catalog_is_no_target_and_may_be_any_source() -> None:
    with pytest.raises(NotUnderstoodError, match="may be a location or a name"):
        last("DELETE FROM prod.delta.`s3://lake/orders`")
    found = last("INSERT INTO prod.sales.orders SELECT * FROM prod.delta.`s3://lake/raw`")
    assert not found.is_blind
    assert found.sources.any_table


def test_who_names_sparks_catalog_means_it_whatever_catalog_the_session_looks_into() -> None:
    names = names_of([(key_of_name("sales.orders"), ORDERS), (key_of_name("prod.sales.orders"), RAW)])
    spec = DeltaWriteJobSpec(sql="DELETE FROM spark_catalog.sales.orders")
    assert footprint_of(spec, {"spark.sql.defaultCatalog": "prod"}, names=names).keys == (ORDERS,)


def test_a_name_of_one_part_is_bound_only_where_it_is_looked_up_in_sparks_own_schema() -> None:
    names = names_of([(key_of_name("orders"), ORDERS)])
    spec = DeltaWriteJobSpec(sql="DELETE FROM orders")
    assert footprint_of(spec, {}, names=names).keys == (ORDERS,)
    for elsewhere in (
        {"spark.sql.catalog.spark_catalog.defaultDatabase": "sales"},
        {"spark.sql.defaultCatalog": "prod"},
    ):
        assert footprint_of(spec, elsewhere, names=names).keys == (key_of_name("orders"),)


def test_where_upper_and_lower_case_count_a_temporary_view_may_hide_a_bound_name() -> None:
    names = names_of([(key_of_name("raw"), RAW), (key_of_name("sales.orders"), ORDERS)])
    view = "CREATE TEMP VIEW raw AS SELECT * FROM sales.orders"
    spec = DeltaWriteJobSpec(sql=f"{view}; INSERT INTO sales.orders SELECT * FROM raw")
    for exact in ("true", "false"):
        found = footprint_of(spec, {"spark.sql.caseSensitive": exact}, names=names, facts=FACTS)
        assert not found.tables[-1].blind, exact


def test_a_view_that_was_made_under_another_catalog_may_read_any_table() -> None:
    view = "CREATE TEMP VIEW v AS SELECT * FROM sales.returns"
    read = "INSERT INTO delta.`s3://lake/orders` SELECT * FROM v"
    assert not job(f"{view}; {read}").reads.any_table
    assert job(f"{view}; SET spark.sql.defaultCatalog = prod; {read}").reads.any_table
