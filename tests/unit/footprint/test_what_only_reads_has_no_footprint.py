"""A statement that writes nothing has no footprint, what it selects is read, and a job of nothing else is refused."""

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import NotUnderstoodError, footprint_of
from sluice.tables import key_of_path
from unit.footprint.statements import footprints


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM delta.`/lake/t`",
        "(SELECT 1)",
        "VALUES (1)",
        "FROM delta.`/lake/t`",
        "WITH x AS (SELECT 1) SELECT * FROM x",
        "SHOW TABLES",
        "SHOW CREATE TABLE a.b",
        "SHOW PARTITIONS delta.`/lake/t`",
        "DESCRIBE DETAIL delta.`/lake/t`",
        "DESCRIBE HISTORY '/lake/t' LIMIT 5",
        "DESC EXTENDED a.b",
        "CREATE VIEW a.v AS SELECT * FROM delta.`/lake/t`",
        "CREATE OR REPLACE VIEW v (x COMMENT 'c', y) COMMENT 'd' TBLPROPERTIES ('a' = 'b') AS SELECT 1, 2",
        "CREATE VIEW IF NOT EXISTS v WITH SCHEMA TYPE EVOLUTION AS VALUES (1)",
        "ALTER VIEW a.v AS SELECT 1",
        "ALTER VIEW v RENAME TO w",
        "ALTER VIEW v SET TBLPROPERTIES ('a' = 'b')",
        "ALTER VIEW v UNSET TBLPROPERTIES ('a')",
        "DROP VIEW IF EXISTS a.v",
    ],
)
def test_what_writes_nothing_has_no_footprint(sql: str) -> None:
    assert footprints(sql) == ()


def test_what_is_only_selected_is_read() -> None:
    spec = DeltaWriteJobSpec.model_validate(
        {"sql": "SELECT * FROM delta.`/lake/s`; DELETE FROM delta.`/lake/t`"}
    )
    assert footprint_of(spec, {}).reads.tables == (key_of_path("/lake/s"),)


def test_a_job_that_writes_nothing_is_refused() -> None:
    with pytest.raises(NotUnderstoodError, match="no statement that writes"):
        footprint_of(DeltaWriteJobSpec.model_validate({"sql": "SELECT 1; SHOW TABLES"}), {})
