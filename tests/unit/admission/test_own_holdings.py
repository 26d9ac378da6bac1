"""A job may hold something while it waits: an application of it that was created late, or that somebody brought back."""

from sluice.tables import key_of_path
from unit.admission.test_queue import DELETE, Told, check, granted, on, settle, waiter


def test_a_waiter_that_its_own_holding_and_another_stop_keeps_nobody_of_its_shape_waiting() -> None:
    told = Told()
    told.wait(waiter("w", on("/a", DELETE)))
    told.wait(waiter("x", on("/a", DELETE), seconds=1))
    check(told)
    told.hold("w", on("/a", DELETE))
    told.hold("h", on("/a", "UPDATE {t} SET v = 'x'"))
    settle(told.queue)
    told.leave("w")
    told.hold("w")
    told.hold("h")
    settle(told.queue)
    assert [one.uid for one in granted(told.queue)] == ["x"]


def test_a_waiter_that_its_own_holding_and_a_new_limit_stop_keeps_nobody_of_its_shape_waiting() -> None:
    told = Told()
    told.wait(waiter("w", on("/a", DELETE)))
    told.wait(waiter("x", on("/a", DELETE), seconds=1))
    check(told)
    told.hold("w", on("/a", DELETE))
    told.limit({key_of_path("/a"): 1})
    settle(told.queue)
    told.leave("w")
    told.hold("w")
    settle(told.queue)
    assert [one.uid for one in granted(told.queue)] == ["x"]
