"""Each is looked at when the first of the times has come that were asked for, and once."""

from sluice.controller.process.timers import Timers


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_earliest_of_the_times_counts_and_each_is_told_once() -> None:
    clock = Clock()
    timers = Timers(clock)
    assert timers.seconds_left() is None
    timers.within(5, "a")
    timers.within(9, "b")
    timers.within(2, "a")
    timers.within(7, "a")
    assert timers.seconds_left() == 2
    assert timers.take_due() == []
    clock.now += 2
    assert timers.take_due() == ["a"]
    assert timers.seconds_left() == 7
    clock.now += 7
    assert timers.take_due() == ["b"]
    assert timers.take_due() == []
    assert timers.seconds_left() is None


def test_whoever_was_told_may_ask_again_and_what_is_over_is_due_at_once() -> None:
    clock = Clock()
    timers = Timers(clock)
    timers.within(-3, "a")
    assert timers.take_due() == ["a"]
    timers.within(1, "a")
    clock.now += 1
    assert timers.take_due() == ["a"]


def test_who_is_forgotten_is_not_told_and_wakes_nobody() -> None:
    clock = Clock()
    timers = Timers(clock)
    timers.within(1, "a")
    timers.within(2, "b")
    timers.forget("a")
    timers.forget("c")
    assert timers.seconds_left() == 2
    clock.now += 2
    assert timers.take_due() == ["b"]
    timers.within(1, "a")
    clock.now += 1
    assert timers.take_due() == ["a"]
