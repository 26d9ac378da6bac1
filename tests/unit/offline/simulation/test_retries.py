"""No queue: who loses by Delta's rules computes in vain, and tries again."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.api.job import Operation
from sluice.conflicts import Level
from sluice.conflicts.oracle import worst_for
from sluice.offline.simulation import Trace, TracedJob
from sluice.offline.simulation.retries import FIRST_PAUSE, Retried, retried
from sluice.offline.simulation.verdicts import Verdicts
from unit.offline.simulation.small_traces import MINUTE, append, job, jobs, merge, touching


def of(*given_jobs: TracedJob, seed: int = 1) -> Retried:
    return retried(Trace.of(given_jobs), Verdicts(), seed)


def test_who_began_before_the_winner_committed_is_aborted_after_all_of_its_compute() -> None:
    found = of(job("short", merge(1), minutes=1), job("long", merge(1), minutes=3))
    first, second = [span for span in found.run.spans if span.name == "long"]
    assert (first.begins, first.ends, first.commits) == (0, 3 * MINUTE, False)
    pause = second.begins - first.ends
    assert FIRST_PAUSE / 2 <= pause <= FIRST_PAUSE * 3 / 2
    assert second.commits
    assert found.run.wasted == 3 * MINUTE
    assert found.run.waits == (0, 3 * MINUTE + pause)


def test_who_begins_when_the_winner_commits_reads_what_it_wrote() -> None:
    found = of(job("first", merge(1), minutes=2), job("next", merge(1), at=2))
    assert found.run.aborted == 0


def test_a_blind_append_never_loses_to_a_merge_and_the_merge_loses_to_it() -> None:
    merged, appended = job("merge", merge(1), minutes=3), job("append", append(1), at=1, minutes=3)
    assert of(merged, appended).run.aborted == 0
    appended = job("append", append(1), at=1, minutes=1)
    aborted = [span for span in of(merged, appended).run.spans if not span.commits]
    assert [span.name for span in aborted] == ["merge"]


def test_a_pause_doubles_with_each_abort() -> None:
    hot = [job(f"short-{number:02}", merge(1), at=number, minutes=1) for number in range(30)]
    found = of(job("long", merge(1), minutes=10), *hot)
    tries = [span for span in found.run.spans if span.name == "long"]
    pauses = [later.begins - earlier.ends for earlier, later in pairwise(tries)]
    assert len(pauses) >= 2
    for number, pause in enumerate(pauses):
        assert FIRST_PAUSE * 2**number / 2 <= pause <= FIRST_PAUSE * 2**number * 3 / 2


@settings(max_examples=100)
@given(jobs(), st.integers(0, 5), st.randoms(use_true_random=False))
def test_only_those_that_lost_are_aborted_and_the_seed_alone_decides_the_pauses(
    given_jobs: list[TracedJob], seed: int, random: object
) -> None:
    found = of(*given_jobs, seed=seed)
    assert sorted(found.run.committed) == sorted(one.name for one in given_jobs)
    by_name = {one.name: one.footprint for one in given_jobs}
    for span in found.run.spans:
        beaten = [
            other
            for other in found.run.spans
            if other.commits
            and other.name != span.name
            and span.begins < other.ends <= span.ends
            and found.run.spans.index(other) < found.run.spans.index(span)
            and worst_for(by_name[span.name], by_name[other.name])[1].level in (Level.MAY, Level.WILL)
        ]
        assert span.commits == (not beaten)
    assert of(*reversed(given_jobs), seed=seed).run.spans == found.run.spans


def test_that_a_run_is_aborted_for_certain_is_told_apart() -> None:
    alter = touching(Operation.REPLACE, (1,))
    merged, replaced = job("merge", merge(1), minutes=3), job("replace", alter, at=1, minutes=1)
    found = of(merged, replaced)
    assert found.run.aborted == 1
    level = worst_for(merged.footprint, replaced.footprint)[1].level
    assert found.surely == (level is Level.WILL)
