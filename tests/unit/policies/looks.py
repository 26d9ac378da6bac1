"""Looks at tables as a reader of logs would give them."""

from datetime import UTC, datetime
from typing import Any

from sluice.tables import unread
from sluice.tables.table_observation import CommitSummary, LogHistory, TableObservation, TableState
from unit.controller.bodies import PARTITIONED

AT = datetime(2026, 11, 19, 10, tzinfo=UTC)


def look(*, at: datetime = AT, history: LogHistory | None = None, **state: Any) -> TableObservation:
    """A look at the partitioned table of the tests: of version 3, unless told otherwise."""
    known: dict[str, Any] = {"version": 3, "partition_by": ("date",), "columns": ("id", "date")}
    found = TableState(**(known | state))
    return TableObservation(at, found, PARTITIONED, size=2048, count=2, history=history or LogHistory())


def no_table(at: datetime = AT) -> TableObservation:
    return TableObservation(at, TableState(exists=False), PARTITIONED)


def other_things(at: datetime = AT) -> TableObservation:
    return TableObservation(at, TableState(exists=False, holds="part-0.parquet"), PARTITIONED)


def unreadable(why: str, at: datetime = AT) -> TableObservation:
    return TableObservation(at, TableState(unread=why), unread(why))


def commit(version: int, operation: str | None = "WRITE", *, job: str | None = None) -> CommitSummary:
    return CommitSummary(version, AT, operation, "delta-rs:1.6.6", job)
