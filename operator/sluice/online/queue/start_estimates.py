"""When waiting jobs may start, guessed from how long the same work took before. It is a guess: it is given only where something is
known of every job that is waited for, and nothing is decided by it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from sluice.api.base import Json
from sluice.api.job_status import OVER, Outcome, Phase
from sluice.online.access.job_objects import (
    HOLDING,
    attempts_of,
    objects_in,
    phase_of,
    runs_for_ever,
    status_in,
    time_in,
)

Kind = frozenset[tuple[str, str]]
"""Which tables, and what is done to them."""


@dataclass(frozen=True)
class Usual:
    seconds: float
    """The median time for which such jobs held their leases."""
    runs: int
    """How many it is the median of."""


def kind_of(job: Json) -> Kind:
    return frozenset(
        (str(one.get("table")), str(one.get("operation")))
        for one in objects_in(status_in(job).get("footprint"))
    )


def usual_times(jobs: Iterable[Json]) -> dict[Kind, Usual]:
    """From runs that succeeded: what failed may have ended at any moment."""
    found: dict[Kind, list[float]] = {}
    for job in jobs:
        kind = kind_of(job)
        if phase_of(job) != Phase.SUCCEEDED.value or not kind:
            continue
        for attempt in attempts_of(job):
            granted, ended = time_in(attempt.get("grantedAt")), time_in(attempt.get("endedAt"))
            if attempt.get("outcome") == Outcome.SUCCEEDED.value and granted and ended and ended >= granted:
                found.setdefault(kind, []).append((ended - granted).total_seconds())
    return {kind: Usual(median(times), len(times)) for kind, times in found.items()}


class Estimates:
    def __init__(
        self, jobs: Mapping[str, Json], waiting: Iterable[Json], usual: Mapping[Kind, Usual], now: datetime
    ) -> None:
        """`jobs`: all that are seen, by uid; `waiting`: those that wait, in the order of the queue, so that a job comes after
        those that it waits for."""
        self._jobs = jobs
        self._usual = usual
        self._now = now
        self._starts: dict[str, datetime | None] = {}
        for job in waiting:
            self._starts[str(job["metadata"]["uid"])] = self._start(job)

    def usual(self, job: Json) -> Usual | None:
        return self._usual.get(kind_of(job))

    def end(self, job: Json) -> datetime | None:
        """When a job that holds leases may end. None: nothing is known, it has taken longer than usual already, or it is a stream
        that runs for ever."""
        if runs_for_ever(job):
            return None
        usual = self.usual(job)
        attempts = attempts_of(job)
        granted = time_in(attempts[-1].get("grantedAt")) if attempts else None
        if usual is None or granted is None:
            return None
        end = granted + timedelta(seconds=usual.seconds)
        return end if end > self._now else None

    def start(self, job: Json) -> datetime | None:
        """When a waiting job may start: once the last of those that it waits for has ended. None: that isn't known of all of
        them."""
        return self._starts.get(str(job["metadata"]["uid"]))

    def _start(self, job: Json) -> datetime | None:
        status = status_in(job)
        blockers = objects_in(status.get("blockedBy"))
        count = status.get("blockedByCount")
        if not blockers or (isinstance(count, int) and count > len(blockers)):
            return None
        ends = [self._end_of(str(one.get("uid"))) for one in blockers]
        known = [end for end in ends if end is not None]
        return max(known) if len(known) == len(ends) else None

    def _end_of(self, uid: str) -> datetime | None:
        job = self._jobs.get(uid)
        if job is None:
            return None
        if phase_of(job) in OVER:
            return self._now
        if phase_of(job) in HOLDING:
            return self.end(job)
        start, usual = self._starts.get(uid), self.usual(job)
        return None if start is None or usual is None else start + timedelta(seconds=usual.seconds)
