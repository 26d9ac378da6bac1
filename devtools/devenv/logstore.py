"""Our LogStore, compiled from spark-images/logstore into one jar for both Spark pairs."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

from devenv.cache import Cache, key_of
from devenv.jars import ECLIPSE_COMPILER, SPARK42, ensure_jars, spark_home
from devenv.java import Java
from devenv.processes import Argument, run
from devenv.progress import step
from devenv.project import ROOT

SOURCES = ROOT / "spark-images" / "logstore" / "src"
JAR = "sluice-logstore.jar"
RELEASE = "17"
FIRST_ZIP_DATE = (1980, 1, 1, 0, 0, 0)


def sources() -> list[Path]:
    """The Java files that belong into the jar: tests don't."""
    return [file for file in sorted(SOURCES.rglob("*.java")) if "test" not in file.relative_to(SOURCES).parts]


def ensure_logstore(cache: Cache, java: Java) -> Path | None:
    """The jar, or None while there is nothing to compile."""
    files = sources()
    if not files:
        return None
    names = (str(file.relative_to(SOURCES)) for file in files)
    key = key_of(SPARK42.delta.coordinates, RELEASE, *names, *files)
    return cache.ensure("logstore", key, lambda folder: _build(cache, java, files, folder)) / JAR


def _build(cache: Cache, java: Java, files: list[Path], folder: Path) -> None:
    classpath = [
        *ensure_jars(cache, SPARK42.delta, java),
        *(spark_home(cache, SPARK42) / "jars").glob("*.jar"),
    ]
    classes = folder / "classes"
    with step(f"Compiling {JAR}"):
        run(
            [
                *_compiler(cache, java),
                "--release",
                RELEASE,
                "-cp",
                ":".join(map(str, classpath)),
                "-d",
                classes,
                *files,
            ],
            cache.log("logstore"),
            failure=f"The Java files in {SOURCES} don't compile.",
        )
        with zipfile.ZipFile(folder / JAR, "w", zipfile.ZIP_DEFLATED) as jar:
            for name, content in _entries(classes):
                jar.writestr(zipfile.ZipInfo(name, FIRST_ZIP_DATE), content)


def _compiler(cache: Cache, java: Java) -> list[Argument]:
    if java.compiler is not None:
        return [java.compiler]
    return [java.program, "-jar", *ensure_jars(cache, ECLIPSE_COMPILER, java)]


def _entries(classes: Path) -> Iterator[tuple[str, bytes]]:
    yield "META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\r\n\r\n"
    for file in sorted(classes.rglob("*.class")):
        yield file.relative_to(classes).as_posix(), file.read_bytes()
