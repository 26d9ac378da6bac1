"""What was recorded once is what real Delta does now: a sample of the truth, raced again."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from contract.harness import truth, upstream
from contract.harness.race import LANES, Track
from contract.harness.rows import DIRECTIONS, Row

VERSION = "4.4.0"
DRAWN = ("random/", "kinds/")
"""Rows whose jobs were drawn, of every two kinds."""
TWO_KINDS = 36
OF_UPSTREAM = 8
OTHERS = 12
CASES = (json.loads(line) for line in upstream.CASES.read_text("utf-8").splitlines())
UPSTREAM = {case["row"] for case in CASES if "row" in case}
"""Rows that stand for one of Delta's own test cases."""


def _sample(random: Random) -> Iterator[Row]:
    """One drawn row of each two kinds of job, and some of the others."""
    drawn: dict[frozenset[str], list[Row]] = {}
    upstream_rows: list[Row] = []
    others: list[Row] = []
    for row in truth.recorded(VERSION):
        if row.id.startswith(DRAWN):
            drawn.setdefault(frozenset(row.kinds), []).append(row)
        else:
            (upstream_rows if row.id in UPSTREAM else others).append(row)
    assert len(drawn) == TWO_KINDS
    yield from map(random.choice, drawn.values())
    yield from random.sample(upstream_rows, OF_UPSTREAM)
    yield from random.sample(others, OTHERS)


@pytest.mark.timeout(1800)
def test_a_sample_of_each_two_kinds_comes_out_as_it_was_recorded(
    track: Track, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each row in one of its two orders. The oracle is held against the whole truth without Spark."""
    seed = secrets.randbelow(2**32)
    with capsys.disabled():
        print(f"\nrows recorded again: seed {seed}")
    random = Random(seed)  # noqa: S311 - a sample, not a secret
    chosen = [(row, random.choice(DIRECTIONS)) for row in _sample(random)]
    with ThreadPoolExecutor(max_workers=LANES) as pool:
        outcomes = pool.map(lambda one: track.outcome(*one), chosen)
        changed = [
            f"{row.id}, {direction}: recorded {row.outcomes[direction]}, now {outcome}"
            for (row, direction), outcome in zip(chosen, outcomes, strict=True)
            if outcome != row.outcomes[direction]
        ]
    assert not changed, f"seed {seed}"
