"""A program of a job's own understands the operator's plan, and the operator what the program leaves, as with the runner."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.runner.jobs import at
from integration.runner.operators_plan import of_application
from integration.runner.programs import Drivers, program
from sluice.api.job import Operation
from sluice.engines.plan import PlannedRun
from sluice.engines.result import parse
from sluice.footprint import TableFootprint
from sluice.tables import TableKey
from sluice_runner.assumptions import NOTHING_ASSUMED
from sluice_runner.plan import Target, decode_application
from sluice_runner.steps import Steps


@pytest.mark.parametrize("run", [None, PlannedRun("sluice/slot/0", closes=False, first_token=4294967297)])
def test_the_operators_plan_is_understood(run: PlannedRun | None) -> None:
    table = TableKey.parse("file:/lake/orders")
    plan = decode_application(of_application([TableFootprint(table, 1, Operation.APPEND)], run))
    assert (plan.job.name, plan.attempt, plan.token) == ("nightly", 2, 4294967298)
    assert plan.assumed == NOTHING_ASSUMED
    [touched] = plan.touched
    assert (touched.statement, touched.table) == (None, Target(table.text, None))
    if run is None:
        assert plan.run is None
    else:
        assert plan.run is not None
        assert (plan.run.app_id, plan.run.closes, plan.run.first_token) == (
            "sluice/slot/0",
            False,
            4294967297,
        )
        assert plan.run.tables == (Target(table.text, None),)


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
