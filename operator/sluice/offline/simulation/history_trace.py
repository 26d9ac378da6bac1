"""Makes a trace of a table's own log: what would this time have been under Sluice?

A log holds what was committed, and by whom. It does not hold when a job was wanted, what it computed before it lost, nor always
when it began; so each of those is either bounded by what the log does hold, or assumed, and the answer says which.

- A commit ended when its timestamp says.
- It ran as long as its own metrics say, where they do. Else it began when its table was at the version that it read, so after
  that version's commit, and before the next one's: where others committed meanwhile, that bounds its duration from both sides.
  Within those bounds a duration is assumed.
- It came when it began. If it had waited or lost before, that is not seen.
- It wrote the partitions whose files it added or removed. What it read is what its condition says, tested against all
  partitions that the log names. Without a condition it read all of the table.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from sluice.api.job import Operation
from sluice.api.tables import TableRef
from sluice.footprint import JobFootprint
from sluice.offline.history import HistoryCommit
from sluice.offline.history.log import Log
from sluice.offline.history.log import Partition as Values
from sluice.offline.simulation.run import RunSpan, SimulatedRun
from sluice.offline.simulation.touches import (
    EVERYTHING,
    NOTHING,
    Partition,
    TouchedTables,
    facts_by_partitions,
    footprint_of_touched,
    key_of_table,
)
from sluice.offline.simulation.trace import Trace, TracedJob, TraceRules
from sluice.tables import Dialect, databricks, oss

TABLE = TableRef(path="file:/the-table")
"""The table's name in a trace: where a copied log comes from is not known."""


class DurationSource(StrEnum):
    """How a duration is known."""

    MEASURED = "measured"
    BOUNDED = "bounded"
    """Others committed while it ran, so that the log bounds it from both sides; the assumption is cut to that."""
    ASSUMED = "assumed"


@dataclass(frozen=True)
class HistoryTrace:
    """A history as a trace."""

    log: Log
    assumed: int
    """The duration, in milliseconds, where the log does not tell one."""
    trace: Trace
    pinned: Trace
    """The same, if each job had read no more than the partitions that it wrote."""
    dialect: Dialect | None
    durations: Mapping[DurationSource, int]
    """How many durations are known in which way."""
    left_out: Mapping[str, int]
    """How many commits are no jobs, and why."""

    @property
    def as_it_was(self) -> SimulatedRun:
        spans = (RunSpan(job.name, job.at, job.at + job.duration) for job in self.trace.jobs)
        return SimulatedRun(self.trace, tuple(spans))


def lived(log: Log, assumed: int, rules: TraceRules | None = None) -> HistoryTrace:
    durations: Counter[DurationSource] = Counter()
    left_out: Counter[str] = Counter()
    made = _Footprints(log)
    jobs: list[TracedJob] = []
    pinned: list[TracedJob] = []
    at = {commit.version: commit.timestamp for commit in log.commits if commit.timestamp > 0}
    for commit in log.commits:
        why = _why_no_job(commit)
        if why is not None:
            left_out[why] += 1
            continue
        duration, told = _duration(commit, at, assumed)
        durations[told] += 1
        job = TracedJob(
            f"v{commit.version} {commit.writer}", commit.timestamp - duration, duration, made.as_said(commit)
        )
        jobs.append(job)
        pinned.append(replace(job, footprint=made.as_touched(commit)))
    return HistoryTrace(
        log, assumed, Trace.of(jobs, rules), Trace.of(pinned, rules), _dialect(log), durations, left_out
    )


def _why_no_job(commit: HistoryCommit) -> str | None:
    if commit.version == 0:
        return "made the table"
    if commit.timestamp <= 0:
        return "has no timestamp"
    if not commit.touches and not commit.metadata:
        return "changed nothing"
    return None


def _duration(commit: HistoryCommit, at: Mapping[int, int], assumed: int) -> tuple[int, DurationSource]:
    if commit.took is not None:
        return min(commit.took, commit.timestamp), DurationSource.MEASURED
    read = commit.read_version
    after, next_one = (None, None) if read is None else (at.get(read), at.get(read + 1))
    longest = max(0, commit.timestamp - after) if after is not None else commit.timestamp
    if read is not None and read + 1 < commit.version and next_one is not None:
        shortest = max(0, commit.timestamp - next_one)
        return max(shortest, min(assumed, longest)), DurationSource.BOUNDED
    return min(assumed, longest), DurationSource.ASSUMED


class _Footprints:
    """Makes footprints by what commits say and do; equal ones once."""

    def __init__(self, log: Log) -> None:
        self._columns = log.partition_columns
        self._facts = {key_of_table(TABLE): facts_by_partitions(self._columns, _dialect(log))}
        self._partitions = sorted(
            {partition for commit in log.commits for partition in commit.touches},
            key=lambda values: [(value is not None, value or "") for value in values],
        )
        self._made: dict[TouchedTables | tuple[object, ...], JobFootprint] = {}

    def as_said(self, commit: HistoryCommit) -> JobFootprint:
        return self._footprint(commit, self._read(commit))

    def as_touched(self, commit: HistoryCommit) -> JobFootprint:
        return self._footprint(commit, None if commit.reads is None else commit.touches)

    def _read(self, commit: HistoryCommit) -> frozenset[Values] | None:
        """The partitions that it read; None for nothing."""
        if commit.reads is None:
            return None
        held = {one for one in self._partitions if commit.reads.hold(one, self._columns)}
        return frozenset(held) | commit.removes

    def _footprint(self, commit: HistoryCommit, reads: frozenset[Values] | None) -> JobFootprint:
        everything = reads is not None and len(reads) == len(self._partitions)
        key = (_operation(commit), everything or reads, commit.touches, commit.metadata)
        if key not in self._made:
            touched = TouchedTables(
                TABLE,
                _operation(commit),
                EVERYTHING if everything else self._conditions(reads),
                EVERYTHING if commit.metadata else self._conditions(commit.touches),
                metadata=commit.metadata,
            )
            self._made[key] = footprint_of_touched([touched], self._facts)
        return self._made[key]

    def _conditions(self, partitions: frozenset[Values] | None) -> Sequence[Partition]:
        if partitions is None:
            return NOTHING
        return [
            dict(zip(self._columns, values, strict=False))
            for values in self._partitions
            if values in partitions
        ]


def _dialect(log: Log) -> Dialect | None:
    """Whose rules hold, by what all commits say of their engine; None if they don't agree, or don't say it."""
    kinds = {
        "databricks"
        if "databricks" in commit.engine.lower()
        else "oss"
        if "Delta-Lake/" in commit.engine
        else ""
        for commit in log.commits
    }
    return {"oss": oss(None), "databricks": databricks(None)}.get(kinds.pop()) if len(kinds) == 1 else None


def _operation(commit: HistoryCommit) -> Operation:
    """The operation whose rules hold for what the commit did, whatever it is called."""
    if commit.metadata:
        return Operation.ALTER
    if not commit.data_change:
        return Operation.OPTIMIZE
    if commit.reads is None:
        return Operation.APPEND
    return Operation.MERGE if commit.adds else Operation.DELETE
