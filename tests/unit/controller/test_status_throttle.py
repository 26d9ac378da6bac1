"""Who waits is told anew who is in the way, and thousands not at once."""

from sluice.controller.reporting.status_throttle import StatusThrottle


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def taken(retelling: StatusThrottle) -> list[str]:
    found = []
    while (uid := retelling.take_due()) is not None:
        found.append(uid)
    return found


def test_those_who_were_told_of_somebody_are_told_anew_when_that_one_has_gone() -> None:
    retelling = StatusThrottle(Clock())
    retelling.told("a", ["holder", "first"])
    retelling.told("b", ["first"])
    assert retelling.seconds_left() is None
    retelling.gone("holder")
    assert retelling.seconds_left() == 0
    assert taken(retelling) == ["a"]
    retelling.told("a", ["first"])
    retelling.gone("first")
    assert taken(retelling) == ["a", "b"]
    retelling.gone("first")
    assert taken(retelling) == []


def test_thousands_are_told_at_a_bounded_rate_in_the_order_in_which_it_became_untrue() -> None:
    clock = Clock()
    retelling = StatusThrottle(clock, per_second=10)
    retelling.again(f"{number}" for number in range(2000))
    at_once = taken(retelling)
    assert len(at_once) <= 12
    for _ in range(100):
        clock.now += retelling.seconds_left() or 0
        at_once += taken(retelling)
    assert clock.now >= 100 + 9
    assert at_once == [f"{number}" for number in range(len(at_once))]


def test_who_was_told_meanwhile_is_not_told_again() -> None:
    retelling = StatusThrottle(Clock())
    retelling.again(["a"])
    retelling.told("a", ["other"])
    assert retelling.seconds_left() is None


def test_those_that_waited_for_somebody_and_are_gone_keep_none_that_still_wait_from_being_told() -> None:
    clock = Clock()
    retelling = StatusThrottle(clock, per_second=10)
    for number in range(10_000):
        retelling.told(f"skipped-{number}", ["stream"])
        retelling.gone(f"skipped-{number}")
    retelling.told("waits", ["stream"])
    retelling.gone("stream")
    clock.now += 2
    assert "waits" in taken(retelling)
