"""Has tables' logs read by child processes with limits, so that no log takes the operator's memory, time or threads.

Facts for jobs have one process, and looks for policies another one: while delta-rs asks a store about a single file for a look, it
holds the interpreter's lock, and nothing else in that process goes on until the store has answered. What runs have committed is
asked in a third process, one question at a time.
"""

import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from sluice.controller.process.memory_shares import MemoryShares
from sluice.installations.quarantined_tables import QuarantinedTable
from sluice.processes.bounded_dict import BoundedDict
from sluice.processes.child import Death, DeathCause, DeathError, NoAnswerError
from sluice.processes.limits import Limits, memory_of_container
from sluice.processes.pool import Pool, QuarantineError
from sluice.tables import TableFacts, TableKey, unread
from sluice.tables.address import LogUnreadableError, cannot_be_read
from sluice.tables.log import FoundCommit, RunQuestion, StampedCommit
from sluice.tables.table_answers import (
    MOST_TABLES,
    RunAnswer,
    TableAnswer,
    TableQuestion,
    TableQuestionKind,
)
from sluice.tables.table_observation import TableObservation, TableState

PATIENCE_WITH_RUNS = 15.0
"""Seconds for a log to tell what a run has committed: the attempt has ended, and waits for that alone."""
READ_AGAIN_SECONDS = 600.0
"""The pause before a table is read again whose log has cost two processes their lives."""

_FACTORY = "sluice.tables.table_answers:answers"
_ENVIRONMENT = {
    "MALLOC_ARENA_MAX": "2",
    "RUST_BACKTRACE": "0",
    "RUST_MIN_STACK": str(512 * 1024),
    "TOKIO_WORKER_THREADS": "2",
    "_RJEM_MALLOC_CONF": "narenas:1,background_thread:false,retain:false",
}
"""Allocators that give back what they do not use, because the limit counts it. No backtraces: where memory is short, Rust waits for
ever for the memory to write one."""
_LANES: Final = {TableQuestionKind.FACTS: 0, TableQuestionKind.LOOK: 1}
_TOO_LARGE = "run OPTIMIZE and write a checkpoint, so that the log names fewer files, or raise the operator's memory limit"


def limits_in(container_mib: int | None) -> Limits:
    """The limits of each process in a container of so much memory; None: it has no limit."""
    memory = MemoryShares.of(container_mib).table_process
    return Limits(memory, cpu_seconds=30, patience=45.0, answer_mib=8, threads=64, stack_mib=1)


_KINDS, _CAUSES = frozenset(map(str, TableQuestionKind)), frozenset(map(str, DeathCause))
"""As another version may not have written them."""


class _Read(NamedTuple):
    """A question about a table, without the mark of its last answer."""

    kind: TableQuestionKind
    table: TableKey

    @classmethod
    def of(cls, table: QuarantinedTable) -> "_Read":
        return cls(TableQuestionKind(table.reader), TableKey.parse(table.table))


@dataclass(frozen=True)
class _Known:
    mark: str
    found: TableFacts | TableObservation


class TableProcesses:
    """May be called from many threads. A read waits for its table's store, but no longer than a question's patience."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._pool = Pool(
            "tables",
            _FACTORY,
            limits or limits_in(memory_of_container()),
            processes=len(_LANES),
            environment=_ENVIRONMENT,
            quarantine_seconds=READ_AGAIN_SECONDS,
        )
        self._known: dict[TableQuestionKind, BoundedDict[TableKey, _Known]] = {
            kind: BoundedDict(MOST_TABLES) for kind in TableQuestionKind
        }
        self._lock = threading.Lock()

    @property
    def deaths(self) -> Counter[DeathCause]:
        """Processes that died since the beginning."""
        return self._pool.deaths

    @property
    def memory_mib(self) -> int:
        """What all processes may take together."""
        return self._pool.memory_mib

    def facts(self, key: TableKey) -> TableFacts:
        """The very same object as long as nothing in it changes, so that holders needn't compare each fact."""
        try:
            found = self._read(TableQuestionKind.FACTS, key)
        except NoAnswerError as error:
            return unread(_why(key, error))
        assert isinstance(found, TableFacts)  # noqa: S101 - the other end is ours
        return found

    def look(self, key: TableKey) -> TableObservation:
        begun = datetime.now(UTC)
        try:
            found = self._read(TableQuestionKind.LOOK, key)
        except NoAnswerError as error:
            why = _why(key, error)
            return TableObservation(begun, TableState(unread=why), unread(why))
        assert isinstance(found, TableObservation)  # noqa: S101 - the other end is ours
        return found

    def commits(self, question: RunQuestion) -> Sequence[StampedCommit] | Sequence[FoundCommit]:
        """Raises LogUnreadableError."""
        try:
            answer = self._pool.ask_alone(question, question, patience=PATIENCE_WITH_RUNS)
        except NoAnswerError as error:
            raise LogUnreadableError(_why(question.key, error)) from error
        assert isinstance(answer, RunAnswer)  # noqa: S101 - the other end is ours
        if answer.unread is not None:
            raise LogUnreadableError(answer.unread)
        return answer.commits

    def quarantined(self) -> list[QuarantinedTable]:
        """Without tables whose stores did not answer: those have ended their readers for another reason than their logs."""
        now, wall = time.monotonic(), datetime.now(UTC)
        return [
            QuarantinedTable(
                key.table.text,
                key.kind,
                one.last.cause,
                one.last.why,
                (wall - timedelta(seconds=now - one.at)).replace(microsecond=0),
            )
            for key, one in self._pool.quarantined().items()
            if isinstance(key, _Read) and one.last.cause is not DeathCause.OVERDUE
        ]

    def quarantine(self, table: QuarantinedTable) -> None:
        """Does not read a table for the rest of its time of which another process has found this out."""
        if table.reader in _KINDS and table.cause in _CAUSES:
            age = (datetime.now(UTC) - table.since).total_seconds()
            self._pool.quarantine(_Read.of(table), Death(DeathCause(table.cause), table.why), max(0.0, age))

    def read_again(self, table: QuarantinedTable) -> bool:
        """Has it read when it is needed next. Returns whether it is in quarantine."""
        return table.reader in _KINDS and self._pool.forgive(_Read.of(table))

    def close(self) -> None:
        self._pool.close()

    def _read(self, kind: TableQuestionKind, key: TableKey) -> TableFacts | TableObservation:
        with self._lock:
            known = self._known[kind].get(key)
        question = TableQuestion(kind, key, None if known is None else known.mark)
        answer = self._pool.ask(_Read(kind, key), question, lane=_LANES[kind])
        assert isinstance(answer, TableAnswer)  # noqa: S101 - the other end is ours
        found = _found(answer, known)
        with self._lock:
            self._known[kind].put(key, _Known(answer.mark, found))
        return found


def _found(answer: TableAnswer, known: _Known | None) -> TableFacts | TableObservation:
    if answer.found is None:
        assert known is not None  # noqa: S101 - the other end has its mark
        return known.found if isinstance(known.found, TableFacts) else replace(known.found, at=answer.at)
    # Another process, or one that opened the table anew, may say the same.
    is_same = known is not None and isinstance(answer.found, TableFacts) and answer.found == known.found
    return known.found if known is not None and is_same else answer.found


def _why(key: TableKey, error: NoAnswerError) -> str:
    death = error.death if isinstance(error, DeathError | QuarantineError) else None
    is_too_large = death is not None and death.cause in (DeathCause.MEMORY, DeathCause.CPU)
    return cannot_be_read(key, f"its reader {error}{f': {_TOO_LARGE}' if is_too_large else ''}")
