"""Delta's LogStores, called as Delta calls them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

OURS = "dev.sluice.delta.LinkLogStore"
DELTAS_DEFAULT = "io.delta.storage.HDFSLogStore"
"""What Delta takes on `file:` by itself."""
DELTAS_LOCAL = "io.delta.storage.LocalLogStore"
HADOOPS_FILES = {"fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem", "fs.file.impl.disable.cache": "true"}
"""Hive's in their place, which Spark brings, asks once more whether a file is there before it renames onto it: what may
be lost is the same, but nobody can be held in the moment between."""


HELD_RENAMES = Path(__file__).with_name("HeldRenames.java")


class LogStore:
    """One driver's LogStore, as Delta calls it."""

    held_as = "tmp"
    """How the name of a file ends by which a held writer can be told."""

    def __init__(
        self, spark: SparkSession, name: str, settings: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        jvm = spark._jvm
        assert jvm is not None, "this session has no JVM of its own"
        self._jvm: Any = jvm
        self._conf: Any = spark._jsparkSession.sessionState().newHadoopConf()
        for key, value in settings.items():
            self._conf.set(key, value)
        loader = self._jvm.java.lang.Thread.currentThread().getContextClassLoader()
        found = self._jvm.java.lang.Class.forName(name, True, loader)
        self._store = found.getConstructors()[0].newInstance(self._objects(self._conf))

    def write(self, path: Path, lines: Sequence[str], overwrite: bool = False) -> None:
        self._store.write(self._path(path), self._list(lines).iterator(), overwrite, self._conf)

    def write_held_by(self, pipe: Path, path: Path, lines: Sequence[str]) -> None:
        """Makes a commit of these lines, which is written, but not whole, as long as anyone has the pipe open."""
        java: Any = self._jvm.java
        rest = java.io.BufferedReader(java.io.FileReader(str(pipe))).lines()
        actions = java.util.stream.Stream.concat(self._list(lines).stream(), rest)
        try:
            self._store.write(self._path(path), actions.iterator(), False, self._conf)
        finally:
            rest.close()

    def read(self, path: Path) -> list[str]:
        lines = self._store.read(self._path(path), self._conf)
        try:
            return list(self._all(lines))
        finally:
            lines.close()

    def list_from(self, path: Path) -> list[str]:
        return [
            status.getPath().getName()
            for status in self._all(self._store.listFrom(self._path(path), self._conf))
        ]

    def resolve(self, path: str) -> str:
        found: str = self._store.resolvePathOnPhysicalStorage(
            self._jvm.org.apache.hadoop.fs.Path(path), self._conf
        ).toString()
        return found

    def shows_partial_writes(self, path: Path) -> bool:
        found: bool = self._store.isPartialWriteVisible(self._path(path), self._conf)
        return found

    def _path(self, path: Path) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"file:{path}")

    def _list(self, items: Sequence[Any]) -> Any:
        result = self._jvm.java.util.ArrayList()
        for item in items:
            result.add(item)
        return result

    def _objects(self, item: Any) -> Any:
        return self._list([item]).toArray()

    @staticmethod
    def _all(iterator: Any) -> Iterator[Any]:
        while iterator.hasNext():
            yield iterator.next()


class HeldAtRename(LogStore):
    """A LogStore whose commit is held when it is whole: right before the rename that gives it its name."""

    held_as = "tmp.held"

    def __init__(self, spark: SparkSession, name: str) -> None:
        super().__init__(spark, name, {"fs.AbstractFileSystem.file.impl": HELD_RENAMES.stem})
        # Spark's own compiler: there need not be a JDK.
        compiler = self._jvm.org.codehaus.janino.SimpleCompiler()
        compiler.cook(HELD_RENAMES.read_text(encoding="utf-8"))
        self._conf.setClassLoader(compiler.getClassLoader())

    def write_held_by(self, pipe: Path, path: Path, lines: Sequence[str]) -> None:
        self._conf.set("sluice.test.pipe", str(pipe))
        self.write(path, lines)


def raised(error: Py4JJavaError) -> str:
    """The class of what Java threw."""
    name: str = error.java_exception.getClass().getName()
    return name
