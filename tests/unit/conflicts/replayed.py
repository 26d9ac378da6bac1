"""The recorded races as footprints, which are read once; what the oracle says of them is asked anew each time."""

from functools import cache
from typing import Any

from contract.harness import truth
from sluice.conflicts import Pair, Verdict, pair_of
from sluice.footprint import JobFootprint
from sluice.offline.batch import jobs_of

Row = dict[str, Any]


@cache
def jobs(version: str) -> list[tuple[Row, JobFootprint, JobFootprint]]:
    found = []
    for row in truth.rows(version):
        asked = {name: row[name] for name in ("first", "second")}
        asked["table"] = {**row["table"], "generatedColumns": row["generatedColumns"]}
        found.append((row, *jobs_of(asked)))
    return found


def pairs(version: str) -> list[tuple[Row, Pair]]:
    return [(row, pair_of(first, second)) for row, first, second in jobs(version)]


def directions(version: str) -> list[tuple[str, str, Verdict]]:
    """What became of each loser that raced, and what the oracle says of it."""
    return [
        (f"{row['id']} {direction}", row["outcomes"][direction]["outcome"], verdict)
        for row, pair in pairs(version)
        for direction, verdict in (("firstLoses", pair.first_loses), ("secondLoses", pair.second_loses))
        if row["raced"][direction]
    ]
