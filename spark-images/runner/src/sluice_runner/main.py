"""Runs a plan from the first argument to the last byte of the result, whatever happens in between."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from sluice_runner import session
from sluice_runner.failures import Failure, Terminated, classify, terminated
from sluice_runner.plan import decode
from sluice_runner.result import Result, encode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sluice_runner.work import Progress

TERMINATION_LOG = "SLUICE_TERMINATION_LOG"
_DEFAULT_LOG = "/dev/termination-log"


def main(arguments: Sequence[str]) -> int:
    signal.signal(signal.SIGTERM, _on_sigterm)
    driver = _Driver()
    try:
        result = driver.run(arguments)
    except Terminated as error:
        result = driver.failed(terminated(str(error)))
    except Exception as error:  # noqa: BLE001 - the last resort: whatever went wrong is reported with its traceback
        traceback.print_exc()
        result = driver.failed(classify(error))
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _report(result)
    driver.stop()
    return 0 if result.succeeded else 1


class _Driver:
    """What is known of the run so far, so that it can be reported wherever the run ends."""

    def __init__(self) -> None:
        self._attempt = 0
        self._progress: Progress | None = None
        self._spark: SparkSession | None = None

    def run(self, arguments: Sequence[str]) -> Result:
        plan = decode(arguments)
        self._attempt = plan.attempt
        # Only once the plan is understood: these need PySpark, and its absence must be reported for this attempt.
        from sluice_runner import work  # noqa: PLC0415

        self._progress = work.Progress(plan)
        self._say(f"attempt {plan.attempt} of job {plan.job.namespace}/{plan.job.name}, run {plan.run_key}")
        self._spark = session.start()
        return work.run(self._spark, self._progress)

    def failed(self, failure: Failure) -> Result:
        if self._progress is None:
            return Result(self._attempt, failure=failure)
        return self._progress.failed(failure)

    def stop(self) -> None:
        """Stops Spark after the result is written: this may take long or fail without changing the job's outcome."""
        if self._spark is None:
            return
        try:
            self._spark.stop()
        except Exception:  # noqa: BLE001 - only reported: the work is done and its result is written
            traceback.print_exc()

    @staticmethod
    def _say(text: str) -> None:
        sys.stdout.write(f"sluice: {text}\n")
        sys.stdout.flush()


def _on_sigterm(_signal: int, _frame: FrameType | None) -> None:
    raise Terminated(
        "the driver was ended by SIGTERM. The running statement may have committed or may still commit: look into the "
        "table's log"
    )


def _report(result: Result) -> None:
    """Writes the result to the termination log or, if that can't be written, to the log, so that people can find it."""
    encoded = encode(result)
    log = Path(os.environ.get(TERMINATION_LOG, _DEFAULT_LOG))
    try:
        log.write_bytes(encoded)
    except OSError as error:
        sys.stderr.write(
            f"sluice: could not write the result to {log} ({error}): check that {TERMINATION_LOG} is set correctly. The "
            f"result is:\n{encoded.decode()}\n"
        )
        sys.stderr.flush()
