"""Runs a plan from the first argument to the last byte of the result, whatever happens in between."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from sluice_runner import masked_output, report, session
from sluice_runner.cluster import Cluster
from sluice_runner.driver_end import leave, now, on_sigterm, take_over_from_jvm
from sluice_runner.failures import Failure, Terminated, classify, of_shut_down, terminated
from sluice_runner.plan import Plan, Stream, decode
from sluice_runner.progress import Teller
from sluice_runner.report import Seen
from sluice_runner.result import Report, Result
from sluice_runner.secrets_in_text import Mask, mask_of, secret_by_name, secrets
from sluice_runner.stop_requests import PodWatch, Stop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sluice_runner.job_statements import Progress


def main(arguments: Sequence[str]) -> int:
    signal.signal(signal.SIGTERM, on_sigterm)
    driver = _Driver()
    try:
        result = driver.run(arguments)
    except Terminated as error:
        result = driver.failed(terminated(str(error)))
    except Exception as error:  # noqa: BLE001 - the last resort: whatever went wrong is reported with its traceback
        traceback.print_exc()
        result = driver.failed(classify(error))
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if result.failure is not None:
        result = replace(result, failure=driver.meant_by(result.failure).without(driver.mask))
    if driver.plan is not None:  # the result comes first: nothing that a report needs may cost it
        leave(replace(result, report=report.UNFINISHED))
        result = replace(result, report=driver.report(driver.plan, result))
    leave(result, is_last=True)
    driver.stop()
    masked_output.end_streams()
    return 0 if result.succeeded else 1


class _Driver:
    """What is known of the run so far, so that it can be reported wherever the run ends."""

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self._started = now()
        self.mask = Mask([])
        self._progress: Progress | None = None
        self._spark: SparkSession | None = None
        self._cluster = cache(Cluster.of_pod)
        """One for all that is asked and told while the run goes on: it keeps its connection."""

    def run(self, arguments: Sequence[str]) -> Result:
        plan = decode(arguments)
        self.plan = plan
        # Only once the plan is understood: these need PySpark, and its absence must be reported for this attempt.
        from sluice_runner import job_statements  # noqa: PLC0415

        self._hide(mask_of(plan))
        self._progress = job_statements.Progress(plan)
        self._say(f"attempt {plan.attempt} of job {plan.job.namespace}/{plan.job.name}, run {plan.run_key}")
        self._hide(Mask([*secrets(plan, os.environ), *secret_by_name(masked_output.settings())]))
        masked_output.hide_from_log(self.mask)
        self._spark = session.start(plan.assumed, gated=is_gated(plan))
        masked_output.hide_from_log(self.mask)  # again: a session that starts may configure the log anew
        masked_output.hide_from_plans(self._spark, plan)
        teller = Teller(self._progress, self.mask, self._cluster)
        teller.start()
        try:
            return self._work(plan, self._spark, self._progress)
        finally:
            teller.end()

    def _work(self, plan: Plan, spark: SparkSession, progress: Progress) -> Result:
        from sluice_runner import job_statements, streams  # noqa: PLC0415 - need PySpark

        if not isinstance(plan.work, Stream):
            return job_statements.run(spark, progress)
        take_over_from_jvm(spark)
        stop = Stop()
        watch = PodWatch(stop, plan.job.namespace, self.mask, self._cluster)
        watch.start()
        try:
            return streams.run(spark, progress, plan.work, stop)
        finally:
            watch.end()

    def failed(self, failure: Failure) -> Result:
        if self._progress is None:
            return Result(self.plan.attempt if self.plan is not None else 0, failure=failure)
        return self._progress.failed(failure)

    def meant_by(self, failure: Failure) -> Failure:
        """SIGTERM reaches the JVM, too, which stops Spark while the work goes on. Where this process has heard of it as well, a JVM
        at its end isn't asked: it may not answer, and the result is yet to be written."""
        if self._spark is None or failure.name == Terminated.__name__:
            return failure
        return of_shut_down(failure) if session.is_stopped(self._spark) else failure

    def report(self, plan: Plan, result: Result) -> Report:
        run = report.ReportedRun(plan, result, self._seen(result), self._started, now())
        written = report.write(run, self.mask, Cluster.of_pod)
        if written.missing is not None:
            sys.stderr.write(f"sluice: {written.missing}\n")
        return written

    def _seen(self, result: Result) -> Seen:
        # Spark is being shut down, too, where the driver was ended, and may not answer any more.
        if self._spark is None or (result.failure and result.failure.name == Terminated.__name__):
            return Seen()
        from sluice_runner.driver_report import seen  # noqa: PLC0415 - needs PySpark

        return seen(self._spark, result.statements)

    def stop(self) -> None:
        """Stops Spark after the result is written: this may take long or fail without changing the job's outcome."""
        if self._spark is None:
            return
        try:
            self._spark.stop()
        except Exception:  # noqa: BLE001 - only reported: the work is done and its result is written
            traceback.print_exc()

    def _hide(self, mask: Mask) -> None:
        self.mask = mask
        masked_output.hide_from_streams(mask)

    @staticmethod
    def _say(text: str) -> None:
        sys.stdout.write(f"sluice: {text}\n")
        sys.stdout.flush()


def is_gated(plan: Plan) -> bool:
    """Whether commits are looked at before they are made: they are held to a promise, or may turn out to be empty."""
    return bool(plan.writes) or (isinstance(plan.work, Stream) and plan.work.table is not None)
