"""A table that Delta reads in a way that isn't known is not taken for none."""

from types import SimpleNamespace
from typing import Any

import pytest

from sluice_runner.tables import UnknownDeltaError, _table


class Java:
    """An object of the JVM."""

    def __init__(self, name: str, **methods: Any) -> None:
        self._name = name
        for method, answer in methods.items():
            setattr(self, method, lambda answer=answer: answer)

    def getClass(self) -> Any:  # noqa: N802 - Java's
        simple = self._name.rpartition(".")[2]
        return SimpleNamespace(getName=lambda: self._name, getSimpleName=lambda: simple)


RELATION = "org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation"
SPARK: Any = SimpleNamespace()


@pytest.mark.parametrize(
    "reads", ["org.apache.spark.sql.delta.catalog.DeltaTableV2", "io.delta.spark.internal.v2.SparkTable"]
)
def test_a_table_of_delta_that_is_read_in_a_way_that_is_not_known_is_refused(reads: str) -> None:
    with pytest.raises(UnknownDeltaError, match=rf"`lake`.`orders` is read by {reads}") as refused:
        _table(SPARK, ("lake", "orders"), Java(RELATION, table=Java(reads)))
    assert "docs/compatibility.md" in str(refused.value)


def test_what_is_not_deltas_is_no_table_of_its() -> None:
    iceberg = Java(RELATION, table=Java("org.apache.iceberg.spark.source.SparkTable"))
    assert _table(SPARK, ("lake", "orders"), iceberg) is None
    assert _table(SPARK, ("v",), Java("org.apache.spark.sql.catalyst.plans.logical.LocalRelation")) is None
