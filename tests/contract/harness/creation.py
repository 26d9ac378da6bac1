"""Makes tables by Delta's own interface: Delta 3.3 makes generated and identity columns by no SQL.

In the JVM, because to import Delta's Python package changes what exceptions look like in the whole process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession


def create_table(
    session: SparkSession,
    place: Path,
    columns: Iterable[tuple[str, str]],
    *,
    partition_columns: Sequence[str],
    generated: Mapping[str, str],
    identity: Iterable[str] = (),
    properties: Mapping[str, str] | None = None,
) -> None:
    jvm = session._jvm
    assert jvm is not None
    tables, java = jvm.io.delta.tables.DeltaTable, session._jsparkSession
    table = tables.create(java).location(str(place))
    for name, type_ in columns:
        column = tables.columnBuilder(java, name).dataType(type_)
        if name in generated:
            column = column.generatedAlwaysAs(generated[name])
        if name in identity:
            column = column.generatedByDefaultAsIdentity()
        table = table.addColumn(column.build())
    for key, value in (properties or {}).items():
        table = table.property(key, value)
    table.partitionedBy(jvm.PythonUtils.toSeq(list(partition_columns))).execute()
