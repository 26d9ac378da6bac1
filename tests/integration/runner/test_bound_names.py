"""A name that a policy binds to a location is the table there, on a driver without any catalog; where a catalog that others
use as well says otherwise, nothing runs. What earlier runs reported of a name is compared, and leads nobody anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.runner.jobs import Document, at, plan, run_here, sql, statements
from integration.runner.naming import bound, failure, on_hive, reported, told, whose_catalogs_nobody_has_asked


@pytest.fixture
def driver(spark: SparkSession) -> Iterator[SparkSession]:
    """A session whose catalogs nobody has asked yet, as a driver's are when it begins."""
    with whose_catalogs_nobody_has_asked(spark) as session:
        yield session


def run(driver: SparkSession, names: list[Document], *texts: str) -> Document:
    return run_here(driver, plan(sql(*texts), names=names))


def rows(driver: SparkSession, path: Path) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in driver.sql(f"SELECT id, item FROM {at(path)}").collect())


@pytest.mark.parametrize("name", ["sales.orders", "prod.sales.orders"])
def test_every_kind_of_statement_finds_the_table_by_its_name(
    driver: SparkSession, table: Path, name: str
) -> None:
    result = run(
        driver,
        [{"name": name, "path": str(table)}],
        f"INSERT INTO {name} VALUES (3, DATE'2026-11-21', 'c')",
        f"UPDATE {name} SET item = 'x' WHERE {name}.id = 1",
        f"DELETE FROM {name.upper().replace('PROD', 'prod')} AS o WHERE o.id = 2",
        f"MERGE INTO {name} t USING (SELECT 3L AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.item = 'm'",
        f"OPTIMIZE {name} WHERE date = DATE'2026-11-21'",
        f"VACUUM {name} RETAIN 400 HOURS",
        f"ALTER TABLE {name} SET TBLPROPERTIES ('a.b' = 'c')",
        f"DESCRIBE {name}",
        f"CREATE OR REPLACE TEMPORARY VIEW seen AS SELECT * FROM {name} WHERE id = 1",
        f"INSERT INTO {name} SELECT id + 10, date, item FROM seen",
        f"RESTORE TABLE {name} TO VERSION AS OF 5",
    )
    assert result["outcome"] == "Succeeded", result
    committed = [commit for one in result["statements"] for commit in one["commits"]]
    assert {commit["table"] for commit in committed} == {f"file:{table}"}
    assert [one[0] for one in statements(result) if one[1] == "Committed"][:4] == [
        "WRITE",
        "UPDATE",
        "DELETE",
        "MERGE",
    ]
    assert rows(driver, table) == [(1, "x"), (3, "m")]


def test_a_name_is_found_after_a_use_of_its_schema(driver: SparkSession, table: Path) -> None:
    names = [*bound(sales__orders=table), *bound(prod__sales__orders=table)]
    result = run(
        driver,
        names,
        "USE sales",
        "INSERT INTO orders VALUES (3, DATE'2026-11-21', 'c')",
        "USE prod.sales",
        "INSERT INTO orders VALUES (4, DATE'2026-11-21', 'd')",
    )
    assert result["outcome"] == "Succeeded", result
    assert [one[2] for one in statements(result) if one[2]] == [[2], [3]]


@pytest.mark.parametrize("name", ["sales.fresh", "prod.sales.fresh", "fresh"])
@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE {name} (id BIGINT, item STRING) USING delta",
        "CREATE TABLE {name} USING delta LOCATION '{path}' AS SELECT 1L AS id, 'a' AS item",
        "CREATE OR REPLACE TABLE {name} USING delta AS SELECT 1L AS id, 'a' AS item",
    ],
)
def test_a_table_that_the_job_creates_is_made_at_the_bound_location_and_nowhere_else(
    driver: SparkSession, tmp_path: Path, name: str, text: str
) -> None:
    path = tmp_path / "lake" / "fresh"
    result = run(
        driver,
        [{"name": name, "path": str(path)}],
        text.format(name=name, path=path),
        f"INSERT INTO {name} VALUES (2, 'b')",
    )
    assert result["outcome"] == "Succeeded", result
    assert {commit["table"] for one in result["statements"] for commit in one["commits"]} == {f"file:{path}"}
    assert (2, "b") in rows(driver, path)
    assert not list(warehouse(driver).glob("**/fresh"))
    assert driver.sql("SHOW TABLES IN default").collect() == []


def warehouse(driver: SparkSession) -> Path:
    return Path(str(driver.conf.get("spark.sql.warehouse.dir")).removeprefix("file:"))


@pytest.mark.parametrize("mode", ["Append", "Overwrite"])
def test_a_write_by_name_makes_and_writes_the_table_at_the_bound_location(
    driver: SparkSession, tmp_path: Path, mode: str
) -> None:
    path = tmp_path / "lake" / "fresh"
    write = {"table": {"name": "fresh"}, "source": {"sql": "SELECT 1L AS id, 'a' AS item"}, "mode": mode}
    for version in (0, 1):
        result = run_here(driver, plan({"write": write}, names=bound(fresh=path)))
        assert statements(result) == [("WRITE", "Committed", [version])], result
    assert len(rows(driver, path)) == (2 if mode == "Append" else 1)
    assert not list(warehouse(driver).glob("**/fresh"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("CREATE TABLE fresh (id BIGINT) USING delta LOCATION '{other}'", "binds this name to"),
        ("CREATE TABLE fresh (id BIGINT)", "write USING delta"),
        ("CREATE TABLE fresh USING parquet AS SELECT 1 AS id", "write USING delta"),
        ("CREATE TABLE fresh LIKE orders", "would not make"),
        ("CREATE TABLE fresh SHALLOW CLONE orders", "would not make"),
        ("CREATE OR REPLACE TABLE default.fresh SHALLOW CLONE orders", "would not make"),
        ("CREATE OR REPLACE TABLE orders SHALLOW CLONE delta.`{other}`", "would not make"),
    ],
)
def test_a_table_that_would_be_made_elsewhere_is_not(
    driver: SparkSession, table: Path, tmp_path: Path, text: str, told: str
) -> None:
    names = bound(orders=table, fresh=tmp_path / "fresh")
    _, message = failure(run(driver, names, text.format(other=tmp_path / "other")))
    assert told in message
    assert not (tmp_path / "fresh").exists()
    assert not (tmp_path / "other").exists()
    assert not list(warehouse(driver).glob("**/fresh"))


def test_a_table_beside_a_view_of_its_name_is_not_made_elsewhere_either(
    driver: SparkSession, tmp_path: Path
) -> None:
    text = (
        "CREATE TEMPORARY VIEW fresh AS SELECT 1 AS id",
        "CREATE TABLE fresh USING parquet AS SELECT 1 AS id",
    )
    _, message = failure(run(driver, bound(fresh=tmp_path / "fresh"), *text))
    assert "write USING delta" in message
    assert not list(warehouse(driver).glob("**/fresh"))


def test_a_schema_may_be_called_like_a_format(driver: SparkSession, table: Path) -> None:
    result = run(driver, bound(parquet__orders=table), "DELETE FROM parquet.orders WHERE id = 1")
    assert result["outcome"] == "Succeeded", result
    assert [commit["table"] for one in result["statements"] for commit in one["commits"]] == [f"file:{table}"]


def test_a_name_that_nothing_is_bound_to_is_looked_up_by_the_driver(
    driver: SparkSession, table: Path
) -> None:
    names = bound(sales__orders=table, prod__sales__orders=table)
    for name in ("sales.other", "prod.sales.other"):
        _, message = failure(run(driver, names, f"INSERT INTO {name} VALUES (1)"))
        assert "TABLE_OR_VIEW_NOT_FOUND" in message
        assert "bind it to its path in a DeltaTablePolicy" in message
    _, message = failure(run(driver, names, "CREATE TABLE prod.sales.other (id BIGINT) USING delta"))
    assert "no policy says where it is" in message


def test_a_folder_of_other_files_is_refused_by_name_as_well(driver: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a table")
    error, message = failure(run(driver, bound(orders=tmp_path), "INSERT INTO orders VALUES (1)"))
    assert error == "NotADeltaTableError", message


def test_nothing_runs_where_the_catalog_is_in_use_already(driver: SparkSession, table: Path) -> None:
    assert driver.sql("SHOW TABLES IN default").collect() == []
    error, message = failure(run(driver, bound(orders=table), "DELETE FROM orders"))
    assert (error, "can't be bound any more" in message) == ("NotAsJudgedError", True), message


def test_what_an_earlier_run_reported_leads_no_name_anywhere(driver: SparkSession, table: Path) -> None:
    _, message = failure(run(driver, reported(orders=table), "DELETE FROM orders WHERE id = 1"))
    assert "TABLE_OR_VIEW_NOT_FOUND" in message
    assert len(rows(driver, table)) == 2


MADE_ELSEWHERE = (
    "CREATE TABLE {name} USING delta LOCATION '{other}' AS SELECT 1L AS id",
    "CREATE TABLE {name} (id BIGINT) USING delta OPTIONS (path '{other}')",
    "CREATE TABLE {name} (id BIGINT) USING delta",
    "CREATE TABLE {name} SHALLOW CLONE delta.`{table}`",
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *((name, text) for name in ("fresh", "prod.sales.fresh") for text in MADE_ELSEWHERE),
        # Spark 3.5 knows no LIKE for a name of three parts.
        ("fresh", "CREATE TABLE {name} LIKE delta.`{table}` LOCATION '{other}'"),
    ],
)
def test_a_reported_table_is_not_made_elsewhere_in_a_catalog_of_this_driver_alone(
    driver: SparkSession, table: Path, tmp_path: Path, name: str, text: str
) -> None:
    policies = bound(prod__sales__orders=table)  # by which there is a catalog prod
    names = [*policies, {"name": name, "path": str(tmp_path / "fresh"), "reported": True}]
    other = tmp_path / "other"
    result = run(driver, names, text.format(name=name, table=table, other=other))
    error, message = failure(result)
    assert error == "NotAsJudgedError", message
    assert (
        f"where an earlier run reported that it is: create it with LOCATION '{tmp_path / 'fresh'}'" in message
    )
    assert "names" not in result
    assert not other.exists()
    assert not list(warehouse(driver).glob("**/fresh"))


def test_a_reported_table_is_made_again_where_it_was_in_the_driver_s_own_catalog(
    driver: SparkSession, tmp_path: Path
) -> None:
    place = warehouse(driver) / "staged"
    rewrite = (
        "DROP TABLE IF EXISTS staged",
        "CREATE TABLE staged USING delta AS SELECT 1L AS id, 'a' AS item",
        "INSERT INTO staged VALUES (2, 'b')",
        f"CREATE TABLE beside USING delta LOCATION '{tmp_path / 'beside'}' AS SELECT * FROM staged",
    )
    # Of a table that runs found in two places, either will do.
    names = [
        *reported(staged=tmp_path / "before", beside=tmp_path / "beside"),
        *reported(staged=f"file:{place}", beside="/lake/other"),
    ]
    result = run(driver, names, *rewrite)
    assert result["outcome"] == "Succeeded", result
    assert "names" not in result
    assert rows(driver, place) == rows(driver, tmp_path / "beside") == [(1, "a"), (2, "b")]
    for name in ("staged", "beside"):
        driver.sql(f"DROP TABLE {name}")


def test_reports_of_names_that_no_statement_uses_keep_nothing_from_running(
    driver: SparkSession, table: Path
) -> None:
    names = reported(elsewhere__sales__orders="/lake/gone", orders="/lake/other")
    result = run(driver, names, f"DELETE FROM {at(table)} WHERE id = 1")
    assert result["outcome"] == "Succeeded", result


def test_a_source_of_an_older_version_must_be_where_an_earlier_run_reported_it(
    driver: SparkSession, table: Path, tmp_path: Path
) -> None:
    driver.sql(f"CREATE TABLE cloned USING delta LOCATION '{table}'")
    copy = tmp_path / "copy"
    text = f"CREATE TABLE {at(copy)} SHALLOW CLONE cloned VERSION AS OF 0"
    result = run(driver, reported(cloned=tmp_path / "elsewhere"), text)
    driver.sql("DROP TABLE cloned")
    error, message = failure(result)
    assert (error, f"cloned is file:{table} in this driver's catalog" in message) == (
        "NotAsJudgedError",
        True,
    ), message
    assert not copy.exists()


@pytest.mark.long(minutes=1.5)
@pytest.mark.timeout(1500)
def test_a_hive_metastore_is_asked_and_must_agree(tmp_path: Path) -> None:
    path = tmp_path / "lake" / "orders"
    made = on_hive(
        tmp_path,
        bound(sales__orders=path),
        "CREATE DATABASE sales",
        f"CREATE TABLE sales.orders (id BIGINT, item STRING) USING delta LOCATION '{path}'",
        "INSERT INTO sales.orders VALUES (1, 'a')",
        "CREATE VIEW sales.seen AS SELECT * FROM sales.orders WHERE id IN (SELECT id FROM sales.orders)",
    )
    assert made["outcome"] == "Succeeded", made
    error, message = failure(on_hive(tmp_path, bound(sales__seen=path), "SELECT * FROM sales.seen"))
    assert (error, "sales.seen is a view in this driver's catalog" in message) == (
        "NotAsJudgedError",
        True,
    ), message

    found = on_hive(tmp_path, bound(sales__orders=path), "INSERT INTO sales.orders VALUES (2, 'b')")
    assert [one["commits"][0]["table"] for one in found["statements"]] == [f"file:{path}"], found

    other = tmp_path / "lake" / "other"
    differing = on_hive(tmp_path, bound(sales__orders=other), "DELETE FROM sales.orders")
    error, message = failure(differing)
    assert error == "NotAsJudgedError"
    assert told(differing) == {"spark_catalog.sales.orders": f"file:{path}"}
    assert f"sales.orders is file:{path} in this driver's catalog, and {other} in the policy" in message

    made = on_hive(
        tmp_path, bound(sales__other=other), "CREATE TABLE sales.other USING delta AS SELECT 1 AS id"
    )
    error, message = failure(made)
    assert error == "NotAsJudgedError"
    assert f"create it with LOCATION '{other}'" in message
    assert not list((tmp_path / "warehouse").glob("**/other"))
    assert told(made) == {}


@pytest.mark.long(minutes=1.5)
@pytest.mark.timeout(1500)
def test_a_run_tells_where_names_lead_in_a_hive_metastore(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    kept = f"file:{tmp_path}/warehouse/sales.db/kept"
    made = on_hive(
        tmp_path,
        [],
        "CREATE DATABASE sales",
        f"CREATE TABLE sales.orders (id BIGINT, item STRING) USING delta LOCATION '{lake / 'orders'}'",
        "CREATE TABLE sales.kept USING delta AS SELECT 1L AS id, 'a' AS item",
        "CREATE TABLE sales.plain USING parquet AS SELECT 1L AS id",
        "CREATE VIEW sales.seen AS SELECT * FROM sales.orders",
        "CREATE TEMPORARY VIEW mine AS SELECT * FROM sales.kept",
        "CREATE TABLE sales.gone USING delta AS SELECT 1L AS id",
        "DROP TABLE sales.gone",
        "USE sales",
        f"INSERT INTO delta.`{lake / 'orders'}` WITH own AS (SELECT * FROM mine) SELECT own.id, own.item FROM own, seen, plain",
        "SELECT * FROM gone",
    )
    # A table's location is known although the run fails; views, what isn't Delta's, and what was dropped don't count.
    assert made["outcome"] == "Failed"
    assert "gone" in made["exception"]["message"]
    assert told(made) == {
        "spark_catalog.sales.orders": f"file:{lake}/orders",
        "spark_catalog.sales.kept": kept,
    }

    # Sources, subqueries, other versions, in any spelling; the target of a write as well.
    read = on_hive(
        tmp_path,
        reported(sales__orders=lake / "orders", sales__kept=kept, sales__unused="/lake/elsewhere"),
        "USE sales",
        "CREATE TEMPORARY VIEW v AS SELECT * FROM Orders VERSION AS OF 0 WHERE id IN (SELECT id FROM spark_catalog.sales.KEPT)",
    )
    assert read["outcome"] == "Succeeded", read
    assert set(told(read)) == {"spark_catalog.sales.orders", "spark_catalog.sales.kept"}
    write = {
        "table": {"name": "sales.fresh"},
        "source": {"sql": "SELECT id FROM sales.orders"},
        "mode": "Append",
    }
    written = on_hive(tmp_path, [], work={"write": write})
    assert set(told(written)) == {"spark_catalog.sales.orders", "spark_catalog.sales.fresh"}, written


@pytest.mark.long(minutes=1.5)
@pytest.mark.timeout(1500)
def test_what_an_earlier_run_reported_must_be_so_in_a_hive_metastore(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    made = on_hive(
        tmp_path,
        [],
        "CREATE DATABASE sales",
        f"CREATE TABLE sales.orders (id BIGINT) USING delta LOCATION '{lake / 'orders'}'",
        f"CREATE TABLE sales.lines (id BIGINT) USING delta LOCATION '{lake / 'lines'}'",
        "CREATE TABLE sales.staged (id BIGINT) USING delta",
        "SET spark.sql.catalog.mine=org.apache.spark.sql.delta.catalog.DeltaCatalog",
        f"CREATE TABLE sales.later (id BIGINT) USING delta LOCATION '{lake / 'later'}'",
    )
    assert made["outcome"] == "Succeeded", made
    # What is made once the job has changed catalogs is told to nobody.
    assert set(told(made)) == {f"spark_catalog.sales.{name}" for name in ("orders", "lines", "staged")}

    names = reported(sales__orders=lake / "orders", sales__staged=told(made)["spark_catalog.sales.staged"])
    again = on_hive(
        tmp_path,
        names,
        "INSERT INTO sales.orders SELECT id FROM sales.lines",
        "DROP TABLE sales.staged",
        "CREATE TABLE sales.staged USING delta AS SELECT 1L AS id",
    )
    assert again["outcome"] == "Succeeded", again

    moved = on_hive(
        tmp_path,
        reported(sales__lines=lake / "before", sales__orders=lake / "orders"),
        f"DELETE FROM delta.`{lake / 'orders'}`",
        "INSERT INTO sales.orders SELECT id FROM sales.lines",
    )
    error, message = failure(moved)
    assert error == "NotAsJudgedError"
    assert message.startswith(
        f"nothing was run, because spark_catalog.sales.lines is file:{lake}/lines in this driver's catalog"
    )
    assert f"report that it leads to {lake}/before: this run reports where it leads now" in message
    assert told(moved) == {"spark_catalog.sales.lines": f"file:{lake}/lines"}
    assert moved["statements"] == []

    elsewhere = on_hive(
        tmp_path,
        reported(sales__new=lake / "new"),
        "CREATE TABLE sales.new USING delta AS SELECT 1 AS id",
    )
    error, message = failure(elsewhere)
    assert error == "NotAsJudgedError"
    assert "where an earlier run reported that it is: create it with LOCATION" in message
    # Where it would have been made is told, so that it counts as both.
    assert told(elsewhere) == {"spark_catalog.sales.new": f"file:{tmp_path}/warehouse/sales.db/new"}
    assert (
        f"If it shall be at {told(elsewhere)['spark_catalog.sales.new']}, have the job run once more (sluice retry)"
        in message
    )
    assert not list((tmp_path / "warehouse").glob("**/new"))
