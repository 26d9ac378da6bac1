"""What came of a trace under one way to keep writers apart, and its figures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from sluice.offline.simulation.trace import Trace


@dataclass(frozen=True)
class RunSpan:
    """One try to run a job."""

    name: str
    begins: int
    ends: int
    commits: bool = True


@dataclass(frozen=True)
class SimulatedRun:
    trace: Trace
    spans: tuple[RunSpan, ...]

    @cached_property
    def committed(self) -> dict[str, RunSpan]:
        return {span.name: span for span in self.spans if span.commits}

    @property
    def makespan(self) -> int:
        """From when the first job came to the end of the last."""
        return max((span.ends for span in self.spans), default=self.trace.begins) - self.trace.begins

    @cached_property
    def waits(self) -> tuple[int, ...]:
        """How much later each job ended than if it had been alone, the shortest first."""
        done = self.committed
        return tuple(sorted(done[job.name].ends - job.at - job.duration for job in self.trace.jobs))

    @property
    def waited(self) -> int:
        """How many jobs waited at all."""
        return sum(wait > 0 for wait in self.waits)

    @property
    def mean_wait(self) -> float:
        return sum(self.waits) / len(self.waits) if self.waits else 0.0

    @property
    def longest_wait(self) -> int:
        return self.waits[-1] if self.waits else 0

    def wait_at(self, percent: int) -> int:
        """The shortest wait that this share of all jobs did not exceed."""
        return quantile(self.waits, percent)

    @property
    def wasted(self) -> int:
        """What tries that were aborted computed."""
        return sum(span.ends - span.begins for span in self.spans if not span.commits)

    @property
    def aborted(self) -> int:
        return sum(not span.commits for span in self.spans)

    @property
    def running(self) -> float:
        """How many writers ran on average."""
        return self._computed / self.makespan if self.makespan else 0.0

    @cached_property
    def most_running(self) -> int:
        return max(self._levels, default=0)

    @property
    def utilisation(self) -> float:
        """The share of the places for writers, as many as ever ran at once, that was filled."""
        return self.running / self.most_running if self.most_running else 0.0

    @cached_property
    def busy(self) -> float:
        """The share of the time in which anybody ran."""
        if not self.makespan:
            return 0.0
        busy, until = 0, self.trace.begins
        for span in sorted(self.spans, key=lambda one: one.begins):
            busy += max(0, span.ends - max(until, span.begins))
            until = max(until, span.ends)
        return busy / self.makespan

    @property
    def _computed(self) -> int:
        return sum(span.ends - span.begins for span in self.spans)

    @property
    def _levels(self) -> Iterator[int]:
        """How many ran after each change; whoever ends at a moment is gone before the next begins."""
        spans = [span for span in self.spans if span.ends > span.begins]
        changes = sorted([(span.ends, -1) for span in spans] + [(span.begins, 1) for span in spans])
        return accumulate(change for _, change in changes)


def quantile(ordered: Sequence[int], percent: int) -> int:
    if not ordered:
        return 0
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
