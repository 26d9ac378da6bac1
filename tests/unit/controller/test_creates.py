"""What a leader knows of the creates that it sent."""

from sluice.controller.creates import FIRST_PAUSE, LONGEST_PAUSE, CreateLog
from sluice.lifecycle.withdrawal import Creates

PLACE = "etl", "a-1"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def refuse(log: CreateLog, words: str | None = "quota") -> None:
    log.sends(*PLACE)
    log.answered(*PLACE, refusal=words)


def test_of_an_intent_that_it_only_found_a_leader_is_never_sure() -> None:
    log = CreateLog(Clock())
    assert log.of(*PLACE) == Creates()
    refuse(log)
    assert log.of(*PLACE) == Creates("quota", none_can_land=False, is_next_due=False)


def test_of_its_own_intent_it_is_sure_once_all_creates_were_refused() -> None:
    log = CreateLog(Clock())
    log.begins(*PLACE)
    log.sends(*PLACE)
    assert not log.of(*PLACE).none_can_land
    log.answered(*PLACE, refusal="quota")
    assert log.of(*PLACE).none_can_land


def test_one_create_without_an_answer_leaves_it_unsure_whatever_comes_after() -> None:
    log = CreateLog(Clock())
    log.begins(*PLACE)
    log.sends(*PLACE)
    for _ in range(5):
        refuse(log)
    assert not log.of(*PLACE).none_can_land
    assert log.unanswered(*PLACE) > 0
    log.begins(*PLACE)
    assert log.unanswered(*PLACE) > 0


def test_what_was_answered_otherwise_is_no_refusal_and_is_not_sent_again_at_once_either() -> None:
    """A name that is taken is taken by thousands, where somebody has copied a namespace."""
    clock = Clock()
    log = CreateLog(clock)
    log.begins(*PLACE)
    refuse(log, None)
    assert log.of(*PLACE) == Creates(None, none_can_land=True, is_next_due=False)
    clock.now += log.seconds_left(*PLACE)
    assert log.of(*PLACE) == Creates(None, none_can_land=True)
    assert not log.unanswered(*PLACE) > 0


def test_tries_become_rarer_up_to_a_bound() -> None:
    clock = Clock()
    log = CreateLog(clock)
    pauses = []
    for _ in range(8):
        refuse(log)
        begun = clock.now
        while not log.of(*PLACE).is_next_due:
            clock.now += 0.5
        pauses.append(clock.now - begun)
    assert pauses == [FIRST_PAUSE, 2.0, 4.0, 8.0, 16.0, LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE]


def test_an_application_that_is_there_makes_it_forget() -> None:
    log = CreateLog(Clock())
    log.sends(*PLACE)
    log.forget(*PLACE)
    log.forget(*PLACE)
    assert log.of(*PLACE) == Creates()
    assert not log.unanswered(*PLACE) > 0
