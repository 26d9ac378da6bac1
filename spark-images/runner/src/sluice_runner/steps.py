"""Steps of a program of the job's own, each done once whatever becomes of its drivers: one write, called by a name.

Steps are numbered in the order in which they come, as a job's statements are, and what an earlier attempt has done is told by
the same stamps. A step is one write, because of two an earlier attempt may have made only the first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from sluice_runner import txn
from sluice_runner.assumptions import refuse_another_connector
from sluice_runner.earlier_attempts import Done, HistoryLost
from sluice_runner.failures import classify
from sluice_runner.plan import Plan
from sluice_runner.result import ALREADY_COMMITTED, COMMITTED, FAILED, NO_COMMIT, StatementResult
from sluice_runner.run_fence import Unfenced
from sluice_runner.stamp import is_of_attempt, read_stamp, stamped, step_stamp
from sluice_runner.winners import Winner

if TYPE_CHECKING:
    from sluice_runner.commits import Commit
    from sluice_runner.declared_tables import Declared, Found
    from sluice_runner.job_statements import Progress

PROGRAM = 1
"""The statement as which everything outside of steps counts."""
LAST = txn.MAX_STATEMENT - 1
"""The highest number of a step: the one after it says that the run is closed."""
_SECOND_WRITE = "DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS"
_LONGEST_NAME = 64


class StepError(Exception):
    """The program's steps can't be told apart, or not be done once."""


class Steps(Protocol):
    """The steps of a program."""

    def once(self, name: str, write: Callable[[], object]) -> bool:
        """Calls `write`, which makes one write to a table that the job declares, unless an earlier attempt has made it. Says
        whether it was called."""


class Named:
    """Names that are given once each, one step after another."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._running: str | None = None
        self._failed: str | None = None

    def begin(self, name: object, write: object) -> int:
        """The step's place, from 0."""
        if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME:
            raise StepError(f"a step's name is a text of 1 to {_LONGEST_NAME} characters, not {name!r:.80}")
        if not callable(write):
            raise StepError(
                f"step {name} was given {write!r:.80}, and needs a function that writes, such as lambda: rows.write....save(path). "
                "If the write stands there without lambda, it has been made already, outside of the step"
            )
        if self._failed is not None:
            raise StepError(
                f"step {name} was not begun, because step {self._failed} has failed: a step that is done says that those before it "
                "are"
            )
        if self._running is not None:
            raise StepError(f"step {name} begins inside step {self._running}: steps come one after another")
        if name in self._names:
            raise StepError(f"there are two steps {name}: each needs a name of its own")
        self._names.append(name)
        self._running = name
        return len(self._names) - 1

    def end(self, *, has_failed: bool) -> None:
        if has_failed:
            self._failed = self._running
        self._running = None


class Unmanaged:
    """Steps of a program that Sluice didn't start."""

    def __init__(self) -> None:
        self._named = Named()

    def once(self, name: str, write: Callable[[], object]) -> bool:
        self._named.begin(name, write)
        try:
            write()
        except BaseException:
            self._named.end(has_failed=True)
            raise
        self._named.end(has_failed=False)
        return True


class Managed:
    """Steps of an attempt."""

    def __init__(
        self,
        progress: Progress,
        fencing: Unfenced,
        past: Done,
        declared: Declared,
        tell: Callable[[str], None],
    ) -> None:
        self._spark = declared.spark
        self._progress = progress
        self._plan: Plan = progress.plan
        self._fencing = fencing
        self._past = past
        self._declared = declared
        self._tell = tell
        self._named = Named()
        self._recorded = _names_in(past)
        self.failed: tuple[str, BaseException] | None = None
        """The step that failed, after which none can come."""
        self.winner: Winner | None = None
        """The commit that it lost to."""

    def once(self, name: str, write: Callable[[], object]) -> bool:
        number = self._named.begin(name, write) + PROGRAM + 1
        self._progress.running, self._progress.doing = number, name
        try:
            is_done_now = self._once(name, number, write)
        except BaseException as error:
            self.failed = name, error
            self._named.end(has_failed=True)
            raise
        self._named.end(has_failed=False)
        self._progress.running, self._progress.doing = PROGRAM, None
        return is_done_now

    def _once(self, name: str, number: int, write: Callable[[], object]) -> bool:
        self._refuse(name, number)
        if number <= self._past.last:
            own = self._past.of(number)
            operation = own[0].operation if own else "UNKNOWN"
            result = StatementResult(number, ALREADY_COMMITTED, operation, own)
            self._progress.statements.append(self._declared.looked_at(result))
            self._tell(f"step {name} was done by an earlier attempt")
            return False
        self._write(name, number, write)
        return True

    def _refuse(self, name: str, number: int) -> None:
        if number > LAST:
            raise StepError(f"step {name} is one too many: a program has at most {LAST - PROGRAM} steps")
        if self._plan.run is None:
            if self._plan.attempt > 1:
                raise HistoryLost(
                    f"step {name} was not begun, because nothing tells attempt {self._plan.attempt} what earlier ones have done: "
                    "the plan names no run. Look into the tables, and create a job of another name for what is missing"
                )
            return
        refuse_another_connector(self._spark)
        before = self._recorded.get(number, name)
        elsewhere = [place for place, told in self._recorded.items() if told == name and place != number]
        if before != name or elsewhere:
            raise StepError(
                f"step {name} was not begun, because an earlier attempt had other steps here: its number {number - PROGRAM} was "
                f"{before if before != name else 'another one'}. Steps must come in the same order in each attempt"
            )

    def _write(self, name: str, number: int, write: Callable[[], object]) -> None:
        before = self._declared.versions()
        text = step_stamp(self._plan, number, name)
        began = time.monotonic()
        failed: Exception | None = None
        try:
            with stamped(self._spark, text), self._fencing.of_one_write(number):
                write()
        except Exception as error:  # noqa: BLE001 - raised again, once it is known what was committed
            failed = error
        found = self._declared.since(before)
        own = [commit for commit in found.commits if commit.user_metadata == text]
        state = FAILED if failed is not None else COMMITTED if own or not found.is_read else NO_COMMIT
        operation = own[0].operation if own else "UNKNOWN"
        result = StatementResult(number, state, operation, own, is_read=found.is_read)
        self._progress.statements.append(self._declared.looked_at(result))
        # A later attempt's fence explains whatever came of the step: Delta aborts what was under way, and skips, without a word,
        # what comes later.
        self._fencing.look(self._declared.names)
        if self._plan.run is not None:
            refuse_unmarked(name, self._plan, found, own, failed)
        if failed is not None:
            self._raise(name, failed, found, own)
        self._tell(f"step {name} committed {_told(found, own)} ({time.monotonic() - began:.1f} s)")

    def _raise(self, name: str, error: Exception, found: Found, own: Sequence[Commit]) -> NoReturn:
        failure = classify(error)
        if failure.has_winner:
            self.winner = found.winner_of(failure, own)
        if failure.error_class == _SECOND_WRITE and self._plan.run is not None:
            raise StepError(
                f"step {name} writes a second time, of which nothing was committed: give each write a step of its own"
            ) from error
        raise error


def refuse_unmarked(
    name: str, plan: Plan, found: Found, own: Sequence[Commit], failed: Exception | None = None
) -> None:
    """A step that wrote by another session has left no mark of its own: another attempt would write again."""
    if own:
        return
    others = [commit for commit in found.commits if is_of_attempt(plan, commit.user_metadata)]
    if others:
        where = ", ".join(f"version {commit.version} of {commit.table}" for commit in others)
        raise StepError(
            f"step {name} has left no mark, and meanwhile the program committed {where}: if that was the step, another attempt "
            "would do it again. Let it write by the session that attempt was given (not by newSession, nor by a batch's own in "
            "foreachBatch), and let nothing else of the program write to the declared tables while a step runs"
        ) from failed


def _told(found: Found, own: Sequence[Commit]) -> str:
    if not found.is_read:
        return "what can't be looked up"
    versions = ", ".join(f"version {commit.version} of {commit.table}" for commit in own)
    return (
        versions or "nothing in the tables that the job declares, so that another attempt would do it again"
    )


def _names_in(past: Done) -> dict[int, str]:
    found: dict[int, Any] = {
        number: (read_stamp(commit.user_metadata) or {}).get("step") for number, commit in past.commits
    }
    return {number: name for number, name in found.items() if isinstance(name, str)}
