"""One Spark with Delta for all tests of the runner: it takes seconds to start and most tests need no other."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from held_commits import held_in
from integration.runner.jobs import (
    BUCKET_FOLDER,
    DELTA_SETTINGS,
    SMALL_SETTINGS,
    at,
    store_settings,
)
from integration.runner.programs import Drivers
from integration.warm_drivers.server import WarmDrivers
from sluice_runner import promise
from sluice_runner.java_classes import java_class
from spark_jars import class_path


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
        **held_in(freezes),
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        **store_settings(),
    }
    # The gate that holds commits to a promise lets everything through for jobs that promise nothing.
    for key, value in {**settings, **promise.gated(settings)}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmDrivers]:
    """Run programs that have to be in another process, or that start and stop Spark themselves."""
    with WarmDrivers(tmp_path_factory.mktemp("warm")) as drivers:
        yield drivers


@pytest.fixture(autouse=True)
def _open_gate(request: pytest.FixtureRequest) -> Iterator[None]:
    """A driver runs one job, and stays held to what that promised; here many run in one JVM."""
    yield
    if "spark" in request.fixturenames:
        java_class(request.getfixturevalue("spark"), promise.GATE).open()


@pytest.fixture(scope="session")
def table_to_copy(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table-to-copy") / "orders"
    make_table(spark, path)
    return path


@pytest.fixture
def table(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Path:
    """A table by date with a row on each of two days, as versions 0 and 1."""
    path = tmp_path / "orders"
    if (
        BUCKET_FOLDER in os.environ
    ):  # what lies in a bucket's folder is no object, unless the server has made it
        make_table(spark, path)
    else:
        shutil.copytree(request.getfixturevalue("table_to_copy"), path)
    return path


def make_table(spark: SparkSession, path: Path) -> None:
    spark.sql(
        f"CREATE TABLE {at(path)} (id BIGINT, date DATE, item STRING) USING delta PARTITIONED BY (date)"
    )
    spark.sql(f"INSERT INTO {at(path)} VALUES (1, DATE'2026-11-19', 'a'), (2, DATE'2026-11-20', 'b')")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Of a table to come."""
    return tmp_path / "copy"


@pytest.fixture
def made(spark: SparkSession, target: Path) -> Path:
    """The target, which is a table already."""
    spark.sql(f"CREATE TABLE {at(target)} (id BIGINT, date DATE, item STRING) USING delta")
    return target


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


@pytest.fixture
def drivers(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drivers:
    """Programs of a job's own, run in the session of all tests."""
    return Drivers(spark, tmp_path / "termination-log", monkeypatch)
