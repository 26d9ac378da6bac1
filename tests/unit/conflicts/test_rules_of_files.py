"""Pairs that only add and remove files skip the rules of metadata, protocol and the like, which have nothing to say of them."""

import pytest

from sluice.conflicts import oss
from sluice.conflicts.meeting import Meeting
from sluice.footprint import JobFootprint
from unit.conflicts import pairs as p

STATEMENTS = {
    name: value
    for name, value in vars(p).items()
    if name.isupper() and isinstance(value, str) and "{t}" in value
}
ERAS = (oss.E1, oss.E2, oss.E3, oss.ANY_ENGINE)


def jobs() -> list[JobFootprint]:
    return [
        p.job(statement, p.facts(partitioned=partitioned))
        for statement in STATEMENTS.values()
        for partitioned in (True, False)
    ]


def test_what_only_touches_files_is_judged_as_by_all_rules() -> None:
    found = [(job, footprint) for job in jobs() for footprint in job.tables if footprint.only_files]
    assert len(found) > 20
    skipped = oss.RULES[: -len(oss.RULES_OF_FILES)]
    for losing_job, loser in found:
        for winning_job, winner in found:
            meeting = Meeting(loser, winner, losing_job, winning_job, on_one_table=True)
            assert [rule.__name__ for rule in skipped for era in ERAS if rule(meeting, era)] == []


@pytest.mark.parametrize("name", ["SET", "RESTORE", "REPLACE_TABLE"])
def test_what_does_more_than_touch_files_is_asked_all_rules(name: str) -> None:
    assert not any(footprint.only_files for footprint in p.job(STATEMENTS[name], p.facts()).tables)
