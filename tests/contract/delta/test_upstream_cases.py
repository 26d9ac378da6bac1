"""Delta's own test cases: each is converted or left out by name, and those that can be raced come out here as there."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from contract.harness import truth, upstream
from contract.harness.cells import rows
from contract.harness.race import LANES, Track

CASES = [json.loads(line) for line in upstream.CASES.read_text(encoding="utf-8").splitlines()]
RACED = [case for case in CASES if "row" in case]
ROWS = {row.id: row for row in rows("4.4.0")}
TRUTH = {row.id: row for row in truth.recorded("4.4.0")}


def test_every_case_is_converted_or_left_out_with_a_reason() -> None:
    cases = upstream.read_cases()
    assert len(cases) == 108
    converted, left_out = upstream.convert(cases)
    assert {case["id"] for case in cases} == {case["id"] for case in converted} | {
        name for name, _ in left_out
    }
    assert upstream.as_texts(cases) == (
        upstream.CASES.read_text(encoding="utf-8"),
        upstream.LEFT_OUT.read_text(encoding="utf-8"),
    ), "run ./dev run python -m contract.harness.upstream"


@pytest.mark.parametrize("case", RACED, ids=[case["id"] for case in RACED])
def test_a_case_was_recorded_here_as_it_comes_out_in_deltas_own_tests(case: dict[str, str]) -> None:
    outcome = TRUTH[case["row"]].outcomes[case["direction"]]
    assert outcome.raced
    assert outcome.outcome == case["expect"]


@pytest.mark.long(minutes=4)
@pytest.mark.timeout(1800)
def test_each_case_comes_out_here_as_in_deltas_own_tests(track: Track) -> None:
    with ThreadPoolExecutor(max_workers=LANES) as pool:
        outcomes = pool.map(lambda case: track.outcome(ROWS[case["row"]], case["direction"]), RACED)
        found = {case["id"]: outcome for case, outcome in zip(RACED, outcomes, strict=True)}
    assert all(outcome.raced for outcome in found.values())
    assert {name: outcome.outcome for name, outcome in found.items()} == {
        case["id"]: case["expect"] for case in RACED
    }
