"""Runs one attempt of a DeltaWriteJob inside a Spark driver and reports the outcome: the runner's own work, or a program of the
job's own that says `with attempt(spark):`.

It never imports the operator: last month's image must run under today's operator, and the two exchange only the plan
(arguments, or the environment) and the result (termination log).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sluice_runner.steps import Steps

__all__ = ["attempt"]
__version__ = "0.1.0"


def attempt(spark: SparkSession) -> AbstractContextManager[Steps]:
    """What runs inside is an attempt of the job that Sluice started this driver for: its commits are stamped, and at the end its
    result is reported. Where Sluice didn't start it nothing is done, and the program runs as it would without."""
    from sluice_runner import application  # noqa: PLC0415 - needs PySpark, which not all do that ask for the version

    return application.attempt_of(spark)
