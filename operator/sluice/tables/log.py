"""Asks a table's own log about a run that could not report itself: the commits that carry its stamp.

While delta-rs reads a history, no other thread of Python runs: callers that must go on meanwhile have another process ask.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from sluice.tables.address import LogUnreadableError, address_of, must_be_around
from sluice.tables.commit_files import CommitFiles, FilesUnknownError, Partition
from sluice.tables.identity import TableKey
from sluice.tables.latest_commits import Told, latest_commits
from sluice.tables.stamps import stamp_of
from sluice.tables.table_access import READ_ERRORS, open_table, why_unread

__all__ = [
    "FoundCommit",
    "LogUnreadableError",
    "RunQuestion",
    "StampedCommit",
    "commits_of",
    "commits_of_application",
    "commits_of_run",
]

_LOOK_BACK = 1000
_CLOCKS_DIFFER_BY = 5.0
"""Seconds between the clocks of whoever commits and of the operator: of commits without a stamp one too many is looked at rather
than one too few."""
_LONGEST_ENGINE = 80
_LAST_STATEMENT = 2**31 - 1
"""No status takes more, and what a user's own program writes into its stamps may be anything."""
_MOST_PARTITIONS = 20_000
"""Of all commits of a table that are looked at, so that whoever holds them against a footprint comes to an end."""
_TIME_FOR_FILES = 8.0
"""Seconds for the files of a table's commits, well within the patience of whoever asks: what the log lists is told in any case."""
_UNNAMED = "UNKNOWN"
"""The operation of a commit that says nothing of itself."""


@dataclass(frozen=True)
class RunQuestion:
    """Asks what one attempt has committed to a table."""

    key: TableKey
    uid: str
    attempt: int
    begun: datetime
    is_application: bool = False


@dataclass(frozen=True)
class StampedCommit:
    version: int
    operation: str
    statement: int


@dataclass(frozen=True)
class FoundCommit:
    """A commit of an application, or one that nobody's stamp is on and that may be its own."""

    version: int
    operation: str
    is_own: bool
    statement: int | None = None
    engine: str | None = None
    adds: list[Partition] = field(default_factory=list)
    removes: list[Partition] = field(default_factory=list)
    changes_metadata: bool = False
    unlooked: str | None = None
    """Why nothing is known of its files."""


def commits_of(asked: RunQuestion) -> Sequence[StampedCommit] | Sequence[FoundCommit]:
    """Raises LogUnreadableError."""
    of = commits_of_application if asked.is_application else commits_of_run
    return of(asked.key, asked.uid, asked.attempt, asked.begun)


def commits_of_run(table: TableKey, uid: str, attempt: int, begun: datetime) -> list[StampedCommit]:
    """The commits of one attempt among the latest of a table; none if the table does not exist. If the latest do not reach back to
    when it began, because others have committed so often since or the log was cleaned up, nothing is known."""
    opened = _opened(table)
    if opened is None:
        return []
    found = []
    for entry in _history(table, opened, CommitFiles(opened), uid, begun):
        stamp = stamp_of(entry.get("userMetadata"))
        statement = _statement(stamp)
        if _is_of(stamp, uid, attempt) and statement is not None:
            found.append(StampedCommit(entry["version"], _operation(entry), statement))
    return sorted(found, key=lambda commit: commit.version)


def commits_of_application(table: TableKey, uid: str, attempt: int, begun: datetime) -> list[FoundCommit]:
    """The same of an attempt that runs an application, whose stamps may name no statement; and those since it began that bear no
    stamp. All of them with the partitions that they touched."""
    opened = _opened(table)
    if opened is None:
        return []
    return sorted(_of_application(table, opened, uid, attempt, begun), key=lambda commit: commit.version)


def _of_application(
    table: TableKey, opened: DeltaTable, uid: str, attempt: int, begun: datetime
) -> Iterator[FoundCommit]:
    files, partitions, until = CommitFiles(opened), 0, time.monotonic() + _TIME_FOR_FILES
    found = list(_listed(_history(table, opened, files, uid, begun), uid, attempt, begun))
    # Its own first: others may have committed more than there is time to look at.
    for commit in sorted(found, key=lambda one: not one.is_own):
        if partitions > _MOST_PARTITIONS:
            many = f"other commits touched more than {_MOST_PARTITIONS} partitions"
            yield replace(commit, unlooked=many)
        elif time.monotonic() > until:
            yield replace(commit, unlooked=f"{_TIME_FOR_FILES:g} s went by with other commits of the table")
        else:
            looked = _looked(table, commit, files)
            partitions += len(looked.adds) + len(looked.removes)
            yield looked


def _listed(history: list[Told], uid: str, attempt: int, begun: datetime) -> Iterator[FoundCommit]:
    earliest = _earliest(begun)
    for entry in history:
        stamp = stamp_of(entry.get("userMetadata"))
        is_own = _is_of(stamp, uid, attempt) and stamp.get("statement") != 0
        if is_own or not (stamp or entry.get("timestamp", earliest) < earliest):
            yield FoundCommit(entry["version"], _operation(entry), is_own, _statement(stamp), _engine(entry))


def _looked(table: TableKey, commit: FoundCommit, files: CommitFiles) -> FoundCommit:
    try:
        return replace(commit, **asdict(files.touched(commit.version)))
    except FilesUnknownError as error:
        return replace(commit, unlooked=str(error))
    except READ_ERRORS as error:
        return replace(commit, unlooked=why_unread(table, error))


def _opened(table: TableKey) -> DeltaTable | None:
    """The table; None if it does not exist."""
    address = address_of(table)
    try:
        return open_table(table, address)
    except TableNotFoundError:
        must_be_around(table, address)
        return None
    except (LogUnreadableError, *READ_ERRORS) as error:
        raise LogUnreadableError(why_unread(table, error)) from error


def _earliest(begun: datetime) -> float:
    return (begun.timestamp() - _CLOCKS_DIFFER_BY) * 1000


def _history(
    table: TableKey, opened: DeltaTable, files: CommitFiles, uid: str, begun: datetime
) -> list[Told]:
    earliest = _earliest(begun)

    def matters(entry: Told) -> bool:
        return (
            entry.get("timestamp", earliest) >= earliest
            or stamp_of(entry.get("userMetadata")).get("uid") == uid
        )

    try:
        history = latest_commits(opened, files, _LOOK_BACK, matters)
    except FilesUnknownError as error:
        raise LogUnreadableError(
            f"{table}: the versions of its latest commits are not known: of one of them {error}"
        ) from error
    except READ_ERRORS as error:
        raise LogUnreadableError(why_unread(table, error)) from error
    oldest = history[-1]
    if oldest["version"] > 0 and oldest.get("timestamp", math.inf) > begun.timestamp() * 1000:
        raise LogUnreadableError(
            f"{table}: there were more than {_LOOK_BACK} commits since then, and only as many are read"
            if len(history) >= _LOOK_BACK
            else f"{table}: its log was cleaned up, and begins after that at version {oldest['version']}"
        )
    return history


def _operation(entry: Told) -> str:
    return str(entry.get("operation", _UNNAMED))


def _engine(entry: dict[str, Any]) -> str | None:
    """delta-rs calls itself a client where Spark calls itself an engine."""
    told = entry.get("engineInfo") or entry.get("clientVersion")
    return str(told)[:_LONGEST_ENGINE] if told else None


def _is_of(stamp: dict[str, Any], uid: str, attempt: int) -> bool:
    return (stamp.get("uid"), stamp.get("attempt")) == (uid, attempt)


def _statement(stamp: dict[str, Any]) -> int | None:
    """0 is a fence or the end of a run: a commit without rows."""
    number = stamp.get("statement")
    return number if type(number) is int and 0 < number <= _LAST_STATEMENT else None
