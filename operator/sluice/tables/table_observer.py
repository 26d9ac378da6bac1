"""Looks at tables' logs for what policies are compared with. What a look found stays, so that the next one reads only newer
commits, and next to nothing where there are none.

May be called from many threads. A look may take as long as the store does: callers must bound it.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from sluice.predicates import PredicateError
from sluice.processes.bounded_dict import BoundedDict
from sluice.tables.address import LogUnreadableError, address_of
from sluice.tables.commit_files import FilesUnknownError
from sluice.tables.current_files import files_of
from sluice.tables.delta_rs_internals import DeltaRsInternals, hidden_in, logical
from sluice.tables.facts import absent, unread
from sluice.tables.identity import TableKey
from sluice.tables.log_commits import ReadCommit, read_commit
from sluice.tables.log_files import LogFiles
from sluice.tables.log_history import HistoryKeeper
from sluice.tables.snapshot import facts_of
from sluice.tables.table_access import READ_ERRORS, has_log, holds_other_things, open_table, why_unread
from sluice.tables.table_observation import TableObservation, TableState

MOST_TABLES = 2000
MOST_FILES = 200_000
"""Of all tables together: each is an object in memory. Of tables that come later only their number and size are told."""
MOST_COMMITS = 200
"""Commits that are read of a table that was not looked at before, the latest ones."""
MOST_BYTES = 128 * 1024 * 1024
"""Of the files of these commits."""

FORGOTTEN_AFTER = timedelta(days=2)
"""A table that nobody has looked at for so long has no policy any more."""
REREAD = timedelta(hours=1)
"""So long one read is believed while no commit comes: the table may have been replaced just while it was read."""

_TROUBLE = (LogUnreadableError, *READ_ERRORS, PredicateError)


@dataclass(frozen=True)
class _Seen:
    look: TableObservation
    read_at: datetime
    mark: str | None
    """What tells its latest commit from another one in its place. None: not known."""
    files: LogFiles
    hidden: DeltaRsInternals
    history: HistoryKeeper

    @property
    def version(self) -> int:
        return self.look.state.version or 0

    def is_latest(self) -> bool:
        try:
            return (
                self.mark is not None
                and not self.files.has_commit(self.version + 1)
                and self.files.mark(self.version) == self.mark
            )
        except READ_ERRORS:
            return False  # the error of opening the table is the one that counts


class TableObserver:
    def __init__(
        self,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        most_tables: int = MOST_TABLES,
        most_commits: int = MOST_COMMITS,
        most_files: int = MOST_FILES,
    ) -> None:
        self._now = now
        self._most_commits = most_commits
        self._most_files = most_files
        self._seen: BoundedDict[TableKey, _Seen] = BoundedDict(most_tables)
        self._lock = threading.Lock()

    def look(self, key: TableKey) -> TableObservation:
        """There is always an answer, even that there is no table or why its log can't be read."""
        begun = self._now()
        with self._lock:
            before = self._seen.pop(key, None)  # no other thread has it meanwhile
        try:
            seen = self._look(key, before, begun)
        except TableNotFoundError:
            return _absent(key, begun)
        except _TROUBLE as trouble:
            if before is not None:
                self._keep(key, before)
            why = why_unread(key, trouble)
            return TableObservation(begun, TableState(unread=why), unread(why))
        if seen is None:
            return _absent(key, begun)
        self._keep(key, seen)
        return seen.look

    def forget(self, key: TableKey) -> None:
        with self._lock:
            self._seen.pop(key, None)

    def _keep(self, key: TableKey, seen: _Seen) -> None:
        with self._lock:
            self._seen.put(key, seen)
            while self._oldest() < seen.look.at - FORGOTTEN_AFTER:
                self._seen.popitem(last=False)

    def _oldest(self) -> datetime:
        """When the table was looked at that nobody has looked at for the longest time."""
        return next(iter(self._seen.values())).look.at

    def _look(self, key: TableKey, before: _Seen | None, begun: datetime) -> _Seen | None:
        address = address_of(key)
        if not has_log(key, address):
            return None
        if before is not None and begun - before.read_at < REREAD and before.is_latest():
            return replace(before, look=replace(before.look, at=begun))
        return self._read(open_table(key, address), before, begun)

    def _read(self, table: DeltaTable, before: _Seen | None, begun: datetime) -> _Seen:
        facts, protocol, version, files = facts_of(table), table.protocol(), table.version(), LogFiles(table)
        mark = files.mark(version)
        if before is not None and not _is_later(files, version, before):
            before = None
        commits = self._commits(files, version, -1 if before is None else before.version)
        if before is not None and len(commits) < version - before.version:
            before = None
        state = TableState(
            version=version,
            table_id=facts.table_id,
            reader_version=protocol.min_reader_version,
            writer_version=protocol.min_writer_version,
            reader_features=frozenset(protocol.reader_features or ()),
            writer_features=frozenset(protocol.writer_features or ()),
            properties=facts.properties,
            partition_by=tuple(column.name for column in facts.columns.partition_columns),
            columns=tuple(column.name for column in facts.columns.columns),
        )
        hidden = hidden_in(state, files, commits, None if before is None else before.hidden)
        cluster_by = logical(hidden.clustering, table)
        found = files_of(table, hidden.deleted_rows, self._room())
        # Nothing may fail from here on: a commit that is taken twice would be counted twice.
        history = HistoryKeeper() if before is None else before.history
        history.take(commits, begun)
        look = TableObservation(
            begun,
            replace(state, cluster_by=cluster_by),
            replace(facts, clustering_columns=cluster_by),
            found.files,
            found.size,
            found.count,
            history.told(begun),
        )
        return _Seen(look, begun, mark, files, hidden, history)

    def _room(self) -> int:
        """For how many files there is room beside the other tables'."""
        with self._lock:
            return self._most_files - sum(len(seen.look.files or ()) for seen in self._seen.values())

    def _commits(self, files: LogFiles, version: int, after: int) -> list[ReadCommit]:
        """In the order of their versions, without a gap, as far back as the log and the bounds go."""
        found: list[ReadCommit] = []
        left = MOST_BYTES
        for number in range(version, max(after, version - self._most_commits), -1):
            try:
                found.append(read_commit(files, number))
            except FilesUnknownError:
                break
            left -= found[-1].size
            if left < 0:
                break
        return found[::-1]


def _absent(key: TableKey, begun: datetime) -> TableObservation:
    try:
        holds = holds_other_things(key, address_of(key))
    except OSError:
        holds = None  # such as a folder that may not be listed: that there is no log is known all the same
    return TableObservation(begun, TableState(exists=False, holds=holds), absent())


def _is_later(files: LogFiles, version: int, before: _Seen) -> bool:
    """Whether this is a later version of the very same table, or the same one."""
    is_there = before.mark is not None and before.version <= version
    return is_there and files.mark(before.version) == before.mark
