"""Looks at tables as a reader of logs would give them."""

from datetime import UTC, datetime
from typing import Any

from sluice.tables import unread
from sluice.tables.table_observation import Commit, History, Look, TableState
from unit.controller.bodies import PARTITIONED

AT = datetime(2026, 11, 19, 10, tzinfo=UTC)


def look(*, at: datetime = AT, history: History | None = None, **state: Any) -> Look:
    """A look at the partitioned table of the tests: of version 3, unless told otherwise."""
    known: dict[str, Any] = {"version": 3, "partition_by": ("date",), "columns": ("id", "date")}
    found = TableState(**(known | state))
    return Look(at, found, PARTITIONED, size=2048, count=2, history=history or History())


def no_table(at: datetime = AT) -> Look:
    return Look(at, TableState(exists=False), PARTITIONED)


def other_things(at: datetime = AT) -> Look:
    return Look(at, TableState(exists=False, holds="part-0.parquet"), PARTITIONED)


def unreadable(why: str, at: datetime = AT) -> Look:
    return Look(at, TableState(unread=why), unread(why))


def commit(version: int, operation: str | None = "WRITE", *, job: str | None = None) -> Commit:
    return Commit(version, AT, operation, "delta-rs:1.6.6", job)
