"""What each statement touches, and that what is not surely understood is refused with its place."""

import time

import pytest

from sluice.api.job import DeltaWriteJobSpec, Operation
from sluice.footprint import NOTHING, NotUnderstoodError, TableFootprint, footprint_of, split
from sluice.footprint.model import Metadata
from sluice.footprint.sql.reading import Surroundings
from sluice.footprint.statements.script import Script
from sluice.predicates import Table
from sluice.tables import Names, TableFacts, key_of_name, key_of_path

T = key_of_path("/lake/t")
NAME = key_of_name("sales.orders")


def footprint(sql: str) -> TableFootprint:
    (found,) = footprints(sql)
    return found


def footprints(sql: str) -> tuple[TableFootprint, ...]:
    script = Script(Surroundings())
    for statement in split(sql):
        script = script.then(statement)
    return script.tables


@pytest.mark.parametrize(
    ("sql", "operation"),
    [
        ("INSERT INTO {} VALUES (1)", Operation.APPEND),
        ("insert into table {} select 1", Operation.APPEND),
        ("INSERT INTO {} (a, b) SELECT 1, 2", Operation.APPEND),
        ("INSERT INTO {} PARTITION (d = 'x') SELECT 1", Operation.APPEND),
        ("INSERT INTO {} BY NAME SELECT 1 AS a", Operation.APPEND),
        ("INSERT INTO {} (SELECT 1)", Operation.APPEND),
        ("INSERT INTO {} TABLE other", Operation.APPEND),
        ("INSERT INTO {} FROM other SELECT *", Operation.APPEND),
        ("INSERT INTO {} WITH x AS (SELECT 1) SELECT * FROM x", Operation.APPEND),
        ("INSERT INTO {} REPLACE WHERE a = 1 SELECT 1", Operation.OVERWRITE),
        ("INSERT INTO {} (a) REPLACE WHERE a = 1 SELECT 1", Operation.OVERWRITE),
        ("INSERT INTO {} BY NAME REPLACE USING (a) SELECT 1", Operation.OVERWRITE),
        ("INSERT OVERWRITE {} SELECT 1", Operation.OVERWRITE),
        ("INSERT WITH SCHEMA EVOLUTION OVERWRITE {} SELECT 1", Operation.OVERWRITE),
        ("INSERT WITH SCHEMA EVOLUTION OVERWRITE TABLE {} SELECT 1", Operation.OVERWRITE),
        ("INSERT OVERWRITE TABLE {} PARTITION (d = 1) IF NOT EXISTS SELECT 1", Operation.OVERWRITE),
        ("MERGE INTO {} t USING s ON t.a = s.a WHEN MATCHED THEN DELETE", Operation.MERGE),
        (
            "MERGE WITH SCHEMA EVOLUTION INTO {} USING s ON true WHEN NOT MATCHED THEN INSERT *",
            Operation.MERGE,
        ),
        ("UPDATE {} SET a = 1", Operation.UPDATE),
        ("DELETE FROM {} WHERE a = 1", Operation.DELETE),
        ("TRUNCATE TABLE {}", Operation.DELETE),
        ("OPTIMIZE {} WHERE d = 'x' ZORDER BY (a)", Operation.OPTIMIZE),
        ("VACUUM {} RETAIN 168 HOURS", Operation.VACUUM),
        ("ALTER TABLE {} ADD COLUMN x INT", Operation.ALTER),
        ("RESTORE TABLE {} TO VERSION AS OF 1", Operation.RESTORE),
        ("RESTORE {} TO VERSION AS OF 1", Operation.RESTORE),
        ("CREATE TABLE {} (a INT) USING delta", Operation.CREATE),
        ("CREATE TABLE IF NOT EXISTS {} (a INT) USING delta", Operation.CREATE),
        ("CREATE OR REPLACE TABLE {} USING delta AS SELECT 1", Operation.REPLACE),
        ("REPLACE TABLE {} USING delta AS SELECT 1", Operation.REPLACE),
    ],
)
@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("delta.`/lake/t`", T),
        ("DELTA . `file:///lake//t/`", T),
        ("Sales.Orders", NAME),
        ("`sales`.`orders`", NAME),
    ],
)
def test_each_statement_has_its_kind_and_its_target(
    sql: str, operation: Operation, name: str, key: object
) -> None:
    found = footprint("/* why */ -- and\n" + sql.format(name))
    assert (found.table, found.operation) == (key, operation)
    assert found.is_blind == (operation is Operation.APPEND and "other" not in sql)


def test_an_insert_that_may_add_columns_is_no_blind_append() -> None:
    for into in ("INTO", "INTO TABLE"):
        found = footprint(f"INSERT WITH SCHEMA EVOLUTION {into} delta.`/lake/t` SELECT 1")
        assert (found.table, found.operation, found.is_blind) == (T, Operation.APPEND, False)


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
    ("sql", "line"),
    [
        ("INSERT INTO t VALUES (1)\n-- goes on \\\n SELECT 1", 2),
        ("INSERT -- \\\r\n INTO a SELECT 1", 1),
        ("\n\nINSERT INTO ${env:TARGET} VALUES (1)", 3),
        ("INSERT INTO t SELECT '${spark.app.name}'", 1),
    ],
)
def test_what_spark_would_read_differently_is_refused(sql: str, line: int) -> None:
    with pytest.raises(NotUnderstoodError, match=rf"spec\.sql, line {line}:"):
        split(sql)


@pytest.mark.parametrize("sql", ["INSERT INTO t VALUES ('", "DELETE FROM `t", "/* never ends"])
def test_what_has_no_end_is_refused(sql: str) -> None:
    with pytest.raises(NotUnderstoodError, match=r"spec\.sql"):
        footprints(sql)


@pytest.mark.parametrize("sql", [";;", "-- nothing", "/* ; */ ;"])
def test_no_statement_at_all_is_refused(sql: str) -> None:
    with pytest.raises(NotUnderstoodError, match="no statement"):
        split(sql)


def test_a_table_created_at_a_location_is_that_location() -> None:
    assert footprint("CREATE TABLE a (x INT) USING delta LOCATION 's3a://lake/t'").table == key_of_path(
        "s3://lake/t"
    )
    assert footprint("CREATE TABLE a USING delta AS SELECT 'LOCATION', location FROM x").table == key_of_name(
        "a"
    )


@pytest.mark.parametrize("version", ["v12", "20261119000000000"])
@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM delta.`{t}`",
        "INSERT INTO spark_catalog.delta.`{t}` VALUES (1)",
        "CREATE TABLE delta.`{t}` (x INT) USING delta",
        "CREATE TABLE a (x INT) USING delta LOCATION '{t}'",
        "VACUUM '{t}'",
    ],
)
def test_a_folder_that_is_called_as_a_version_of_another_is_never_written(sql: str, version: str) -> None:
    with pytest.raises(NotUnderstoodError, match="ends as a version of the table"):
        footprint(sql.replace("{t}", f"/lake/t@{version}"))


def test_what_is_read_of_an_older_version_is_read_of_the_table() -> None:
    assert footprint("INSERT INTO delta.`/lake/u` SELECT * FROM delta.`/lake/t@v12`").sources.tables == (T,)


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM spark_catalog.delta.`/lake/t`",
        "UPDATE `SPARK_CATALOG`.`Delta`.`/lake/t` SET x = 1",
        "CONVERT TO DELTA spark_catalog.parquet.`/lake/t`",
        "CONVERT TO DELTA iceberg.`/lake/t`",
    ],
)
def test_a_location_behind_the_name_of_sparks_catalog_is_a_location(sql: str) -> None:
    assert footprint(sql).table == T


@pytest.mark.parametrize(
    "rest", ["(x INT) USING delta LOCATION 'lake/t'", "USING delta LOCATION 't' AS SELECT 1 AS x"]
)
def test_a_table_is_created_at_no_relative_location(rest: str) -> None:
    with pytest.raises(NotUnderstoodError, match=r"statement 1.*relative location"):
        footprint(f"CREATE TABLE a {rest}")


@pytest.mark.parametrize(
    "written", ["delta.`/a/\0b`", "delta.`/a/b\n`", "`a\x01b`", "`a\nb`.c", "``", "delta.``"]
)
@pytest.mark.parametrize("statement", ["INSERT INTO {} VALUES (1)", "DELETE FROM {}", "VACUUM {}"])
def test_no_table_has_line_breaks_or_other_control_characters_in_its_name(
    statement: str, written: str
) -> None:
    with pytest.raises(NotUnderstoodError, match="no table's name or location"):
        footprint(statement.format(written))


TEXTS = [
    "INSERT INTO t VALUES ('a;b')",
    'INSERT INTO t VALUES ("a;b")',
    "INSERT INTO t VALUES ('it\\'s;')",
    "INSERT INTO t VALUES ('it''s;')",
    "INSERT INTO t VALUES (r'\\')",
    "INSERT INTO `a;b` VALUES (1)",
    "INSERT INTO `a``;b` VALUES (1)",
    "INSERT INTO t /* ; /* nested ; */ ; */ VALUES (1)",
    "INSERT INTO t -- ; DELETE FROM x\n VALUES (1)",
    "INSERT INTO t VALUES ('ä€😀;')",
    "OPTIMIZE delta.`/x;y` WHERE a = ';'",
    "INSERT INTO t VALUES ('-- ;')",
]


@pytest.mark.parametrize("first", TEXTS)
@pytest.mark.parametrize("second", TEXTS)
def test_statements_are_cut_at_semicolons_that_are_none_of_their_text(first: str, second: str) -> None:
    statements = split(f"-- ü\n{first} ;\r\n; {second}")
    assert [statement.text for statement in statements] == [first, second]
    assert [statement.number for statement in statements] == [1, 2]
    assert statements[0].line == 2
    assert statements[1].line == 3 + first.count("\n")


# What an append reads of its own table


@pytest.mark.parametrize(
    "query",
    [
        "VALUES (1), (2)",
        "SELECT 1",
        "SELECT * FROM VALUES (1), (2)",
        "SELECT * FROM range(10)",
        "SELECT explode(array(1, 2))",
        "SELECT abs(1), xxhash64('a'), current_date(), named_struct('a', 1).a",
        "SELECT * FROM delta.`/lake/other`",
        "SELECT * FROM delta.`s3://lake/t` VERSION AS OF 3",
        "SELECT * FROM parquet.`/lake/t`",
        "WITH x AS (SELECT * FROM delta.`/lake/o`), y AS (SELECT * FROM x) SELECT * FROM y JOIN x",
        "SELECT * FROM (WITH v AS (SELECT 1) SELECT * FROM v)",
        "SELECT (SELECT max(a) FROM delta.`/lake/o`)",
        "SELECT * FROM delta.`/lake/o` LATERAL VIEW explode(xs) e AS x",
    ],
)
def test_an_append_of_what_cannot_be_its_table_is_blind(query: str) -> None:
    found = footprint(f"INSERT INTO delta.`/lake/t` {query}")
    assert found.reads == NOTHING
    assert found.is_blind


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM delta.`/lake/t`",
        "SELECT * FROM delta.`file:///lake/./t/`",
        "SELECT * FROM delta.`/lake/t@v3`",
        "SELECT * FROM delta.`/lake/t/date=2026-11-19`",
        "SELECT * FROM orders",
        "SELECT * FROM a.b.orders",
        "SELECT * FROM cat.delta.`/lake/other`",
        "SELECT * FROM cat.parquet.`/lake/other`",
        "SELECT * FROM delta.`lake/t`",
        "TABLE orders",
        "TABLE delta.`/lake/t`",
        "FROM orders SELECT *",
        "FROM orders |> WHERE a = 1",
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM orders)",
        "SELECT (SELECT max(a) FROM delta.`/lake/t`)",
        "SELECT 1 UNION ALL SELECT * FROM orders",
        "SELECT * FROM IDENTIFIER(:x)",
        "SELECT * FROM table_changes('t', 0)",
        "SELECT * FROM my_function(1)",
        "SELECT my_function(a)",
        "SELECT sales.abs(a)",
        "SELECT sales.my_function(a)",
        "VALUES ((SELECT max(a) FROM orders))",
        "WITH v AS (SELECT * FROM v) SELECT * FROM v",
        "WITH v AS (SELECT * FROM w), w AS (SELECT 1) SELECT * FROM v",
        "SELECT * FROM (WITH v AS (SELECT 1) SELECT * FROM v) JOIN v",
        "WITH RECURSIVE v AS (SELECT 1 UNION ALL SELECT * FROM v) SELECT * FROM v",
        "SELECT " + "(" * 3000 + "1" + ")" * 3000,
    ],
)
def test_an_append_of_what_may_be_its_table_reads_it_and_says_why(query: str) -> None:
    found = footprint(f"INSERT INTO delta.`/lake/t` {query}")
    assert found.reads.is_everything
    assert found.widened
    assert not found.is_blind


def test_an_append_to_a_name_may_read_it_by_any_location() -> None:
    assert footprint("INSERT INTO sales.orders SELECT * FROM delta.`/lake/x`").reads.is_everything


# Statements whose verb does not come first, and those that touch no table


@pytest.mark.parametrize(
    ("folded", "plain"),
    [
        (
            "WITH x AS (SELECT 1 AS a) INSERT INTO {t} SELECT * FROM x",
            "INSERT INTO {t} WITH x AS (SELECT 1 AS a) SELECT * FROM x",
        ),
        (
            "WITH x (a) AS (SELECT 1), y (SELECT * FROM {t}) INSERT OVERWRITE {t} SELECT * FROM y",
            "INSERT OVERWRITE {t} WITH x (a) AS (SELECT 1), y (SELECT * FROM {t}) SELECT * FROM y",
        ),
        (
            "WITH x AS (SELECT 1 AS a) MERGE INTO {t} t USING x ON t.a = x.a WHEN MATCHED THEN DELETE",
            "MERGE INTO {t} t USING (SELECT 1 AS a) x ON t.a = x.a WHEN MATCHED THEN DELETE",
        ),
        ("WITH x AS (SELECT 1) UPDATE {t} SET a = 1", "UPDATE {t} SET a = 1"),
        ("WITH x AS (SELECT 1) DELETE FROM {t} WHERE a = 1", "DELETE FROM {t} WHERE a = 1"),
        ("FROM {s} INSERT INTO {t} SELECT *", "INSERT INTO {t} SELECT * FROM {s}"),
        (
            "FROM {s} a JOIN {t} b ON a.x = b.x INSERT INTO {t} (x) SELECT a.x WHERE a.x > 1 LIMIT 5",
            "INSERT INTO {t} (x) SELECT a.x FROM {s} a JOIN {t} b ON a.x = b.x WHERE a.x > 1 LIMIT 5",
        ),
        (
            "WITH x AS (SELECT 1 AS a) FROM x INSERT INTO {t} SELECT a AS `limit`",
            "INSERT INTO {t} WITH x AS (SELECT 1 AS a) SELECT a AS `limit` FROM x",
        ),
        ("OPTIMIZE '/lake/t' WHERE a = 1", "OPTIMIZE {t} WHERE a = 1"),
        ('VACUUM "/lake/t" RETAIN 5 HOURS', "VACUUM {t} RETAIN 5 HOURS"),
    ],
)
def test_a_statement_is_what_it_amounts_to(folded: str, plain: str) -> None:
    tables = {"t": "delta.`/lake/t`", "s": "delta.`/lake/s`"}
    assert footprint(folded.format(**tables)) == footprint(plain.format(**tables))


def test_each_insert_of_one_source_has_a_footprint_of_its_own() -> None:
    found = footprints(
        "FROM delta.`/s` INSERT INTO delta.`/a` SELECT * WHERE x = 1 INSERT OVERWRITE TABLE delta.`/b` SELECT x "
        "INSERT INTO delta.`/s` SELECT *"
    )
    assert [(one.table.text, one.operation, one.is_blind, one.statement) for one in found] == [
        ("file:/a", Operation.APPEND, True, 1),
        ("file:/b", Operation.OVERWRITE, False, 1),
        ("file:/s", Operation.APPEND, False, 1),
    ]


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


def test_a_temporary_view_that_is_dropped_is_not_looked_through_any_more() -> None:
    select = "INSERT INTO delta.`/lake/t` SELECT * FROM v"
    view = "CREATE TEMP VIEW v AS SELECT 1"
    assert footprint(f"{view}; {select}").is_blind
    assert not footprint(f"{view}; DROP VIEW v; {select}").is_blind
    with pytest.raises(NotUnderstoodError, match="temporary view"):
        footprints(f"{view}; ALTER VIEW v AS SELECT * FROM delta.`/lake/t`; {select}")


@pytest.mark.parametrize(
    "sql", ["BEGIN INSERT INTO t VALUES (1)", "DECLARE x INT", "COMMIT", "EXECUTE IMMEDIATE 'DELETE FROM t'"]
)
def test_scripts_and_transactions_are_refused_in_a_sentence(sql: str) -> None:
    with pytest.raises(NotUnderstoodError, match="SQL script or a transaction over several statements"):
        footprints(sql)


@pytest.mark.parametrize("sql", ["-- nothing", "DELETE FROM `t", "DELETE FROM t WHERE a = :b"])
def test_text_that_the_runner_could_not_cut_is_refused_beside_a_declared_footprint_too(sql: str) -> None:
    declared = [{"table": {"path": "/lake/t"}, "operation": "Delete"}]
    with pytest.raises(NotUnderstoodError, match=r"spec\.sql"):
        footprint_of(DeltaWriteJobSpec.model_validate({"sql": sql, "footprint": declared}), {})


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE t ADD COLUMNS (x INT COMMENT 'c' AFTER y, z ARRAY<STRUCT<a: INT, b: MAP<STRING, INT>>>)",
        "ALTER TABLE t ADD COLUMN a.b DECIMAL(10, 2) NOT NULL FIRST",
        "ALTER TABLE t ALTER COLUMN a TYPE BIGINT",
        "ALTER TABLE t ALTER COLUMN a.`b` DROP NOT NULL",
        "ALTER TABLE t ALTER a SET DEFAULT current_date() + 1",
        "ALTER TABLE t CHANGE COLUMN a b INT COMMENT 'c' AFTER d",
        "ALTER TABLE t RENAME COLUMN a TO `b c`",
        "ALTER TABLE t DROP COLUMN IF EXISTS a",
        "ALTER TABLE t SET TBLPROPERTIES (delta.appendOnly = true, 'n' = 1, 'm' '2')",
        "ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0 AND (b OR c))",
        "ALTER TABLE t DROP FEATURE deletionVectors TRUNCATE HISTORY",
        "ALTER TABLE t CLUSTER BY (a, b.c)",
        "CREATE TABLE t (a INT NOT NULL COMMENT 'x', b INT GENERATED ALWAYS AS (a + 1)) USING delta PARTITIONED BY (a) COMMENT 'c' "
        "TBLPROPERTIES ('k' = 'v') LOCATION '/t'",
        "CREATE TABLE t (a BIGINT GENERATED BY DEFAULT AS IDENTITY (START WITH -1 INCREMENT BY 2), b INTERVAL DAY TO SECOND, "
        "c STRUCT<x: ARRAY<INT>, y: STRING COLLATE UTF8_LCASE> DEFAULT named_struct('x', array(1), 'y', 'z') COMMENT 'c', d INT)",
        "CREATE TABLE t USING delta CLUSTER BY (a) AS WITH x AS (SELECT 1 AS a) SELECT * FROM x",
        "CREATE OR REPLACE TABLE t SELECT 1 AS a",
        "CREATE TABLE t LIKE s USING delta",
        "CREATE TABLE t SHALLOW CLONE s TIMESTAMP AS OF '2026-11-19' TBLPROPERTIES ('a' = 'b') LOCATION '/t'",
        "CONVERT TO DELTA parquet.`/t` NO STATISTICS PARTITIONED BY (d DATE, n DECIMAL(10, 2))",
        "OPTIMIZE t FULL",
        "VACUUM t LITE RETAIN 5 HOURS DRY RUN",
        "VACUUM t USING INVENTORY (SELECT * FROM s) RETAIN 5.5 HOURS",
        "RESTORE t VERSION AS OF 3",
        "RESTORE TABLE t TO TIMESTAMP AS OF '2026-11-19'",
        "REORG TABLE t APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = 2))",
        "COMMENT ON TABLE t IS NULL",
    ],
)
def test_what_spark_has_is_understood(sql: str) -> None:
    assert footprint(sql).statement == 1


def test_a_name_that_is_surely_a_table_is_no_view() -> None:
    around = Surroundings(names=Names(tables=frozenset({key_of_name("a.t")})))
    for sql in ("CREATE VIEW a.t AS SELECT 1", "ALTER VIEW a.t AS SELECT 1", "DROP VIEW a.t"):
        with pytest.raises(NotUnderstoodError, match="is a table"):
            Script(around).then(split(sql)[0])


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


def test_a_view_goes_on_to_mean_the_tables_that_it_was_made_over_whatever_views_are_made_later() -> None:
    view = "CREATE TEMP VIEW v AS WITH a AS (SELECT * FROM b) SELECT * FROM a"
    later = "CREATE TEMP VIEW b AS SELECT 1"
    insert = "INSERT INTO delta.`/lake/t` SELECT * FROM v"
    assert footprint(f"{later}; {view}; {insert}").is_blind
    found = footprint(f"{view}; {later}; {insert}")
    assert not found.is_blind
    assert [table.text for table in found.sources.tables] == ["b"]


@pytest.mark.parametrize(
    ("properties", "metadata"),
    [
        ("'Team' = 'sales', flag = 'TRUE', 'n' = 1, DELTA.appendonly = FALSE", Metadata.SAME),
        ("'team' = 'sales'", Metadata.CHANGES),
        ("flag = TRUE", Metadata.CHANGES),
        ("'delta.appendOnly' = 'FALSE'", Metadata.CHANGES),
    ],
)
def test_properties_are_the_same_only_as_spark_writes_them_down(properties: str, metadata: Metadata) -> None:
    known = TableFacts(
        columns=Table.of({"id": "bigint"}),
        properties={"Team": "sales", "flag": "TRUE", "n": "1", "delta.appendOnly": "false"},
    )
    spec = DeltaWriteJobSpec.model_validate(
        {"sql": f"ALTER TABLE delta.`/lake/t` SET TBLPROPERTIES ({properties})"}
    )
    (found,) = footprint_of(spec, {}, facts={key_of_path("/lake/t"): known}).tables
    assert found.metadata is metadata


def test_dropping_columns_that_may_be_missing_is_not_sure_to_commit() -> None:
    assert not footprint("ALTER TABLE t DROP COLUMN IF EXISTS v").certain
    assert not footprint("ALTER TABLE t DROP COLUMNS IF EXISTS (v, w)").certain
    assert footprint("ALTER TABLE t DROP COLUMN v").certain


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


def test_a_location_without_delta_before_it_is_no_table_and_may_be_any_source() -> None:
    """After USE delta it is the table there."""
    with pytest.raises(NotUnderstoodError, match="may be a location"):
        footprint("USE delta; DELETE FROM `/lake/t`")
    found = footprint("USE delta; INSERT INTO delta.`/lake/t` SELECT * FROM `/lake/s`")
    assert found.reads.is_everything
    assert found.sources.any_table
