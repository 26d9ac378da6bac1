"""What a program of a job's own leaves is read by the operator as the runner's own result is."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.runner.jobs import at
from integration.runner.programs import Drivers, program
from sluice.engines.result import parse
from sluice_runner.steps import Steps


def test_the_operator_reads_the_result(spark: SparkSession, table: Path, drivers: Drivers) -> None:
    def insert(number: int) -> None:
        spark.sql(f"INSERT INTO {at(table)} VALUES ({number}, DATE'2026-11-19', 'x')")

    def fail(run: Steps) -> None:
        insert(3)
        run.once("load", lambda: insert(4))
        _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        drivers.run(program(1, table), fail)
    read = parse(drivers.log.read_text())
    assert read is not None
    assert [(c.statement, c.version, c.operation) for c in read.commits] == [(1, 2, "WRITE"), (2, 3, "WRITE")]
    assert read.exception is not None
    assert (read.exception.class_, read.has_kept_to_footprint) == ("ZeroDivisionError", True)
    assert not read.commits_left_out
