"""Jars from Maven Central, fetched once through Spark's own Ivy into the cache; sessions then run without Ivy.

What is fetched and what is left out stands beside the Spark image, which fetches the same.
"""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from devenv import python_env
from devenv.cache import Cache, key_of
from devenv.errors import DevError
from devenv.java import Java
from devenv.processes import fetch
from devenv.progress import step
from devenv.project import ROOT

VERSIONS = ROOT / "spark-images" / "versions"
IVY_SETTINGS = ROOT / "spark-images" / "ivy.xml"


def properties(text: str) -> dict[str, str]:
    """Reads names and values as Java does, as far as delta.conf goes: comments, and lines that go on after a backslash."""
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    pairs = (line.split(maxsplit=1) for line in lines if line.strip() and not line.startswith("#"))
    return {name: value.strip() for name, value in pairs}


def pins(spark: str) -> Path:
    """The file that pins what goes with a version of Spark."""
    return VERSIONS / spark / "delta.conf"


@dataclass(frozen=True)
class Package:
    """Something on Maven Central, fetched by the Spark of one Python environment."""

    name: str
    setting: str
    """Under which its coordinates are pinned."""
    spark: str = "4.2"
    environment: str = "main"

    @property
    def coordinates(self) -> str:
        return self._pinned[self.setting]

    @property
    def left_out(self) -> tuple[str, ...]:
        return tuple(self._pinned["spark.jars.excludes"].split(","))

    @property
    def _pinned(self) -> dict[str, str]:
        return properties(pins(self.spark).read_text(encoding="utf-8"))


@dataclass(frozen=True)
class SparkPair:
    """A version of Spark, as a Python environment, and the version of Delta that goes with it."""

    environment: str
    delta: Package


SPARK42 = SparkPair("main", Package("delta-spark42", "spark.jars.packages"))
SPARK35 = SparkPair("spark35", Package("delta-spark35", "spark.jars.packages", "3.5", "spark35"))
AWS = Package("aws-spark42", "spark.sluice.store.aws")
"""Hadoop's `s3a:`, for Spark 4.2."""
KAFKA = Package("kafka-spark42", "spark.sluice.source.kafka")
"""By what Spark 4.2 reads Kafka."""
KAFKA_BROKER = Package("kafka-broker", "spark.sluice.test.kafka")
"""A Kafka that tests read from; it runs with Spark's own jars beside these."""
ECLIPSE_COMPILER = Package("ecj", "spark.sluice.compiler")


def ensure_jars(cache: Cache, package: Package, java: Java) -> tuple[Path, ...]:
    """The package's jar and those that it depends on and Spark lacks."""
    folder = cache.ensure(
        package.name,
        key_of(package.coordinates, *package.left_out),
        lambda folder: _fetch(cache, package, java, folder),
    )
    return tuple(sorted(folder.glob("*.jar")))


def spark_home(cache: Cache, pair: SparkPair) -> Path:
    """The folder of Spark inside the pair's Python environment."""
    environment = python_env.ensure_environment(cache, pair.environment)
    for home in environment.glob("lib/python*/site-packages/pyspark"):
        return home
    raise DevError(
        f"The Python environment {environment} holds no pyspark: delete that folder and try again."
    )


def _fetch(cache: Cache, package: Package, java: Java, folder: Path) -> None:
    python = python_env.ensure_environment(cache, package.environment)
    ivy = folder / "ivy"
    ivy.mkdir()
    application = ivy / "nothing_to_do.py"
    application.touch()
    with step(f"Fetching {package.coordinates}"):
        fetch(
            [
                python / "bin" / "spark-submit",
                "--master=local[1]",
                f"--properties-file={pins(package.spark)}",
                f"--conf=spark.jars.ivy={ivy}",
                f"--conf=spark.jars.ivySettings={IVY_SETTINGS}",
                f"--packages={package.coordinates}",
                application,
            ],
            cache.log(package.name),
            failure=f"{package.coordinates} could not be fetched from Maven Central: check the network and try again.",
            environment=python_env.activated(python, java.home),
        )
    for jar in (ivy / "jars").glob("*.jar"):
        jar.rename(folder / jar.name)
    shutil.rmtree(ivy)
