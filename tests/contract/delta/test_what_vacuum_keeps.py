"""VACUUM keeps files for as long as the table says, or as RETAIN says where that is shorter: only that holds for both versions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import pytest

from contract.harness.tables import Asked, Question
from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import footprint_of
from sluice.footprint.model import TableFootprint
from sluice.footprint.statements.maintenance import DATA_RETENTION, hours_kept_by
from sluice.predicates import Table
from sluice.tables import TableFacts, key_of_path

_UNCHECKED = "SET spark.databricks.delta.retentionDurationCheck.enabled = false"
_NUMBERS = count(1)


@dataclass(frozen=True)
class Vacuumed:
    own: str | None
    """What the table says."""
    retain: str
    aged: float
    """Hours since its files were written."""
    left: dict[str, bool]
    """Whether a file is left that a writer hasn't committed yet, by the version of Delta."""

    def __str__(self) -> str:
        return f"{self.own}/{self.retain or 'nothing'}/{self.aged:g}"


BOTH, NEITHER = {"3.3.3": True, "4.4.0": True}, {"3.3.3": False, "4.4.0": False}
NEWER_PASSES_OVER_RETAIN = {"3.3.3": True, "4.4.0": False}
OLDER_HEEDS_RETAIN = {"3.3.3": False, "4.4.0": True}

WITH_RETAIN = (
    Vacuumed("interval 2 hours", " RETAIN 168 HOURS", 3, NEWER_PASSES_OVER_RETAIN),
    Vacuumed(None, " RETAIN 400 HOURS", 200, NEWER_PASSES_OVER_RETAIN),
    Vacuumed("interval 400 hours", " RETAIN 200 HOURS", 300, OLDER_HEEDS_RETAIN),
    Vacuumed("interval 400 hours", " RETAIN 0 HOURS", 1, NEITHER),
    Vacuumed(None, " RETAIN 2 HOURS", 3, OLDER_HEEDS_RETAIN),
)
WITHOUT = (
    Vacuumed(None, "", 100, BOTH),
    Vacuumed(None, "", 200, NEITHER),
    Vacuumed("interval 2 hours", "", 1, BOTH),
    Vacuumed("interval 2 hours", "", 3, NEITHER),
)
CASES = (*WITH_RETAIN, *(pytest.param(case, marks=pytest.mark.long(minutes=0.2)) for case in WITHOUT))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_only_what_the_shorter_of_the_two_keeps_is_surely_left(
    asked: Asked, delta: str, case: Vacuumed
) -> None:
    table = f"vacuumed-{next(_NUMBERS)}"
    properties = {} if case.own is None else {DATA_RETENTION: case.own}
    told = "".join(f" TBLPROPERTIES ('{name}' = '{value}')" for name, value in properties.items())
    built = asked(Question(table, statements=(f"CREATE TABLE {{table}} (id BIGINT) USING delta{told}",)))
    assert built.refused is None
    assert built.properties == properties
    vacuum = f"VACUUM {{table}}{case.retain}"
    answer = asked(
        Question(table, loose_file="loose.parquet", aged_hours=case.aged, statements=(_UNCHECKED, vacuum))
    )
    assert answer.refused is None
    assert ("loose.parquet" in answer.files) is case.left[delta]
    if "loose.parquet" not in answer.files:
        assert _believed_hours(vacuum, properties, delta) < case.aged, "what is believed to be kept is gone"


def test_a_removed_file_is_forgotten_when_the_table_says_whatever_retain_says(asked: Asked) -> None:
    """So that it goes although it was removed a moment ago, if only it was written long before."""
    table = f"vacuumed-{next(_NUMBERS)}"
    asked(
        Question(
            table,
            statements=(
                f"CREATE TABLE {{table}} (id BIGINT) USING delta TBLPROPERTIES ('{DATA_RETENTION}' = 'interval 0 hours')",
                "INSERT INTO {table} VALUES (1)",
            ),
        )
    )
    before = asked(Question(table, aged_hours=300))
    assert len(before.files) == 1
    after = asked(Question(table, statements=("DELETE FROM {table}", "VACUUM {table} RETAIN 200 HOURS")))
    assert after.refused is None
    assert after.files == ()


A_WEEK = f"('{DATA_RETENTION}' = 'interval 1 week')"
CHANGES = {
    "ALTER TABLE {table} SET TBLPROPERTIES ('" + DATA_RETENTION + "' = 'interval 3 hours')": 3,
    "ALTER TABLE {table} SET TBLPROPERTIES ('" + DATA_RETENTION.lower() + "' = 'INTERVAL 3 HOURS')": 3,
    "ALTER TABLE {table} SET TBLPROPERTIES ('team' = 'ops')": 1,
    "ALTER TABLE {table} UNSET TBLPROPERTIES ('" + DATA_RETENTION + "')": 168,
    "ALTER TABLE {table} ADD COLUMNS (extra INT)": 1,
    f"CREATE OR REPLACE TABLE {{table}} USING delta TBLPROPERTIES {A_WEEK} AS SELECT 1L AS id": 168,
    "CREATE OR REPLACE TABLE {table} USING delta AS SELECT 1L AS id": 168,
    "SET spark.databricks.delta.properties.defaults.deletedFileRetentionDuration = interval 4 hours; "
    "CREATE OR REPLACE TABLE {table} USING delta AS SELECT 1L AS id": 4,
    f"CREATE OR REPLACE TABLE {{table}} SHALLOW CLONE delta.`{{source}}` TBLPROPERTIES {A_WEEK}": 168,
    "CREATE OR REPLACE TABLE {table} SHALLOW CLONE delta.`{source}`": 2,
    "RESTORE TABLE {table} TO VERSION AS OF 0": 5,
}


@pytest.mark.parametrize(("change", "hours"), CHANGES.items(), ids=[*CHANGES])
def test_no_statement_leaves_less_than_is_foretold_of_it(
    asked: Asked, delta: str, change: str, hours: float
) -> None:
    source = asked.folder / _made(asked, "kept-2", "2")
    table = _made(asked, "kept-5-then-1", "5", "1")
    statements = tuple(change.replace("{source}", str(source)).split("; "))
    answer = asked(Question(table, restored=True, statements=statements))
    assert answer.refused is None
    assert hours_kept_by(answer.properties) == hours
    (told,) = (
        one.leaves_retention_hours
        for one in _footprints("; ".join(statements), {DATA_RETENTION: "1 hour"}, delta)
    )
    assert (1 if told is None else told) <= hours


def _made(asked: Asked, name: str, *kept: str) -> str:
    """A table that has kept what was removed for so many hours, one after the other. It is made once."""
    first, *later = (f"('{DATA_RETENTION}' = 'interval {one} hours')" for one in kept)
    if not (asked.folder / name).exists():
        made = asked(
            Question(
                name,
                statements=(
                    f"CREATE TABLE {{table}} (id BIGINT) USING delta TBLPROPERTIES {first}",
                    *(f"ALTER TABLE {{table}} SET TBLPROPERTIES {one}" for one in later),
                ),
            )
        )
        assert made.refused is None
    return name


def _believed_hours(vacuum: str, properties: dict[str, str], delta: str) -> float:
    (one,) = _footprints(vacuum, properties, delta)
    assert one.retention_hours is not None
    return one.retention_hours


def _footprints(sql: str, properties: dict[str, str], delta: str) -> tuple[TableFootprint, ...]:
    facts = TableFacts(columns=Table.of({"id": "bigint"}), properties=properties)
    spec = DeltaWriteJobSpec.model_validate({"sql": sql.replace("{table}", "delta.`/lake/t`")})
    return footprint_of(spec, {}, facts={key_of_path("/lake/t"): facts}, delta_version=delta).tables
