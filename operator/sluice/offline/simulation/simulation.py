"""A trace under Sluice's queue, beside other ways to keep writers apart, and beside what no schedule can beat."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sluice.offline.simulation.bound import Bound, bound
from sluice.offline.simulation.lines import by_locks, in_lines
from sluice.offline.simulation.queue_play import Told, queued
from sluice.offline.simulation.retries import Retried, retried
from sluice.offline.simulation.run import SimulatedRun
from sluice.offline.simulation.trace import Trace
from sluice.offline.simulation.verdicts import Verdicts

Progress = Callable[[str, int], None]
"""Is told what is being run, and how many jobs of it have ended."""


@dataclass(frozen=True)
class Simulation:
    trace: Trace
    seed: int
    bound: Bound
    queue: SimulatedRun
    lines: SimulatedRun
    locks: SimulatedRun
    retries: Retried

    @property
    def times_the_bound(self) -> float:
        return times(self.queue, self.bound)

    @property
    def ways(self) -> Iterator[tuple[str, SimulatedRun]]:
        yield "Sluice", self.queue
        yield "FIFO a table", self.lines
        yield "mutex a table", self.locks
        yield "retries", self.retries.run


def simulated(trace: Trace, seed: int = 0, progress: Progress = lambda _what, _ended: None) -> Simulation:
    verdicts = Verdicts()

    def told(what: str) -> Told:
        return lambda ended: progress(what, ended)

    queue = queued(trace, told("Sluice"))
    progress("FIFO a table", 0)
    lines = in_lines(trace)
    progress("mutex a table", 0)
    locks = by_locks(trace)
    retries = retried(trace, verdicts, seed, told("retries"))
    progress("bound", 0)
    return Simulation(trace, seed, bound(trace, verdicts), queue, lines, locks, retries)


def times(run: SimulatedRun, of: Bound) -> float:
    return run.makespan / of.makespan if of.makespan else 1.0
