"""What real Delta did, replayed: the oracle must never let a pair run together that Delta aborts.

The truth is recorded by tests/contract; here no Spark is needed.
"""

import json
from collections import Counter
from functools import cache
from typing import Any

import pytest

from contract.harness import truth
from sluice.offline.batch import answer

_FEW = 50
"""Below so many pairs a share says nothing."""


def answered(row: dict[str, Any]) -> dict[str, Any]:
    asked = {name: row[name] for name in ("id", "first", "second")}
    asked["table"] = {**row["table"], "generatedColumns": row["generatedColumns"]}
    found = answer(json.dumps(asked), 1)
    assert "error" not in found, f"{row['id']}: {found.get('error')}"
    return found


@cache
def pairs(version: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [(row, answered(row)) for row in truth.rows(version)]


def directions(version: str) -> list[tuple[str, str, dict[str, Any]]]:
    """What became of each loser that raced, and what the oracle says of it."""
    return [
        (f"{row['id']} {direction}", row["outcomes"][direction]["outcome"], verdict[direction])
        for row, verdict in pairs(version)
        for direction in ("firstLoses", "secondLoses")
        if row["raced"][direction]
    ]


@pytest.mark.parametrize("version", truth.VERSIONS)
def test_no_pair_that_delta_aborted_is_never(version: str) -> None:
    missed = [
        f"{name}: {outcome}, but the oracle says never ({verdict['rule']})"
        for name, outcome, verdict in directions(version)
        if outcome != "ok" and verdict["verdict"] == "never"
    ]
    assert not missed, "\n".join(missed)


@pytest.mark.parametrize("version", truth.VERSIONS)
def test_a_conflict_that_is_foretold_comes_with_its_class(version: str) -> None:
    wrong = [
        f"{name}: {outcome}, but the oracle says {verdict['exception']} will come ({verdict['rule']})"
        for name, outcome, verdict in directions(version)
        if verdict["verdict"] == "will" and outcome != verdict["exception"]
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("version", truth.VERSIONS)
def test_hardly_any_pair_waits_needlessly(version: str) -> None:
    """Of those that passed in both orders, with files in every partition that they speak of."""
    passed = [
        (row, verdict)
        for row, verdict in pairs(version)
        if row["populated"] and all(row["raced"].values()) and _passed(row)
    ]
    opaque = Counter(name for row, _ in passed for name in row["opaque"])
    seen = [(row, verdict) for row, verdict in passed if not row["opaque"]]
    needless = [(row, verdict) for row, verdict in seen if not verdict["together"]]
    causes = Counter(
        verdict[direction]["rule"]
        for _, verdict in needless
        for direction in ("firstLoses", "secondLoses")
        if verdict[direction]["verdict"] != "never"
    )
    said = "\n".join(
        [
            f"{len(needless)} of {len(seen)} wait needlessly; by rule {dict(causes)}; left out as opaque {dict(opaque)}",
            *(row["id"] for row, _ in needless),
        ]
    )
    print(said)
    assert len(seen) < _FEW or len(needless) < 0.05 * len(seen), said


def _passed(row: dict[str, Any]) -> bool:
    return all(row["outcomes"][direction]["outcome"] == "ok" for direction in ("firstLoses", "secondLoses"))
