"""The recorded races as footprints, which are read once; what the oracle says of them is asked anew each time."""

from functools import cache
from typing import Any

from contract.harness import truth
from contract.harness.rows import PLACES
from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import Pair, Verdict, pair_of
from sluice.footprint import JobFootprint, footprint_of
from sluice.offline.batch import jobs_of
from sluice.offline.given_facts import facts_of
from sluice.tables import key_of_path

Row = dict[str, Any]


def asked(row: Row) -> Row:
    """Returns the row as a line of `sluice explain --batch` asks it."""
    return {
        **{name: row[name] for name in ("first", "second")},
        "table": {**row["table"], "generatedColumns": row["generatedColumns"]},
    }


@cache
def jobs(version: str) -> list[tuple[Row, JobFootprint, JobFootprint]]:
    return [(row, *jobs_of(asked(row))) for row in truth.rows(version) if not row["refused"]]


@cache
def trios(version: str) -> list[tuple[Row, JobFootprint, JobFootprint, JobFootprint]]:
    """Returns the races that a third job ran before: the row, the two jobs and the third, by the tables before it ran."""
    found = []
    for row in truth.rows(version):
        if row["before"] is not None:
            of_both = facts_of(asked(row)["table"])
            known = {key_of_path(PLACES[place]): of_both for place in ("{table}", "{source}")}
            specs = (DeltaWriteJobSpec.model_validate(row[name]) for name in ("first", "second", "before"))
            first, second, before = (footprint_of(spec, {}, facts=known, sources=known) for spec in specs)
            found.append((row, first, second, before))
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
