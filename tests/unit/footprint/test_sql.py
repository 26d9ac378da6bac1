"""What each statement touches, and that what is not surely understood is refused with its place."""

import pytest

from sluice.api.job import Operation
from sluice.footprint import NOTHING, NotUnderstoodError, TableFootprint, split
from sluice.footprint.statements.script import table_footprint
from sluice.tables import key_of_name, key_of_path

T = key_of_path("/lake/t")
NAME = key_of_name("sales.orders")


def footprint(sql: str) -> TableFootprint:
    (statement,) = split(sql)
    return table_footprint(statement)


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
        ("INSERT OVERWRITE TABLE {} PARTITION (d) IF NOT EXISTS SELECT 1", Operation.OVERWRITE),
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


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "EXPLAIN INSERT INTO t VALUES (1)",
        "SET spark.sql.x = 1",
        "USE other",
        "BEGIN INSERT INTO t VALUES (1)",
        "label: BEGIN INSERT INTO t VALUES (1)",
        "DECLARE x INT",
        "EXECUTE IMMEDIATE 'DELETE FROM t'",
        "CALL procedure()",
        "DROP TABLE t",
        "CREATE VIEW v AS SELECT 1",
        "CREATE OR REPLACE TEMP VIEW v AS SELECT 1",
        "CREATE FUNCTION f() RETURNS INT RETURN 1",
        "FROM x INSERT INTO a SELECT * INSERT INTO b SELECT *",
        "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x",
        "WITH x AS (SELECT 1) DELETE FROM t",
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
        "OPTIMIZE '/lake/t'",
        "VACUUM '/lake/t'",
        "{{ template }}",
    ],
)
def test_what_is_not_surely_understood_is_refused_with_its_place(sql: str) -> None:
    statements = split("DELETE FROM ok;\n\n" + sql)
    table_footprint(statements[0])
    with pytest.raises(NotUnderstoodError, match=r"statement 2 \(line 3\)"):
        table_footprint(statements[1])


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
        [table_footprint(statement) for statement in split(sql)]


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


def test_time_travel_in_a_name_is_the_same_table() -> None:
    assert footprint("DELETE FROM delta.`/lake/t@v12`").table == T
    assert footprint("DELETE FROM delta.`/lake/t@20261119000000000`").table == T


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
