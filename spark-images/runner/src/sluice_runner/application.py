"""One attempt of a job inside a program of its own: what `with attempt(spark):` does where Sluice started the driver.

The program stays its own master. What can't be known is told, in the driver's log and in the report, and ends nothing; only
where going on would break a promise the program is ended by an exception.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from sluice_runner import report
from sluice_runner.assumptions import another_connector, other_versions
from sluice_runner.cluster import Cluster
from sluice_runner.declared_tables import Declared
from sluice_runner.driver_end import leave, now, on_sigterm
from sluice_runner.driver_report import seen
from sluice_runner.earlier_attempts import Done
from sluice_runner.failures import Failure, Terminated, classify, classify_of_program, terminated
from sluice_runner.job_statements import Progress
from sluice_runner.plan import VARIABLE, Plan, decode_application
from sluice_runner.progress import Teller
from sluice_runner.report import Seen
from sluice_runner.result import (
    ALREADY_COMMITTED,
    COMMITTED,
    FAILED,
    NO_COMMIT,
    Result,
    StatementResult,
)
from sluice_runner.run_fence import fencing_of
from sluice_runner.secrets_in_text import Mask, secret_by_name, secrets
from sluice_runner.stamp import is_of_attempt, stamp, stamped
from sluice_runner.steps import LAST, PROGRAM, Managed, StepError, Steps, Unmanaged
from sluice_runner.winners import Winner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OPERATION = "APPLICATION"
_OLDEST_SPARK = (3, 5)


class SecondAttemptError(Exception):
    """A driver is one attempt, which has one result."""


_has_begun = False


def attempt_of(spark: SparkSession) -> AbstractContextManager[Steps]:
    encoded = os.environ.get(VARIABLE)
    if not encoded:
        return nullcontext(Unmanaged())
    return _the_only_one(spark, encoded)


@contextmanager
def _the_only_one(spark: SparkSession, encoded: str) -> Iterator[Steps]:
    global _has_begun  # noqa: PLW0603 - it is about this process
    if _has_begun:
        raise SecondAttemptError(
            "this driver's attempt has begun before, and has one result: put all that the program writes into one "
            "`with attempt(spark):`"
        )
    _has_begun = True
    number = 0
    try:
        plan = decode_application(encoded)
        number = plan.attempt
        begun = Attempt(spark, plan)
    except Exception as error:
        leave(Result(number, failure=classify(error)), is_last=True)
        raise
    with begun as steps:
        yield steps


class Attempt:
    def __init__(self, spark: SparkSession, plan: Plan) -> None:
        self._spark = spark
        self._plan = plan
        self._started = now()
        configured = dict(spark.sparkContext.getConf().getAll())
        self._mask = Mask([*secrets(plan, os.environ), *secret_by_name(configured)])
        self._progress = Progress(plan)
        self._unknown: list[str] = []
        self._ends = ExitStack()
        self._sigterm = _Sigterm()
        self._steps: Managed | None = None

    def __enter__(self) -> Steps:
        plan = self._plan
        self._tell(f"attempt {plan.attempt} of job {plan.job.namespace}/{plan.job.name}, run {plan.run_key}")
        self._sigterm.ends_the_program()
        try:
            with ExitStack() as ends:
                past = self._begin(ends)
                if past.last > LAST:
                    self._end_at_once(past)
                steps = Managed(self._progress, self._fencing, past, self._declared, self._tell)
                self._ends = ends.pop_all()
        except BaseException as error:
            if not isinstance(error, SystemExit):
                self._report(self._failed(error))
            raise
        self._steps = steps
        return steps

    def _begin(self, ends: ExitStack) -> Done:
        spark, plan = self._spark, self._plan
        self._say_what_is_missing()
        self._declared = Declared(spark, plan, self._mask, self._miss)
        self._fencing = fencing_of(spark, plan)
        past = self._fencing.begin(LAST + 1)
        self._before = self._declared.versions()
        self._progress.running = PROGRAM
        teller = Teller(self._progress, self._mask)
        teller.start()
        ends.callback(teller.end)
        ends.enter_context(stamped(spark, stamp(plan, PROGRAM)))
        return past

    def _end_at_once(self, past: Done) -> None:
        """The run was ended for good by an earlier attempt, or an earlier job with its key: the program must not run."""
        numbers = sorted({number for number, _ in past.commits})
        self._progress.statements.extend(
            self._declared.looked_at(
                StatementResult(number, ALREADY_COMMITTED, past.of(number)[0].operation, past.of(number))
            )
            for number in numbers
        )
        self._tell(f"run {self._plan.run_key} is done already: the program ends here")
        self._report(self._progress.succeeded(nothing_was_left=True))
        raise SystemExit(0)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._ends.__exit__(kind, error, trace)
        except Exception as left:  # noqa: BLE001 - told: the program's own error, or its result, counts for more
            self._miss(f"the session's own settings could not be put back: {classify(left).message}")
        if error is not None and not _is_exit_without_error(error):
            self._report(self._failed(error))
            return
        try:
            result = self._succeeded()
        except BaseException as failure:
            self._report(self._failed(failure))
            raise
        self._report(result)

    def _succeeded(self) -> Result:
        if self._steps is not None and self._steps.failed is not None:
            name, error = self._steps.failed
            raise StepError(f"step {name} has failed, and the program has gone on without it") from error
        self._fencing.look(self._declared.names)
        self._add_program(has_failed=False)
        self._fencing.close()
        states = {one.state for one in self._progress.statements}
        return self._progress.succeeded(nothing_was_left=states == {ALREADY_COMMITTED})

    def _failed(self, error: BaseException) -> Result:
        if isinstance(error, Terminated):
            return self._progress.failed(terminated(str(error)))
        failure = classify_of_program(error)
        winner: Winner | None = None
        if self._progress.running is not None:
            is_programs = self._progress.running == PROGRAM
            winner = self._add_program(has_failed=is_programs, failure=failure)
            if not is_programs and self._steps is not None:
                winner = self._steps.winner
        return self._progress.failed(failure.without(self._mask), winner)

    def _add_program(self, *, has_failed: bool, failure: Failure | None = None) -> Winner | None:
        """What was committed outside of steps. Returns the commit that won, if one did."""
        found = self._declared.since(self._before)
        of_steps = {(c.table, c.version) for one in self._progress.statements for c in one.commits}
        own = [
            commit
            for commit in found.commits
            if is_of_attempt(self._plan, commit.user_metadata)
            and (commit.table, commit.version) not in of_steps
        ]
        if own or has_failed or not found.is_read or not self._progress.statements:
            state = FAILED if has_failed else COMMITTED if own or not found.is_read else NO_COMMIT
            result = StatementResult(PROGRAM, state, _OPERATION, own, is_read=found.is_read)
            others = [one for one in self._progress.statements if one.number != PROGRAM]
            self._progress.statements[:] = [self._declared.looked_at(result), *others]
            versions = ", ".join(f"version {commit.version} of {commit.table}" for commit in own)
            if found.is_read:
                self._tell(
                    f"the program committed {versions or 'nothing in the tables that the job declares'}"
                )
        return found.winner_of(failure, own) if failure is not None and failure.has_winner else None

    def _report(self, result: Result) -> None:
        """The result comes first: nothing that a report needs may cost it."""
        self._sigterm.waits()
        leave(replace(result, report=report.UNFINISHED))
        run = report.ReportedRun(self._plan, result, self._seen(result), self._started, now())
        written = report.write(run, self._mask, Cluster.of_pod)
        if written.missing is not None:
            sys.stderr.write(f"sluice: {self._mask(written.missing)}\n")
        leave(replace(result, report=written), is_last=True)
        self._sigterm.is_as_before()

    def _seen(self, result: Result) -> Seen:
        is_ended = result.failure is not None and result.failure.name == Terminated.__name__
        found = Seen() if is_ended else seen(self._spark, result.statements)
        return replace(found, unread=[*self._unknown, *found.unread])

    def _say_what_is_missing(self) -> None:
        if _numbers(self._spark.version)[:2] < _OLDEST_SPARK:
            self._miss(
                f"Spark {self._spark.version} is older than any that Sluice is tested with (3.5): stamps and steps may not be kept"
            )
        for told in self._other_versions():
            self._miss(f"whether the job was judged rightly: {told}")
        other = another_connector(self._spark)
        if other is not None:
            self._miss(
                f"which commits are the attempt's own: {other}, under which Delta commits without stamps: remove it"
            )

    def _other_versions(self) -> list[str]:
        try:
            return list(other_versions(self._spark, self._plan.assumed))
        except Exception as error:  # noqa: BLE001 - told: a program may bring no Delta at all
            return [f"the versions of this driver are not known: {classify(error).message}"]

    def _miss(self, what: str) -> None:
        if what not in self._unknown:
            self._unknown.append(what)
            self._tell(f"not known: {what}")

    def _tell(self, text: str) -> None:
        sys.stdout.write(f"sluice: {self._mask(text)}\n")
        sys.stdout.flush()


class _Sigterm:
    """What SIGTERM does, unless the program has a way of its own to end."""

    def __init__(self) -> None:
        is_main = threading.current_thread() is threading.main_thread()
        self._is_ours = is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    def ends_the_program(self) -> None:
        """By an exception, so that it is reported."""
        self._set(on_sigterm)

    def waits(self) -> None:
        self._set(signal.SIG_IGN)

    def is_as_before(self) -> None:
        self._set(signal.SIG_DFL)

    def _set(self, handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
        if self._is_ours:
            signal.signal(signal.SIGTERM, handler)


def _is_exit_without_error(error: BaseException) -> bool:
    return isinstance(error, SystemExit) and error.code in (None, 0)


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    return tuple(int(part) for part in parts[:2] if part.isdecimal())
