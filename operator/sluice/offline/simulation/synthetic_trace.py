"""Traces that contend in the ways in which tables are contended for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random

from sluice.api.job import Operation
from sluice.api.tables import TableRef
from sluice.footprint import JobFootprint
from sluice.offline.simulation.touches import (
    NOTHING,
    TouchedTables,
    facts_by_partitions,
    footprint_of_touched,
    key_of_table,
)
from sluice.offline.simulation.trace import Trace, TracedJob, TraceRules
from sluice.tables import TableFacts, TableKey, oss

MINUTE = 60_000
_DAYS = 30
_ORDERS = "s3://lake/orders"

Jobs = Iterator[TracedJob]


class _Tables:
    """Makes each footprint once."""

    def __init__(self) -> None:
        self._made: dict[tuple[object, ...], JobFootprint] = {}

    def __call__(
        self, operation: Operation, days: Sequence[int] | None, tables: Sequence[str] = (_ORDERS,)
    ) -> JobFootprint:
        """`days`: the partitions that it reads and writes; None: all."""
        key = (operation, None if days is None else tuple(days), tuple(tables))
        if key not in self._made:
            self._made[key] = footprint_of_touched(self._touched(operation, days, tables), _facts(tables))
        return self._made[key]

    def _touched(
        self, operation: Operation, days: Sequence[int] | None, tables: Sequence[str]
    ) -> Iterator[TouchedTables]:
        partitions = None if days is None else [{"date": f"day {day:02}"} for day in days]
        reads = NOTHING if operation is Operation.APPEND else partitions
        for table in tables:
            yield TouchedTables(TableRef(path=table), operation, reads, partitions)


def _facts(tables: Sequence[str]) -> Mapping[TableKey, TableFacts]:
    return {key_of_table(TableRef(path=table)): facts_by_partitions(["date"], oss(None)) for table in tables}


def hot_partition(random: Random, jobs: int) -> Jobs:
    """MERGEs, UPDATEs and DELETEs, more than half of them in today's partition, faster than it can serve them."""
    made = _Tables()
    for number in range(jobs):
        operation = random.choices((Operation.MERGE, Operation.UPDATE, Operation.DELETE), (5, 1, 2))[0]
        day = 0 if random.random() < 0.6 else random.randrange(1, _DAYS)
        at = int(random.uniform(0, jobs * MINUTE))
        yield _job(f"{operation.lower()}-{number}", at, _lasts(random, 3), made(operation, [day]))


def loads(random: Random, jobs: int) -> Jobs:
    """Appends all the time, which may run side by side, and a MERGE of the same few partitions for every third of them."""
    made = _Tables()
    for number in range(jobs):
        operation = random.choices((Operation.APPEND, Operation.MERGE), (3, 1))[0]
        day = min(int(random.expovariate(0.7)), _DAYS - 1)
        at = int(random.uniform(0, jobs * MINUTE / 2))
        yield _job(f"{operation.lower()}-{number}", at, _lasts(random, 3), made(operation, [day]))


def compaction(random: Random, jobs: int) -> Jobs:
    """MERGEs into the days of a month, the newest most often, and now and then an OPTIMIZE of the whole table."""
    made = _Tables()
    for number in range(jobs):
        at = int(random.uniform(0, jobs * MINUTE / 3))
        if number % 100 == 50:
            yield _job(f"optimize-{number}", at, _lasts(random, 10), made(Operation.OPTIMIZE, None))
            continue
        day = min(int(random.expovariate(0.25)), _DAYS - 1)
        yield _job(f"merge-{number}", at, _lasts(random, 4), made(Operation.MERGE, [day]))


def backfill(random: Random, jobs: int) -> Jobs:
    """MERGEs into single days, among them backfills that rewrite up to a week at once."""
    made = _Tables()
    for number in range(jobs):
        at = int(random.uniform(0, jobs * MINUTE / 3))
        first = random.randrange(_DAYS)
        if random.random() < 0.15:
            days = range(first, min(_DAYS, first + random.randint(2, 7)))
            yield _job(f"backfill-{number}", at, _lasts(random, 8), made(Operation.MERGE, days))
        else:
            yield _job(f"merge-{number}", at, _lasts(random, 3), made(Operation.MERGE, [first]))


def several_tables(random: Random, jobs: int) -> Jobs:
    """Jobs on a dozen tables; each third one writes two or three of them."""
    made = _Tables()
    names = [f"s3://lake/table-{number:02}" for number in range(12)]
    for number in range(jobs):
        at = int(random.uniform(0, jobs * MINUTE / 3))
        many = random.choice((1, 1, 2)) + (random.random() < 0.2)
        tables = sorted(random.sample(names, many))
        days = [random.randrange(4)]
        yield _job(f"merge-{number}", at, _lasts(random, 4), made(Operation.MERGE, days, tables))


def bursts(random: Random, jobs: int) -> Jobs:
    """Forty jobs at once every hour: a schedule that fires, with a few that matter more than all others."""
    made = _Tables()
    for number in range(jobs):
        at = number // 40 * 60 * MINUTE + int(random.uniform(0, MINUTE))
        day = min(int(random.expovariate(0.4)), _DAYS - 1)
        operation = random.choice((Operation.MERGE, Operation.UPDATE, Operation.DELETE))
        priority = 100 if random.random() < 0.1 else random.choice((0, 0, 10))
        yield _job(f"job-{number}", at, _lasts(random, 6), made(operation, [day]), priority)


SHAPES: Mapping[str, Callable[[Random, int], Jobs]] = {
    "hot-partition": hot_partition,
    "loads": loads,
    "compaction": compaction,
    "backfill": backfill,
    "several-tables": several_tables,
    "bursts": bursts,
}


def generated(shape: str, seed: int, jobs: int, rules: TraceRules | None = None) -> Trace:
    return Trace.of(SHAPES[shape](Random(f"{shape}/{seed}"), jobs), rules)  # noqa: S311 - the same trace each time


def _job(name: str, at: int, duration: int, footprint: JobFootprint, priority: int = 0) -> TracedJob:
    return TracedJob(name, at, duration, footprint, priority)


def _lasts(random: Random, minutes: float) -> int:
    """Most jobs take about as long as they usually do, and some several times that."""
    return int(minutes * MINUTE * min(4.0, random.lognormvariate(0, 0.5)))
