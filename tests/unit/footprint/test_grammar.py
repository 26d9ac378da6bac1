"""What Spark's grammar asks for and the SQL parser does without is refused, and nothing that Spark takes is refused with it."""

import pytest

from sluice.footprint import NotUnderstoodError, split
from sluice.footprint.sql.statement_context import Surroundings
from sluice.footprint.sql.statement_splitter import query_in
from sluice.footprint.statements.script import Script
from sluice.predicates.syntax import tokens_of

TAKEN = [
    "SELECT a IS UNKNOWN, a IS NOT UNKNOWN, a IS NOT DISTINCT FROM b, a IS TRUE",
    "SELECT INTERVAL 1 day 2 hours, INTERVAL '1 day 2 hours', INTERVAL '1' DAY, INTERVAL a "
    "DAY, INTERVAL '1-2' YEAR TO MONTH, INTERVAL -1 MONTH, INTERVAL '1 day', 1 + INTERVAL 3 weeks",
    "SELECT (a IS NULL) IS NOT NULL, NOT a IS NULL, NOT a IN (1) AND b LIKE 'x' ESCAPE '!'",
    "SELECT a FROM t WHERE a NOT BETWEEN 1 AND 2 AND b NOT IN (1, 2) AND NOT b BETWEEN 1 AND 2",
    "SELECT a FROM t WHERE (a, b) IN ((1, 2)) AND a IN (SELECT b FROM u)",
    "SELECT sum(a) OVER (PARTITION BY b), lag(a) IGNORE NULLS OVER (ORDER BY b), count(*) "
    "FILTER (WHERE x) OVER (ORDER BY b), my.f(a) OVER (ORDER BY b), sum(a) OVER w FROM t WINDOW w AS (ORDER BY b)",
    "SELECT * EXCEPT (a, `b c`) FROM t",
    "SELECT array(), map(), current_date(), struct(a AS b), named_struct('a', 1), (a AS b, 2), (1, 2)",
    "SELECT a FROM t GROUP BY GROUPING SETS ((), (a), (a, b))",
    "SELECT a FROM t GROUP BY a GROUPING SETS ((), (a))",
    "SELECT count(*) FROM (SELECT 1) AS x (y), LATERAL (SELECT 2)",
    "SELECT a FROM t LATERAL VIEW OUTER explode(x) e AS y, z LATERAL VIEW explode(b) f",
    "SELECT extract(DAY FROM x), trim(BOTH 'x' FROM y), substring('a' FROM 1 FOR 2), "
    "position('a' IN b), overlay(a PLACING 'x' FROM 1)",
    "SELECT a.b.c[0], m['x'], x.y:z FROM t",
    "SELECT CASE WHEN a IS NULL THEN 1 ELSE 2 END = 1 AND CASE a WHEN 1 THEN 2 END",
    "SELECT a ILIKE ANY ('x', 'y'), a LIKE ALL ('x'), a RLIKE 'x'",
    "SELECT isnull(a), isnotnull(b), a = b IS NULL, a IS NULL = true",
    "SELECT a FROM t PIVOT (sum(x) FOR y IN ('a', 'b'))",
    "SELECT cast(a AS ARRAY<ARRAY<INT>>), a >> 1, a::int",
    "SELECT if(a, b, c) OVER (ORDER BY d)",
    "SELECT /*+ BROADCAST(t) */ a FROM t JOIN u USING (id) LEFT ANTI JOIN v ON u.a = v.a NATURAL JOIN w",
    "SELECT transform(xs, x -> x + 1), aggregate(xs, 0, (acc, x) -> acc + x), filter(xs, (x, i) -> i > 1)",
    "SELECT `a.b`, `é`, é FROM t",
    "SELECT from_json(a, 'x INT').x, * FROM t TABLESAMPLE (5 ROWS)",
    "SELECT explode(a) AS (k, v), stack(2, 1, 2) AS (x) FROM VALUES (1, 2), (3, 4) AS t (a, b)",
    "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT * FROM r",
    "FROM t SELECT a WHERE b = 1",
    "SELECT a FROM t WHERE a BETWEEN CASE WHEN b AND c THEN 1 ELSE 2 END AND end AND d",
    "SELECT a FROM t WHERE a BETWEEN end AND b[0] OR c BETWEEN (SELECT max(d) FROM u WHERE e AND f) AND 2",
    "SELECT a FROM t WHERE a BETWEEN 'a' 'b' AND 'c'",
    "SELECT a * exclude(b), * EXCEPT (c) FROM t",
    "FROM t |> WHERE a = 1 |> SELECT b",
    "SELECT not_a, in_b, `in`, DATE '2026-01-01', TIMESTAMP'2026-01-01', X'1F', .5, 1e3, 1L FROM t",
    "SELECT approx_percentile(x, 0.5), percentile_cont(0.5) WITHIN GROUP (ORDER BY x), "
    "listagg(a, ',') WITHIN GROUP (ORDER BY a) FROM t",
    "SELECT t.* FROM t WHERE EXISTS (SELECT 1) AND t.a = (SELECT max(b) FROM u) AND a = SOME (SELECT 1)",
    "SELECT a FROM delta.`/x` VERSION AS OF 3, delta.`/y` TIMESTAMP AS OF '2026-01-01'",
    "SELECT ? , :day",
    "SELECT a FROM t LIMIT ALL",
    "SELECT current_date, current_timestamp, current_user",
    "SELECT first(a) RESPECT NULLS, any_value(b) IGNORE NULLS, first_value(a) OVER (ORDER BY b)",
    "SELECT any(a), some(b), every(c), max(distinct d) FROM t",
    "SELECT timestampdiff(DAY, a, b), date_add(DAY, 1, a), datediff(a, b), dateadd(MONTH, 1, a)",
    "SELECT sum(x) OVER (ORDER BY y ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
    "SELECT sum(x) OVER (ORDER BY y RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW)",
]
REFUSED = [
    "SELECT a FROM t WHERE r IN OR b",
    "SELECT a FROM t WHERE r IN a.('eu')",
    "SELECT a FROM t WHERE r NOT NULL",
    "SELECT a FROM t WHERE r ISNULL",
    "SELECT a FROM t WHERE r IS IS NOT NULL",
    "SELECT a FROM t WHERE IS NOT NULL",
    "SELECT a FROM t WHERE a BETWEEN 'a' AND b IS NULL",
    "SELECT a FROM t WHERE a BETWEEN 1 2",
    "SELECT a FROM t WHERE a BETWEEN 1 2 AND b = 1",
    "SELECT a FROM t WHERE (a BETWEEN b c) AND d",
    "SELECT a FROM t WHERE a BETWEEN b c OR d AND e",
    "SELECT * EXCLUDE (a) FROM t",
    "SELECT a LIKE 'x' IS NULL FROM t",
    "SELECT a FROM t WHERE d > INTERVAL 1 r",
    "SELECT a FROM t WHERE d > INTERVAL 1",
    "SELECT date_add((), 1) FROM t",
    "SELECT (a AS b) FROM t",
    "SELECT CAST(a AS INT) OVER (PARTITION BY b) FROM t",
    "SELECT * EXCEPT () FROM t",
    "SELECT * EXCEPT s.x (id) FROM t",
    "SELECT a FROM t LATERAL VIEW stack(2, 1)",
    "SELECT a, FROM t",
    "SELECT a FROM FROM t",
    "SELECT a FROM JOIN u",
    "SELECT a FROM t JOIN 'u' ON true",
    "SELECT a JOIN u ON true",
    "SELECT a 3 FROM t",
    "SELECT a FROM 1.5x",
    "SELECT a FROM t WHERE b = 1 + , .c",
    "WITH y AS ((1)) SELECT * FROM y",
    "WITH y AS (x) SELECT * FROM y",
    "WITH y (:a) AS (SELECT 1) SELECT * FROM y",
    "SELECT 1 UNION (SELECT 2) x",
    "FROM t WHERE a = 1",
    "FROM t WHERE a = 1 |> SELECT b",
]
STATEMENTS = [
    "UPDATE t f(id)",
    "DELETE FROM FROM t",
    "UPDATE t, u SET a = 1",
    "MERGE INTO t x s ON x.id = s.id WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND s.op = 'd' DELETE WHEN MATCHED THEN DELETE",
    "CREATE TABLE t (a INT) USING 3",
    "CREATE TABLE t (a INT) USING delta CLUSTER BY (.a)",
    "CREATE TABLE t (a INT) USING delta CLUSTER BY ()",
    "CREATE TABLE t (a INT) USING delta CLUSTER BY AUTO",
    "CREATE TABLE t USING delta CLUSTER BY NONE AS SELECT 1 AS x",
    "CREATE TABLE t (a INT) USING delta PARTITIONED BY (a WHERE b)",
    "CREATE TABLE t (a INT) USING delta PARTITIONED BY ()",
    "CREATE TABLE t (a INT, b INT) USING delta PARTITIONED BY (a) CLUSTER BY (b)",
    "CREATE TABLE t (a INT) USING delta CLUSTER BY (a) CLUSTER BY (a)",
    "CREATE TABLE t (a INT) USING delta COMMENT 'a' COMMENT 'b'",
    "CREATE TABLE t (a INT) USING delta TBLPROPERTIES (= 'b')",
    "CREATE TABLE t (a INT) USING delta TBLPROPERTIES ('a' = 'b' IF)",
    "CREATE TABLE t (a INT) USING delta TBLPROPERTIES ('a')",
    "CREATE TABLE t (a INT) USING delta TBLPROPERTIES ()",
    "CREATE TABLE t USING deltaPARTITIONED BY (x) AS SELECT 1 AS x",
    "CREATE TABLE t (a LEFT) USING delta",
    "CREATE TABLE t (a INT) USING delta CLUSTER BY NONE",
    "ALTER TABLE t ADD COLUMNS (a LEFT)",
]
CREATED = [
    "CREATE TABLE t (a INT, b DECIMAL(10, 2), c ARRAY<STRUCT<x: INT>>) USING delta PARTITIONED "
    "BY (a, b) COMMENT 'c' LOCATION '/x'",
    "CREATE TABLE t (a INT) USING delta CLUSTER BY (a.b, `c d`) TBLPROPERTIES ('a' = 'b', delta.appendOnly = true, 'c' 1)",
    "CREATE TABLE t USING delta PARTITIONED BY (x) TBLPROPERTIES ('a' = 'b') AS SELECT 1 AS x",
    "CREATE TABLE t USING delta TBLPROPERTIES ('a' == 'b') AS SELECT 1 AS x",
    "CREATE TABLE t LIKE s USING delta",
    "CREATE OR REPLACE TABLE t SHALLOW CLONE s TBLPROPERTIES ('a' = 'b') LOCATION '/x'",
]


@pytest.mark.parametrize("text", TAKEN)
def test_what_spark_takes_is_taken(text: str) -> None:
    assert query_in(tokens_of(text), text, "here") is not None


@pytest.mark.parametrize("text", REFUSED)
def test_a_query_that_spark_refuses_is_refused(text: str) -> None:
    with pytest.raises(NotUnderstoodError):
        query_in(tokens_of(text), text, "here")


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_that_spark_refuses_is_refused(text: str) -> None:
    with pytest.raises(NotUnderstoodError):
        Script(Surroundings()).then(split(text)[0])


@pytest.mark.parametrize("text", CREATED)
def test_clauses_of_a_table_that_is_created_are_read(text: str) -> None:
    assert Script(Surroundings()).then(split(text)[0]).tables
