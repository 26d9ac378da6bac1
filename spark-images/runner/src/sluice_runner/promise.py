"""Holds a job to what it promised (spec.writes): its commits add rows only where the promise holds, or aren't made.

Every commit of the driver passes a gate in the JVM, in front of the LogStore. What the promise means for a file's partition,
Spark tells, by an expression over the table's partition columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sluice_runner import tables
from sluice_runner.commits import Commit, file_of
from sluice_runner.java_classes import java_class
from sluice_runner.partitions import Conditions, UncheckableError
from sluice_runner.repeatable import WRITES_ONE_TABLE
from sluice_runner.tables import Table
from sluice_runner.targets import ParsedStatement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GATE = "dev.sluice.delta.CommitGate"
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


class Gate:
    """The gate of this driver, for a job that promised this."""

    def __init__(self, spark: SparkSession, promised: Sequence[str], conditions: Conditions) -> None:
        self._spark = spark
        self._promised = promised
        self._conditions = conditions
        self._text = " and ".join(promised)
        """For people."""

    def hold(self, statement: ParsedStatement) -> None:
        """From now on commits add rows only where the promise holds, until the next statement comes: what this one leaves
        running is held to it, too."""
        if not self._promised:
            return
        gate = java_class(self._spark, GATE)
        if statement.has_options:
            raise UncheckedPromiseError(
                "nothing was run, because the statement has options of its own, which may change what its commit says of the rows, "
                f"and the job promised for all of them: {self._text}. Leave out WITH (...), or the promise"
            )
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
        if not self._promised:
            return
        gate = java_class(self._spark, GATE)
        missed = [commit for commit in own if not gate.hasPassed(file_of(commit))]
        if missed:
            raise UncheckedPromiseError(
                f"version {missed[0].version} of {missed[0].table} was committed without a look at what the job promised for all "
                f"its rows: {self._text}. Look into it: the table's commits don't go through this driver's LogStore"
            )

    def _table(self, statement: ParsedStatement) -> Table | None:
        if statement.command not in WRITES_ONE_TABLE:
            return None
        found = {table for name in statement.names for table in tables.find(self._spark, name)}
        return found.pop() if len(found) == 1 else None

    def _promise(self, table: Table) -> Any:
        try:
            return self._conditions.on(table, self._promised)
        except UncheckableError as error:
            raise UncheckedPromiseError(
                f"nothing was run, because the promise {self._text} can't be checked for {table.location}: {error}"
            ) from error
