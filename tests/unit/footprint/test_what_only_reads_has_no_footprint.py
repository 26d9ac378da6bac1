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
        "CREATE SCHEMA IF NOT EXISTS a",
        "CREATE OR REPLACE TEMP FUNCTION f(x INT DEFAULT (1), y ARRAY<INT>) RETURNS INT RETURN (SELECT max(id) FROM a.t)",
        "DROP TEMPORARY FUNCTION IF EXISTS f",
        "CREATE DATABASE IF NOT EXISTS c.a COMMENT 'x' LOCATION '/lake/a' WITH DBPROPERTIES ('a' = 'b')",
        "CREATE NAMESPACE IF NOT EXISTS c.a WITH PROPERTIES ('a' = 'b')",
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


@pytest.mark.parametrize(
    ("made", "statement"),
    [
        (
            "(x INT) RETURNS INT RETURN (SELECT max(id) FROM delta.`/lake/u` WHERE id = x)",
            "INSERT INTO delta.`/lake/t` SELECT f(id) FROM delta.`/lake/s`",
        ),
        ("AS 'a.B'", "DELETE FROM delta.`/lake/t` WHERE f(id) = 1"),
    ],
)
def test_what_calls_a_temporary_function_may_read_any_table(made: str, statement: str) -> None:
    sql = f"CREATE TEMPORARY FUNCTION f {made}; {statement}; DROP TEMPORARY FUNCTION f"
    found = footprint_of(DeltaWriteJobSpec.model_validate({"sql": sql}), {})
    assert found.reads.any_table
    assert found.tables[0].reads.is_everything
    assert any("f() may be a function over" in why for why in found.tables[0].not_understood)


def test_a_spark_that_makes_no_functions_from_sql_is_not_started_for_one() -> None:
    sql = "CREATE TEMPORARY FUNCTION f(x INT) RETURNS INT RETURN x; DELETE FROM delta.`/lake/t`"
    spec = DeltaWriteJobSpec.model_validate({"sql": sql})
    assert footprint_of(spec, {}, spark_version="4.2.0").tables
    with pytest.raises(
        NotUnderstoodError,
        match=r"statement 1, line 1: Spark 3\.5 makes no functions from SQL: write the expression",
    ):
        footprint_of(spec, {}, spark_version="3.5.9")
