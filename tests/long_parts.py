"""Parts of a long test. Each part draws from a seed of its own, which follows from the part's number and a base.

The base is the day, so that each day draws anew and a test that runs again draws the same. SLUICE_LONG_SEED sets another.
"""

import os
from datetime import UTC, datetime
from random import Random

import pytest

BASE = "SLUICE_LONG_SEED"


def parts(count: int) -> pytest.MarkDecorator:
    """The argument `part` of a test, from 0."""
    return pytest.mark.parametrize("part", range(count), ids="part-{}".format)


def seed_of(part: int) -> int:
    """The seed, printed with what repeats it."""
    base = os.environ.get(BASE) or datetime.now(UTC).strftime("%Y%m%d")
    seed = Random(f"{base}/{part}").getrandbits(32)  # noqa: S311 - not a secret
    print(f"\npart {part}: seed {seed}, repeated by {BASE}={base}")
    return seed
