"""Where a table is, and whether it is one: turns names and paths into locations, and refuses folders of anything else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException

from sluice_runner.java_classes import PATH, instance_check, java_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FILES_RELATION = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"
_DELTA_PACKAGE = "org.apache.spark.sql.delta."
_DELTA_PACKAGES = (_DELTA_PACKAGE, "io.delta.")
_PATH_FORMATS = ("delta", "parquet")
"""Words before a quoted path that is a Delta table, or that CONVERT TO DELTA turns into one. They may be schemas, too."""

_METASTORE_FAILED = "_LEGACY_ERROR_TEMP_3065"
"""Spark's word for whatever Hive's client failed of."""

_NOT_THERE = ("DELTA_TABLE_NOT_FOUND", "PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND")


class NotADeltaTableError(Exception):
    """The job names a folder or table of another kind."""


class UnreachableStorageError(Exception):
    """It could not be looked up whether there is a table at a path."""


class UnknownDeltaError(Exception):
    """Delta reads a table in a way that the runner doesn't know, so that nothing would tell what is written to it."""


def quoted(name: Sequence[str]) -> str:
    return ".".join("`" + part.replace("`", "``") + "`" for part in name)


def path_name(path: str) -> tuple[str, str]:
    """The name under which SQL knows the table at a path."""
    return ("delta", path)


def is_path(name: Sequence[str]) -> bool:
    return len(name) == 2 and name[0].lower() in _PATH_FORMATS and "/" in name[1]


@dataclass(frozen=True)
class Table:
    location: str
    """The location in Hadoop's spelling."""
    version: int
    _index: Any = field(compare=False, repr=False)

    def txn_version(self, app_id: str) -> int | None:
        """The highest txn version that has been committed under an appId, at `version` or later."""
        found: Any = self._index.getSnapshot().transactions().get(app_id)
        return int(found.get()) if found.isDefined() else None

    def id(self) -> str:
        """By which Delta knows the table, wherever it lies."""
        return str(self._index.getSnapshot().metadata().id())

    def property_of(self, name: str) -> str | None:
        """A property of the table's, whatever its spelling."""
        found: Any = self._index.getSnapshot().metadata().configuration()
        keys: Any = found.keySet().toSeq()
        named = (key for key in (keys.apply(index) for index in range(keys.length())) if key.lower() == name)
        return next((str(found.apply(key)) for key in named), None)

    def schema(self) -> Mapping[str, Any]:
        """Delta's own schema, which tells more of a column than Spark's does, such as that it is an identity column."""
        found: Mapping[str, Any] = json.loads(self._index.getSnapshot().metadata().schemaString())
        return found

    def partition_columns(self) -> tuple[str, ...]:
        found = self._index.getSnapshot().metadata().partitionColumns()
        return tuple(found.apply(index) for index in range(found.length()))


def find(spark: SparkSession, name: Sequence[str]) -> tuple[Table, ...]:
    """The Delta tables behind a name: none while there is no such table, perhaps several for a view."""
    try:
        return _behind(spark, name)
    except AnalysisException:
        # It does not exist, or not yet: then the statement creates it, or fails with a better message than this
        # check could give.
        return ()


def find_for_sure(spark: SparkSession, name: Sequence[str]) -> tuple[Table, ...]:
    """Like `find`, but none only where Spark says that there is no such table."""
    try:
        return _behind(spark, name)
    except AnalysisException as error:
        if _code_of(error) not in _NOT_THERE:
            raise
        return ()


def find_once_reachable(spark: SparkSession, name: Sequence[str]) -> tuple[Table, ...]:
    """Like `find_for_sure`, and tells a metastore that fails, which passes, from what is wrong with the name."""
    try:
        return find_for_sure(spark, name)
    except AnalysisException as error:
        if _code_of(error) != _METASTORE_FAILED:
            raise
        raise UnreachableStorageError(
            f"it could not be looked up in the metastore where {quoted(name)} leads. Nothing was run"
        ) from error


def _code_of(error: AnalysisException) -> str | None:
    tell = (
        getattr(error, "getCondition", None) or error.getErrorClass
    )  # by its name since Spark 4, and before
    code: str | None = tell()
    return code


def _behind(spark: SparkSession, name: Sequence[str]) -> tuple[Table, ...]:
    if is_path(name):
        name = path_name(name[1])
    plan: Any = spark.table(quoted(name))._jdf.queryExecution().analyzed()
    leaves = plan.collectLeaves()
    found = [_table(spark, name, leaves.apply(index)) for index in range(leaves.length())]
    return tuple(dict.fromkeys(table for table in found if table is not None))


def refuse_another_format(spark: SparkSession, name: Sequence[str]) -> None:
    """Refuses a name of a table that is there and isn't Delta's: nothing would tell what was written to it."""
    try:
        if _behind(spark, name):
            return
    except AnalysisException:
        return  # it isn't there, or the statement says better what is wrong with it
    raise NotADeltaTableError(
        f"{quoted(name)} is not a Delta table, so that nothing would tell a later job of this run that it was written. Nothing was "
        "run: write it in a job without a run key and without retry"
    )


def refuse_foreign_folder(spark: SparkSession, name: Sequence[str]) -> None:
    """Refuses a folder with files of another kind, in which Delta would begin a table; an absent or empty folder may
    become one."""
    if len(name) != 2 or name[0].lower() != "delta":
        return
    try:
        _refuse_foreign_folder(spark, name)
    except Py4JJavaError as error:
        # What Hadoop says of this seldom has the path in it.
        raise UnreachableStorageError(
            f"it could not be looked up whether {name[1]} is a Delta table. Nothing was run"
        ) from error


def _refuse_foreign_folder(spark: SparkSession, name: Sequence[str]) -> None:
    path_of = java_class(spark, PATH)
    path = path_of(name[1])
    files = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    if not files.exists(path) or files.exists(path_of(path, "_delta_log")):
        return
    if files.getFileStatus(path).isFile():
        raise NotADeltaTableError(f"{name[1]} is a file, not a Delta table: name the table's folder")
    if files.listStatusIterator(path).hasNext():
        raise NotADeltaTableError(
            f"{name[1]} is not a Delta table: the folder holds files but no _delta_log. Nothing was run: turn it into "
            "one with CONVERT TO DELTA, or name another folder"
        )


def _table(spark: SparkSession, name: Sequence[str], leaf: Any) -> Table | None:
    """The Delta table that a leaf of an analysed plan reads."""
    kind = leaf.getClass().getSimpleName()
    if kind == "LogicalRelation" and instance_check(spark)(_FILES_RELATION, leaf.relation()):
        index = leaf.relation().location()
        if index.getClass().getName().startswith(_DELTA_PACKAGE):
            return Table(index.rootPaths().apply(0).toString(), index.snapshotAtAnalysis().version(), index)
        _refuse_unknown(name, leaf.relation().fileFormat())
    elif kind == "DataSourceV2Relation":
        _refuse_unknown(name, leaf.table())
    return None


def _refuse_unknown(name: Sequence[str], reads: Any) -> None:
    java_class = str(reads.getClass().getName())
    if java_class.startswith(_DELTA_PACKAGES):
        raise UnknownDeltaError(
            f"{quoted(name)} is read by {java_class}, which this version of Sluice's runner doesn't know: nothing would tell "
            "what is written to the table. Use a version of Delta that docs/compatibility.md names, or a newer image of the runner"
        )
