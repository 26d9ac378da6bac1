"""No queue at all: every job starts when it comes, Delta aborts whoever loses, and the loser tries again later.

A job loses at its commit, after all of its compute, if a job committed since it began whose commit aborts it by Delta's rules.
"""

from collections import OrderedDict
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from random import Random

from sluice.conflicts import Level
from sluice.offline.simulation.queue_play import Told
from sluice.offline.simulation.run import RunSpan, SimulatedRun
from sluice.offline.simulation.trace import Trace
from sluice.offline.simulation.verdicts import Verdicts

FIRST_PAUSE = 10_000
LONGEST_PAUSE = 3_600_000
_ABORTING = frozenset({Level.MAY, Level.WILL})
_COMMITS, _STARTS = 0, 1
"""At one moment commits come before starts: whoever starts then reads what was committed."""


@dataclass(frozen=True)
class Retried:
    run: SimulatedRun
    surely: int
    """How many runs were aborted for certain. The others may have been, by what their rules can tell before."""
    unnoticed: int
    """Commits over which another one was lost without any exception."""


def retried(trace: Trace, verdicts: Verdicts, seed: int, told: Told = lambda _: None) -> Retried:
    """Whoever may be aborted is. The pause doubles with each abort, between half and one and a half times that by chance; each
    job has a chance of its own, so that it does not matter in which order they are looked at."""
    jobs = trace.jobs
    kinds = [verdicts.kind_of(job.footprint) for job in jobs]
    began = [0] * len(jobs)
    aborts = [0] * len(jobs)
    chances: dict[int, Random] = {}
    last: OrderedDict[int, int] = OrderedDict()  # kinds by their last commit, the latest last
    spans: list[RunSpan] = []
    surely = unnoticed = committed = 0
    events = [(job.at, _STARTS, number) for number, job in enumerate(jobs)]
    heapify(events)
    while events:
        now, what, number = heappop(events)
        job = jobs[number]
        if what == _STARTS:
            began[number] = now
            heappush(events, (now + job.duration, _COMMITS, number))
            continue
        level = _worst_since(began[number], kinds[number], last, verdicts)
        commits = level not in _ABORTING
        spans.append(RunSpan(job.name, began[number], now, commits=commits))
        if commits:
            unnoticed += level is Level.UNSAFE
            last[kinds[number]] = now
            last.move_to_end(kinds[number])
            committed += 1
            told(committed)
            continue
        surely += level is Level.WILL
        chance = chances.get(number) or chances.setdefault(number, Random(f"{seed}/{job.name}"))  # noqa: S311
        pause = min(LONGEST_PAUSE, FIRST_PAUSE << min(aborts[number], 20))
        aborts[number] += 1
        heappush(events, (now + int(pause * (0.5 + chance.random())), _STARTS, number))
    return Retried(SimulatedRun(trace, tuple(spans)), surely, unnoticed)


def _worst_since(began: int, kind: int, last: OrderedDict[int, int], verdicts: Verdicts) -> Level:
    """The worst of those that abort it, else the worst of all, by those that committed since it began."""
    found = {Level.NEVER}
    for winner, when in reversed(last.items()):
        if when <= began or Level.WILL in found:
            break
        found.add(verdicts.level(kind, winner))
    return max(found & _ABORTING or found)
