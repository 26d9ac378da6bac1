"""Delta's own test cases: each is converted or left out by name, and those that can be raced come out here as there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import cast

import pytest

from contract.harness import upstream
from contract.harness.cells import rows
from contract.harness.race import LANES, Track
from contract.harness.rows import Outcome

CASES = [json.loads(line) for line in upstream.CASES.read_text(encoding="utf-8").splitlines()]
RACED = [case for case in CASES if "row" in case]
ROWS = {row.id: row for row in rows("4.4.0")}


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


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, track: Track) -> Iterator[Mapping[str, Future[Outcome]]]:
    """What becomes of the loser in each case that this run has chosen; two are raced at a time."""
    chosen = [
        cast("Mapping[str, str]", item.callspec.params["case"])
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.path == request.path
        and hasattr(item, "callspec")
        and "case" in item.callspec.params
    ]
    pool = ThreadPoolExecutor(max_workers=LANES)
    yield {case["id"]: pool.submit(_race, case, track) for case in chosen}
    pool.shutdown(cancel_futures=True)


def _race(case: Mapping[str, str], track: Track) -> Outcome:
    row = ROWS[case["row"]]
    loser, winner = row.first, row.second
    if case["direction"] == upstream.SECOND:
        loser, winner = winner, loser
    outcome, _ = track.race(row.layout, loser=loser, winner=winner)
    return outcome


@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", RACED, ids=[case["id"] for case in RACED])
def test_a_case_comes_out_here_as_in_deltas_own_tests(
    case: dict[str, str], outcomes: Mapping[str, Future[Outcome]]
) -> None:
    outcome = outcomes[case["id"]].result()
    assert outcome.raced
    assert outcome.outcome == case["expect"]
