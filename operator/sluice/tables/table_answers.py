"""Answers questions about tables from their logs, in a process of its own: `sluice.processes.program` calls `answers`.

An answer about a table that says the same as the last one is sent as its mark alone, because a table may have many files.
"""

import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum
from itertools import count
from typing import cast

from sluice.processes.bounded_dict import BoundedDict
from sluice.tables.address import LogUnreadableError
from sluice.tables.facts import TableFacts
from sluice.tables.identity import TableKey
from sluice.tables.log import FoundCommit, RunQuestion, StampedCommit, commits_of
from sluice.tables.open_tables import OpenTables
from sluice.tables.table_observation import TableObservation
from sluice.tables.table_observer import TableObserver

MOST_TABLES = 2000
"""Tables of each kind of question whose last answer is known, at both ends."""


class TableQuestionKind(StrEnum):
    FACTS = "facts"
    """What decides conflicts, for jobs."""
    LOOK = "look"
    """All that policies are compared with."""


@dataclass(frozen=True)
class TableQuestion:
    kind: TableQuestionKind
    key: TableKey
    known: str | None
    """The mark of the last answer, if the process that asks still has it."""


@dataclass(frozen=True)
class TableAnswer:
    mark: str
    """The same as long as the answer says the same."""
    at: datetime
    """When the read began."""
    found: TableFacts | TableObservation | None
    """None: what the answer with this mark said."""


@dataclass(frozen=True)
class RunAnswer:
    commits: Sequence[StampedCommit] | Sequence[FoundCommit] = ()
    unread: str | None = None
    """Why the log could not be read."""


@dataclass(frozen=True)
class _Last:
    mark: str
    found: TableFacts | TableObservation


class TableAnswers:
    """May be called from many threads."""

    def __init__(
        self, facts: Callable[[TableKey], TableFacts], look: Callable[[TableKey], TableObservation]
    ) -> None:
        self._read: dict[TableQuestionKind, Callable[[TableKey], TableFacts | TableObservation]] = {
            TableQuestionKind.FACTS: facts,
            TableQuestionKind.LOOK: look,
        }
        self._last: dict[TableQuestionKind, BoundedDict[TableKey, _Last]] = {
            kind: BoundedDict(MOST_TABLES) for kind in TableQuestionKind
        }
        self._process = uuid.uuid4().hex
        self._number = count()
        self._lock = threading.Lock()

    def __call__(self, question: TableQuestion) -> TableAnswer:
        begun = datetime.now(UTC)
        found = self._read[question.kind](question.key)
        lasts = self._last[question.kind]
        with self._lock:
            last = lasts.get(question.key)
            is_same = last is not None and _says_the_same(found, last.found)
            mark = last.mark if last is not None and is_same else f"{self._process}-{next(self._number)}"
            lasts.put(question.key, _Last(mark, found))
        at = found.at if isinstance(found, TableObservation) else begun
        return TableAnswer(mark, at, None if is_same and question.known == mark else found)


def _says_the_same(one: TableFacts | TableObservation, other: TableFacts | TableObservation) -> bool:
    if not (isinstance(one, TableObservation) and isinstance(other, TableObservation)):
        return one == other
    # Without looking into them: there may be many files, and what did not change is the very same object.
    names = (field.name for field in fields(TableObservation) if field.name != "at")
    return all(getattr(one, name) is getattr(other, name) for name in names)


def _of_run(question: RunQuestion) -> RunAnswer:
    try:
        return RunAnswer(commits_of(question))
    except LogUnreadableError as error:
        return RunAnswer(unread=str(error))


def answers() -> Callable[[object], object]:
    of_table = TableAnswers(OpenTables().facts, TableObserver().look)

    def answer(question: object) -> object:
        return (
            _of_run(question)
            if isinstance(question, RunQuestion)
            else of_table(cast("TableQuestion", question))
        )

    return answer
