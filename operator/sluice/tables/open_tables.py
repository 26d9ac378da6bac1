"""Reads tables' logs and keeps tables open, so that the next time only newer commits are read.

An open table holds the names of all its files: the number of tables and of files kept is bounded, and the least
recently used goes first. May be called from many threads. A read may take as long as the store does: callers must
bound it.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from sluice.predicates import PredicateError
from sluice.tables.address import LogUnreadableError, address_of
from sluice.tables.facts import TableFacts, absent, unread
from sluice.tables.identity import TableKey
from sluice.tables.snapshot import facts_of
from sluice.tables.table_access import READ_ERRORS, has_log, open_table, why_unread

MOST_TABLES = 512
MOST_FILES = 100_000

REOPEN_SECONDS = 60.0
"""A table that was removed and created again looks like a longer log to a reader of newer commits only."""

_Mark = tuple[int, int, int]
_TROUBLE = (LogUnreadableError, *READ_ERRORS, PredicateError)


@dataclass
class _Open:
    table: DeltaTable
    opened_at: float
    files: int
    mark: _Mark | None
    facts: TableFacts | None = None
    version: int | None = None
    """The fingerprint of the facts."""

    def now(self) -> TableFacts:
        """The facts of all tables: the same objects as long as nothing in them changes, so that holders needn't
        compare each."""
        version = self.table.version()
        if self.facts is None or version != self.version:
            found = facts_of(self.table)
            self.facts = self.facts if found == self.facts else found
            self.version = version
        return self.facts


class OpenTables:
    def __init__(
        self,
        most_tables: int = MOST_TABLES,
        most_files: int = MOST_FILES,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most_tables = most_tables
        self._most_files = most_files
        self._now = now
        self._open: OrderedDict[TableKey, _Open] = OrderedDict()
        self._lock = threading.Lock()

    def facts(self, key: TableKey) -> TableFacts:
        """The facts that the log states now. There is always an answer, even that there is no table or why it can't
        be read."""
        try:
            address = address_of(key)
            if not has_log(key, address):
                self.forget(key)
                return absent()
            opened = self._newer(key) or self._opened(key, address)
            facts = opened.now()
        except TableNotFoundError:
            return absent()
        except _TROUBLE as trouble:
            return unread(why_unread(key, trouble))
        self._keep(key, opened)
        return facts

    def forget(self, key: TableKey) -> None:
        with self._lock:
            self._open.pop(key, None)

    def open_keys(self) -> tuple[TableKey, ...]:
        """The tables that stay open, beginning with the one that goes next."""
        with self._lock:
            return tuple(self._open)

    def _newer(self, key: TableKey) -> _Open | None:
        """The open table after its newer commits; None if it must be opened again. No other thread has it meanwhile."""
        with self._lock:
            opened = self._open.pop(key, None)
        if opened is None or self._now() - opened.opened_at > REOPEN_SECONDS:
            return None
        if key.text.startswith("file:") and (opened.mark is None or _mark(opened.table, key) != opened.mark):
            return None
        try:
            opened.table.update_incremental()
        except READ_ERRORS:
            return None  # the error of opening it is the one that counts
        opened.mark = _mark(opened.table, key)
        return opened

    def _opened(self, key: TableKey, address: str) -> _Open:
        opened_at = self._now()
        table = open_table(key, address)
        files = table.get_add_actions().num_rows
        return _Open(table, opened_at, files, _mark(table, key))

    def _keep(self, key: TableKey, opened: _Open) -> None:
        with self._lock:
            self._open[key] = opened
            files = sum(one.files for one in self._open.values())
            while self._open and (len(self._open) > self._most_tables or files > self._most_files):
                files -= self._open.popitem(last=False)[1].files


def _mark(table: DeltaTable, key: TableKey) -> _Mark | None:
    """What tells a commit's file from another file in its place."""
    folder = key.text.removeprefix("file:")
    if folder == key.text:
        return None
    try:
        seen = Path(folder, "_delta_log", f"{table.version():020}.json").stat()
    except OSError:
        return None
    return seen.st_ino, seen.st_mtime_ns, seen.st_size
