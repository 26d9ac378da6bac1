"""What commits have told that were read one after another, kept small: it stays as long as its table is looked at."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TypeVar

from sluice.api.strings import without_surrogates
from sluice.tables.log_commits import Columns, ReadCommit
from sluice.tables.stamps import job_of
from sluice.tables.table_observation import CLUSTERING, CommitSummary, LastVacuum, LogHistory, Removals

MOST_REMOVALS = 10_000
_MOST_OPERATIONS = 64
_MOST_CHANGES = 1000
_FOR_EVER = timedelta(days=366 * 1000)
"""What is longer is as good as that, and leads to times that there are not."""
_MOST_MILLISECONDS = _FOR_EVER // timedelta(milliseconds=1)
_LONGEST = 80
"""Of what a commit's writer calls itself and its operation."""

_T = TypeVar("_T")


class HistoryKeeper:
    """Takes commits in the order of their versions, without a gap. The first is either the table's first one, or the oldest that
    is known."""

    def __init__(self) -> None:
        self._is_empty = True
        self._since: datetime | None = None
        self._known_removals: datetime | None = None
        self._last_at: datetime | None = None
        self._properties: Mapping[str, str] | None = None
        self._clustering: Columns | None = None
        self._by_operation: dict[str, CommitSummary] = {}
        self._changed_by: dict[str, CommitSummary] = {}
        self._removals: list[datetime] = []
        self._foreign = 0
        self._last_foreign: CommitSummary | None = None
        self._vacuums: list[timedelta | None] = []
        """How long those keep files that began and of whose end nothing is known."""
        self._last_vacuum: LastVacuum | None = None

    def take(self, commits: Iterable[ReadCommit], read_at: datetime) -> None:
        for commit in commits:
            self._take(commit, read_at)

    def told(self, read_at: datetime) -> LogHistory:
        """Where nothing could be read, all that came before is unknown."""
        since = read_at if self._is_empty else self._since
        return LogHistory(
            since=since,
            last_by_operation=dict(self._by_operation),
            foreign_commits=self._foreign,
            last_foreign=self._last_foreign,
            changed_by=dict(self._changed_by),
            removals=Removals(tuple(self._removals), read_at if self._is_empty else self._known_removals),
            last_vacuum=self._last_vacuum,
        )

    def _take(self, read: ReadCommit, read_at: datetime) -> None:
        # A writer that says no time, or one that is still to come, committed before it was read, and after the one before.
        at = min(read.at or self._last_at or read_at, read_at)
        if self._is_empty:
            self._begin(read, at)
        self._last_at = at
        commit = CommitSummary(
            read.version,
            at,
            _text(read.info.get("operation")),
            # delta-rs calls itself a client where Spark calls itself an engine.
            _text(read.info.get("engineInfo") or read.info.get("clientVersion")),
            job_of(read.info),
        )
        if commit.operation is not None:
            _put(self._by_operation, commit.operation, commit, _MOST_OPERATIONS)
        if commit.job is None:
            self._foreign += 1
            self._last_foreign = commit
        self._take_changes(read, commit)
        if read.removed:
            self._take_removal(at)
        self._take_vacuum(read, commit)

    def _begin(self, read: ReadCommit, at: datetime) -> None:
        self._is_empty = False
        if read.version == 0:
            self._properties, self._clustering = {}, ()
        else:
            self._since = self._known_removals = at

    def _take_changes(self, read: ReadCommit, commit: CommitSummary) -> None:
        """Without what was there before, nobody can tell what a commit changed."""
        if read.properties is not None:
            before, self._properties = self._properties, read.properties
            for name in () if before is None else before.keys() | read.properties.keys():
                if before is not None and before.get(name) != read.properties.get(name):
                    _put(self._changed_by, name, commit, _MOST_CHANGES)
        if read.clustering is not None:
            if self._clustering is not None and self._clustering != read.clustering:
                _put(self._changed_by, CLUSTERING, commit, _MOST_CHANGES)
            self._clustering = read.clustering

    def _take_removal(self, at: datetime) -> None:
        self._removals.append(at)
        if len(self._removals) > MOST_REMOVALS:
            del self._removals[: MOST_REMOVALS // 10]
            self._known_removals = self._removals[0]

    def _take_vacuum(self, read: ReadCommit, commit: CommitSummary) -> None:
        """The end of one doesn't say how long it kept files: its begin does. Of several under way, the longest counts."""
        parameters = read.info.get("operationParameters")
        said = parameters if isinstance(parameters, Mapping) else {}
        if commit.operation == "VACUUM START":
            self._vacuums.append(_retention(said))
        elif commit.operation == "VACUUM END":
            begun, self._vacuums = self._vacuums, []
            known = [one for one in begun if one is not None]
            if said.get("status") == "COMPLETED" and known and len(known) == len(begun):
                self._last_vacuum = LastVacuum(read.at or commit.at, max(known))


def _retention(said: Mapping[str, object]) -> timedelta | None:
    """How long a VACUUM keeps files at most: newer versions of Delta pass over what was specified."""
    found = [_milliseconds(said.get(name)) for name in ("specifiedRetentionMillis", "defaultRetentionMillis")]
    return max((one for one in found if one is not None), default=None)


def _milliseconds(said: object) -> timedelta | None:
    """Some writers write numbers as texts."""
    if isinstance(said, bool) or not isinstance(said, int | str):
        return None
    try:
        told = int(said)
    except ValueError:
        return None
    return None if told < 0 else timedelta(milliseconds=min(told, _MOST_MILLISECONDS))


def _text(said: object) -> str | None:
    return without_surrogates(said[:_LONGEST]) if isinstance(said, str) and said else None


def _put(found: dict[str, _T], name: str, value: _T, most: int) -> None:
    """Puts it last, and lets the first go where there are too many."""
    found.pop(name, None)
    found[name] = value
    if len(found) > most:
        del found[next(iter(found))]
