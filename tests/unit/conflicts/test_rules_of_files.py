"""Pairs that only add and remove files skip the rules of metadata, protocol and the like, which have nothing to say of them."""

from dataclasses import replace
from typing import Any, cast

import pytest

from sluice.conflicts import oss
from sluice.conflicts.race import Race
from sluice.conflicts.rule import Rule, verdict_by
from sluice.footprint.model import BESIDE_FILES, JobFootprint, Metadata, ProtocolChange, TableFootprint
from sluice.tables import Dialect
from sluice.tables import oss as delta
from unit.conflicts import pairs as p

SKIPPED = [rule for rule in oss.RULES if rule not in oss.RULES_OF_FILES]
DIALECTS = [delta("3.3.3"), delta("4.2.0"), delta("4.4.0"), None]
PROPERTIES = {
    name
    for kind in (TableFootprint, Race)
    for name, value in vars(kind).items()
    if isinstance(value, property)
}
OTHERWISE: dict[str, Any] = {
    "metadata": Metadata.IDENTITY,
    "protocol": ProtocolChange.MAY_ADD,
    "creates": True,
    "replaces": True,
    "single_attempt": True,
    "domains": frozenset({"delta.clustering"}),
    "txn_app_id": "nightly",
}
STATEMENTS = {
    name: value
    for name, value in vars(p).items()
    if name.isupper() and isinstance(value, str) and "{t}" in value
}


class Watched:
    """A record that writes down which of its fields somebody looks at."""

    def __init__(self, record: object, looked_at: set[str]) -> None:
        self._record, self._looked_at = record, looked_at

    def __getattr__(self, name: str) -> Any:
        self._looked_at.add(name)
        value = getattr(type(self._record), name, None)
        if isinstance(value, property) and value.fget is not None:
            return value.fget(self)
        return getattr(self._record, name)


@pytest.mark.parametrize("dialect", DIALECTS, ids=str)
@pytest.mark.parametrize("rule", SKIPPED, ids=lambda rule: rule.id)
def test_a_skipped_rule_looks_at_nothing_but_what_is_the_same_in_all_that_only_touches_files(
    rule: Rule, dialect: Dialect | None
) -> None:
    """Since it says nothing of one such pair, it says nothing of any, whatever fields a footprint will have."""
    statement = p.job(p.DELETE, p.facts()).tables[0]
    assert statement.only_files
    fields, sides = set[str](), set[str]()
    side = cast("TableFootprint", Watched(statement, fields))
    job = JobFootprint((statement,), dialect)
    race = Race(side, side, job, job, statement.table, on_one_table=True)
    assert rule.decide(cast("Race", Watched(race, sides))) is None
    assert fields - PROPERTIES <= BESIDE_FILES
    assert sides - PROPERTIES <= {"loser", "winner"}


def test_nearly_all_that_writes_rows_only_touches_files_and_is_judged_as_by_all_rules() -> None:
    jobs = [
        p.job(statement, p.facts(partitioned=partitioned))
        for statement in STATEMENTS.values()
        for partitioned in (True, False)
    ]
    found = [(job, footprint) for job in jobs for footprint in job.tables if footprint.only_files]
    assert len(found) > 20
    for losing_job, loser in found:
        for winning_job, winner in found:
            race = Race(loser, winner, losing_job, winning_job, loser.table, on_one_table=True)
            assert verdict_by(oss.RULES, race) == oss.verdict_of(race)


@pytest.mark.parametrize("field", sorted(BESIDE_FILES))
def test_what_does_something_beside_files_is_asked_all_rules(field: str) -> None:
    statement = p.job(p.DELETE, p.facts()).tables[0]
    assert not replace(statement, **{field: OTHERWISE[field]}).only_files


@pytest.mark.parametrize("name", ["SET", "RESTORE", "REPLACE_TABLE"])
def test_what_does_more_than_touch_files_is_asked_all_rules(name: str) -> None:
    assert not any(footprint.only_files for footprint in p.job(STATEMENTS[name], p.facts()).tables)
