"""The figures of a run."""

from sluice.offline.simulation import SimulatedRun, Trace
from sluice.offline.simulation.run import RunSpan, quantile
from unit.offline.simulation.small_traces import MINUTE, job, merge


def span(name: str, begins: int, ends: int, *, commits: bool = True) -> RunSpan:
    return RunSpan(name, begins * MINUTE, ends * MINUTE, commits=commits)


TRACE = Trace.of(
    [job("a", merge(1), at=1, minutes=2), job("b", merge(1), at=1, minutes=3), job("c", merge(2), at=9)]
)
RUN = SimulatedRun(
    TRACE, (span("a", 1, 3), span("b", 1, 4, commits=False), span("b", 4, 7), span("c", 9, 10))
)


def test_the_makespan_counts_from_when_the_first_job_came() -> None:
    assert RUN.makespan == 9 * MINUTE


def test_a_wait_is_how_much_later_a_job_ended_than_alone() -> None:
    assert RUN.waits == (0, 0, 3 * MINUTE)
    assert (RUN.waited, RUN.mean_wait, RUN.longest_wait) == (1, MINUTE, 3 * MINUTE)


def test_what_aborted_runs_computed_is_wasted() -> None:
    assert (RUN.aborted, RUN.wasted) == (1, 3 * MINUTE)


def test_writers_are_counted_while_they_run_and_one_that_ends_is_gone_before_the_next_begins() -> None:
    assert RUN.most_running == 2
    assert RUN.running == 1.0
    assert RUN.utilisation == 0.5
    assert RUN.busy == 7 / 9
    in_turn = SimulatedRun(TRACE, (span("a", 1, 3), span("b", 3, 6), span("c", 9, 10)))
    assert in_turn.most_running == 1


def test_a_quantile_is_one_of_the_values() -> None:
    assert [quantile(range(1, 101), percent) for percent in (1, 50, 95, 100)] == [1, 50, 95, 100]
    assert quantile([7], 50) == 7
    assert quantile([], 50) == 0
