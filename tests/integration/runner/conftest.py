"""One Spark with Delta for all tests of the runner: it takes seconds to start and most tests need no other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.runner.jobs import DELTA_SETTINGS, SMALL_SETTINGS, at, class_path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The machine may be busy, and a Spark that starts on it slow: 120 s would end tests that go well.

    PySpark 3.5 leaves the sockets that it collects rows through to the garbage collector, which warns.
    """
    for item in items:
        if Path(__file__).parent not in item.path.parents:
            continue
        item.add_marker(
            pytest.mark.filterwarnings(
                "ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"
            )
        )
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(600))


@pytest.fixture(scope="session")
def freezes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("freezes")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory, freezes: Path) -> Iterator[SparkSession]:
    builder = SparkSession.builder.master("local[2]")
    settings = {
        **SMALL_SETTINGS,
        **DELTA_SETTINGS,
        "spark.driver.extraClassPath": class_path(),
        "spark.hadoop.sluice.test.freezeDir": str(freezes),
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Path:
    """A table by date with a row on each of two days, as versions 0 and 1."""
    path = tmp_path / "orders"
    spark.sql(
        f"CREATE TABLE {at(path)} (id BIGINT, date DATE, item STRING) USING delta PARTITIONED BY (date)"
    )
    spark.sql(f"INSERT INTO {at(path)} VALUES (1, DATE'2026-11-19', 'a'), (2, DATE'2026-11-20', 'b')")
    return path
