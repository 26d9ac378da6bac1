"""A VACUUM is judged by how long its table keeps files. What may shorten that time doesn't run beside it: third jobs, which nobody
asked, would lose their files."""

from typing import Any

import pytest

from sluice.conflicts import Level, conflict_between, pair_of
from sluice.footprint import JobFootprint, unknown_footprints
from sluice.tables import TableFacts, databricks, delta_rs, key_of_path, oss
from unit.conflicts.pairs import APPEND, REPLACE_TABLE, RESTORE, SET, VACUUM, facts, job

TABLE = key_of_path("/lake/t")
RETENTION = "delta.deletedFileRetentionDuration"
A_MONTH = "interval 30 days"
DIALECTS = {
    "open source": oss("4.4.0"),
    "Databricks": databricks("15.4", photon=True),
    "delta-rs": delta_rs("1.2.1"),
    "not known": None,
}


def alter(kept: str, key: str = RETENTION) -> str:
    return f"ALTER TABLE {{t}} SET TBLPROPERTIES ('{key}' = '{kept}')"


def replaced(kept: str) -> str:
    return f"CREATE OR REPLACE TABLE {{t}} (id BIGINT) USING delta TBLPROPERTIES ('{RETENTION}' = '{kept}')"


def declared(operation: str, **more: Any) -> dict[str, Any]:
    return {
        "application": {"engine": "kubeflow", "template": {"mainClass": "X"}},
        "footprint": [{"table": {"path": "/lake/t"}, "operation": operation, **more}],
    }


SHORTENS: dict[str, str | dict[str, Any]] = {
    "alter": alter("interval 1 hour"),
    "alter in another case": alter("INTERVAL 1 HOUR", RETENTION.upper().replace("DELTA.", "delta.")),
    "alter in delta's own case": alter("interval 1 hour", RETENTION.lower()),
    "alter to what is not understood": alter("interval 2 moons"),
    "alter after another property": f"ALTER TABLE {{t}} SET TBLPROPERTIES ('a' = 'b', '{RETENTION}' = '1 hour')",
    "alter without =": alter("interval 1 hour").replace(" = ", " "),
    "alter by a name without =": f"ALTER TABLE {{t}} SET TBLPROPERTIES ({RETENTION} 'interval 1 hour')",
    "alter in two spellings": (
        f"ALTER TABLE {{t}} SET TBLPROPERTIES ('{RETENTION}' = '1 hour', '{RETENTION.lower()}' = '{A_MONTH}')"
    ),
    "restore": RESTORE,
    "replace": REPLACE_TABLE,
    "replace for a time": replaced("interval 6 days"),
    "clone": "CREATE OR REPLACE TABLE {t} SHALLOW CLONE delta.`/lake/other`",
    "an unknown setting": f"SET spark.databricks.delta.nobodyKnows = 1; {APPEND}",
    "declared alter": declared("Alter"),
    "declared restore": declared("Restore"),
    "declared metadata": declared("Append", metadata=True),
}
KEEPS: dict[str, str | dict[str, Any]] = {
    "another property": SET,
    "a week": alter("interval 1 week"),
    "longer": alter(A_MONTH),
    "longer without =": alter(A_MONTH).replace(" = ", " "),
    "back to a week": f"ALTER TABLE {{t}} UNSET TBLPROPERTIES ('{RETENTION}')",
    "columns": "ALTER TABLE {t} ADD COLUMNS (extra INT)",
    "replace for a week": replaced("interval 168 hours"),
    "declared append": declared("Append"),
}


def beside_vacuum(other: str | dict[str, Any], known: TableFacts) -> list[tuple[Level, str]]:
    made = job(other, known)
    vacuum = job(VACUUM, known)
    both = (pair_of(vacuum, made), pair_of(made, vacuum))
    return [(one.level, one.rule) for pair in both for one in (pair.first_loses, pair.second_loses)]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("other", SHORTENS.values(), ids=SHORTENS)
def test_what_may_shorten_the_retention_is_unsafe_beside_a_vacuum(
    other: str | dict[str, Any], dialect: str
) -> None:
    known = facts(properties={RETENTION: A_MONTH}, dialect=DIALECTS[dialect])
    assert set(beside_vacuum(other, known)) == {(Level.UNSAFE, "shorter-retention")}


@pytest.mark.parametrize("other", KEEPS.values(), ids=KEEPS)
def test_what_leaves_a_week_is_judged_as_before(other: str | dict[str, Any]) -> None:
    known = facts(properties={RETENTION: A_MONTH})
    for level, rule in beside_vacuum(other, known):
        assert level is not Level.UNSAFE
        assert rule != "shorter-retention"


def test_whoever_accepts_risks_does_not_accept_this_one() -> None:
    known = facts(properties={RETENTION: A_MONTH})
    vacuum, writer, longer, shorter = (
        job(sql, known) for sql in (VACUUM, APPEND, alter("interval 60 days"), alter("interval 1 hour"))
    )
    assert conflict_between(vacuum, writer) is None
    assert conflict_between(vacuum, longer, {TABLE}) is None, "Delta aborts one of them, and that is all"
    for pair in ((vacuum, shorter), (shorter, vacuum)):
        found = conflict_between(*pair, {TABLE})
        assert found is not None
        assert found.verdict.level is Level.UNSAFE
        assert "third jobs" in found.verdict.reason


def test_who_cannot_be_read_may_shorten_it() -> None:
    unknown = JobFootprint(unknown_footprints([TABLE]))
    found = conflict_between(unknown, job(VACUUM, facts()), {TABLE})
    assert found is not None
    assert found.verdict.level is Level.UNSAFE
