"""Every manifest of the examples with SQL or a write runs on real Spark, from the operator's plan to its commits.

Only the addresses are others here: the catalog is Spark's own, buckets are folders, the database is in memory.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from integration.runner.jobs import Document, at, run_here
from integration.runner.operators_plan import of_job

EXAMPLES = Path(__file__).parents[3] / "examples"
APART = {"migrating", "testdata"}
"""What test_migrating.py runs, and jobs that only have a status to be shown."""
TABLES = {
    "archive.orders": "id BIGINT, customer BIGINT, amount DOUBLE, date DATE",
    "crm.customers": "id BIGINT, country STRING, region STRING",
    "raw.late_orders": "id BIGINT, customer BIGINT, amount DOUBLE, date DATE",
    "raw.orders": "id BIGINT, customer BIGINT, amount DOUBLE, date DATE",
    "sales.daily": "date DATE, amount DOUBLE",
    "sales.days": "date DATE, closed BOOLEAN",
    "sales.orders": "id BIGINT, customer BIGINT, amount DOUBLE, date DATE",
    "sales.regions": "country STRING, region STRING, customers BIGINT",
    "shop.orders": "id BIGINT, customer BIGINT, date DATE",
    "shop.raw_orders": "id BIGINT, customer BIGINT, date DATE",
    "shops.stock": "item STRING, region STRING",
    "web.visits": "id BIGINT, page STRING, day DATE",
}
ROWS = {
    "archive.orders": "(1, 7, 1.5, DATE'2026-10-05'), (2, 7, 2.5, DATE'2026-11-05')",
    "crm.customers": "(1, 'DE', 'Berlin')",
    "raw.late_orders": "(9, 7, 1.5, DATE'2026-11-19')",
    "raw.orders": "(9, 7, 1.5, DATE'2026-11-19')",
    "sales.daily": "(DATE'2026-11-19', 1.0)",
    "sales.days": "(DATE'2026-11-19', false)",
    "sales.orders": "(1, 4711, 1.5, DATE'2026-11-18'), (2, 7, 2.5, DATE'2026-11-19')",
    "sales.regions": "('DE', 'Berlin', 1)",
    "shop.orders": "(1, 7, DATE'2026-11-18')",
    "shop.raw_orders": "(9, 7, DATE'2026-11-19')",
    "shops.stock": "('a', 'Berlin'), ('b', 'Hamburg')",
    "web.visits": "(7, '/home', DATE'2026-11-16')",
}
PARTITIONED = {"sales.orders": "date", "shop.orders": "date", "shops.stock": "region", "web.visits": "day"}
FOLDERS = {
    "incoming/orders/2026-11-19": "SELECT 9L AS id, 7L AS customer, 1.5D AS amount, DATE'2026-11-19' AS date",
    "incoming/stock/berlin": "SELECT 'c' AS item, 'Berlin' AS region",
}
DELTA_FOLDERS = {
    "lake/orders": "SELECT 1L AS id, 7L AS customer, 1.0BD AS price, DATE'2026-11-18' AS date UNION ALL "
    "SELECT 2L, 7L, 1.0BD, DATE'2026-11-19'",
    "lake/corrections": "SELECT 2L AS id, 2.0BD AS price, DATE'2026-11-19' AS date",
}
OPERATIONS = {
    "add-channel-to-orders": ["ADD COLUMNS"],
    "append-orders": ["WRITE"],
    "backfill-orders-2026-10": ["WRITE"],
    "close-day-2026-11-19": ["DELETE", "WRITE", "UPDATE"],
    "correct-prices": ["MERGE"],
    "forget-customer": ["DELETE"],
    "forget-customer-4711": ["DELETE"],
    "forget-customer-7": ["DELETE"],
    "forget-visitor": ["DELETE"],
    "load-customers": ["WRITE"],
    "load-monday": ["WRITE"],
    "load-tuesday": ["WRITE"],
    "load-visits-monday": ["WRITE"],
    "load-visits-tuesday": ["WRITE"],
    "make-orders": ["CREATE TABLE"],
    "make-visits": ["CREATE TABLE"],
    "merge-late-orders": ["MERGE"],
    "merge-orders-2026-11-19": ["MERGE"],
    "merge-shop-orders-2026-11-19": ["MERGE"],
    "optimize-orders-2026-11-18": ["OPTIMIZE"],
    "rebuild-regions": ["CREATE OR REPLACE TABLE AS SELECT"],
    "reload-stock-berlin": ["WRITE"],
    "restore-orders": ["RESTORE"],
}


def manifests() -> list[tuple[str, Document]]:
    return [
        (f"{file.relative_to(EXAMPLES)}:{document['metadata']['name']}", document)
        for file in sorted(EXAMPLES.rglob("*.yaml"))
        if not APART.intersection(file.parts)
        for document in yaml.safe_load_all(file.read_text())
        if (document or {}).get("kind") == "DeltaWriteJob" and document["spec"].keys() & {"sql", "write"}
    ]


@pytest.fixture(scope="module")
def tables_to_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for tables that several examples name: made once, and copied for each."""
    return tmp_path_factory.mktemp("examples")


@pytest.mark.parametrize("manifest", [pytest.param(document, id=place) for place, document in manifests()])
def test_an_example_runs_as_it_is_written(
    spark: SparkSession,
    tables_to_copy: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    manifest: Document,
) -> None:
    monkeypatch.setenv("SLUICE_SOURCE_OPTION_0", "loader")
    monkeypatch.setenv("SLUICE_SOURCE_OPTION_1", "planted-secret")
    text = yaml.safe_dump(manifest["spec"])
    with stand_ins(spark, tables_to_copy, tmp_path, text):
        spec: Any = yaml.safe_load(with_addresses_of_here(text, tmp_path))
        result = run_here(spark, of_job(spec))
    assert result["outcome"] == "Succeeded", result
    ran = [(item["operation"], item["state"]) for item in result["statements"]]
    assert ran == [(operation, "Committed") for operation in OPERATIONS[manifest["metadata"]["name"]]]


def with_addresses_of_here(text: str, folder: Path) -> str:
    text = text.replace("s3://", f"{folder}/").replace("`/lake/", f"`{folder}/lake/")
    text = text.replace("jdbc:postgresql://crm-db.example/crm", "jdbc:derby:memory:crm")
    text = text.replace("VERSION AS OF 4711", "VERSION AS OF 1")
    return re.sub(r"\blake\.(\w+\.\w+)", r"spark_catalog.\1", text)


def made(spark: SparkSession, table: Path) -> Path:
    if not table.exists():
        by = f"PARTITIONED BY ({PARTITIONED[table.name]})" if table.name in PARTITIONED else ""
        spark.sql(f"CREATE TABLE {at(table)} ({TABLES[table.name]}) USING delta {by}")
        for _ in range(2):
            spark.sql(f"INSERT INTO {at(table)} VALUES {ROWS[table.name]}")
    return table


@contextmanager
def stand_ins(spark: SparkSession, tables_to_copy: Path, folder: Path, text: str) -> Iterator[None]:
    """What the manifest names: tables of two commits, folders, and a database."""
    names = sorted(set(re.findall(r"\blake\.(\w+\.\w+)", text)))
    databases = sorted({name.partition(".")[0] for name in names})
    for database in databases:
        spark.sql(f"CREATE DATABASE {database}")
    try:
        for name in names:
            if f"CREATE TABLE IF NOT EXISTS lake.{name} " in text:
                continue
            shutil.copytree(made(spark, tables_to_copy / name), folder / name)
            spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{folder / name}'")
        for path, query in FOLDERS.items():
            if path in text:
                spark.sql(query).write.parquet(str(folder / path))
        for path, query in DELTA_FOLDERS.items():
            if f"s3://{path}" in text:
                spark.sql(query).write.format("delta").partitionBy("date").save(str(folder / path))
        if "`/lake/orders`" in text and "CREATE" not in text:
            spark.sql(
                f"CREATE TABLE delta.`{folder}/lake/orders` (id BIGINT, shop STRING, day DATE) USING delta PARTITIONED BY (day)"
            )
            spark.sql(f"INSERT INTO delta.`{folder}/lake/orders` VALUES (7, 'north', DATE'2026-11-16')")
        if "jdbc" in text:
            spark.sql("SELECT 1L AS id, 'Ada' AS name").write.jdbc(
                "jdbc:derby:memory:crm;create=true",
                "customers",
                "overwrite",
                {"user": "loader", "password": "planted-secret"},
            )
        yield
    finally:
        for database in databases:
            spark.sql(f"DROP DATABASE {database} CASCADE")
