"""Our LogStores: those of images, compiled for a Spark pair, and the tests' own, whose commits a test can hold."""

import sys
from collections.abc import Iterator
from pathlib import Path

from devenv.cache import Cache, key_of
from devenv.jars import ECLIPSE_COMPILER, SparkPair, ensure_jars, spark_home
from devenv.java import Java
from devenv.processes import Argument, run
from devenv.progress import step
from devenv.project import ROOT

FOLDER = ROOT / "spark-images" / "logstore"
BUILD = FOLDER / "build.py"
JAR = "sluice-logstore.jar"
HELD_COMMITS = ROOT / "tests" / "held_commits" / "src"
HELD_COMMITS_JAR = "held-commits.jar"


def ensure_logstore(cache: Cache, java: Java, pair: SparkPair) -> Path:
    """The jar."""
    key = key_of(pair.delta.coordinates, BUILD, *_content(FOLDER))
    name = f"logstore-{pair.environment}"
    return cache.ensure(name, key, lambda folder: _build(cache, java, pair, FOLDER, folder / JAR)) / JAR


def ensure_held_commits(cache: Cache, java: Java, pair: SparkPair) -> Path:
    """The tests' jar, which serves both pairs: it extends classes that both have."""
    logstore = ensure_logstore(cache, java, pair)
    key = key_of(logstore.parent.name, *_content(HELD_COMMITS))
    made = cache.ensure(
        "held-commits",
        key,
        lambda folder: _build(cache, java, pair, HELD_COMMITS, folder / HELD_COMMITS_JAR, logstore.parent),
    )
    return made / HELD_COMMITS_JAR


def _content(folder: Path) -> Iterator[str | Path]:
    for file in sorted(folder.rglob("*.java")):
        yield str(file.relative_to(folder))
        yield file


def _build(cache: Cache, java: Java, pair: SparkPair, sources: Path, jar: Path, *beside: Path) -> None:
    """`beside`: folders with jars that the sources need beside Spark's and Delta's."""
    delta = ensure_jars(cache, pair.delta, java)[0].parent
    with step(f"Compiling {jar.name} for Spark {pair.delta.spark}"):
        run(
            [
                *(sys.executable, BUILD, "--jar", jar, "--sources", sources),
                *("--class-path", spark_home(cache, pair) / "jars", delta),
                *beside,
                *("--", *_compiler(cache, java)),
            ],
            cache.log("logstore"),
            failure=f"The Java files in {sources} don't compile.",
        )


def _compiler(cache: Cache, java: Java) -> list[Argument]:
    if java.compiler is not None:
        return [java.compiler]
    return [java.program, "-jar", *ensure_jars(cache, ECLIPSE_COMPILER, java)]
