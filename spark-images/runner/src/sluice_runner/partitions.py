"""Conditions on a table's partition columns, as Spark's own expressions over what its log tells of a file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from sluice_runner.java_classes import java_class
from sluice_runner.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PHYSICAL_NAME = "delta.columnMapping.physicalName"
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"


class UncheckableError(Exception):
    """The condition asks for more than a partition's values."""


class Conditions:
    """Conditions as they were judged: under the settings with which the job begins, whatever its statements set since."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._unchanged: SparkSession | None = None
        self._made: dict[tuple[str, ...], Any] = {}

    def on(self, table: Table, texts: Sequence[str]) -> Any:
        """All of these, for the JVM; what Spark can't compute from the partition columns alone is refused."""
        by_name = {field["name"]: field for field in table.schema()["fields"]}
        fields = [by_name[name] for name in table.partition_columns()]
        key = (json.dumps(fields), *texts)
        if key not in self._made:
            self._unchanged = self._unchanged or self._spark.newSession()
            self._made[key] = _OfFields(self._unchanged, fields).all_of(texts)
        return self._made[key]


class _OfFields:
    """Conditions on these fields of a table's schema."""

    def __init__(self, spark: SparkSession, fields: Sequence[Mapping[str, Any]]) -> None:
        self._spark = spark
        self._fields = fields

    def all_of(self, texts: Sequence[str]) -> Any:
        try:
            return java_class(self._spark, "dev.sluice.delta.PartitionCondition")(
                " and ".join(texts),
                self._array("java.lang.String", [field["name"] for field in self._fields]),
                self._array("java.lang.String", [_name_in_log(field) for field in self._fields]),
                self._array(f"{_EXPRESSIONS}.Expression", self._expressions(texts)),
            )
        except (PySparkException, Py4JError) as error:
            raise self._uncheckable(str(error).strip().splitlines()[0]) from error

    def _uncheckable(self, why: str) -> UncheckableError:
        columns = ", ".join(field["name"] for field in self._fields) or "it has none"
        return UncheckableError(
            f"it must be a condition on the table's partition columns ({columns}) alone, without subqueries and chance: {why}"
        )

    def _array(self, of: str, items: Sequence[Any]) -> Any:
        gateway: Any = self._spark._sc._gateway
        found = gateway.new_array(java_class(self._spark, of), len(items))
        for index, item in enumerate(items):
            found[index] = item
        return found

    def _expressions(self, conditions: Sequence[str]) -> list[Any]:
        """The conditions as Spark's optimizer leaves them, over the texts that the log has for the partition columns."""
        from pyspark.sql import functions  # noqa: PLC0415
        from pyspark.sql.types import StringType, StructField, StructType  # noqa: PLC0415

        types = [field.dataType for field in StructType.fromJson({"fields": list(self._fields)}).fields]
        # From an RDD: of rows that Spark knows to be none, the optimizer would leave nothing.
        texts = self._spark.createDataFrame(
            self._spark.sparkContext.emptyRDD(),
            StructType([StructField(str(index), StringType()) for index in range(len(self._fields))]),
        )
        typed = texts.select(
            [
                functions.col(f"`{index}`").cast(types[index]).alias(field["name"])
                for index, field in enumerate(self._fields)
            ]
        )
        output: Any = texts._jdf.queryExecution().analyzed().output()
        return [
            self._bound(condition, output)
            for text in conditions
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
            yield java_class(self._spark, f"{_EXPRESSIONS}.Literal").FalseLiteral()
        elif kind != "LogicalRDD":
            raise self._uncheckable(f"Spark would run {kind} for it")

    def _bound(self, expression: Any, output: Any) -> Any:
        attributes = java_class(self._spark, f"{_EXPRESSIONS}.package$AttributeSeq")(output)
        references = java_class(self._spark, f"{_EXPRESSIONS}.BindReferences")
        return references.bindReference(expression, attributes, False)


def _name_in_log(field: Mapping[str, Any]) -> str:
    name: str = field["metadata"].get(_PHYSICAL_NAME, field["name"])
    return name
