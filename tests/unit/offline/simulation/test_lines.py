"""The plain ways to keep writers apart: a line a table, and a lock a table."""

import pytest
from hypothesis import given, settings

from sluice.footprint import JobFootprint
from sluice.offline.simulation import Trace, TracedJob
from sluice.offline.simulation.lines import by_locks, in_lines
from unit.offline.simulation.small_traces import MINUTE, A, B, append, job, jobs, merge, starts

BOTH, ONLY_B = merge(1, tables=(A, B)), merge(1, tables=(B,))


def four() -> Trace:
    """The second waits for A, and stands in the line of B before the third."""
    return Trace.of(
        [
            job("first", merge(1), minutes=5),
            job("both", BOTH, at=1, minutes=2),
            job("second", ONLY_B, at=2),
            job("other day", merge(2), at=3),
        ]
    )


def test_in_a_line_everybody_waits_for_all_that_came_before_to_any_of_its_tables() -> None:
    assert starts(in_lines(four())) == {"first": 0, "both": 5, "second": 7, "other day": 7}


def test_at_a_lock_nobody_waits_for_one_that_waits_for_another_table() -> None:
    assert starts(by_locks(four())) == {"first": 0, "second": 2, "both": 5, "other day": 7}


@pytest.mark.parametrize("way", [in_lines, by_locks], ids=["line", "lock"])
def test_they_let_one_writer_at_a_time_into_a_table_whatever_it_touches(way: type) -> None:
    run = way(Trace.of([job(f"append-{number}", append(number)) for number in range(3)]))
    assert run.makespan == 3 * MINUTE
    assert run.most_running == 1


@settings(max_examples=100)
@given(jobs())
def test_all_jobs_run_once_and_no_two_of_them_on_one_table(given_jobs: list[TracedJob]) -> None:
    for run in (in_lines(Trace.of(given_jobs)), by_locks(Trace.of(given_jobs))):
        spans = run.committed
        assert len(run.spans) == len(spans) == len(given_jobs)
        for one in given_jobs:
            mine = spans[one.name]
            assert one.at <= mine.begins
            for other in given_jobs:
                theirs = spans[other.name]
                if one is not other and set(one.footprint.keys) & set(other.footprint.keys):
                    assert not (mine.begins < theirs.ends and theirs.begins < mine.ends)


@settings(max_examples=60)
@given(jobs())
def test_in_a_line_nobody_begins_before_one_that_came_earlier_to_its_table(
    given_jobs: list[TracedJob],
) -> None:
    found = starts(in_lines(Trace.of(given_jobs)))
    for one in given_jobs:
        for other in given_jobs:
            if one.order < other.order and _share(one.footprint, other.footprint):
                assert found[one.name] <= found[other.name]


def _share(one: JobFootprint, other: JobFootprint) -> bool:
    return bool(set(one.keys) & set(other.keys))
