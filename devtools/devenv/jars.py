"""Jars from Maven Central, fetched once through Spark's own Ivy into the cache; sessions then run without Ivy.

Delta's dependencies that Spark ships itself are left out: Spark's own versions would win anyway, and resolving them
takes minutes.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from devenv import python_env
from devenv.cache import Cache, key_of
from devenv.errors import DevError
from devenv.java import Java
from devenv.processes import fetch
from devenv.progress import step

# An empty root means Maven Central to Ivy; without this file it also asks a second host that rarely answers.
IVY_SETTINGS = """\
<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true"/></resolvers>
</ivysettings>
"""
SHIPPED_WITH_SPARK = (
    "com.fasterxml.jackson.core",
    "com.fasterxml.jackson.datatype",
    "com.github.luben",
    "com.google.code.findbugs",
    "commons-logging",
    "commons-pool",
    "io.airlift",
    "javax.annotation",
    "org.antlr",
    "org.apache.hadoop",
    "org.apache.logging.log4j",
    "org.apache.parquet",
    "org.locationtech.jts",
    "org.roaringbitmap",
    "org.slf4j",
    "org.xerial.snappy",
)


@dataclass(frozen=True)
class Package:
    """Something on Maven Central, fetched by the Spark of one Python environment."""

    name: str
    coordinates: str
    environment: str = "main"


@dataclass(frozen=True)
class SparkPair:
    """A version of Spark, as a Python environment, and the version of Delta that goes with it."""

    environment: str
    delta: Package


SPARK42 = SparkPair("main", Package("delta-spark42", "io.delta:delta-spark_4.2_2.13:4.4.0"))
SPARK35 = SparkPair("spark35", Package("delta-spark35", "io.delta:delta-spark_2.12:3.3.3", "spark35"))
ECLIPSE_COMPILER = Package("ecj", "org.eclipse.jdt:ecj:3.45.0")


def ensure_jars(cache: Cache, package: Package, java: Java) -> tuple[Path, ...]:
    """The package's jar and those that it depends on and Spark lacks."""
    folder = cache.ensure(
        package.name,
        key_of(package.coordinates, *SHIPPED_WITH_SPARK),
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
    settings = ivy / "settings.xml"
    settings.write_text(IVY_SETTINGS, encoding="utf-8")
    application = ivy / "nothing_to_do.py"
    application.touch()
    with step(f"Fetching {package.coordinates}"):
        fetch(
            [
                python / "bin" / "spark-submit",
                "--master=local[1]",
                f"--conf=spark.jars.ivy={ivy}",
                f"--conf=spark.jars.ivySettings={settings}",
                f"--conf=spark.jars.excludes={','.join(f'{group}:*' for group in SHIPPED_WITH_SPARK)}",
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
