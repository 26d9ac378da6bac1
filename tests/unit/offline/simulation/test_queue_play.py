"""The operator's queue in virtual time: it starts what `decide` says at each moment, and keeps what it promises."""

from heapq import heappop, heappush
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.admission import Holder, Waiter, decide
from sluice.offline.simulation import SimulatedRun, Trace, TracedJob
from sluice.offline.simulation.queue_play import queued
from sluice.offline.simulation.trace import TraceRules, moment
from sluice.tables import key_of_path
from unit.offline.simulation.small_traces import MINUTE, A, apart, append, job, jobs, merge, starts

some_rules = st.builds(
    lambda minutes, most: TraceRules(
        {} if most is None else {key_of_path(A): most}, otherwise=minutes * MINUTE
    ),
    st.integers(0, 6),
    st.none() | st.integers(1, 3),
)


def by_decide(trace: Trace) -> dict[str, int]:
    """When each job starts if at each moment, also when somebody ages, the rules are asked from scratch."""
    found: dict[str, int] = {}
    waiting: dict[str, TracedJob] = {}
    running: dict[str, TracedJob] = {}
    moments = [one for job in trace.jobs for one in (job.at, trace.rules.aged_at(job))]
    moments.sort()
    while moments:
        now = heappop(moments)
        waiting |= {one.name: one for one in trace.jobs if one.at == now and one.name not in found}
        running = {name: one for name, one in running.items() if found[name] + one.duration > now}
        holders = [Holder(one.name, one.name, one.footprint) for one in running.values()]
        waiters = [
            Waiter(
                one.name,
                one.name,
                one.footprint,
                priority=one.priority,
                queued_at=moment(one.at),
                aged_at=moment(trace.rules.aged_at(one)),
            )
            for one in waiting.values()
        ]
        for decision in decide(waiters, holders, moment(now), trace.rules.most_writers):
            if decision.granted:
                one = running[decision.waiter.uid] = waiting.pop(decision.waiter.uid)
                found[one.name] = now
                heappush(moments, now + one.duration)
    return found


@settings(max_examples=100)
@given(jobs(), some_rules)
def test_it_starts_what_the_rules_from_scratch_start_and_when_they_do(
    given_jobs: list[TracedJob], rules: TraceRules
) -> None:
    trace = Trace.of(given_jobs, rules)
    run = queued(trace)
    assert {name: span.begins for name, span in run.committed.items()} == by_decide(trace)


@settings(max_examples=100)
@given(jobs(), some_rules)
def test_no_two_that_conflict_run_side_by_side(given_jobs: list[TracedJob], rules: TraceRules) -> None:
    run = queued(Trace.of(given_jobs, rules))
    assert len(run.spans) == len(run.committed) == len(given_jobs)
    by_name = {one.name: one for one in given_jobs}
    for one in run.spans:
        assert by_name[one.name].at <= one.begins
        assert one.ends - one.begins == by_name[one.name].duration
        for other in run.spans:
            if one is not other and one.begins < other.ends and other.begins < one.ends:
                assert not apart(by_name[one.name].footprint, by_name[other.name].footprint)


@settings(max_examples=100)
@given(jobs(), st.integers(0, 6))
def test_nobody_waits_but_for_one_that_runs_or_for_a_barrier_ahead(
    given_jobs: list[TracedJob], minutes: int
) -> None:
    rules = TraceRules(otherwise=minutes * MINUTE)
    run = queued(Trace.of(given_jobs, rules))
    spans = run.committed

    def waits(one: TracedJob, now: int) -> bool:
        return one.at <= now < spans[one.name].begins

    def has_aged(one: TracedJob, now: int) -> bool:
        return rules.aged_at(one) <= now

    def barriers_at(now: int) -> list[TracedJob]:
        found: list[TracedJob] = []
        for one in sorted(given_jobs, key=lambda job: job.order):
            if (
                waits(one, now)
                and has_aged(one, now)
                and not any(in_the_way(before, one) for before in found)
            ):
                found.append(one)
        return found

    for now in moments_of(run, rules):
        running = [other for other in given_jobs if spans[other.name].begins <= now < spans[other.name].ends]
        barriers = barriers_at(now)
        for one in given_jobs:
            if waits(one, now):
                ahead = [other for other in barriers if other.order < one.order or not has_aged(one, now)]
                assert any(in_the_way(other, one) for other in (*running, *ahead))


def in_the_way(one: TracedJob, other: TracedJob) -> bool:
    return one is not other and apart(one.footprint, other.footprint)


def moments_of(run: SimulatedRun, rules: TraceRules) -> set[int]:
    jobs_of = run.trace.jobs
    return {
        *(one.at for one in jobs_of),
        *(rules.aged_at(one) for one in jobs_of),
        *(span.ends for span in run.spans),
    }


@settings(max_examples=100)
@given(jobs(), st.integers(0, 6))
def test_once_aged_it_waits_for_none_but_older_ones_and_those_that_run(
    given_jobs: list[TracedJob], minutes: int
) -> None:
    """From when it has aged, and the last older one that conflicts with it has begun, nothing that conflicts with it begins: so
    it waits no longer than the longest of these computes."""
    rules = TraceRules(otherwise=minutes * MINUTE)
    begins = {name: span.begins for name, span in queued(Trace.of(given_jobs, rules)).committed.items()}
    for one in given_jobs:
        others = [other for other in given_jobs if in_the_way(other, one)]
        older = [begins[other.name] for other in others if other.order < one.order]
        longest = max((other.duration for other in others), default=0)
        assert begins[one.name] <= max([rules.aged_at(one), *older]) + longest


@settings(max_examples=100)
@given(jobs(), st.integers(0, 6))
def test_nobody_starves(given_jobs: list[TracedJob], minutes: int) -> None:
    """A job begins within its age and one longest run for each older job in the longest chain to it in which each conflicts with
    the next, and one more for whoever runs when it ages."""
    rules = TraceRules(otherwise=minutes * MINUTE)
    begins = {name: span.begins for name, span in queued(Trace.of(given_jobs, rules)).committed.items()}
    longest = max(one.duration for one in given_jobs)
    chains: dict[str, int] = {}
    for one in sorted(given_jobs, key=lambda job: job.order):
        ahead = [
            chains[other.name] for other in given_jobs if other.order < one.order and in_the_way(other, one)
        ]
        chains[one.name] = 1 + max(ahead, default=0)
        assert begins[one.name] <= rules.aged_at(one) + chains[one.name] * longest


def test_one_that_waits_for_a_barrier_is_overtaken_and_is_one_itself_once_those_before_it_have_gone() -> None:
    """Until the last job of the first day runs, the one of both days has a barrier before it, and the second day lies idle. From
    then on it only waits for who runs, and whoever comes to the second day waits for it, and so for a job of the first day."""
    ahead = [job(f"first day {number}", merge(1), minutes=10) for number in range(3)]
    both = job("of both days", merge(1, 2), minutes=10)
    early, late = (job(name, merge(2), at, minutes=5) for name, at in (("early", 1), ("late", 21)))
    found = starts(queued(Trace.of([*ahead, both, early, late], TraceRules(otherwise=0))))
    assert (found["early"], found["of both days"], found["late"]) == (1, 30, 40)


@settings(max_examples=60)
@given(jobs(), some_rules, st.randoms(use_true_random=False))
def test_it_does_not_matter_in_which_order_a_trace_names_its_jobs(
    given_jobs: list[TracedJob], rules: TraceRules, random: Random
) -> None:
    first = queued(Trace.of(given_jobs, rules))
    random.shuffle(given_jobs)
    assert queued(Trace.of(given_jobs, rules)).spans == first.spans


def test_jobs_that_came_before_they_aged_are_overtaken_and_aged_ones_are_not() -> None:
    long, wide, behind = job("long", merge(1), minutes=5), job("wide", merge(1, 2), at=1), merge(2)
    early, late = job("early", behind, at=2), job("late", behind, at=4)
    trace = Trace.of([long, wide, early, late], TraceRules(otherwise=2 * MINUTE))
    assert starts(queued(trace)) == {"long": 0, "early": 2, "wide": 5, "late": 6}


def test_a_table_takes_as_many_writers_as_its_policy_says() -> None:
    three = [job(f"append-{number}", append(1)) for number in range(3)]
    trace = Trace.of(three, TraceRules({key_of_path(A): 2}))
    assert starts(queued(trace)) == {"append-0": 0, "append-1": 0, "append-2": 1}
