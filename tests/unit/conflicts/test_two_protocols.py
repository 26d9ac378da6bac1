"""What may need a feature that the table does not have yet changes its protocol, and two such changes exclude each other."""

import pytest

from sluice.conflicts import Level
from unit.conflicts import pairs as p

DROP_FEATURE = "ALTER TABLE {t} DROP FEATURE deletionVectors"
PC, MC = "ProtocolChangedException", "MetadataChangedException"


def told(loser: str, winner: str) -> tuple[Level, str | None]:
    verdict = p.pair(loser, winner).first_loses
    return verdict.level, verdict.exception


@pytest.mark.parametrize(
    "change",
    [
        p.REPLACE_TABLE.replace(
            "delta AS", "delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') AS"
        ),
        "CREATE OR REPLACE TABLE {t} (id BIGINT, at TIMESTAMP_NTZ) USING delta",
        "CREATE OR REPLACE TABLE {t} (id BIGINT) USING delta CLUSTER BY (id)",
        "REPLACE TABLE {t} USING delta AS SELECT * FROM delta.`/lake/s`",
        "ALTER TABLE {t} ADD COLUMNS (at TIMESTAMP_NTZ)",
        "ALTER TABLE {t} ADD COLUMNS (at TIMESTAMP)",
        "ALTER TABLE {t} ADD COLUMN (id BIGINT, what VARIANT)",
        "ALTER TABLE {t} ADD COLUMNS (n INT DEFAULT 1)",
        "ALTER TABLE {t} ADD COLUMNS (v STRING COLLATE unicode)",
        "ALTER TABLE {t} ADD COLUMNS (s STRUCT<at: TIMESTAMP_NTZ>)",
    ],
)
def test_what_may_need_a_feature_meets_the_enabling_of_another(change: str) -> None:
    assert told(change, p.VECTORS) == (Level.MAY, PC)
    assert told(p.VECTORS, change) == (Level.MAY, PC)


@pytest.mark.parametrize(
    "columns",
    [
        "COLUMN extra INT",
        "COLUMNS (extra INT)",
        "COLUMNS (extra BIGINT COMMENT 'one', `more` STRING)",
    ],
)
def test_columns_of_plain_types_need_none(columns: str) -> None:
    assert told(f"ALTER TABLE {{t}} ADD {columns}", p.VECTORS) == (Level.WILL, MC)


def test_a_table_that_is_made_anew_will_lose_to_a_change_of_properties_all_the_same() -> None:
    assert told(p.REPLACE_TABLE, p.SET) == (Level.WILL, MC)


@pytest.mark.parametrize("winner", [p.APPEND, p.MERGE, p.OPTIMIZE, p.SET])
def test_who_drops_a_feature_may_lose_to_whoever_uses_it(winner: str) -> None:
    verdict = p.pair(DROP_FEATURE, winner).first_loses
    assert (verdict.level, verdict.rule) == (Level.MAY, "feature-dropped-under-writers")


def test_a_dropped_feature_may_abort_all_but_compaction() -> None:
    for loser in (p.APPEND, p.MERGE, p.SET):
        verdict = p.pair(loser, DROP_FEATURE).first_loses
        assert (verdict.level, verdict.rule, verdict.exception) == (Level.MAY, "feature-removed", PC)
    assert p.pair(p.OPTIMIZE, DROP_FEATURE).first_loses.rule != "feature-removed"
