"""Namespaces take turns, each in the order in which its own came."""

from sluice.controller.process.fair_queue import FairQueue


def taken(turns: FairQueue) -> list[str]:
    found = []
    while turns:
        found.append(turns.take())
    return found


def test_namespaces_take_turns_and_each_uid_has_one() -> None:
    turns = FairQueue()
    for uid, namespace in (("a1", "a"), ("a2", "a"), ("b1", "b"), ("a3", "a"), ("a1", "a"), ("b2", "b")):
        turns.add(uid, namespace)
    assert taken(turns) == ["a1", "b1", "a2", "b2", "a3"]
    assert not turns


def test_how_many_are_ahead_is_how_many_are_taken_before() -> None:
    turns, waiting = (
        FairQueue(),
        [(f"{namespace}{number}", namespace) for namespace in "abc" for number in range(4)],
    )
    for uid, namespace in (*waiting[:7], *waiting[8:]):
        turns.add(uid, namespace)
    turns.take()
    expected = {uid: turns.ahead(uid, namespace) for uid, namespace in waiting}
    assert {uid: at for at, uid in enumerate(taken(turns))} | {"a0": 0, "b3": 0} == expected


def test_who_is_dropped_has_no_turn_and_who_has_none_may_be_dropped() -> None:
    turns = FairQueue()
    turns.add("a1", "a")
    turns.add("b1", "b")
    turns.drop("a1", "a")
    turns.drop("c1", "c")
    assert taken(turns) == ["b1"]


def test_one_that_goes_before_others_goes_before_those_of_its_namespace_alone() -> None:
    turns = FairQueue()
    for uid, namespace in (("b1", "b"), ("a1", "a"), ("a2", "a")):
        turns.add(uid, namespace)
    turns.add("a3", "a", before_others=True)
    assert turns.ahead("a2", "a") == 3
    assert taken(turns) == ["b1", "a3", "a1", "a2"]
