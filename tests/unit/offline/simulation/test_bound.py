"""No schedule beats the bound: all of them are tried where jobs are few."""

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.offline.simulation import Trace, TracedJob
from sluice.offline.simulation.bound import bound
from sluice.offline.simulation.queue_play import queued
from sluice.offline.simulation.trace import TraceRules
from sluice.offline.simulation.verdicts import Verdicts
from sluice.tables import key_of_path
from unit.offline.simulation.small_traces import MINUTE, A, apart, append, job, jobs, merge


def best_of_all(trace: Trace) -> int:
    """The shortest makespan of all schedules. Each schedule puts those that conflict into an order, and none with that order is
    shorter than the one in which each begins as soon as all before it have ended."""
    return min(_makespan(order) for order in permutations(trace.jobs)) - trace.begins


def _makespan(order: tuple[TracedJob, ...]) -> int:
    ends: dict[str, int] = {}
    for number, one in enumerate(order):
        before = [ends[other.name] for other in order[:number] if apart(one.footprint, other.footprint)]
        ends[one.name] = max([one.at, *before]) + one.duration
    return max(ends.values())


@settings(max_examples=150)
@given(jobs(most=5))
def test_no_order_of_the_jobs_is_shorter(given_jobs: list[TracedJob]) -> None:
    trace = Trace.of(given_jobs)
    assert bound(trace, Verdicts()).makespan <= best_of_all(trace)


@settings(max_examples=60)
@given(jobs(), st.integers(1, 3))
def test_no_schedule_with_few_places_is_shorter(given_jobs: list[TracedJob], most: int) -> None:
    trace = Trace.of(given_jobs, TraceRules({key_of_path(A): most}))
    assert bound(trace, Verdicts()).makespan <= queued(trace).makespan


@pytest.mark.parametrize(
    ("given_jobs", "minutes", "because_of"),
    [
        ([job("a", merge(1), minutes=3), job("b", merge(2), minutes=2)], 3, {"a"}),
        ([job("a", merge(1), minutes=3), job("b", merge(1), minutes=2)], 5, {"a", "b"}),
        ([job("a", merge(1), minutes=1), job("b", merge(1), at=9), job("c", merge(1), at=9)], 11, {"b", "c"}),
        ([job("a", append(1), minutes=2), job("b", append(1), minutes=3)], 3, {"b"}),
        (
            [job("a", append(1), minutes=3), job("b", append(1), minutes=2), job("c", merge(1))],
            4,
            {"a", "c"},
        ),
        ([job("a", merge(1), at=5), job("b", merge(2), at=7)], 3, {"b"}),
    ],
    ids=["alone", "in turn", "the late ones", "side by side", "one of those", "it counts from the first"],
)
def test_it_is_what_the_heaviest_group_in_each_others_way_needs(
    given_jobs: list[TracedJob], minutes: int, because_of: set[str]
) -> None:
    found = bound(Trace.of(given_jobs), Verdicts())
    assert found.makespan == minutes * MINUTE == best_of_all(Trace.of(given_jobs))
    assert set(found.jobs) == because_of


def test_few_places_bound_those_that_could_all_run() -> None:
    six = [job(f"append-{number}", append(1), minutes=2) for number in range(6)]
    trace = Trace.of(six, TraceRules({key_of_path(A): 2}))
    assert bound(trace, Verdicts()).makespan == 6 * MINUTE
