"""Runs a trace through the operator's own queue."""

from collections.abc import Callable
from heapq import heappop, heappush

from sluice.admission import Holder, Queue, Waiter
from sluice.offline.simulation.run import RunSpan, SimulatedRun
from sluice.offline.simulation.trace import Trace, TracedJob, milliseconds_at, moment

Told = Callable[[int], None]
"""Is told how many jobs have ended."""


class CannotBeJudgedError(Exception):
    """The queue has no verdict on a job, so that nobody knows what would become of it."""


def queued(trace: Trace, told: Told = lambda _: None) -> SimulatedRun:
    """At each moment those who end leave first, then those who come are taken in; only then is anything decided, so that it
    does not matter in which order either are looked at."""
    return _Play(trace, told).run()


class _Play:
    def __init__(self, trace: Trace, told: Told) -> None:
        self._trace, self._told = trace, told
        self._jobs = {job.name: job for job in trace.jobs}
        self._queue = Queue()
        self._queue.limit(trace.rules.most_writers)
        self._running: list[tuple[int, str]] = []
        self._spans: list[RunSpan] = []

    def run(self) -> SimulatedRun:
        jobs, coming = self._trace.jobs, 0
        while coming < len(jobs) or self._running:
            now = self._next_moment(jobs[coming].at if coming < len(jobs) else None)
            while self._running and self._running[0][0] == now:
                self._queue.hold(heappop(self._running)[1], ())
            while coming < len(jobs) and jobs[coming].at == now:
                self._queue.wait(self._waiter(jobs[coming]))
                coming += 1
            self._start_all(now)
            self._told(len(self._spans) - len(self._running))
        if len(self._queue):
            raise CannotBeJudgedError(
                f"{len(self._queue)} jobs wait, though nobody runs: {self._queue.uids[:3]}"
            )
        return SimulatedRun(self._trace, tuple(self._spans))

    def _next_moment(self, arrival: int | None) -> int:
        moments = [] if arrival is None else [arrival]
        if self._running:
            moments.append(self._running[0][0])
        ages = self._queue.next_ageing
        if ages is not None:
            moments.append(milliseconds_at(ages))
        return min(moments)

    def _start_all(self, now: int) -> None:
        while True:
            while self._queue.judge(moment(now)):
                pass
            decision = self._queue.take()
            if decision is None:
                return
            job = self._jobs[decision.waiter.uid]
            if decision.failure is not None:
                raise CannotBeJudgedError(f"{job.name}: {decision.failure}") from decision.failure
            self._queue.hold(job.name, (Holder(job.name, job.name, job.footprint),))
            self._queue.leave(job.name)
            self._spans.append(RunSpan(job.name, now, now + job.duration))
            heappush(self._running, (now + job.duration, job.name))

    def _waiter(self, job: TracedJob) -> Waiter:
        return Waiter(
            job.name,
            job.name,
            job.footprint,
            priority=job.priority,
            queued_at=moment(job.at),
            aged_at=moment(self._trace.rules.aged_at(job)),
        )
