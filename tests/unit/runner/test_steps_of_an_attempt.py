"""What an attempt makes of steps that earlier attempts have done."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from sluice_runner import steps
from sluice_runner.assumptions import NOTHING_ASSUMED
from sluice_runner.commits import Commit
from sluice_runner.earlier_attempts import Done, HistoryLost
from sluice_runner.job_statements import Progress
from sluice_runner.plan import Application, Job, Plan, Run
from sluice_runner.result import ALREADY_COMMITTED, StatementResult
from sluice_runner.run_fence import Unfenced
from sluice_runner.stamp import step_stamp
from sluice_runner.steps import PROGRAM, Managed, StepError

RUN = Run("sluice/slot/1", False, 100, ())
PLAN = Plan(Job("sales", "daily", "1d3f"), "daily", "abc", 1, 100, Application(), NOTHING_ASSUMED, run=RUN)


class _Declared:
    spark = None

    def looked_at(self, result: StatementResult) -> StatementResult:
        return result


def _managed(plan: Plan, *done: str) -> tuple[Managed, Progress]:
    numbered = enumerate(done, PROGRAM + 1)
    commits = [
        (number, Commit("/t", number, "WRITE", {}, step_stamp(plan, number, name)))
        for number, name in numbered
    ]
    progress = Progress(plan)
    past = Done(PROGRAM + len(done), commits)
    return Managed(progress, Unfenced(), past, cast("Any", _Declared()), lambda _: None), progress


def _never() -> None:
    raise AssertionError("the step was done again")


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "refuse_another_connector", lambda _spark: None)


def test_a_step_that_an_earlier_attempt_has_done_is_not_done_again() -> None:
    managed, progress = _managed(PLAN, "load", "clean")
    assert not managed.once("load", _never)
    assert not managed.once("clean", _never)
    assert [(one.number, one.state) for one in progress.statements] == [
        (PROGRAM + 1, ALREADY_COMMITTED),
        (PROGRAM + 2, ALREADY_COMMITTED),
    ]


@pytest.mark.parametrize("name", ["clean", "other"])
def test_steps_that_come_in_another_order_are_refused(name: str) -> None:
    managed, _ = _managed(PLAN, "load", "clean")
    with pytest.raises(
        StepError, match=f"step {name} was not begun, because an earlier attempt had other steps here"
    ):
        managed.once(name, _never)


def test_a_later_attempt_without_a_run_begins_no_step() -> None:
    managed, _ = _managed(replace(PLAN, run=None, attempt=2))
    with pytest.raises(HistoryLost, match="nothing tells attempt 2 what earlier ones have done"):
        managed.once("load", _never)
