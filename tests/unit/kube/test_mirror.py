"""What was seen last stays, whatever comes late."""

from itertools import permutations

import pytest

from sluice.kube.mirror import GONE_SECONDS
from unit.kube.bodies import Told, body


def test_news_are_told_once_and_late_events_take_nothing_back() -> None:
    told = Told()
    told.mirror.seen(body("a", 9))
    told.mirror.seen(body("a", 9))
    told.mirror.seen(body("a", 7))
    assert told.known == {"a": 9}
    assert told.changes == [(None, "9")]
    told.mirror.gone("uid-a")
    told.mirror.gone("uid-a")
    assert told.changes == [(None, "9"), ("9", None)]


def test_what_is_gone_is_not_brought_back_by_an_answer_given_before() -> None:
    told = Told()
    told.mirror.seen(body("a", 5))
    told.mirror.gone("uid-a")
    told.mirror.seen(body("a", 6))
    assert told.known == {}
    told.mirror.seen(body("a", 8, uid="another"))
    assert told.known == {"a": 8}


def test_what_had_lost_its_label_and_has_it_again_is_there_again() -> None:
    """A watch that selects by the label saw the object as gone in between."""
    told = Told()
    told.mirror.seen(body("a", 5))
    told.mirror.gone("uid-a", 7)
    told.mirror.seen(body("a", 7))
    assert told.known == {}
    told.mirror.seen(body("a", 8))
    told.mirror.seen(body("a", 6))
    assert told.known == {"a": 8}


def test_one_name_means_one_object_in_whatever_order_its_bearers_come_in() -> None:
    bearers = [body("a", 3, uid="old"), body("a", 7, uid="old"), body("a", 9, uid="new")]
    for order in permutations(bearers):
        told = Told()
        for one in order:
            told.mirror.seen(one)
        assert told.mirror.get("etl", "a") == bearers[-1]
        assert [one["metadata"]["uid"] for one in told.mirror.values()] == ["new"]


def test_the_end_of_an_older_object_of_that_name_ends_no_newer_one() -> None:
    told = Told()
    told.mirror.seen(body("a", 9, uid="new"))
    told.mirror.gone("old")
    assert told.known == {"a": 9}


def test_what_is_gone_is_remembered_as_long_as_a_list_of_before_is_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told, now = Told(), 0.0
    monkeypatch.setattr("sluice.kube.mirror.time.monotonic", lambda: now)
    told.mirror.seen(body("a", 5))
    with told.mirror.being_listed():
        told.mirror.gone("uid-a")
        now += 10 * GONE_SECONDS
        told.mirror.gone("uid-b")
        told.mirror.seen(body("a", 5))
        assert told.known == {}
    told.mirror.gone("uid-c")
    told.mirror.seen(body("a", 5))
    assert told.known == {"a": 5}
