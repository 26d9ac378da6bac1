"""One Spark with Delta and our LogStore for all of these tests: most of a short test would be its start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from contract.harness.older_spark import OlderSpark, older_spark
from contract.harness.race import Track
from contract.harness.session import freezing_spark
from contract.harness.tables import Asked, in_this_spark


@dataclass(frozen=True)
class FreezingSpark:
    spark: SparkSession
    freezes: Path


@pytest.fixture(scope="session")
def freezing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FreezingSpark]:
    folder = tmp_path_factory.mktemp("spark")
    with freezing_spark(folder / "freezes", folder / "warehouse") as spark:
        yield FreezingSpark(spark, folder / "freezes")


@pytest.fixture(scope="session")
def track(freezing: FreezingSpark, tmp_path_factory: pytest.TempPathFactory) -> Track:
    return Track(freezing.spark, tmp_path_factory.mktemp("races"), freezing.freezes)


@pytest.fixture
def session(freezing: FreezingSpark) -> SparkSession:
    """Settings and views of its own, in the Spark of all."""
    return freezing.spark.newSession()


@pytest.fixture(scope="module", params=["4.4.0", "3.3.3"])
def delta(request: pytest.FixtureRequest) -> str:
    """The version of Delta, for tests of both."""
    version: str = request.param
    return version


@pytest.fixture(scope="module")
def asked(delta: str, request: pytest.FixtureRequest) -> Asked:
    """Tables in the Spark of this version."""
    found: Asked = request.getfixturevalue("asked_of_the_newer" if delta == "4.4.0" else "asked_of_the_older")
    return found


@pytest.fixture(scope="session")
def asked_of_the_newer(freezing: FreezingSpark, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    return in_this_spark(freezing.spark, tmp_path_factory.mktemp("asked"))


@pytest.fixture(scope="session")
def asked_of_the_older(older: OlderSpark) -> Asked:
    return older.asked


@pytest.fixture(scope="session")
def older(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OlderSpark]:
    long = request.config.getoption("--long", default=False)
    with older_spark(tmp_path_factory.mktemp("asked"), long=long) as spark:
        yield spark
