"""The stamp names who made a commit; other metadata, whatever it is, is no stamp."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice_runner.assumptions import Assumed
from sluice_runner.plan import Job, Plan, Sql
from sluice_runner.stamp import read_stamp, stamp

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
