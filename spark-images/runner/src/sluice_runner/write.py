"""A DataFrame write: the rows of a source go into one table, by its path or its name."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from sluice_runner import tables, targets
from sluice_runner.plan import Source, Target, Write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class MissingSecretError(Exception):
    """An option's value should come from the environment but is not there."""


class MissingTableError(Exception):
    """A write that replaces part of a table needs the table to exist."""


def table_name(target: Target) -> tuple[str, ...]:
    if target.path is not None:
        return tables.path_name(target.path)
    return tuple((target.name or "").split("."))


def run(spark: SparkSession, write: Write) -> None:
    put(spark, write, lambda: _rows(spark, write.source))


def put(spark: SparkSession, write: Write, read: Callable[[], DataFrame]) -> None:
    """Writes these rows, which are read once it is known that they can be written."""
    name = table_name(write.table)
    needs_the_table = write.mode == "OverwritePartitions" or write.replace_where is not None
    # An append to a path is the same in either case: it isn't asked for each batch of a stream.
    exists = _exists(spark, name) if needs_the_table or write.table.path is None else None
    if needs_the_table and not exists:
        raise MissingTableError(
            f"{tables.quoted(name)} does not exist, but a write that replaces part of a table needs it: create it "
            "first, or write with mode Append"
        )
    rows = read()
    if write.table.path is not None:
        _to_path(rows, write, write.table.path)
    elif exists:
        _to_name(rows, write, tables.quoted(name))
    else:
        rows.write.format("delta").options(**_options(write)).mode("append").saveAsTable(tables.quoted(name))


def _exists(spark: SparkSession, name: tuple[str, ...]) -> bool:
    if tables.find(spark, name):
        return True
    if name[0] != "delta" and spark.catalog.tableExists(tables.quoted(name)):
        raise tables.NotADeltaTableError(
            f"{tables.quoted(name)} is a table or view of another kind, not a Delta table: nothing was written, name a "
            "Delta table"
        )
    return False


def _rows(spark: SparkSession, source: Source) -> DataFrame:
    if source.sql is not None:
        if not targets.is_query(spark, source.sql):
            raise targets.RefusedStatementError(
                "nothing was written, because the source's SQL is not a query: Spark would run it before the write"
            )
        return spark.sql(source.sql)
    reader = spark.read.format(source.format or "").options(**options_of(source))
    return reader.load(source.path) if source.path is not None else reader.load()


def options_of(source: Source) -> dict[str, str]:
    """The reader's options, those from Secrets as well."""
    return {**source.options, **_options_from_environment(source)}


def _options_from_environment(source: Source) -> dict[str, str]:
    missing = [name for name in source.options_from_env.values() if name not in os.environ]
    if missing:
        raise MissingSecretError(
            f"the source's options need the environment variables {', '.join(sorted(missing))}, which are not set: "
            "check that the Secret has these keys"
        )
    return {option: os.environ[name] for option, name in source.options_from_env.items()}


def _options(write: Write) -> dict[str, str]:
    options = {}
    if write.schema_evolution:
        options["mergeSchema"] = "true"
    if write.replace_where is not None:
        options["replaceWhere"] = write.replace_where
    if write.txn_app_id is not None:
        options["txnAppId"] = write.txn_app_id
        options["txnVersion"] = str(write.txn_version)
    return options


def _to_path(rows: DataFrame, write: Write, path: str) -> None:
    writer = rows.write.format("delta").options(**_options(write))
    if write.mode == "Append":
        writer.mode("append").save(path)
        return
    # Set in either case: the session's setting must not turn an Overwrite into an overwrite of single partitions.
    partitions = "dynamic" if write.mode == "OverwritePartitions" else "static"
    writer.mode("overwrite").option("partitionOverwriteMode", partitions).save(path)


def _to_name(rows: DataFrame, write: Write, name: str) -> None:
    """Writes to a named table through the writer for existing tables: saveAsTable would overwrite it by CREATE OR
    REPLACE, a change of metadata that aborts every concurrent writer."""
    from pyspark.sql import functions  # noqa: PLC0415 - a plan is decoded, and refused, without Spark

    writer = rows.writeTo(name).options(**_options(write))
    if write.mode == "Append":
        writer.append()
    elif write.mode == "OverwritePartitions":
        writer.overwritePartitions()
    else:
        writer.option("partitionOverwriteMode", "static").overwrite(functions.lit(True))
