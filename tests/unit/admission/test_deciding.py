"""Who goes next, for any queue: nobody beside what it conflicts with, nobody passed by what conflicts with it."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.admission import Holder, Waiter, decide
from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import Conflict, conflict_between
from sluice.footprint import JobFootprint, footprint_of

BEGAN = datetime(2026, 11, 19, tzinfo=UTC)
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


@st.composite
def queues(draw: st.DrawFn) -> tuple[list[Waiter], list[Holder]]:
    waiters = [
        Waiter(
            uid=f"w{number}",
            job=f"etl/w{number}",
            footprint=draw(st.sampled_from(FOOTPRINTS)),
            priority=draw(st.integers(-1, 1)),
            queued_at=BEGAN + timedelta(seconds=draw(st.integers(0, 3))),
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
    granted = [decision.waiter for decision in decide(waiters, holders) if decision.granted]
    holding: list[Holder] = [*holders, *granted]
    for position, one in enumerate(holding):
        for other in holding[position + 1 :]:
            assert conflict_between(one.footprint, other.footprint) is None


@given(queues())
def test_a_waiter_is_passed_only_by_those_it_does_not_conflict_with(
    queue: tuple[list[Waiter], list[Holder]],
) -> None:
    waiters, holders = queue
    decisions = decide(waiters, holders)
    for position, ahead in enumerate(decisions):
        if not ahead.granted:
            for behind in decisions[position + 1 :]:
                if behind.granted:
                    assert conflict_between(ahead.waiter.footprint, behind.waiter.footprint) is None


@given(queues())
def test_nobody_waits_without_somebody_in_the_way(queue: tuple[list[Waiter], list[Holder]]) -> None:
    waiters, holders = queue
    decisions = decide(waiters, holders)
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
    assert decide(shuffled, holders) == decide(waiters, holders)


@given(queues())
def test_the_queue_drains_in_as_many_rounds_as_there_are_waiters(
    queue: tuple[list[Waiter], list[Holder]],
) -> None:
    """Whoever is first among those that conflict goes as soon as the holders are gone: nobody starves."""
    waiters, _ = queue
    left = list(waiters)
    for _ in range(len(waiters)):
        granted = {decision.waiter.uid for decision in decide(left, []) if decision.granted}
        left = [waiter for waiter in left if waiter.uid not in granted]
    assert left == []


def test_the_higher_priority_then_the_older_then_the_uid_is_first() -> None:
    rewrite = FOOTPRINTS[4]

    def waiter(uid: str, priority: int, seconds: int) -> Waiter:
        return Waiter(uid, f"etl/{uid}", rewrite, priority, BEGAN + timedelta(seconds=seconds))

    queue = [waiter("d", 0, 1), waiter("c", 0, 1), waiter("b", 0, 0), waiter("a", 5, 9)]
    assert [decision.waiter.uid for decision in decide(queue, [])] == ["a", "b", "c", "d"]
    assert [decision.granted for decision in decide(queue, [])] == [True, False, False, False]


def test_one_that_cannot_be_compared_stops_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    broken, good = footprint("DELETE FROM delta.`/broken`", {}), footprint("DELETE FROM delta.`/good`", {})

    def fails(one: JobFootprint, other: JobFootprint) -> Conflict | None:
        if one is broken:
            raise RecursionError("too deep")
        return conflict_between(one, other)

    monkeypatch.setattr("sluice.admission.deciding.conflict_between", fails)
    queue = [Waiter("a", "etl/a", broken, 0, BEGAN), Waiter("b", "etl/b", good, 0, BEGAN)]
    first, second = decide(queue, [Holder("h", "etl/h", footprint("DELETE FROM delta.`/held`", {}))])
    assert not first.granted
    assert isinstance(first.failure, RecursionError)
    assert second.granted
