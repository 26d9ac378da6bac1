"""The stamp names who made a commit; other metadata, whatever it is, is no stamp."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice_runner.assumptions import Assumed
from sluice_runner.plan import Job, Plan, Sql
from sluice_runner.stamp import (
    Look,
    closing_stamp,
    fence_stamp,
    is_of_attempt,
    parsed,
    read_stamp,
    stamp,
    step_stamp,
)

PLAN = Plan(
    Job("sales", "daily", "1d3f"),
    "daily-2026-11-19",
    "abc",
    2,
    4294967297,
    Sql(()),
    Assumed("4.2.0", None, {}),
)


def test_a_stamp_says_which_run_attempt_and_statement_made_the_commit() -> None:
    assert json.loads(stamp(PLAN, 3)) == {
        "sluice": {
            "runKey": "daily-2026-11-19",
            "specHash": "abc",
            "job": "sales/daily",
            "uid": "1d3f",
            "attempt": 2,
            "token": 4294967297,
            "statement": 3,
        }
    }


def test_a_stamp_is_compact_and_read_back() -> None:
    text = stamp(PLAN, 1)
    assert " " not in text
    assert read_stamp(text) == json.loads(text)["sluice"]


@pytest.mark.parametrize(
    "text", [None, "", "by hand", "[]", "{}", '{"sluice":"x"}', '"sluice"', "[" * 100_000]
)
def test_metadata_of_others_is_no_stamp(text: str | None) -> None:
    assert read_stamp(text) is None


@given(st.text())
def test_any_metadata_can_be_read(text: str) -> None:
    read_stamp(text)


def test_a_step_of_a_program_has_its_name_beside_its_number() -> None:
    text = step_stamp(PLAN, 3, "load")
    assert (read_stamp(text) or {})["step"] == "load"
    assert parsed(text) == parsed(stamp(PLAN, 3))


def test_an_attempt_knows_its_commits_by_any_of_its_stamps() -> None:
    by_setting = json.dumps({"sluice": {"uid": "1d3f", "attempt": 2, "token": 4294967297}})
    for text in (stamp(PLAN, 1), step_stamp(PLAN, 3, "load"), by_setting):
        assert is_of_attempt(PLAN, text)
    others = [replace(PLAN, attempt=3), replace(PLAN, token=1), replace(PLAN, job=Job("sales", "daily", "2"))]
    strange: list[str | None] = [None, "{}", "mine", *(stamp(other, 1) for other in others)]
    assert not any(is_of_attempt(PLAN, text) for text in strange)


def test_commits_without_rows_are_nobodys_work() -> None:
    assert not is_of_attempt(PLAN, fence_stamp(PLAN, Look(None, 3)))
    assert not is_of_attempt(PLAN, closing_stamp(PLAN))
