"""A makespan that no schedule can beat, whoever decides: a lower bound by the conflict graph.

It holds for every schedule in which no job begins before it came, none is interrupted, and no two that conflict run side by
side. It is the largest of these:

- A job that came at `a` and computes for `d` ends at `a + d` at the earliest.
- Jobs that all conflict with one another (a clique) run one after the other. Of those that came at `r` or later, none begins
  before `r`, so the last of them ends at `r` plus all their durations at the earliest. This is taken for each `r`, and is
  exact for the clique by itself: in the order in which they came, they end just then.
- Where at most `m` jobs write a table at a time, the same holds for all its writers with `m` machines: by any moment `t` after
  `r` they have computed `m * (t - r)` at most, so the last ends at `r` plus all durations divided by `m`.

Any clique gives a valid bound; to find the heaviest is hard, so they are grown greedily, from those whose bound is highest and
by the heaviest first. The bound may therefore be lower than the best schedule, never higher.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sluice.offline.simulation.trace import Trace, TracedJob
from sluice.offline.simulation.verdicts import Verdicts

_MOST_JUDGED = 400_000
"""Pairs that are looked at. They are counted and not timed, so that a trace always gets the same bound."""


@dataclass(frozen=True)
class Bound:
    makespan: int
    why: str
    jobs: tuple[str, ...]
    """The jobs that it follows from."""


def bound(trace: Trace, verdicts: Verdicts) -> Bound:
    if not trace.jobs:
        return Bound(0, "there are no jobs", ())
    last = max(trace.jobs, key=lambda job: (job.at + job.duration, job.name))
    best = Bound(
        last.at + last.duration - trace.begins,
        "ends no earlier, by when it comes and how long it computes",
        (last.name,),
    )
    for clique in _Cliques(trace, verdicts).found():
        best = max(best, _bound_of(clique, trace, "all conflict with one another"), key=_makespan)
    for table, most in sorted(trace.rules.most_writers.items()):
        writers = [job for job in trace.jobs if table in job.footprint.keys]
        why = f"write {table}, which takes {most} at a time"
        best = max(best, _bound_of(writers, trace, why, most), key=_makespan)
    return best


def _makespan(one: Bound) -> int:
    return one.makespan


def _bound_of(jobs: Iterable[TracedJob], trace: Trace, why: str, machines: int = 1) -> Bound:
    ordered = sorted(jobs, key=lambda job: job.order)
    ends, first = _last_end(ordered, machines)
    return Bound(ends - trace.begins, why, tuple(job.name for job in ordered[first:]))


def _last_end(ordered: Sequence[TracedJob], machines: int = 1) -> tuple[int, int]:
    """When the last of these jobs ends at the earliest, and the first of the jobs that it follows from."""
    best = (0, 0)
    together = 0
    for number in range(len(ordered) - 1, -1, -1):
        together += ordered[number].duration
        best = max(best, (ordered[number].at + -(-together // machines), number))
    return best


class _Cliques:
    """Grows cliques of kinds of jobs: those of one kind are all in each other's way, or none are."""

    def __init__(self, trace: Trace, verdicts: Verdicts) -> None:
        self._verdicts = verdicts
        self._jobs: dict[int, list[TracedJob]] = {}
        for job in trace.jobs:
            self._jobs.setdefault(verdicts.kind_of(job.footprint), []).append(job)
        self._looked_at = 0
        for kind, jobs in self._jobs.items():
            if not self._apart(kind, kind):  # only one of them can be in a clique
                self._jobs[kind] = [max(jobs, key=lambda job: (job.duration, job.at, job.name))]
        self._weight = {kind: sum(job.duration for job in jobs) for kind, jobs in self._jobs.items()}

    def found(self) -> Iterable[list[TracedJob]]:
        alone = {kind: _last_end(jobs)[0] for kind, jobs in self._jobs.items()}
        heaviest = sorted(self._jobs, key=lambda kind: (-self._weight[kind], self._jobs[kind][0].order))
        seen: set[frozenset[int]] = set()
        for seed in sorted(self._jobs, key=lambda kind: (-alone[kind], self._jobs[kind][0].order)):
            members = self._grown(seed, heaviest)
            if members not in seen:
                seen.add(members)
                yield [job for kind in members for job in self._jobs[kind]]
            if self._looked_at >= _MOST_JUDGED:
                return

    def _grown(self, seed: int, heaviest: Sequence[int]) -> frozenset[int]:
        members = [seed]
        for kind in heaviest:
            if kind != seed and all(self._apart(kind, member) for member in members):
                members.append(kind)
        return frozenset(members)

    def _apart(self, one: int, other: int) -> bool:
        self._looked_at += 1
        return self._verdicts.apart(one, other)
