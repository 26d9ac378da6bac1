"""JVM options for drivers that live for a minute: little compiling, and Spark's and Delta's classes from an archive.

Most of a short driver's start is reading, checking and linking some twenty thousand classes. A class data sharing archive
holds them as the JVM wants them. It counts only for the class path that it was made with, from the first jar on, and
the JVM goes on without it, and silently, where that differs.
"""

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from devenv import python_env
from devenv.cache import Cache, key_of
from devenv.java import Java
from devenv.processes import run
from devenv.progress import step

REHEARSAL = Path(__file__).parent / "rehearsal" / "session.py"
ARCHIVE = "classes.jsa"
# 48 MB, as this compiler has by default, are not enough for Spark: what was compiled is thrown out and compiled again.
BRIEF_JVM = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256m", "-XX:+UseSerialGC")
SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
}


def ensure_jvm_options(cache: Cache, java: Java, environment: Path, jars: Sequence[Path]) -> str:
    """The options for drivers of this environment that have these jars, in this order, in spark.driver.extraClassPath."""
    archive = _ensure_archive(cache, java, environment, jars)
    # A JVM without an archive of its own classes makes none of ours.
    shared = (
        _quoted(f"-XX:SharedArchiveFile={archive}"),
        "-Xshare:auto",
        "-Xlog:cds=off",
        "-Xlog:cds+dynamic=off",
    )
    return " ".join((*BRIEF_JVM, *(shared if archive.exists() else ())))


def _quoted(option: str) -> str:
    """Quotes an option with spaces, such as a folder's name, as Spark takes options apart."""
    return shlex.quote(option) if " " in option else option


def _ensure_archive(cache: Cache, java: Java, environment: Path, jars: Sequence[Path]) -> Path:
    release = java.home / "release"
    key = key_of(
        REHEARSAL,
        *BRIEF_JVM,
        *(f"{name}={value}" for name, value in SETTINGS.items()),
        str(java.home),
        *([release] if release.exists() else []),
        *map(str, (environment, *jars)),
    )

    def build(folder: Path) -> None:
        _build(cache, java, environment, jars, folder)

    return cache.ensure("class-archive", key, build) / ARCHIVE


def _build(cache: Cache, java: Java, environment: Path, jars: Sequence[Path], folder: Path) -> None:
    settings = {
        **SETTINGS,
        "spark.driver.extraClassPath": ":".join(map(str, jars)),
        "spark.driver.extraJavaOptions": " ".join(
            (
                *BRIEF_JVM,
                _quoted(f"-XX:ArchiveClassesAtExit={folder / ARCHIVE}"),
                "-Xlog:cds=off",
                "-Xlog:cds+dynamic=off",
            )
        ),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
    }
    with step("Archiving the classes of Spark and Delta"):
        run(
            [
                environment / "bin" / "spark-submit",
                "--master=local[1]",
                *(f"--conf={name}={value}" for name, value in settings.items()),
                REHEARSAL,
                folder / "lake",
            ],
            cache.log("class-archive"),
            failure="Spark could not write a Delta table: if what it says below doesn't help, delete the cache folder.",
            environment=python_env.activated(environment, java.home),
            folder=folder,
        )
    for leftover in ("lake", "warehouse", "local"):
        shutil.rmtree(folder / leftover, ignore_errors=True)
