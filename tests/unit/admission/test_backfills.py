"""Backfills of a table: very many jobs, each on a partition of its own, that one job on the whole table keeps waiting."""

from sluice.admission import Queue
from unit.admission.test_queue import BEGAN, LONG_AFTER, holder, on, settle, waiter

DAYS = 200


def backfill() -> Queue:
    queue = Queue()
    queue.hold("h", [holder("h", on("/a", "OPTIMIZE {t}"))])
    for day in range(DAYS):
        one = on("/a", f"DELETE FROM {{t}} WHERE day = {day} AND id = 1")
        queue.wait(waiter(f"w{day:04}", one, seconds=day % 60))
    settle(queue, BEGAN)
    return queue


def test_that_all_jobs_of_a_backfill_have_aged_compares_each_with_a_few_and_not_with_all_others() -> None:
    queue = backfill()
    compared, worked_out = queue.compared, queue.worked_out
    settle(queue, LONG_AFTER)
    assert queue.worked_out - worked_out <= 40 * DAYS
    assert queue.compared - compared <= 40 * DAYS


def test_that_what_an_aged_backfill_waits_for_ends_compares_each_with_a_few_and_not_with_all_others() -> None:
    queue = backfill()
    settle(queue, LONG_AFTER)
    compared = queue.compared
    queue.hold("h", [])
    settle(queue, LONG_AFTER)
    assert queue.compared - compared <= 40 * DAYS


def test_that_jobs_which_have_aged_come_in_any_order_compares_each_with_a_few_and_not_with_all_others() -> (
    None
):
    """As after a takeover, or when suspended jobs are let go on."""
    queue = Queue()
    queue.hold("h", [holder("h", on("/a", "OPTIMIZE {t}"))])
    for number in range(DAYS):
        day = number * 77 % DAYS
        one = on("/a", f"DELETE FROM {{t}} WHERE day = {day} AND id = 1")
        queue.wait(waiter(f"w{day:04}", one, seconds=day))
        if number % 10 == 9:
            settle(queue, LONG_AFTER)
    assert queue.judged <= 4 * DAYS
    assert queue.compared <= 40 * DAYS
