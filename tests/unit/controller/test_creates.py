"""What a leader knows of the creates that it sent."""

from dataclasses import replace

from sluice.controller.applications.creates import FIRST_PAUSE, LONGEST_PAUSE, CreateLog
from sluice.lifecycle.attempt.withdrawal import Creates

PLACE = "etl", "a-1"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def unfenced() -> None:
    """Nobody refuses a create because of its epoch."""


class Epoch:
    """Older ones are refused."""

    def __init__(self) -> None:
        self.now = 7

    def __call__(self) -> int:
        return self.now


def refuse(log: CreateLog, words: str | None = "quota") -> None:
    log.sends(*PLACE)
    log.answered(*PLACE, refusal=words)


def test_of_an_intent_that_it_only_found_a_leader_is_never_sure() -> None:
    log = CreateLog(Clock(), unfenced)
    assert log.of(*PLACE) == Creates()
    refuse(log)
    assert log.of(*PLACE) == Creates("quota", none_can_land=False, is_next_due=False)


def test_of_its_own_intent_it_is_sure_once_all_creates_were_refused() -> None:
    log = CreateLog(Clock(), unfenced)
    log.begins(*PLACE)
    log.sends(*PLACE)
    assert not log.of(*PLACE).none_can_land
    log.answered(*PLACE, refusal="quota")
    assert log.of(*PLACE).none_can_land


def test_a_namespace_that_is_being_deleted_is_told_apart_from_what_may_be_over_soon() -> None:
    log = CreateLog(Clock(), unfenced)
    log.begins(*PLACE)
    refuse(log)
    assert not log.of(*PLACE).namespace_ends
    log.sends(*PLACE)
    log.answered(*PLACE, refusal="it is being terminated", namespace_ends=True)
    found = log.of(*PLACE)
    assert (found.refusal, found.namespace_ends) == ("it is being terminated", True)


def test_one_create_without_an_answer_leaves_it_unsure_whatever_comes_after() -> None:
    log = CreateLog(Clock(), unfenced)
    log.begins(*PLACE)
    log.sends(*PLACE)
    for _ in range(5):
        refuse(log)
    assert not log.of(*PLACE).none_can_land
    assert log.may_land(*PLACE, exists=False)
    log.begins(*PLACE)
    assert log.may_land(*PLACE, exists=False)


def test_what_was_answered_otherwise_is_no_refusal_and_is_not_sent_again_at_once_either() -> None:
    """A name that is taken is taken by thousands, where somebody has copied a namespace."""
    clock = Clock()
    log = CreateLog(clock, unfenced)
    log.begins(*PLACE)
    refuse(log, None)
    assert log.of(*PLACE) == Creates(None, none_can_land=True, is_next_due=False)
    clock.now += log.seconds_left(*PLACE)
    assert log.of(*PLACE) == Creates(None, none_can_land=True)
    assert not log.may_land(*PLACE, exists=False)


def test_tries_become_rarer_up_to_a_bound() -> None:
    clock = Clock()
    log = CreateLog(clock, unfenced)
    pauses = []
    for _ in range(8):
        refuse(log)
        begun = clock.now
        while not log.of(*PLACE).is_next_due:
            clock.now += 0.5
        pauses.append(clock.now - begun)
    assert pauses == [FIRST_PAUSE, 2.0, 4.0, 8.0, 16.0, LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE]


def test_an_application_that_is_there_makes_it_forget() -> None:
    log = CreateLog(Clock(), unfenced)
    log.sends(*PLACE)
    log.forget(*PLACE)
    log.forget(*PLACE)
    assert log.of(*PLACE) == Creates()
    assert not log.may_land(*PLACE, exists=False)


def test_an_application_that_is_there_accounts_for_one_create_that_had_no_answer() -> None:
    log = CreateLog(Clock(), unfenced)
    log.begins(*PLACE)
    log.sends(*PLACE)
    assert log.may_land(*PLACE, exists=False)
    assert not log.may_land(*PLACE, exists=True)
    log.sends(*PLACE)
    assert log.may_land(*PLACE, exists=True)


def test_a_predecessors_application_accounts_for_no_create_of_this_leader() -> None:
    log = CreateLog(Clock(), unfenced)
    log.sends(*PLACE)
    assert log.may_land(*PLACE, exists=True)


def test_a_create_that_was_repeated_may_land_once_the_name_is_free_until_a_new_epoch_begins() -> None:
    epoch = Epoch()
    log = CreateLog(Clock(), epoch)
    log.begins(*PLACE)
    log.sends(*PLACE)
    log.sends(*PLACE)
    log.made(*PLACE, before=False)
    assert log.may_land(*PLACE, exists=True), "the first one is still on its way"
    epoch.now += 1
    assert not log.may_land(*PLACE, exists=True)


def test_a_create_that_finds_its_predecessor_landed_leaves_nothing_under_way() -> None:
    log = CreateLog(Clock(), Epoch())
    log.begins(*PLACE)
    log.sends(*PLACE)
    log.sends(*PLACE)
    log.made(*PLACE, before=True)
    assert not log.may_land(*PLACE, exists=True)


def test_before_an_epoch_is_in_force_what_predecessors_sent_may_land() -> None:
    epoch = Epoch()
    epoch.now = 0
    log = CreateLog(Clock(), epoch)
    assert log.may_land(*PLACE, exists=False)
    assert log.of(*PLACE) == Creates(none_can_land=False, a_new_epoch_helps=True)
    epoch.now = 7
    assert not log.may_land(*PLACE, exists=False)


def test_in_a_new_epoch_nothing_can_land_that_was_sent_before_by_whomever() -> None:
    epoch = Epoch()
    log = CreateLog(Clock(), epoch)
    found = Creates(none_can_land=True, a_new_epoch_helps=True)
    assert log.of(*PLACE) == found, "its predecessors' creates are of older epochs"
    log.sends(*PLACE)
    assert log.of(*PLACE) == replace(found, none_can_land=False)
    epoch.now += 1
    assert log.of(*PLACE) == found
    log.sends(*PLACE)
    assert not log.of(*PLACE).none_can_land
