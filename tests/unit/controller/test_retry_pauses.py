"""What fails is tried again, ever more rarely, and each by itself."""

from sluice.controller.process.retry_pauses import RetryPauses


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_pause_doubles_up_to_a_bound_until_it_is_forgotten() -> None:
    clock = Clock()
    pauses: RetryPauses[str] = RetryPauses(clock, first=1, longest=3)
    for pause in (1, 2, 3, 3):
        assert pauses.is_due("a")
        pauses.tries("a")
        clock.now += pause - 0.1
        assert not pauses.is_due("a")
        assert pauses.is_due("b")
        clock.now += 0.1
    pauses.tries("a")
    pauses.forget("a")
    assert pauses.is_due("a")
    pauses.tries("a")
    clock.now += 1
    assert pauses.is_due("a")


def test_what_nobody_tries_any_more_is_forgotten() -> None:
    pauses: RetryPauses[str] = RetryPauses(Clock(), first=1, longest=3)
    pauses.tries("a")
    pauses.tries("b")
    pauses.forget_unless(lambda key: key == "b")
    assert pauses.is_due("a")
    assert not pauses.is_due("b")
