"""How close the operator's queue comes to what no schedule can beat, on each generated shape of contention, beside other ways.

./dev run python -m bench.simulation              # 400 jobs, 10 seeds a shape
./dev run python -m bench.simulation -n 10000 -s 1  # how long one large trace takes
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from time import perf_counter

from sluice.cli.durations import lasting
from sluice.offline.simulation import Simulation, simulated
from sluice.offline.simulation.queue_play import queued
from sluice.offline.simulation.simulation import times
from sluice.offline.simulation.synthetic_trace import SHAPES, generated
from sluice.offline.simulation.trace import TraceRules

MINUTE = 60_000
LATER = (30 * MINUTE, 720 * MINUTE)
"""Other moments at which jobs age: a few times as late as a job takes, and later than any waits."""
COLUMNS = ("Sluice", "worst seed", *(f"age {lasting(after)}" for after in LATER), "FIFO", "mutex", "retries")


def main(given: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(given)
    sys.stdout.write(f"| times the bound | {' | '.join((*COLUMNS, 'wait p95', 'wasted', 'run in'))} |\n")
    sys.stdout.write(f"| --- |{' ---: |' * (len(COLUMNS) + 3)}\n")
    for shape in arguments.shapes or SHAPES:
        cells = _figures(shape, range(arguments.seeds), arguments.jobs)
        sys.stdout.write(f"| {shape} | {' | '.join(cells)} |\n")
        sys.stdout.flush()
    return 0


def _figures(shape: str, seeds: Sequence[int], jobs: int) -> Iterator[str]:
    """Means over the seeds, but for the worst one. `wasted` is what retries compute in vain for each hour that counts; `run in` is
    the time that one simulation takes."""
    clock = perf_counter()
    found = [simulated(generated(shape, seed, jobs), seed) for seed in seeds]
    took = (perf_counter() - clock) / len(found)
    ratios = [one.times_the_bound for one in found]
    yield f"{_mean(ratios):.2f}"
    yield f"{max(ratios):.2f}"
    for after in LATER:
        yield f"{_mean([_aged_at(after, shape, seed, jobs, one) for seed, one in zip(seeds, found, strict=True)]):.2f}"
    for ways in (
        [one.lines for one in found],
        [one.locks for one in found],
        [one.retries.run for one in found],
    ):
        yield f"{_mean([times(run, one.bound) for run, one in zip(ways, found, strict=True)]):.2f}"
    yield lasting(_mean([one.queue.wait_at(95) for one in found]))
    yield f"{_mean([one.retries.run.wasted / one.trace.compute for one in found]):.1f} h"
    yield f"{took:.1f} s"


def _aged_at(after: int, shape: str, seed: int, jobs: int, found: Simulation) -> float:
    return times(queued(generated(shape, seed, jobs, TraceRules(otherwise=after))), found.bound)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev run python -m bench.simulation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"{name:15} {(jobs.__doc__ or '').strip()}" for name, jobs in SHAPES.items()),
    )
    parser.add_argument("shapes", nargs="*", choices=[*SHAPES, []], metavar="SHAPE")
    parser.add_argument("-n", "--jobs", type=int, default=400)
    parser.add_argument("-s", "--seeds", type=int, default=10)
    return parser


if __name__ == "__main__":
    sys.exit(main())
