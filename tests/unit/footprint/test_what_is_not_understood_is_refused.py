"""A statement that is not surely understood is refused, with its place and at once."""

import re
import time
from typing import Any

import pytest
import yaml

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import NotUnderstoodError, footprint_of
from unit.footprint.statements import footprint, footprints


@pytest.mark.parametrize(
    "sql",
    [
        "BEGIN INSERT INTO t VALUES (1)",
        "label: BEGIN INSERT INTO t VALUES (1)",
        "DECLARE x INT",
        "EXECUTE IMMEDIATE 'DELETE FROM t'",
        "CALL procedure()",
        "DROP TABLE t",
        "CREATE FUNCTION f() RETURNS INT RETURN 1",
        "INSERT OVERWRITE DIRECTORY '/lake/t' USING parquet SELECT 1",
        "INSERT OVERWRITE LOCAL DIRECTORY '/lake/t' SELECT 1",
        "INSERT OVERWRITE DIRECTORY USING parquet OPTIONS (path '/lake/t') SELECT 1",
        "INSERT INTO IDENTIFIER(:t) VALUES (1)",
        "INSERT INTO IDENTIFIER('t') VALUES (1)",
        "DELETE FROM IDENTIFIER('a' || 'b')",
        "INSERT INTO 't' VALUES (1)",
        'INSERT INTO "t" VALUES (1)',
        "INSERT INTO (SELECT 1)",
        "INSERT INTO my-db.t VALUES (1)",
        "INSERT INTO t AS x REPLACE ON x.a = 1 SELECT 1",
        "INSERT INTO t",
        "INSERT INTO delta.`lake/t` VALUES (1)",
        "UPDATE",
        "MERGE INTO",
        "CREATE TABLE t (a INT) USING delta OPTIONS (path '/lake/t')",
        "COPY INTO t FROM '/x'",
        "`INSERT` INTO t VALUES (1)",
        "{{ template }}",
        "OPTIMIZE 'lake/t'",
        "VACUUM 't'",
        "WITH x AS (SELECT 1)",
        "WITH x AS (SELECT 1), INSERT INTO t SELECT 1",
        "WITH x INSERT INTO t SELECT 1",
        "WITH x AS (SELECT 1 INSERT INTO t SELECT 1",
        "WITH x AS (SELECT 1), X AS (SELECT 2) INSERT INTO t SELECT * FROM x",
        "WITH t AS (SELECT 1) DELETE FROM t",
        "FROM x INSERT INTO t VALUES (1)",
        "FROM x INSERT INTO t SELECT 1 UNION ALL SELECT 2",
        "FROM x INSERT INTO t SELECT 1 AS limit LIMIT 5 INSERT INTO u",
        "FROM x INSERT INTO t SELECT 1 FROM y",
        "FROM x INSERT INTO t SELECT * DELETE FROM y",
        "CREATE VIEW v",
        "CREATE VIEW delta.`/t` AS SELECT 1",
        "CREATE VIEW v AS INSERT INTO t SELECT 1",
        "CREATE VIEW v AS WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x",
        "CREATE VIEW v AS FROM x INSERT INTO t SELECT *",
        "CREATE VIEW v LOCATION '/t' AS SELECT 1",
        "DROP VIEW v, w",
        "ALTER VIEW v ADD COLUMN x INT",
        "SHOW",
        "SHOW TABLES DELETE FROM t",
        "DESCRIBE a.b DELETE FROM t",
        "SELECT 1 SELECT 2",
        "DELETE FROM t DELETE FROM u",
        "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED",
        "MERGE INTO t USING s WHEN MATCHED THEN DELETE",
        "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE *",
        "UPDATE t SET WHERE a = 1",
        "MERGE INTO t USING s ON t.a = s.a",
        "VACUUM t RETAIN 168",
        "VACUUM t x y",
        "OPTIMIZE t ZORDER BY (a) WHERE b = 1",
        "OPTIMIZE TABLE t",
        "REORG TABLE t APPLY (X)",
        "RESTORE TABLE t",
        "TRUNCATE TABLE t PARTITION (a = 1)",
        "COMMENT ON TABLE t IS what",
        "COMMIT",
        "ROLLBACK",
        "BEGIN",
        "START TRANSACTION",
        "IF 1 = 1 THEN SELECT 1",
        "WHILE true DO SELECT 1",
        "SET VAR x = 1",
        "INSERT OVERWRITE t PARTITION (d) IF NOT EXISTS SELECT 1",
        "INSERT INTO t PARTITION (d = 1) IF NOT EXISTS SELECT 1",
        "INSERT INTO t SELECT 1 RETURNING *",
        "INSERT INTO t SELECT , 1",
        "INSERT INTO t SELECT * FROM .`/s`",
        "INSERT INTO t SELECT * FROM delta. .`/s`",
        "MERGE INTO t USING .`/s` s ON t.a = s.a WHEN MATCHED THEN DELETE",
        "INSERT INTO t VALUES (1, )",
        "INSERT INTO t SELECT * INTO u FROM s",
        "INSERT INTO t SELECT FROM s",
        "DELETE FROM t WHERE a = 1 LIMIT 5",
        "DELETE FROM t USING s WHERE t.a = s.a",
        "UPDATE t SET a = 1 FROM s",
        "UPDATE t SET a = 1 LIMIT 1",
        "MERGE INTO t USING s ON t.a = s.a WHEN NOT AND s.b = 1 THEN INSERT *",
        "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE WHEN MATCHED THEN UPDATE SET a = 1",
        "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE RETURNING *",
        "ALTER TABLE t ALTER COLUMN a TYPE",
        "ALTER TABLE t ADD COLUMN x",
        "ALTER TABLE t ADD COLUMNS (x INT) DELETE FROM u",
        "ALTER TABLE t DROP COLUMNS (a) b",
        "ALTER TABLE t SET TBLPROPERTIES ('a')",
        "ALTER TABLE t UNSET TBLPROPERTIES ('a' = 'b')",
        "ALTER TABLE t ADD CONSTRAINT c",
        "ALTER TABLE t DROP FEATURE f HISTORY",
        "CREATE TABLE t (a INT) USING delta AS SELECT 1 AS a",
        "CREATE TABLE t (a INT) USING delta DELETE FROM u",
        "CREATE TABLE t USING",
        "CREATE TABLE t (a)",
        "CREATE TABLE t (a INT, )",
        "CREATE TABLE t (a INT GENERATED ALWAYS IDENTITY)",
        "CREATE TABLE t (a INT USING delta",
        "CREATE TABLE t SHALLOW s",
        "CREATE TABLE t SHALLOW CLONE s VERSION AS 3",
        "CREATE TABLE t AS DELETE FROM u",
        "CREATE TABLE IF IF NOT EXISTS t (a INT)",
        "CONVERT TO DELTA parquet.`/t` PARTITIONED BY (d)",
    ],
)
def test_what_is_not_surely_understood_is_refused_with_its_place(sql: str) -> None:
    footprints("DELETE FROM ok")
    with pytest.raises(NotUnderstoodError, match=r"statement 2, line 3"):
        footprints("DELETE FROM ok;\n\n" + sql)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("BEGIN INSERT INTO t VALUES (1)", "SQL script or a transaction over several statements"),
        ("COMMIT", "SQL script or a transaction over several statements"),
        ("label: BEGIN DELETE FROM t; END", "SQL script or a transaction over several statements"),
        ("IF a THEN DELETE FROM t; END IF", "a job runs no control flow"),
        ("DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 1", "a job runs no control flow"),
        ("EXECUTE IMMEDIATE 'DELETE FROM t'", "write the statement itself: DELETE FROM t"),
        ("EXECUTE IMMEDIATE 'DELETE FROM t WHERE a = ''x'''", "write the statement itself"),
        (
            "EXECUTE IMMEDIATE 'DELETE FROM t WHERE a = ?' USING 1",
            "spec.parameters for the values after USING",
        ),
        (
            "EXECUTE IMMEDIATE 'SELECT max(a) FROM t' INTO x",
            "write the statement itself, where its value is used",
        ),
        ("EXECUTE IMMEDIATE 'DELETE FROM ' || x", "spec.parameters for the values that differ"),
        ("EXECUTE IMMEDIATE x", "spec.parameters for the values that differ"),
        ("DROP TABLE t", "write CREATE OR REPLACE TABLE"),
        (
            "DROP TABLE IF EXISTS sales.orders PURGE",
            "or TRUNCATE TABLE to empty it. Drop a table for good outside",
        ),
        (
            "DROP TABLE IF EXISTS delta.`/lake/t`",
            "DROP TABLE of a location as done, and removes no file: write CREATE OR",
        ),
        ("DROP TABLE spark_catalog.delta.`/lake/t`", "removes no file"),
        ("DROP TABLE delta.`lake/t`", "is a relative location"),
    ],
)
def test_what_no_job_runs_is_refused_with_what_to_write_whatever_is_declared(sql: str, why: str) -> None:
    with pytest.raises(NotUnderstoodError, match=why):
        footprints(sql)
    spec = {
        "sql": f"DELETE FROM delta.`/lake/t`; {sql}",
        "footprint": [{"table": {"path": "/lake/t"}, "operation": "Replace"}],
    }
    with pytest.raises(NotUnderstoodError, match=rf"^statement \d, line 1: .*{why}"):
        footprint_of(DeltaWriteJobSpec.model_validate(spec), {})


@pytest.mark.parametrize(
    ("sql", "parameter"),
    [
        ("DECLARE x DATE DEFAULT DATE '2026-11-19'", {"date": "2026-11-19"}),
        ("DECLARE OR REPLACE VARIABLE x DATE DEFAULT '2026-11-19'", {"date": "2026-11-19"}),
        ("DECLARE VARIABLE x = DATE'2026-11-19'", {"date": "2026-11-19"}),
        ("DECLARE x STRING DEFAULT 'a \"b\": c'", {"string": 'a "b": c'}),
        ("DECLARE x DEFAULT 'eu'", {"string": "eu"}),
        ("DECLARE x INT DEFAULT 5", {"integer": 5}),
        ("SET VAR x = 5", {"integer": 5}),
        ("SET VARIABLE x = 'eu'", {"string": "eu"}),
    ],
)
def test_a_variable_with_a_plain_value_is_shown_as_a_parameter(sql: str, parameter: dict[str, Any]) -> None:
    with pytest.raises(NotUnderstoodError, match="write :x where it is used") as refused:
        footprints(sql)
    shown = str(refused.value).partition("in spec.parameters: ")[2].partition(", or declare")[0]
    given = {"sql": "DELETE FROM delta.`/lake/t` WHERE a = :x", "parameters": yaml.safe_load(shown)}
    assert given["parameters"] == {"x": parameter}
    assert footprint_of(DeltaWriteJobSpec.model_validate(given), {}).tables


@pytest.mark.parametrize(
    ("sql", "instead"),
    [
        ("DECLARE x INT", "write :x where it is used, and give its value in spec.parameters"),
        ("DECLARE x DATE DEFAULT current_date() - 1", "or write its expression there"),
        (r"DECLARE x STRING DEFAULT 'a\\b'", "or write its expression there"),
        ("DECLARE x DECIMAL(5, 2) DEFAULT 5", "or write its expression there"),
        ("DECLARE x DATE DEFAULT '2026-1-5'", "or write its expression there"),
        ("DECLARE x INT DEFAULT 99999999999999999999", "or write its expression there"),
        ("SET VAR x = (SELECT max(a) FROM t)", "or write its expression there"),
        ("SET VAR (x, y) = (SELECT 1, 2)", "use spec.parameters"),
        ("DECLARE session.x INT", "use spec.parameters"),
        ("SET VAR", "use spec.parameters"),
    ],
)
def test_a_variable_is_refused_with_what_to_write(sql: str, instead: str) -> None:
    with pytest.raises(NotUnderstoodError, match=re.escape(instead)) as refused:
        footprints(sql)
    assert "{" not in str(refused.value)


@pytest.mark.parametrize("sql", ["DECLARE x INT DEFAULT 1", "SET VAR x = 1", "SET VARIABLE x = 1"])
def test_a_variable_is_refused_beside_a_declared_footprint_where_another_attempt_may_come(sql: str) -> None:
    given = {
        "sql": f"{sql}; DELETE FROM delta.`/lake/t`",
        "footprint": [{"table": {"path": "/lake/t"}, "operation": "Delete"}],
    }
    assert footprint_of(DeltaWriteJobSpec.model_validate(given), {}).tables
    with pytest.raises(
        NotUnderstoodError, match=r"spec\.retry: statement 1, line 1: .* use spec\.parameters"
    ):
        footprint_of(DeltaWriteJobSpec.model_validate(given | {"retry": {"limit": 1}}), {})


@pytest.mark.parametrize(
    "query",
    [
        "WITH x AS (SELECT 1) SELECT * FROM (WITH IDENTIFIER('x') AS (SELECT 2) SELECT * FROM x)",
        "SELECT x.* FROM (SELECT 1) AS IDENTIFIER('x')",
    ],
)
def test_names_that_are_made_up_are_refused(query: str) -> None:
    with pytest.raises(NotUnderstoodError, match="write the name itself"):
        footprint(f"INSERT INTO delta.`/lake/t` {query}")
    with pytest.raises(NotUnderstoodError, match="write the name itself"):
        footprint(f"CREATE TEMP VIEW v AS {query}; INSERT INTO delta.`/lake/t` SELECT * FROM v")


_REPEATED = ", a STRUCT<x: ARRAY<INT>> DEFAULT (f(1)) + 1 COMMENT 'c'"


BOMBS = {
    "columns": "CREATE TABLE t (b INT" + 2000 * _REPEATED + " ?)",
    "added columns": "ALTER TABLE t ADD COLUMNS (b INT" + 2000 * _REPEATED + " ?)",
    "defaults": "ALTER TABLE t ALTER COLUMN a SET DEFAULT 1" + 2000 * ", a SET DEFAULT 1" + " )",
    "checks": "CREATE TABLE t (a INT" + 2000 * " CHECK (a > (1))" + " ?)",
    "inventories": "VACUUM t" + 2000 * " USING INVENTORY (SELECT f(1))" + " ?",
    "properties": "ALTER TABLE t SET TBLPROPERTIES (a.b" + 2000 * " = 1, a.b" + " ?)",
    "clauses": "CREATE TABLE t" + 2000 * " USING a COMMENT 'c' TBLPROPERTIES ('a' = 'b')" + " ?",
    "sorting": "OPTIMIZE t WHERE a" + 2000 * " = 1 ZORDER BY (a)" + " ?",
    "purging": "REORG TABLE t WHERE a" + 2000 * " APPLY (PURGE)" + " ?",
    "view": "CREATE VIEW v (a" + 2000 * " COMMENT 'c', a" + " ?) AS SELECT 1",
    "names": "CREATE TABLE t CLUSTER BY (a) LIKE " + 3000 * "a." + " ?",
    "angles": "CREATE TABLE t (a " + 3000 * "ARRAY<" + ")",
}


@pytest.mark.parametrize("kind", BOMBS)
def test_what_is_made_to_be_hard_is_refused_at_once(kind: str) -> None:
    began = time.process_time()
    with pytest.raises(NotUnderstoodError):
        footprints(BOMBS[kind])
    assert time.process_time() - began < 5
