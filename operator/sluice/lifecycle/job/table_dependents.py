"""Remembers which jobs rest on which tables: when the facts of a table change, the jobs that were judged by them are looked at
again, and no others."""

from collections.abc import Iterable

from sluice.tables import TableKey


class TableDependents:
    def __init__(self) -> None:
        self._jobs: dict[TableKey, set[str]] = {}
        """The jobs' uids, by table."""
        self._tables: dict[str, tuple[TableKey, ...]] = {}
        self._left: set[TableKey] = set()

    def __contains__(self, uid: str) -> bool:
        return uid in self._tables

    def rests(self, uid: str, tables: Iterable[TableKey]) -> None:
        """Notes the tables that the job rests on, until it is forgotten: those it rested on before count, too."""
        known = self._tables.get(uid, ())
        new = dict.fromkeys(tables).keys() - known
        if new or not known:
            self._tables[uid] = (*known, *new)
        for table in new:
            self._jobs.setdefault(table, set()).add(uid)

    def on(self, table: TableKey) -> tuple[str, ...]:
        return tuple(self._jobs.get(table, ()))

    def forget(self, uid: str) -> None:
        for table in self._tables.pop(uid, ()):
            jobs = self._jobs[table]
            jobs.discard(uid)
            if not jobs:
                del self._jobs[table]
                self._left.add(table)

    def take_left(self) -> tuple[TableKey, ...]:
        """Takes the tables that no job rests on any more; each is returned once."""
        left, self._left = self._left, set()
        return tuple(table for table in left if table not in self._jobs)
