"""The demo's closing table: what was measured both ways, counted."""

import json
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from demo.comparison import Run, Way, document, totals, with_sluice
from demo.view import comparison

GOOD = Run("Committed", True, 8.0)
PLAIN = Way(
    {
        "append": GOOD,
        "merge": Run("ConcurrentAppendException", False, 11.0),
        "typo": Run("AnalysisException", False, 6.0),
        "optimize": GOOD,
    },
    makespan=31.26,
    rows=350,
    rows_by_outcomes=350,
)
SLUICE = Way(
    {
        "append": GOOD,
        "merge": Run("Committed", True, 9.0, waited=12.0),
        "typo": Run("AnalysisException", False, 6.0, waited=0.4),
        "optimize": Run("Blocked", False, 0.0, skipped=True),
    },
    makespan=40.0,
    rows=350,
    rows_by_outcomes=350,
)


def shown(plain: Way | None, dangers: dict[str, str], problems: dict[str, str]) -> str:
    console = Console(file=StringIO(), width=200)
    comparison(console, plain, dangers, SLUICE, problems)
    file = console.file
    assert isinstance(file, StringIO)
    return file.getvalue()


def line_of(name: str, text: str) -> str:
    [line] = [line for line in text.splitlines() if f" {name} " in line]
    return " ".join(line.split())


def test_jobs_that_delta_aborted_are_told_from_those_that_failed_by_themselves() -> None:
    assert PLAIN.committed == ["append", "optimize"]
    assert PLAIN.aborted == ["merge"]
    assert PLAIN.failed_otherwise == ["typo"]
    assert SLUICE.aborted == []
    assert SLUICE.failed_otherwise == ["typo"], "a job that was skipped as it asked has not failed"


def test_compute_thrown_away_is_that_of_all_who_committed_nothing() -> None:
    assert (PLAIN.thrown_away, PLAIN.compute) == (17.0, 33.0)
    assert (SLUICE.thrown_away, SLUICE.compute) == (6.0, 23.0)


@pytest.mark.parametrize(("rows", "told"), [(350, "0"), (340, "10 lost"), (351, "1 doubled")])
def test_rows_are_compared_with_what_the_jobs_say_they_did(rows: int, told: str) -> None:
    assert dict(totals(Way({}, 0.0, rows, 350)))["rows lost or doubled"] == told


def test_both_ways_stand_beside_each_other() -> None:
    text = shown(PLAIN, {"merge": "may abort"}, {})
    merge = line_of("merge", text)
    assert merge == "✓ merge aborted: ConcurrentAppendException 11 s committed 12.0 s 9 s"
    assert line_of("optimize", text) == "✓ optimize committed 8 s skipped: Blocked 0 s"
    assert "until the last has ended  31.3 s" in text
    assert "17 s of 33 s" in text
    assert "committed                 2 of 4          2 of 4" in text
    assert "may abort" not in text, "what was measured needs no oracle"


def test_without_a_plain_run_there_are_words_of_the_oracle_and_no_figures_of_it() -> None:
    text = shown(None, {"merge": "may abort"}, {})
    assert line_of("merge", text) == "✓ merge may abort committed 12.0 s 9 s"
    assert "31.3 s" not in text
    assert text.count("COMPUTE") == 1


def test_what_should_have_come_out_otherwise_is_marked_and_said() -> None:
    text = shown(None, {}, {"typo": "should be Succeeded", "orders": "the table holds 3 rows"})
    assert line_of("typo", text).startswith("✗")
    assert "✗ orders: the table holds 3 rows" in text


@pytest.mark.parametrize("plain", [PLAIN, None])
def test_as_json_it_says_the_same(plain: Way | None) -> None:
    told = json.loads(json.dumps(document(plain, {"merge": "may abort"}, SLUICE, {})))
    [merge] = [job for job in told["jobs"] if job["job"] == "merge"]
    assert merge["inDanger"] == "may abort"
    assert merge["withSluice"]["computeSeconds"] == 9.0
    if plain is None:
        assert told["withoutSluice"] is None
        assert merge["withoutSluice"] is None
    else:
        assert told["withoutSluice"]["abortedByDelta"] == ["merge"]
        assert merge["withoutSluice"]["abortedByDelta"] is True


def attempt(granted: str, started: str | None, ended: str) -> dict[str, Any]:
    found = {"grantedAt": granted, "startedAt": started, "endedAt": ended}
    return {key: f"2026-11-19T12:00:{value}Z" for key, value in found.items() if value is not None}


def test_a_run_with_sluice_is_read_from_the_status_of_all_attempts() -> None:
    status = {
        "phase": "Succeeded",
        "reason": "Committed",
        "queuedAt": "2026-11-19T12:00:01Z",
        "attempts": [attempt("02", "05", "15"), attempt("20", "22", "30")],
    }
    assert with_sluice(status) == Run("Committed", True, 18.0, waited=19.0)


def test_a_job_that_was_never_granted_cost_no_compute() -> None:
    status = {"phase": "Failed", "reason": "NotUnderstood"}
    assert with_sluice(status) == Run("NotUnderstood", False, 0.0)
    skipped = {"phase": "Skipped", "reason": "Blocked", "queuedAt": "2026-11-19T12:00:01Z"}
    assert with_sluice(skipped) == Run("Blocked", False, 0.0, skipped=True)


def test_an_attempt_whose_driver_never_started_cost_no_compute() -> None:
    status = {"phase": "Failed", "reason": "Ended", "attempts": [attempt("02", None, "15")]}
    assert with_sluice(status).compute == 0.0
