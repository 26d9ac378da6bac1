"""Backfills of a table: very many jobs, each on a partition of its own, that one job on the whole table keeps waiting."""

from sluice.admission import Queue
from sluice.admission.queue import WORKED_OUT_AT_ONCE
from unit.admission.test_queue import BEGAN, LONG_AFTER, holder, on, settle, waiter

DAYS = 200
PAIRS = DAYS * (DAYS + 1) // 2


def backfill() -> Queue:
    queue = Queue()
    queue.hold("h", [holder("h", on("/a", "OPTIMIZE {t}"))])
    for day in range(DAYS):
        one = on("/a", f"DELETE FROM {{t}} WHERE day = {day} AND id = 1")
        queue.wait(waiter(f"w{day:04}", one, seconds=day % 60))
    settle(queue, BEGAN)
    return queue


def test_that_all_jobs_of_a_backfill_have_aged_compares_no_pair_of_them_more_than_twice() -> None:
    queue = backfill()
    compared, worked_out = queue.compared, queue.worked_out
    settle(queue, LONG_AFTER)
    assert queue.worked_out - worked_out <= PAIRS
    assert queue.compared - compared <= 2 * PAIRS


def test_that_what_an_aged_backfill_waits_for_ends_compares_no_pair_of_them_more_than_twice() -> None:
    queue = backfill()
    settle(queue, LONG_AFTER)
    compared = queue.compared
    queue.hold("h", [])
    settle(queue, LONG_AFTER)
    assert queue.compared - compared <= 2 * PAIRS


def test_that_jobs_which_have_aged_come_in_any_order_compares_no_pair_of_them_more_than_twice() -> None:
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
    assert queue.compared <= 2 * PAIRS


def test_others_have_their_turn_however_many_pairs_have_to_be_worked_out() -> None:
    queue = backfill()
    before = queue.worked_out
    while queue.judge(LONG_AFTER):
        assert queue.worked_out - before <= WORKED_OUT_AT_ONCE + DAYS
        before = queue.worked_out


def test_others_have_their_turn_the_sooner_the_more_statements_the_jobs_have() -> None:
    days, statements = 40, 16
    queue = Queue()
    queue.hold("h", [holder("h", on("/a", "OPTIMIZE {t}"))])
    for day in range(days):
        deletes = (f"DELETE FROM {{t}} WHERE day = {day} AND id = {number}" for number in range(statements))
        queue.wait(waiter(f"w{day:04}", on("/a", "; ".join(deletes)), seconds=day))
    settle(queue, BEGAN)
    before = queue.worked_out
    while queue.judge(LONG_AFTER):
        assert queue.worked_out - before <= WORKED_OUT_AT_ONCE / 4 + days
        before = queue.worked_out
    assert queue.worked_out > days * (days - 1) / 4
