"""One Spark with Delta and our LogStore for all of these tests: most of a short test would be its start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from contract.harness.race import Track
from contract.harness.session import freezing_spark


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
