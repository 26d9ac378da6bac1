"""Small traces for tests: jobs on a few partitions of two tables, some of which may run side by side."""

from functools import cache

from hypothesis import strategies as st

from sluice.api.job import Operation
from sluice.api.tables import TableRef
from sluice.conflicts import conflict_between
from sluice.footprint import JobFootprint
from sluice.offline.simulation import SimulatedRun, TracedJob
from sluice.offline.simulation.touches import (
    NOTHING,
    TouchedTables,
    facts_by_partitions,
    footprint_of_touched,
    key_of_table,
)
from sluice.tables import oss

MINUTE = 60_000
A, B = "s3://lake/a", "s3://lake/b"


@cache
def touching(operation: Operation, days: tuple[int, ...], *tables: str) -> JobFootprint:
    """Reads and writes these days; an append reads nothing."""
    partitions = [{"day": str(day)} for day in days]
    reads = NOTHING if operation is Operation.APPEND else partitions
    names = [TableRef(path=table) for table in tables or (A,)]
    facts = {key_of_table(name): facts_by_partitions(["day"], oss(None)) for name in names}
    return footprint_of_touched((TouchedTables(name, operation, reads, partitions) for name in names), facts)


def merge(*days: int, tables: tuple[str, ...] = (A,)) -> JobFootprint:
    return touching(Operation.MERGE, days, *tables)


def append(*days: int) -> JobFootprint:
    return touching(Operation.APPEND, days)


POOL = (
    merge(1),
    merge(2),
    merge(1, 2),
    merge(2, 3),
    append(1),
    append(2),
    merge(1, tables=(A, B)),
    merge(1, tables=(B,)),
)


def job(
    name: str, footprint: JobFootprint, at: float = 0, minutes: float = 1, priority: int = 0
) -> TracedJob:
    """`at`: in minutes."""
    return TracedJob(name, int(at * MINUTE), int(minutes * MINUTE), footprint, priority)


_apart: dict[tuple[bytes, bytes], bool] = {}


def apart(one: JobFootprint, other: JobFootprint) -> bool:
    key = one.fingerprint, other.fingerprint
    if key not in _apart:
        _apart[key] = conflict_between(one, other) is not None
    return _apart[key]


def starts(run: SimulatedRun) -> dict[str, float]:
    """When each job began the run that committed, in minutes."""
    return {name: span.begins / MINUTE for name, span in run.committed.items()}


_one = st.tuples(st.sampled_from(POOL), st.integers(0, 12), st.integers(0, 6), st.integers(-1, 1))


def jobs(most: int = 14) -> st.SearchStrategy[list[TracedJob]]:
    return st.lists(_one, min_size=1, max_size=most).map(
        lambda found: [
            job(f"j{number:02}", footprint, at, minutes, priority)
            for number, (footprint, at, minutes, priority) in enumerate(found)
        ]
    )
