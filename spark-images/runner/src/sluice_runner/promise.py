"""Holds a job to what it promised (spec.writes): its commits add rows only where the promise holds, or aren't made.

Every commit of the driver passes a gate in the JVM, in front of the LogStore. What the promise means for a file's partition,
Spark tells, by an expression over the table's partition columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from sluice_runner import tables
from sluice_runner.commits import Commit
from sluice_runner.repeatable import WRITES_ONE_TABLE
from sluice_runner.tables import Table
from sluice_runner.targets import Statement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GATED = "dev.sluice.delta.GatedLogStore"
_OF_ALL = "spark.delta.logStore.class"
_OF_SCHEME = re.compile(r"spark\.delta\.logStore\.([^.]+)\.impl")
_INNER = "spark.hadoop.sluice.gate."
_S3 = "io.delta.storage.S3SingleDriverLogStore"
_AZURE = "io.delta.storage.AzureLogStore"
_HDFS = "io.delta.storage.HDFSLogStore"
_BY_DEFAULT = {
    **dict.fromkeys(("file", "hdfs", "viewfs", "oci", "cos"), _HDFS),
    **dict.fromkeys(("s3", "s3a", "s3n"), _S3),
    **dict.fromkeys(("abfs", "abfss", "adl", "wasb", "wasbs"), _AZURE),
    "gs": "io.delta.storage.GCSLogStore",
}
"""What Delta takes where nothing is set."""
_PHYSICAL_NAME = "delta.columnMapping.physicalName"


class UncheckedPromiseError(Exception):
    """The promise can't be checked before the commit."""


def gated(configured: Mapping[str, str]) -> dict[str, str]:
    """The settings that put the gate in front of the LogStores that are configured, or Delta's own."""
    if _OF_ALL in configured:
        return {_OF_ALL: _GATED, f"{_INNER}any": configured[_OF_ALL]}
    found = {match[1]: value for name, value in configured.items() if (match := _OF_SCHEME.fullmatch(name))}
    settings = {}
    for scheme, inner in {**_BY_DEFAULT, **found}.items():
        settings[f"spark.delta.logStore.{scheme}.impl"] = _GATED
        settings[_INNER + scheme] = inner
    return settings


class _NotPlainError(Exception):
    """The promise asks for more than the row itself."""


class Gate:
    """The gate of this driver, for a job that promised this."""

    def __init__(self, spark: SparkSession, conditions: Sequence[str]) -> None:
        self._spark = spark
        self._conditions = conditions
        self._text = " and ".join(conditions)
        """For people."""

    def hold(self, statement: Statement) -> None:
        """From now on commits add rows only where the promise holds, until the next statement comes: what this one leaves
        running is held to it, too."""
        if not self._conditions:
            return
        gate: Any = self._spark._jvm.dev.sluice.delta.CommitGate  # type: ignore[union-attr]
        table = self._table(statement)
        if table is None:
            gate.refuseRows(
                f"and the job promised for all its rows: {self._text}. That can be checked only for a statement that writes one "
                "table, which is there already: create it first"
            )
        else:
            gate.hold(self._promise(table))

    def refuse_unchecked(self, own: Sequence[Commit]) -> None:
        """Raises if a commit has found another way into the log than through the gate."""
        if not self._conditions:
            return
        gate: Any = self._spark._jvm.dev.sluice.delta.CommitGate  # type: ignore[union-attr]
        missed = [commit for commit in own if not gate.hasPassed(_file_of(commit))]
        if missed:
            raise UncheckedPromiseError(
                f"version {missed[0].version} of {missed[0].table} was committed without a look at what the job promised for all "
                f"its rows: {self._text}. Look into it: the table's commits don't go through this driver's LogStore"
            )

    def _table(self, statement: Statement) -> Table | None:
        if statement.command not in WRITES_ONE_TABLE:
            return None
        found = {table for name in statement.names for table in tables.find(self._spark, name)}
        return found.pop() if len(found) == 1 else None

    def _promise(self, table: Table) -> Any:
        by_name = {field["name"]: field for field in table.schema()["fields"]}
        fields = [by_name[name] for name in table.partition_columns()]
        jvm: Any = self._spark._jvm
        try:
            return jvm.dev.sluice.delta.PartitionPromise(
                self._text,
                self._array(jvm.java.lang.String, [field["name"] for field in fields]),
                self._array(jvm.java.lang.String, [_name_in_log(field) for field in fields]),
                self._array(
                    jvm.org.apache.spark.sql.catalyst.expressions.Expression, self._expressions(fields)
                ),
            )
        except (PySparkException, Py4JError, _NotPlainError) as error:
            why = str(error).strip().splitlines()[0]
            columns = ", ".join(field["name"] for field in fields) or "it has none"
            raise UncheckedPromiseError(
                f"nothing was run, because the promise {self._text} can't be checked for {table.location}: it must be a condition "
                f"on the table's partition columns ({columns}) alone, without subqueries and chance: {why}"
            ) from error

    def _array(self, of: Any, items: Sequence[Any]) -> Any:
        gateway: Any = self._spark._sc._gateway
        found = gateway.new_array(of, len(items))
        for index, item in enumerate(items):
            found[index] = item
        return found

    def _expressions(self, fields: Sequence[Mapping[str, Any]]) -> list[Any]:
        """The promise as Spark's optimizer leaves it, over the texts that the log has for the partition columns."""
        from pyspark.sql import functions  # noqa: PLC0415
        from pyspark.sql.types import StringType, StructField, StructType  # noqa: PLC0415

        types = [field.dataType for field in StructType.fromJson({"fields": list(fields)}).fields]
        # From an RDD: of rows that Spark knows to be none, the optimizer would leave nothing.
        texts = self._spark.createDataFrame(
            self._spark.sparkContext.emptyRDD(),
            StructType([StructField(str(index), StringType()) for index in range(len(fields))]),
        )
        typed = texts.select(
            [
                functions.col(f"`{index}`").cast(types[index]).alias(field["name"])
                for index, field in enumerate(fields)
            ]
        )
        output: Any = texts._jdf.queryExecution().analyzed().output()
        return [
            self._bound(condition, output)
            for text in self._conditions
            for condition in self._filters(typed.where(text)._jdf.queryExecution().optimizedPlan())
        ]

    def _filters(self, plan: Any) -> Iterator[Any]:
        """The conditions of a plan that only filters and selects."""
        kind = plan.getClass().getSimpleName()
        if kind in ("Filter", "Project"):
            if kind == "Filter":
                yield plan.condition()
            yield from self._filters(plan.child())
        elif kind == "LocalRelation" and plan.data().isEmpty():
            literal: Any = self._spark._jvm.org.apache.spark.sql.catalyst.expressions.Literal  # type: ignore[union-attr]
            yield literal.FalseLiteral()
        elif kind != "LogicalRDD":
            raise _NotPlainError(f"Spark would run {kind} for it")

    def _bound(self, expression: Any, output: Any) -> Any:
        expressions: Any = self._spark._jvm.org.apache.spark.sql.catalyst.expressions  # type: ignore[union-attr]
        attributes = getattr(expressions, "package$AttributeSeq")(output)
        return expressions.BindReferences.bindReference(expression, attributes, False)


def _name_in_log(field: Mapping[str, Any]) -> str:
    name: str = field["metadata"].get(_PHYSICAL_NAME, field["name"])
    return name


def _file_of(commit: Commit) -> str:
    return f"{commit.table.rstrip('/')}/_delta_log/{commit.version:020}.json"
