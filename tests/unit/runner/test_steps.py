"""Steps have names of their own and come one after another, with Sluice and without."""

from __future__ import annotations

from typing import Any

import pytest

from sluice_runner.steps import StepError, Unmanaged


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
