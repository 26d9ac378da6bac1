"""Random pairs, decided by real Delta now, held against the oracle: whatever Delta aborts, it must have seen coming."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from contract.harness.generated import pairs, pairs_with_functions
from contract.harness.race import Track
from contract.harness.rows import DIRECTIONS, Row
from contract.harness.truth import in_product_terms
from long_parts import parts, seed_of
from sluice.offline.batch import explained

VERSION = "4.4.0"


@pytest.mark.long(minutes=5)
@pytest.mark.timeout(3600)
@parts(10)
def test_no_pair_of_five_hundred_that_delta_aborts_is_told_to_be_safe(
    track: Track,
    capsys: pytest.CaptureFixture[str],
    part: int,
    record_property: Callable[[str, object], None],
) -> None:
    seed = seed_of(part)
    record_property("live pairs", _hold_against_delta(pairs(50, seed), seed, track, capsys))


@pytest.mark.long(minutes=6)
@pytest.mark.timeout(3600)
@parts(2)
def test_no_pair_with_functions_that_delta_aborts_is_told_to_be_safe(
    track: Track,
    capsys: pytest.CaptureFixture[str],
    part: int,
    record_property: Callable[[str, object], None],
) -> None:
    seed = seed_of(part)
    chosen = pairs_with_functions(300, seed)
    record_property("live pairs with functions", _hold_against_delta(chosen, seed, track, capsys))


def _hold_against_delta(
    chosen: list[Row], seed: int, track: Track, capsys: pytest.CaptureFixture[str]
) -> int:
    """The number of pairs that were raced."""
    with capsys.disabled():
        print(f"\n{len(chosen)} random pairs: seed {seed}")
    unsound, wrong_class, races, needless, passed = [], [], 0, 0, 0
    for row in track.answers(chosen):
        asked = in_product_terms(row, VERSION)
        verdicts = explained(asked)
        for direction in DIRECTIONS:
            if not asked["raced"][direction]:
                continue
            races += 1
            outcome, verdict = asked["outcomes"][direction]["outcome"], verdicts[direction]
            if outcome != "ok" and verdict["verdict"] == "never":
                unsound.append((asked["first"], asked["second"], direction, outcome, verdict["reason"]))
            if verdict["verdict"] == "will" and outcome != verdict["exception"]:
                wrong_class.append(
                    (asked["first"], asked["second"], direction, outcome, verdict["exception"])
                )
        if asked["populated"] and all(
            asked["outcomes"][direction]["outcome"] == "ok" for direction in DIRECTIONS
        ):
            passed += 1
            needless += not verdicts["together"]
    with capsys.disabled():
        print(f"{races} races; {passed} pairs passed in both orders, {needless} of them would have waited")
    assert races > len(chosen)
    assert unsound == []
    assert wrong_class == []
    return len(chosen)
