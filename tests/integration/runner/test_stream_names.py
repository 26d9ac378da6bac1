"""Tables that a stream names: where a policy says that they are, or in a catalog that others use as well, which has to agree before
the first batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.runner.jobs import Document, at
from integration.runner.naming import bound, failure, on_hive, told, whose_catalogs_nobody_has_asked
from integration.runner.streaming import ids, run_stream, stream_of

BY_NAME: Document = {"table": {"name": "sales.copy"}}
MERGE = "MERGE INTO sales.copy c USING batch b ON c.id = b.id WHEN NOT MATCHED THEN INSERT *"
JOINED = "SELECT s.* FROM source s JOIN sales.wanted w ON s.id = w.id"


@pytest.fixture
def driver(spark: SparkSession) -> Iterator[SparkSession]:
    """A session whose catalogs nobody has asked yet."""
    with whose_catalogs_nobody_has_asked(spark) as session:
        yield session


def test_names_that_a_policy_binds_are_the_tables_there(
    spark: SparkSession, driver: SparkSession, table: Path, tmp_path: Path
) -> None:
    copy, wanted = tmp_path / "lake" / "copy", tmp_path / "lake" / "wanted"
    spark.sql(f"CREATE TABLE {at(wanted)} USING delta AS SELECT 2L AS id")
    names = bound(sales__copy=copy, sales__wanted=wanted)
    document = stream_of(table, tmp_path / "first", query=JOINED, **BY_NAME)
    appended = run_stream(driver, document | {"names": names})
    assert appended["outcome"] == "Succeeded", appended
    assert appended["stream"]["lastCommit"]["table"] == f"file:{copy}"
    assert ids(spark, copy) == [2]
    merged = run_stream(driver, stream_of(table, tmp_path / "second", MERGE) | {"names": names})
    assert merged["outcome"] == "Succeeded", merged
    assert ids(spark, copy) == [1, 2]


@pytest.mark.long
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("texts", [(), (MERGE,)], ids=["append", "sql"])
def test_a_hive_metastore_that_says_otherwise_is_told_before_the_first_batch(
    spark: SparkSession, table: Path, tmp_path: Path, texts: tuple[str, ...]
) -> None:
    copy, checkpoint = tmp_path / "lake" / "copy", tmp_path / "checkpoint"
    made = on_hive(
        tmp_path,
        [],
        "CREATE DATABASE sales",
        f"CREATE TABLE sales.copy (id BIGINT, date DATE, item STRING) USING delta LOCATION '{copy}'",
    )
    assert made["outcome"] == "Succeeded", made
    stream = stream_of(table, checkpoint, *texts, **({} if texts else BY_NAME))["stream"]

    other = tmp_path / "lake" / "other"
    error, message = failure(on_hive(tmp_path, bound(sales__copy=other), work={"stream": stream}))
    assert error == "NotAsJudgedError"
    assert f"sales.copy is file:{copy} in this driver's catalog, and {other} in the policy" in message
    assert not checkpoint.exists()
    assert not other.exists()

    agreed = on_hive(tmp_path, bound(sales__copy=copy), work={"stream": stream})
    assert agreed["outcome"] == "Succeeded", agreed
    assert told(agreed) == {"spark_catalog.sales.copy": f"file:{copy}"}
    assert ids(spark, copy) == [1, 2]
