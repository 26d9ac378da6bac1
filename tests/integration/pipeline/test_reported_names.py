"""A name in a metastore that no policy binds is bound by the run that uses it: the next job by that name waits for nobody at
another path."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from integration.pipeline.conftest import OWN_JVM, SPARK_CONF, Pipeline, Place, profile, running_pipeline

pytestmark = [pytest.mark.timeout(1200), pytest.mark.long(minutes=4)]


@pytest.fixture
def pipeline(place: Place) -> Iterator[Pipeline]:
    metastore = {
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": str(place.folder / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={place.folder / 'metastore'};create=true",
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
    }
    own = profile(OWN_JVM)
    profiles = {"default": own, "hive": own | {"sparkConf": SPARK_CONF | metastore}}
    with running_pipeline(place, profiles) as running:
        yield running


@contextmanager
def held(pipeline: Pipeline, name: str) -> Iterator[None]:
    """The job's driver does nothing meanwhile."""
    driver = pipeline.driver(name)
    driver.suspend()
    try:
        yield
    finally:
        driver.resume()


def test_a_name_that_a_run_reported_is_its_table_for_the_next_job(pipeline: Pipeline) -> None:
    hive = {"runtimeRef": "hive"}
    orders, other = pipeline.lake / "orders", pipeline.table("other")
    pipeline.apply("make-other", {"sql": f"CREATE TABLE {other} (id BIGINT) USING delta"})
    assert pipeline.until("make-other")["phase"] == "Succeeded"
    create = f"CREATE TABLE orders (id BIGINT) USING delta LOCATION '{orders}'"
    pipeline.apply("make-orders", {"sql": create, **hive})
    made = pipeline.until("make-orders")
    assert made["phase"] == "Succeeded", made
    assert made["attempts"][-1]["names"] == [
        {"name": "spark_catalog.default.orders", "table": f"file:{orders}"}
    ]

    pipeline.apply("beside", {"sql": f"INSERT INTO {other} VALUES (1)"})
    pipeline.until("beside", "Running")
    with held(pipeline, "beside"):
        pipeline.apply("by-name", {"sql": "INSERT INTO orders VALUES (1)", **hive})
        written = pipeline.until("by-name")
        assert written["phase"] == "Succeeded", written
        assert pipeline.status("beside")["phase"] == "Running"
    assert written["footprint"][0]["table"] == f"file:{orders}"
    assert written["attempts"][-1]["commits"][0]["table"] == f"file:{orders}"
    assert pipeline.until("beside")["phase"] == "Succeeded"
