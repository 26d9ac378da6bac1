"""The goal on generated contention: at most 1.15 times the makespan that no schedule can beat."""

from statistics import fmean

import pytest

from sluice.offline.simulation import Trace
from sluice.offline.simulation.bound import bound
from sluice.offline.simulation.queue_play import queued
from sluice.offline.simulation.synthetic_trace import SHAPES, generated
from sluice.offline.simulation.trace import TraceRules
from sluice.offline.simulation.verdicts import Verdicts
from unit.offline.simulation.small_traces import MINUTE

GOAL = 1.15
SEEDS = range(2)
JOBS = 200


def times_the_bound(trace: Trace) -> float:
    return queued(trace).makespan / bound(trace, Verdicts()).makespan


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shape", ["hot-partition", "compaction", "bursts", "several-tables"])
def test_it_is_met_where_jobs_contend_for_single_partitions_or_for_few_of_many_tables(
    shape: str, seed: int
) -> None:
    assert times_the_bound(generated(shape, seed, JOBS)) <= GOAL


def test_it_is_met_on_average_where_some_jobs_reach_over_many_partitions() -> None:
    """Whoever waits for a barrier lets others use what it will touch, which would lie idle for hours otherwise."""
    assert fmean(times_the_bound(generated("backfill", seed, JOBS)) for seed in range(5)) <= GOAL


@pytest.mark.parametrize("shape", SHAPES)
def test_a_seed_makes_one_trace(shape: str) -> None:
    one, again, other = (generated(shape, seed, 40) for seed in (1, 1, 2))
    assert [(job.name, job.at, job.duration) for job in one.jobs] == [
        (job.name, job.at, job.duration) for job in again.jobs
    ]
    assert [job.footprint.fingerprint for job in one.jobs] == [
        job.footprint.fingerprint for job in again.jobs
    ]
    assert [job.at for job in one.jobs] != [job.at for job in other.jobs]
    assert len(one.jobs) == 40


def test_what_loads_miss_it_by_is_mostly_the_order_of_age() -> None:
    """An append waits for each older MERGE of its partition also while others append to it: what could all run at once runs in as
    many turns as MERGEs came between. Once jobs age later than they wait, less than half of what is above the bound is left."""
    at_once, late = (
        fmean(
            times_the_bound(generated("loads", seed, JOBS, TraceRules(otherwise=after))) for seed in range(5)
        )
        for after in (0, 720 * MINUTE)
    )
    assert late - 1 < (at_once - 1) / 2
