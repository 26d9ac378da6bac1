"""What was recorded once is what real Delta does now: random rows, raced again."""

from __future__ import annotations

import random
import secrets

import pytest

from contract.harness import truth
from contract.harness.race import Track

ROWS = 20
VERSION = "4.4.0"


@pytest.mark.timeout(1800)
def test_twenty_random_rows_come_out_as_they_were_recorded(
    track: Track, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = secrets.randbelow(2**32)
    with capsys.disabled():
        print(f"\nrows recorded again: seed {seed}")
    rows = truth.recorded(VERSION)
    chosen = random.Random(seed).sample(rows, min(ROWS, len(rows)))  # noqa: S311 - a sample, not a secret
    assert chosen
    again = track.answers(chosen)
    changed = [
        f"{before.id}: recorded {before.outcomes}, now {now.outcomes}"
        for before, now in zip(chosen, again, strict=True)
        if before.outcomes != now.outcomes
    ]
    assert not changed, f"seed {seed}"
