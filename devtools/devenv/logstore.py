"""Our LogStore, compiled from spark-images/logstore for a Spark pair, as the pair's image has it."""

import sys
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


def ensure_logstore(cache: Cache, java: Java, pair: SparkPair) -> Path:
    """The jar."""
    files = sorted(FOLDER.rglob("*.java"))
    names = (str(file.relative_to(FOLDER)) for file in files)
    key = key_of(pair.delta.coordinates, BUILD, *names, *files)
    name = f"logstore-{pair.environment}"
    return cache.ensure(name, key, lambda folder: _build(cache, java, pair, folder)) / JAR


def _build(cache: Cache, java: Java, pair: SparkPair, folder: Path) -> None:
    delta = ensure_jars(cache, pair.delta, java)[0].parent
    with step(f"Compiling {JAR} for Spark {pair.delta.spark}"):
        run(
            [
                *(sys.executable, BUILD, "--jar", folder / JAR),
                *("--class-path", spark_home(cache, pair) / "jars", delta),
                *("--", *_compiler(cache, java)),
            ],
            cache.log("logstore"),
            failure=f"The Java files in {FOLDER} don't compile.",
        )


def _compiler(cache: Cache, java: Java) -> list[Argument]:
    if java.compiler is not None:
        return [java.compiler]
    return [java.program, "-jar", *ensure_jars(cache, ECLIPSE_COMPILER, java)]
