"""Namespaces take turns, each in the order in which its own came."""

from sluice.controller.turns import Turns


def taken(turns: Turns) -> list[str]:
    found = []
    while turns:
        found.append(turns.take())
    return found


def test_namespaces_take_turns_and_each_uid_has_one() -> None:
    turns = Turns()
    for uid, namespace in (("a1", "a"), ("a2", "a"), ("b1", "b"), ("a3", "a"), ("a1", "a"), ("b2", "b")):
        turns.add(uid, namespace)
    assert taken(turns) == ["a1", "b1", "a2", "b2", "a3"]
    assert not turns


def test_who_is_dropped_has_no_turn_and_who_has_none_may_be_dropped() -> None:
    turns = Turns()
    turns.add("a1", "a")
    turns.add("b1", "b")
    turns.drop("a1", "a")
    turns.drop("c1", "c")
    assert taken(turns) == ["b1"]
