"""The goal on generated contention: at most 1.15 times the makespan that no schedule can beat."""

import pytest

from sluice.offline.simulation import Trace
from sluice.offline.simulation.bound import bound
from sluice.offline.simulation.generated import SHAPES, generated
from sluice.offline.simulation.queued import queued
from sluice.offline.simulation.trace import Rules
from sluice.offline.simulation.verdicts import Verdicts
from unit.offline.simulation.small_traces import MINUTE

GOAL = 1.15
SEEDS = range(3)


def times_the_bound(trace: Trace) -> float:
    return queued(trace).makespan / bound(trace, Verdicts()).makespan


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shape", ["hot-partition", "compaction", "bursts"])
def test_where_jobs_contend_for_single_partitions_the_goal_is_met(shape: str, seed: int) -> None:
    assert times_the_bound(generated(shape, seed, 400)) <= GOAL


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


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shape", ["backfill", "several-tables"])
def test_where_jobs_reach_over_several_it_is_met_once_they_age_later_than_they_wait(
    shape: str, seed: int
) -> None:
    """One that has aged keeps all others off everything that it touches, until the last of it is free: where most have aged,
    this costs more than the goal allows."""
    assert times_the_bound(generated(shape, seed, 400, Rules(otherwise=720 * MINUTE))) <= GOAL
