"""Steps have names of their own and come one after another, with Sluice and without."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sluice_runner.assumptions import NOTHING_ASSUMED
from sluice_runner.commits import Commit
from sluice_runner.declared_tables import Found
from sluice_runner.plan import Application, Job, Plan
from sluice_runner.stamp import stamp, step_stamp
from sluice_runner.steps import PROGRAM, StepError, Unmanaged, refuse_unmarked

PLAN = Plan(Job("sales", "daily", "1d3f"), "daily", "abc", 1, 100, Application(), NOTHING_ASSUMED)


def nothing() -> None:
    pass


def test_without_sluice_each_step_is_done() -> None:
    done: list[str] = []
    steps = Unmanaged()
    assert steps.once("load", lambda: done.append("load"))
    assert steps.once("clean", lambda: done.append("clean"))
    assert done == ["load", "clean"]


def test_two_steps_of_one_name_are_refused() -> None:
    steps = Unmanaged()
    steps.once("load", nothing)
    with pytest.raises(StepError, match="two steps load"):
        steps.once("load", nothing)


def test_a_step_inside_another_is_refused() -> None:
    steps = Unmanaged()
    with pytest.raises(StepError, match="step clean begins inside step load"):
        steps.once("load", lambda: steps.once("clean", nothing))


@pytest.mark.parametrize("write", [None, 3, "rows.write"])
def test_a_write_that_has_been_made_already_is_no_step(write: Any) -> None:
    with pytest.raises(StepError, match="needs a function that writes"):
        Unmanaged().once("load", write)


@pytest.mark.parametrize("name", ["", "x" * 65, 7, None])
def test_a_name_is_a_short_text(name: Any) -> None:
    with pytest.raises(StepError, match="1 to 64 characters"):
        Unmanaged().once(name, nothing)


def test_no_step_comes_after_one_that_failed() -> None:
    steps = Unmanaged()
    with pytest.raises(ZeroDivisionError):
        steps.once("load", lambda: 1 / 0)
    with pytest.raises(StepError, match="step clean was not begun, because step load has failed"):
        steps.once("clean", nothing)


BY_THE_SETTING = json.dumps({"sluice": {"uid": "1d3f", "attempt": 1, "token": 100}})
"""The stamp that the operator sets for all sessions of the driver."""


@pytest.mark.parametrize("metadata", [BY_THE_SETTING, stamp(PLAN, PROGRAM)])
def test_a_step_that_wrote_by_another_session_is_refused_because_a_retry_would_write_again(
    metadata: str,
) -> None:
    found = Found([Commit("/t", 7, "WRITE", {}, None), Commit("/t", 8, "WRITE", {}, metadata)])
    lost = ValueError("a later write failed")
    with pytest.raises(StepError, match=r"step load has left no mark, .* version 8 of /t: ") as refused:
        refuse_unmarked("load", PLAN, found, (), lost)
    assert refused.value.__cause__ is lost


def test_a_step_that_left_its_mark_or_nothing_of_its_own_is_none_of_another_sessions() -> None:
    own = Commit("/t", 8, "WRITE", {}, step_stamp(PLAN, 2, "load"))
    beside = Commit("/t", 9, "WRITE", {}, stamp(PLAN, PROGRAM))
    refuse_unmarked("load", PLAN, Found([own, beside]), [own])
    others = [None, "nightly", BY_THE_SETTING.replace("1d3f", "2e4a"), BY_THE_SETTING.replace("100", "101")]
    refuse_unmarked("load", PLAN, Found([Commit("/t", 8, "WRITE", {}, one) for one in others]), ())
