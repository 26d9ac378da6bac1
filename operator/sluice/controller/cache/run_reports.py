"""What the statuses of jobs tell of tables: attempts that lost to another commit within a day, and the newest commit that a run has
reported. It follows whole statuses, of which less is kept; jobs that were deleted meanwhile count for as long as this process
runs."""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from sluice.api.base import Json
from sluice.api.reasons import CONFLICTS
from sluice.controller.cache.ended_attempts import ended_attempts

DAY = timedelta(days=1)
MOST_TABLES = 4096
MOST_LOSSES = 10_000
"""For each table."""


@dataclass(frozen=True)
class Reported:
    """A commit that a run has reported."""

    version: int
    job: str
    at: datetime


@dataclass
class _OfTable:
    losses: dict[tuple[str, int], datetime] = field(default_factory=dict)
    """When each attempt ended, by its job's uid and its number."""
    newest: Reported | None = None


class RunReports:
    def __init__(self) -> None:
        self._tables: OrderedDict[str, _OfTable] = OrderedDict()
        """Those that were told of last are last."""

    def seen(self, body: Json) -> None:
        """Takes in a job as the API server has it."""
        for attempt, at in ended_attempts(body):
            self._heed(body, attempt, at)

    def conflicts(self, table: str, now: datetime) -> int:
        """How many attempts have lost on the table within the day before."""
        known = self._tables.get(table)
        if known is None:
            return 0
        known.losses = {one: at for one, at in known.losses.items() if at > now - DAY}
        return len(known.losses)

    def newest(self, table: str) -> Reported | None:
        known = self._tables.get(table)
        return None if known is None else known.newest

    def _heed(self, body: Json, attempt: Json, at: datetime) -> None:
        metadata = body["metadata"]
        job = f"{metadata['namespace']}/{metadata['name']}"
        for table, version in _commits(attempt):
            known = self._of(table)
            if known.newest is None or known.newest.version < version or at - known.newest.at > DAY:
                known.newest = Reported(version, job, at)
        lost_on = _lost_on(body, attempt)
        number = attempt.get("number")
        if lost_on is not None and isinstance(number, int) and at > datetime.now(UTC) - DAY:
            losses = self._of(lost_on).losses
            losses[metadata["uid"], number] = at
            if len(losses) > MOST_LOSSES:
                del losses[min(losses, key=lambda one: losses[one])]

    def _of(self, table: str) -> _OfTable:
        known = self._tables.setdefault(table, _OfTable())
        self._tables.move_to_end(table)
        if len(self._tables) > MOST_TABLES:
            self._tables.popitem(last=False)
        return known


def _commits(attempt: Json) -> Iterator[tuple[str, int]]:
    commits = attempt.get("commits")
    for commit in commits if isinstance(commits, list) else ():
        if not isinstance(commit, dict):
            continue
        table, version = commit.get("table"), commit.get("version")
        if isinstance(table, str) and isinstance(version, int):
            yield table, version


def _lost_on(body: Json, attempt: Json) -> str | None:
    """The table on which the attempt lost to another commit."""
    exception = attempt.get("exception")
    if not isinstance(exception, dict) or exception.get("class") not in CONFLICTS:
        return None
    won = exception.get("conflictingCommit")
    table = won.get("table") if isinstance(won, dict) else None
    if isinstance(table, str):
        return table
    footprint = body["status"].get("footprint")
    tables = {
        one.get("table")
        for one in (footprint if isinstance(footprint, list) else ())
        if isinstance(one, dict)
    }
    only = tables.pop() if len(tables) == 1 else None
    return only if isinstance(only, str) else None
