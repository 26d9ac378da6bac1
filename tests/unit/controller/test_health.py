"""Health: what stands still is said to be stuck, and what sees nothing isn't ready."""

import asyncio
from types import SimpleNamespace
from typing import Any

from sluice.controller.process.health import STUCK_AFTER, TURN_EVERY, Health, Pulse, Stillness, TurnCount


class _Process:
    def __init__(self) -> None:
        self.time = 0.0
        self.asks = True
        self.leads = False
        self.listed = False
        self.missing: list[str] = []
        self.watcher: Any = SimpleNamespace(is_missed=False, called="pods of etl")
        watchers: Any = (self.watcher,)
        self.lease, self.main, self.loop = (Pulse(lambda: self.time) for _ in range(3))
        self.health = Health(
            asks_the_lease=lambda: self.asks,
            leads=lambda: self.leads,
            has_listed=lambda: self.listed,
            lease=self.lease,
            main=self.main,
            loop=self.loop,
            watchers=watchers,
            missing=lambda: self.missing,
        )


def test_a_loop_that_stands_still_is_stuck_and_one_that_has_not_begun_or_has_ended_is_not() -> None:
    process = _Process()
    process.time = STUCK_AFTER + 1
    assert process.health.stuck() == []
    process.loop.beat()
    assert process.health.stuck() == []
    process.time *= 2
    assert "the acting loop has not moved" in process.health.stuck()[0]
    process.loop.rest()
    assert process.health.stuck() == []


def test_who_does_not_look_at_the_lease_any_more_is_stuck_leader_or_not() -> None:
    process = _Process()
    process.lease.beat()
    process.time = STUCK_AFTER + 1
    process.loop.beat()
    for process.leads in (False, True):
        assert "nobody has looked at the Lease" in process.health.stuck()[0]


def test_a_process_whose_main_event_loop_stands_still_is_stuck_leader_or_not() -> None:
    process = _Process()
    process.main.beat()
    process.time = STUCK_AFTER + 1
    assert process.health.stuck() == [f"the main event loop has not turned for {STUCK_AFTER + 1:.0f} s"]


def test_ready_are_those_who_watch_and_a_leader_who_has_listed() -> None:
    process = _Process()
    assert process.health.not_ready() == []
    process.leads = True
    assert process.health.not_ready() == ["not all objects have been listed yet"]
    process.listed = True
    assert process.health.not_ready() == []
    process.watcher.is_missed = True
    assert process.health.not_ready() == ["pods of etl are not watched"]
    process.watcher.is_missed, process.missing = False, ["there is no Spark operator"]
    assert process.health.not_ready() == ["there is no Spark operator"]
    process.missing, process.asks = [], False
    assert process.health.not_ready() == ["the Lease cannot be read: see the operator's log"]


def test_who_is_stuck_is_not_ready() -> None:
    process = _Process()
    process.loop.beat()
    process.time = STUCK_AFTER + 1
    assert process.health.not_ready() == process.health.stuck() != []


async def test_turns_are_counted_as_long_as_the_loop_turns() -> None:
    turns = TurnCount()
    counting = asyncio.create_task(turns.go_on())
    await asyncio.sleep(0)
    begun = turns.count
    await asyncio.sleep(4 * TURN_EVERY)
    counting.cancel()
    assert turns.count > begun > 0


def test_stillness_is_counted_by_looks_and_over_with_the_first_turn() -> None:
    turns = 7
    stillness = Stillness(lambda: turns)
    assert [stillness.look() for _ in range(3)] == [0, TURN_EVERY, 2 * TURN_EVERY]
    turns += 1
    assert [stillness.look() for _ in range(2)] == [0, TURN_EVERY]
