"""Who goes next, for any queue: nobody beside what it conflicts with, nobody that has aged passed by what conflicts with it, and
nothing idle that could be used."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.admission import AdmissionDecision, Holder, Waiter, decide
from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import Conflict, conflict_between
from sluice.footprint import JobFootprint, footprint_of
from sluice.predicates import Table
from sluice.tables import TableFacts, TableKey, key_of_path, oss

BEGAN = datetime(2026, 11, 19, tzinfo=UTC)
BY_DAY = {
    key_of_path("/days"): TableFacts(
        columns=Table.of({"id": "bigint", "day": "int"}, ["day"]), dialect=oss("4.4.0")
    )
}
LINKING = {"spark.delta.logStore.file.impl": "dev.sluice.delta.LinkLogStore"}


def footprint(sql: str, conf: dict[str, str]) -> JobFootprint:
    return footprint_of(DeltaWriteJobSpec(sql=sql), conf)


FOOTPRINTS = [
    footprint(sql, conf)
    for sql in (
        "INSERT INTO delta.`/a` VALUES (1)",
        "INSERT INTO delta.`/b` VALUES (1)",
        "DELETE FROM delta.`/a`",
        "DELETE FROM delta.`/b`",
        "DELETE FROM delta.`s3://lake/c`",
        "INSERT INTO delta.`/a` VALUES (1); DELETE FROM delta.`/b`",
        "DELETE FROM sales.orders",
    )
    for conf in (LINKING, {})
]


AGES = timedelta(seconds=4)
NOW = BEGAN + timedelta(seconds=6)
"""Those that were queued in the first two seconds have aged."""


def waiter(
    uid: str, footprint: JobFootprint, *, priority: int = 0, seconds: int = 0, ages: timedelta = AGES
) -> Waiter:
    queued_at = BEGAN + timedelta(seconds=seconds)
    return Waiter(uid, f"etl/{uid}", footprint, priority, queued_at, queued_at + ages)


def decided(waiters: list[Waiter], holders: list[Holder], now: datetime = NOW) -> list[AdmissionDecision]:
    return decide(waiters, holders, now, {})


def on_days(sql: str, conf: dict[str, str] = LINKING) -> JobFootprint:
    spec = DeltaWriteJobSpec(sql=sql.replace("{t}", "delta.`/days`"))
    return footprint_of(spec, conf, facts=BY_DAY)


@st.composite
def queues(draw: st.DrawFn) -> tuple[list[Waiter], list[Holder]]:
    waiters = [
        waiter(
            f"w{number}",
            draw(st.sampled_from(FOOTPRINTS)),
            priority=draw(st.integers(-1, 1)),
            seconds=draw(st.integers(0, 3)),
        )
        for number in range(draw(st.integers(0, 7)))
    ]
    holders: list[Holder] = []
    for number in range(draw(st.integers(0, 3))):
        one = Holder(f"h{number}", f"etl/h{number}", draw(st.sampled_from(FOOTPRINTS)))
        if not any(conflict_between(one.footprint, other.footprint) for other in holders):
            holders.append(one)
    return waiters, holders


@given(queues())
def test_no_two_that_conflict_hold_together(queue: tuple[list[Waiter], list[Holder]]) -> None:
    waiters, holders = queue
    granted = [decision.waiter for decision in decided(waiters, holders) if decision.granted]
    holding: list[Holder] = [*holders, *granted]
    for position, one in enumerate(holding):
        for other in holding[position + 1 :]:
            assert conflict_between(one.footprint, other.footprint) is None


def barriers_in(decisions: list[AdmissionDecision]) -> list[Waiter]:
    """Those that have aged, can't go, and have no such waiter of their tables before them in their way."""
    found: list[Waiter] = []
    for decision in decisions:
        mine = decision.waiter
        behind = (
            one
            for one in found
            if conflict_between(mine.footprint, one.footprint) is not None
            and set(mine.footprint.keys) & set(one.footprint.keys)
        )
        if mine.has_aged(NOW) and not decision.granted and next(behind, None) is None:
            found.append(mine)
    return found


@given(queues())
def test_a_barrier_is_passed_only_by_those_it_does_not_conflict_with(
    queue: tuple[list[Waiter], list[Holder]],
) -> None:
    waiters, holders = queue
    decisions = decided(waiters, holders)
    barriers = barriers_in(decisions)
    aged = [one for one in decisions if one.waiter.has_aged(NOW) and not one.granted]
    assert [one.waiter for one in aged[:1]] == barriers[:1], "the oldest is one"
    for position, ahead in enumerate(decisions):
        if ahead.waiter in barriers:
            for behind in decisions[position + 1 :]:
                if behind.granted:
                    assert conflict_between(ahead.waiter.footprint, behind.waiter.footprint) is None


@given(queues())
def test_whoever_could_run_runs_but_for_a_barrier(queue: tuple[list[Waiter], list[Holder]]) -> None:
    waiters, holders = queue
    decisions = decided(waiters, holders)
    holding = [*holders, *(decision.waiter for decision in decisions if decision.granted)]
    barriers = barriers_in(decisions)
    for decision in decisions:
        if not decision.granted:
            mine = decision.waiter
            ahead = [one for one in barriers if one.rank(aged=True) < mine.rank(aged=mine.has_aged(NOW))]
            assert any(conflict_between(mine.footprint, one.footprint) for one in (*holding, *ahead))


@given(queues())
def test_nobody_waits_without_somebody_in_the_way(queue: tuple[list[Waiter], list[Holder]]) -> None:
    waiters, holders = queue
    decisions = decided(waiters, holders)
    there = {one.uid for one in (*waiters, *holders)}
    assert sorted(decision.waiter.uid for decision in decisions) == sorted(waiter.uid for waiter in waiters)
    for decision in decisions:
        for blocking in decision.blocked_by:
            assert blocking.by.uid in there - {decision.waiter.uid}
            assert blocking.holds or blocking.by.uid.startswith("w")
            assert conflict_between(decision.waiter.footprint, blocking.by.footprint) is not None


@given(queues(), st.randoms(use_true_random=False))
def test_the_order_in_which_jobs_are_listed_decides_nothing(
    queue: tuple[list[Waiter], list[Holder]], chance: st.DataObject
) -> None:
    waiters, holders = queue
    shuffled = list(waiters)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert decided(shuffled, holders) == decided(waiters, holders)


@given(queues())
def test_the_queue_drains_in_as_many_rounds_as_there_are_waiters(
    queue: tuple[list[Waiter], list[Holder]],
) -> None:
    """Whoever is first among those that conflict goes as soon as the holders are gone: nobody starves."""
    waiters, _ = queue
    left = list(waiters)
    for _ in range(len(waiters)):
        granted = {decision.waiter.uid for decision in decided(left, []) if decision.granted}
        left = [waiter for waiter in left if waiter.uid not in granted]
    assert left == []


REWRITE = FOOTPRINTS[4]


def order_of(queue: list[Waiter], now: datetime) -> list[str]:
    return [decision.waiter.uid for decision in decided(queue, [], now)]


def test_the_higher_priority_then_the_older_then_the_uid_is_first() -> None:
    queue = [
        waiter("d", REWRITE, seconds=1),
        waiter("c", REWRITE, seconds=1),
        waiter("b", REWRITE),
        waiter("a", REWRITE, priority=5, seconds=9),
    ]
    assert order_of(queue, BEGAN) == ["a", "b", "c", "d"]
    assert [decision.granted for decision in decided(queue, [], BEGAN)] == [True, False, False, False]


def test_one_that_has_aged_goes_ahead_of_any_priority_and_the_oldest_of_them_first() -> None:
    queue = [
        waiter("a", REWRITE, priority=1000, seconds=5),
        waiter("b", REWRITE, priority=-1000),
        waiter("c", REWRITE, priority=1000, seconds=1),
    ]
    assert order_of(queue, NOW) == ["b", "c", "a"]


def test_one_that_has_not_aged_is_overtaken_and_one_that_has_is_not() -> None:
    """A whole table is to be rewritten while one of two partitions is: the other partition need not lie idle at first."""
    whole, one, other = (
        on_days(f"DELETE FROM {{t}}{where}")
        for where in ("", " WHERE day = 1 AND id = 1", " WHERE day = 2 AND id = 1")
    )
    holders = [Holder("h", "etl/h", one)]
    queue = [waiter("a", whole), waiter("b", other, seconds=1)]
    young, old = decided(queue, holders, BEGAN), decided(queue, holders, NOW)
    assert [decision.granted for decision in young] == [False, True]
    assert [decision.granted for decision in old] == [False, False]
    assert [(blocking.by.uid, blocking.holds) for blocking in old[1].blocked_by] == [("a", False)]


def test_ages_at_once_means_in_the_order_of_age_alone() -> None:
    queue = [
        waiter("a", REWRITE, priority=9, seconds=1, ages=timedelta()),
        waiter("b", REWRITE, ages=timedelta()),
    ]
    assert order_of(queue, BEGAN + timedelta(seconds=1)) == ["b", "a"]


def test_no_more_write_a_table_than_its_policy_says_and_one_that_has_aged_keeps_its_place() -> None:
    append, rewrite = on_days("INSERT INTO {t} VALUES (1, 1)"), on_days("DELETE FROM {t} WHERE day = 2")
    appends = [waiter(f"w{number}", append, seconds=number) for number in range(4)]
    table = append.keys[0]
    decisions = decide(appends, [Holder("h", "etl/h", append)], BEGAN, {table: 3})
    assert [decision.granted for decision in decisions] == [True, True, False, False]
    third = decisions[2]
    assert {blocking.conflict.verdict.rule for blocking in third.blocked_by} == {"max-writers"}
    assert [blocking.by.uid for blocking in third.blocked_by] == ["h", "w0", "w1"]
    both = waiter("both", rewrite)
    held = [Holder("h", "etl/h", rewrite)]
    waiting = decide([both, *appends[3:]], held, NOW, {table: 1})
    assert [decision.granted for decision in waiting] == [False, False]
    assert [(b.by.uid, b.holds) for b in waiting[1].blocked_by] == [("h", True), ("both", False)]


def test_those_that_accept_it_run_beside_what_may_abort_them_and_beside_nothing_worse() -> None:
    delete, other = (on_days(f"DELETE FROM {{t}} WHERE id = {n}") for n in (1, 2))
    by_renaming = on_days("DELETE FROM {t} WHERE id = 3", {})
    takes = frozenset(delete.keys)

    def beside(one: JobFootprint, mine: frozenset[TableKey], theirs: frozenset[TableKey]) -> bool:
        asking = replace(waiter("w", other), accepts=mine)
        (decision,) = decided([asking], [Holder("h", "etl/h", one, accepts=theirs)])
        return decision.granted

    assert beside(delete, takes, takes)
    assert not beside(delete, takes, frozenset())
    assert not beside(delete, frozenset(), takes)
    assert not beside(by_renaming, takes, takes)


ROUNDS = 12


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, ROUNDS), st.sampled_from(FOOTPRINTS), st.integers(-1, 1), st.integers(1, 3)),
        min_size=1,
        max_size=25,
    )
)
def test_nobody_waits_longer_than_until_it_has_aged_and_the_chain_of_older_ones_before_it_has_run(
    arrivals: list[tuple[int, JobFootprint, int, int]],
) -> None:
    """With D the longest run, A the age, and N the longest chain of older ones each of which conflicts with the next, and the
    last with it: A + D * (N + 1)."""
    jobs = [
        (waiter(f"w{number:02}", work, priority=priority, seconds=at), lasts)
        for number, (at, work, priority, lasts) in enumerate(arrivals)
    ]
    longest, running, waited = max(lasts for _, lasts in jobs), list[tuple[int, Waiter]](), dict[str, int]()
    for second in range(ROUNDS + longest * (len(jobs) + 1) + 10):
        now = BEGAN + timedelta(seconds=second)
        running = [(ends, one) for ends, one in running if ends > second]
        there = [one for one, _ in jobs if one.queued_at <= now and one.uid not in waited]
        for decision in decided(there, [one for _, one in running], now):
            one = decision.waiter
            if decision.granted:
                waited[one.uid] = int((now - one.queued_at).total_seconds())
                running.append((second + next(lasts for job, lasts in jobs if job is one), one))
    chains: dict[str, int] = {}
    by_age = sorted((one for one, _ in jobs), key=lambda one: one.rank(aged=True))
    for number, one in enumerate(by_age):
        met = (other for other in by_age[:number] if conflict_between(one.footprint, other.footprint))
        chains[one.uid] = max((chains[other.uid] + 1 for other in met), default=0)
        assert waited[one.uid] <= AGES.total_seconds() + longest * (chains[one.uid] + 1)


def test_one_that_cannot_be_compared_stops_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    broken, good = footprint("DELETE FROM delta.`/broken`", {}), footprint("DELETE FROM delta.`/good`", {})

    def fails(one: JobFootprint, other: JobFootprint, accepted: object) -> Conflict | None:
        if one is broken:
            raise RecursionError("too deep")
        return conflict_between(one, other)

    monkeypatch.setattr("sluice.admission.reference_decision.conflict_between", fails)
    queue = [waiter("a", broken), waiter("b", good)]
    first, second = decided(queue, [Holder("h", "etl/h", footprint("DELETE FROM delta.`/held`", {}))])
    assert not first.granted
    assert isinstance(first.failure, RecursionError)
    assert second.granted
