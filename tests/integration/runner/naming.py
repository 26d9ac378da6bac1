"""Where names lead: what a plan says of it, what a result tells, and a catalog that others use as well."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from integration.runner.jobs import Document, plan, sql, submit

DELTAS = "org.apache.spark.sql.delta.catalog.DeltaCatalog"


@contextmanager
def whose_catalogs_nobody_has_asked(spark: SparkSession) -> Iterator[SparkSession]:
    """A session such as a driver's is when it begins."""
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.spark_catalog", DELTAS)
    jvm: Any = spark._jvm
    # A driver has one session, by whose settings catalogs are made.
    jvm.org.apache.spark.sql.SparkSession.setActiveSession(session._jsparkSession)
    yield session
    jvm.org.apache.spark.sql.SparkSession.setActiveSession(spark._jsparkSession)
    jvm.dev.sluice.delta.BoundNames.clear()


def bound(**locations: Path | str) -> list[Document]:
    return [{"name": name.replace("__", "."), "path": str(path)} for name, path in locations.items()]


def reported(**locations: Path | str) -> list[Document]:
    return [{**name, "reported": True} for name in bound(**locations)]


def failure(result: Document) -> tuple[str, str]:
    assert result["outcome"] == "Failed", result
    return result["exception"]["class"], result["exception"]["message"]


def hive(folder: Path) -> dict[str, str]:
    """A metastore that others use as well: its database is on disk."""
    return {
        "spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore",
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder / 'metastore'};create=true",
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
    }


def on_hive(folder: Path, names: list[Document], *texts: str, work: Document | None = None) -> Document:
    document = plan(work or sql(*texts))
    driver = submit(folder, document | ({"names": names} if names else {}), hive(folder))
    driver.process.communicate(timeout=500)
    return driver.result()


def told(result: Document) -> dict[str, str]:
    return {name["name"]: name["location"] for name in result.get("names", [])}
