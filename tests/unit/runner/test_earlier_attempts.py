"""What was done before is told by stamps alone; where they were cleaned up nobody guesses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sluice_runner import txn
from sluice_runner.assumptions import Assumed
from sluice_runner.commits import Commit
from sluice_runner.earlier_attempts import Done, HistoryLost, RunKeyReused, TableHistory, done
from sluice_runner.plan import Job, Plan, Run, Sql
from sluice_runner.stamp import Look, closing_stamp, fence_stamp, stamp

FIRST = Plan(
    Job("sales", "daily", "1d3f"),
    "daily",
    "abc",
    1,
    100,
    Sql(()),
    Assumed("4.2.0", None, {}),
    Run("sluice/sales/daily", closes=True, first_token=100, tables=()),
)
RETRY = replace(FIRST, attempt=2, token=101)
THIRD = replace(FIRST, attempt=3, token=102)
ON_A_SLOT = Run("sluice/slot/0", closes=False, first_token=100, tables=())
OTHERS = None, "by hand", '{"sluice":{"runKey":"daily"}}', '{"sluice":1}'


def table(
    *metadata: str | None, highest: int | None = None, oldest: int = 0, operation: str = "WRITE"
) -> TableHistory:
    commits = [Commit("/t", oldest + at, operation, {}, text) for at, text in enumerate(metadata)]
    return TableHistory("/t", highest, oldest, commits[::-1])


def judged(*histories: TableHistory, plan: Plan = RETRY, statements: int = 3) -> Done:
    return done(plan, statements, histories)


def test_nothing_is_done_where_there_is_no_stamp_of_the_run() -> None:
    another = replace(FIRST, run_key="weekly")
    elsewhere = replace(FIRST, job=replace(FIRST.job, namespace="crm"))
    found = judged(table(*OTHERS, stamp(another, 3), stamp(elsewhere, 3)))
    assert (found.last, found.commits) == (0, [])


def test_a_statement_is_done_with_all_before_it_if_its_stamp_is_in_any_log() -> None:
    highest = txn.version(FIRST.token, 2)
    found = judged(table(None), table(stamp(FIRST, 2), highest=highest))
    assert found.last == 2
    assert [commit.version for commit in found.of(2)] == [0]
    assert found.of(1) == []


def test_a_fence_is_no_statement() -> None:
    fence = fence_stamp(RETRY, Look(None, 0))
    assert judged(table(None, fence, highest=txn.version(RETRY.token, 0))).last == 0


@pytest.mark.parametrize("operation", ["OPTIMIZE", "VACUUM END", "UPGRADE PROTOCOL", "of a later Delta"])
def test_what_may_be_a_part_of_a_statement_proves_only_what_came_before_it(operation: str) -> None:
    assert judged(table(stamp(FIRST, 3), operation=operation)).last == 2


def test_another_spec_is_refused_by_its_stamps() -> None:
    with pytest.raises(RunKeyReused, match=r"another spec already \(its version 1 of /t is of that run\)"):
        judged(table(None, stamp(replace(FIRST, spec_hash="other"), 1)))


def test_a_closed_run_is_done_also_when_its_log_is_gone() -> None:
    assert judged(table(None, highest=txn.closing("abc"), oldest=50)).last == 3


def test_another_specs_closing_is_refused_also_when_its_log_is_gone() -> None:
    with pytest.raises(RunKeyReused, match="the closing commit of /t"):
        judged(table(None, highest=txn.closing("other"), oldest=50))


def test_a_closing_is_no_stamp_of_a_statement() -> None:
    assert judged(table(closing_stamp(FIRST))).last == 0


def test_a_txn_version_without_its_stamp_proves_nothing() -> None:
    with pytest.raises(HistoryLost, match="is no longer in the log of /t, or another writer made it"):
        judged(table(None, highest=txn.version(FIRST.token, 1), oldest=50))


def test_what_a_fence_replaced_must_be_in_the_log() -> None:
    replaced = txn.version(FIRST.token, 1)
    fence = fence_stamp(RETRY, Look(replaced, 7))
    highest = txn.version(RETRY.token, 0)
    with pytest.raises(HistoryLost, match=f"txn version {replaced} "):
        judged(table(None, fence, highest=highest, oldest=8), plan=THIRD)
    whole = table(stamp(FIRST, 1), fence, highest=highest, oldest=7)
    assert judged(whole, plan=THIRD).last == 1


def test_what_slipped_in_between_a_fences_look_and_the_fence_must_be_in_the_log() -> None:
    fence = fence_stamp(RETRY, Look(None, 7))
    highest = txn.version(RETRY.token, 0)
    with pytest.raises(HistoryLost, match="begins at version 9, and commits from version 8 on count"):
        judged(table(fence, highest=highest, oldest=9), plan=THIRD)
    assert judged(table(None, fence, highest=highest, oldest=8), plan=THIRD).last == 0


def test_a_gap_is_no_matter_once_the_last_statement_is_known_to_be_done() -> None:
    gap = table(None, highest=txn.version(FIRST.token, 1), oldest=50)
    assert judged(gap, table(stamp(FIRST, 3), highest=txn.version(FIRST.token, 3))).last == 3


def test_what_others_left_on_a_slot_is_not_of_this_run() -> None:
    on_slot = replace(RETRY, run=ON_A_SLOT)
    assert judged(table(None, highest=txn.version(99, 5), oldest=50), plan=on_slot).last == 0
    with pytest.raises(HistoryLost):
        judged(table(None, highest=txn.version(100, 1), oldest=50), plan=on_slot)
