"""Two plain ways to keep writers of a table apart, whatever they touch of it: a line, and a lock.

Both know tables by their keys. Neither looks at partitions, priorities or what a job reads.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush, merge

from sluice.offline.simulation.run import RunSpan, SimulatedRun
from sluice.offline.simulation.trace import Trace
from sluice.tables import TableKey


class _Lines:
    """A job stands in the line of each table that it writes until it has ended, and goes when it is the first in all."""

    def __init__(self, tables: Sequence[tuple[TableKey, ...]]) -> None:
        self._tables = tables
        self._lines: dict[TableKey, deque[int]] = {}

    def come(self, job: int) -> Iterator[int]:
        for table in self._tables[job]:
            self._lines.setdefault(table, deque()).append(job)
        yield from self._goes([job])

    def end(self, jobs: Iterable[int]) -> Iterator[int]:
        heads: dict[int, None] = {}
        for job in jobs:
            for table in self._tables[job]:
                line = self._lines[table]
                line.popleft()
                if line:
                    heads[line[0]] = None
        yield from self._goes(sorted(heads))

    def _goes(self, jobs: Iterable[int]) -> Iterator[int]:
        return (job for job in jobs if all(self._lines[table][0] == job for table in self._tables[job]))


class _Locks:
    """A job takes the locks of all tables that it writes at once. When some are freed, those that wait for them are asked in
    the order in which they came, and the first that finds all its locks free goes."""

    def __init__(self, tables: Sequence[tuple[TableKey, ...]]) -> None:
        self._tables = tables
        self._taken: set[TableKey] = set()
        self._waiting: dict[TableKey, dict[int, None]] = {}

    def come(self, job: int) -> Iterator[int]:
        if self._takes(job):
            yield job
            return
        for table in self._tables[job]:
            self._waiting.setdefault(table, {})[job] = None

    def end(self, jobs: Iterable[int]) -> Iterator[int]:
        freed = {table for job in jobs for table in self._tables[job]}
        self._taken -= freed
        going = []
        left = set(freed)
        for job in merge(*(self._waiting.get(table, {}) for table in freed)):
            if not left:
                break
            if self._takes(job):
                going.append(job)
                left -= self._taken
        for job in going:
            for table in self._tables[job]:
                del self._waiting[table][job]
        yield from going

    def _takes(self, job: int) -> bool:
        tables = self._tables[job]
        if not self._taken.isdisjoint(tables):
            return False
        self._taken.update(tables)
        return True


def in_lines(trace: Trace) -> SimulatedRun:
    """Strict FIFO: a job goes when all that came before it to any of its tables have ended."""
    return _run(trace, _Lines([job.footprint.keys for job in trace.jobs]))


def by_locks(trace: Trace) -> SimulatedRun:
    """A mutex a table: one writer at a time; whoever waits for another table besides doesn't hold the others up."""
    return _run(trace, _Locks([job.footprint.keys for job in trace.jobs]))


def _run(trace: Trace, way: _Lines | _Locks) -> SimulatedRun:
    jobs = trace.jobs
    running: list[tuple[int, int]] = []
    spans: list[RunSpan] = []
    coming = 0
    while coming < len(jobs) or running:
        now = min([job.at for job in jobs[coming : coming + 1]] + [end for end, _ in running[:1]])
        ended = []
        while running and running[0][0] == now:
            ended.append(heappop(running)[1])
        going = list(way.end(ended)) if ended else []
        while coming < len(jobs) and jobs[coming].at == now:
            going += way.come(coming)
            coming += 1
        for job in going:
            spans.append(RunSpan(jobs[job].name, now, now + jobs[job].duration))
            heappush(running, (now + jobs[job].duration, job))
    return SimulatedRun(trace, tuple(spans))
