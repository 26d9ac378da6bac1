"""Where a query's rows land: what is understood of it bounds them, and what isn't never does."""

from dataclasses import replace

import pytest

from sluice.footprint import NotUnderstoodError
from sluice.predicates import Table
from unit.footprint.landing import FACTS, footprint, lands

DAY = "DATE '2026-11-19'"
ON_DAY = f"date = {DAY}"
ANYWHERE = "true"


@pytest.mark.parametrize(
    ("query", "where"),
    [
        (f"SELECT 1 AS id, {DAY} AS date", ON_DAY),
        (f"SELECT id, {DAY} AS date FROM {{s}}", ON_DAY),
        (f"SELECT * FROM {{s}} WHERE {ON_DAY}", ON_DAY),
        (f"SELECT s.* FROM {{s}} AS s WHERE s.{ON_DAY}", ON_DAY),
        (f"SELECT s.*, o.x FROM {{s}} AS s LEFT JOIN o ON s.id = o.id WHERE s.{ON_DAY}", ON_DAY),
        (f"SELECT * FROM {{s}} AS s JOIN o ON s.id = o.id WHERE o.{ON_DAY}", ON_DAY),
        (f"SELECT * FROM {{s}} AS s LEFT JOIN o USING (date) WHERE {ON_DAY}", ON_DAY),
        (f"SELECT o.date FROM {{s}} AS s JOIN o ON s.id = o.id WHERE o.{ON_DAY}", ON_DAY),
        (f"SELECT s.date FROM {{s}} AS s LATERAL VIEW explode(xs) e AS x WHERE s.{ON_DAY}", ON_DAY),
        (f"SELECT date, count(*) AS id FROM {{s}} WHERE {ON_DAY} GROUP BY date", ON_DAY),
        (f"SELECT date, count(*) AS id FROM {{s}} WHERE {ON_DAY} GROUP BY ALL HAVING count(*) > 1", ON_DAY),
        (f"SELECT DISTINCT date FROM {{s}} WHERE {ON_DAY} ORDER BY id LIMIT 5", ON_DAY),
        (
            f"SELECT date, row_number() OVER (PARTITION BY id ORDER BY ts) AS id FROM {{s}} WHERE {ON_DAY}",
            ON_DAY,
        ),
        (f"WITH a AS (SELECT * FROM {{s}} WHERE {ON_DAY}), b AS (SELECT * FROM a) SELECT * FROM b", ON_DAY),
        (f"WITH a AS (SELECT CAST(ts AS DATE) AS date FROM {{s}}) SELECT * FROM a WHERE {ON_DAY}", ON_DAY),
        (f"WITH a (id, date) AS (SELECT id, {DAY} FROM {{s}}) SELECT * FROM a", ON_DAY),
        (f"SELECT * FROM (SELECT id, {DAY} FROM {{s}}) AS a (id, date)", ON_DAY),
        (f"SELECT * EXCEPT (date), {DAY} AS date FROM {{s}}", ON_DAY),
        (f"SELECT {DAY} AS x, x AS date", ON_DAY),
        (f"SELECT {DAY} AS x, x AS date FROM (SELECT id FROM {{s}})", ON_DAY),
        (f"SELECT my_function(x) AS id, {DAY} AS date FROM {{s}}", ON_DAY),
        (f"SELECT posexplode(xs) AS (id, x), {DAY} AS date FROM {{s}}", ON_DAY),
        (f"SELECT /*+ BROADCAST(s) */ {DAY} AS date FROM {{s}} TABLESAMPLE (10 PERCENT) AS s", ON_DAY),
        ("SELECT * FROM VALUES ('a'), (NULL) AS v (region)", "region = 'a' OR region IS NULL"),
        ("SELECT 'a' AS region UNION ALL SELECT NULL", "region = 'a' OR region IS NULL"),
        ("SELECT 1 AS n UNION SELECT 2 UNION ALL SELECT 3L", "n >= 1 AND n <= 3"),
        ("SELECT id, 1 AS n FROM {s} EXCEPT SELECT id, 2 FROM o", "n = 1"),
        (f"SELECT {DAY} AS date UNION ALL SELECT date FROM {{s}}", ANYWHERE),
        (f"SELECT * FROM {{t}} WHERE {ON_DAY} AND region LIKE 'e%'", f"{ON_DAY} AND region LIKE 'e%'"),
        ("SELECT 'eu' AS code", "code = 'eu'"),
        ("SELECT 12 AS code", "code = '12'"),
        ("SELECT * FROM {s} WHERE n IN (5, 7)", "n IN (5, 7)"),
        ("SELECT * FROM {s} WHERE n = 20261119", "n IN (20261119, 20261120)"),
    ],
)
def test_rows_land_where_the_query_says(query: str, where: str) -> None:
    assert lands(query) == where


def test_a_day_that_a_zone_skipped_is_stored_as_it_is_where_no_timestamp_comes_between() -> None:
    skipped = "date = DATE '2011-12-30'"
    assert lands("SELECT DATE '2011-12-30' AS date") == skipped
    assert lands(f"SELECT * FROM {{t}} WHERE {skipped}") == skipped
    assert lands(f"VALUES (DATE '2011-12-30'), ({DAY}) AS v (date)") == f"date IN (DATE '2011-12-30', {DAY})"
    for day in ("DATE '2011-12-30'", "'2011-12-30'", "DATE '2011-12-31'"):
        beside = f"VALUES ({day}, 1), (TIMESTAMP '2011-12-31 00:00:00', 2) AS v (date, n)"
        assert lands(beside) == "n IN (1, 2)"


def test_of_numbers_that_are_compared_as_doubles_nothing_is_rounded_below_their_precision() -> None:
    assert lands("SELECT * FROM {s} WHERE n = 20261119", {"spark.sql.ansi.enabled": "true"}) == "n = 20261119"


def test_a_decimal_beside_a_number_of_a_list_is_cut_off_when_it_is_stored_as_bigint() -> None:
    """Spark rounds it before it looks for it: 4.9999999999999999999999999999999999999 IN (5, 6) is stored as 4."""
    facts = replace(FACTS, columns=Table.of({"id": "int", "n": "bigint"}, ["n"]))
    listed = footprint("INSERT INTO {t} BY NAME SELECT * FROM {s} WHERE n IN (5, 9)", facts=facts)
    assert listed.writes_text == "n IN (4, 5, 8, 9)"
    assert (
        footprint("INSERT INTO {t} BY NAME SELECT * FROM {s} WHERE n = 5", facts=facts).writes_text == "n = 5"
    )


@pytest.mark.parametrize(
    "query",
    [
        # NULL where the value was
        f"SELECT {DAY} AS date, count(*) AS id FROM {{s}} GROUP BY ROLLUP (date)",
        f"SELECT date, count(*) AS id FROM {{s}} WHERE {ON_DAY} GROUP BY CUBE (date, id)",
        f"SELECT date, count(*) AS id FROM {{s}} WHERE {ON_DAY} GROUP BY date WITH ROLLUP",
        f"SELECT date, count(*) AS id FROM {{s}} WHERE {ON_DAY} GROUP BY GROUPING SETS ((date), ())",
        f"SELECT date, count(*) AS id FROM {{s}} WHERE {ON_DAY} GROUP BY date GROUPING SETS ((date), ())",
        f"SELECT a.date FROM (SELECT {DAY} AS date) AS a RIGHT JOIN o ON true",
        f"SELECT a.date FROM (SELECT {DAY} AS date) AS a FULL JOIN o ON true",
        # other values by conversion
        "SELECT '01' AS region UNION ALL SELECT 2",
        "SELECT '01' AS region UNION ALL SELECT CAST(NULL AS INT)",
        "SELECT '01' AS region UNION ALL SELECT x FROM {s}",
        "SELECT '01' AS region EXCEPT SELECT 2",
        "SELECT '01' AS region INTERSECT SELECT x FROM {s}",
        "SELECT * FROM (SELECT '01' AS region UNION ALL SELECT 2) WHERE id = 1",
        "VALUES ('01'), (2) AS v (region)",
        # As a date '2026-11-19 23:00:00-05:00' is of the 19th, as a timestamp in UTC it is of the 20th.
        f"SELECT date FROM {{s}} WHERE {ON_DAY} UNION ALL SELECT ts FROM o WHERE ts = {DAY}",
        f"SELECT date FROM {{s}} WHERE {ON_DAY} UNION ALL SELECT date FROM o WHERE {ON_DAY}",
        "SELECT * FROM {s} WHERE n = 9007199254740993",
        f"SELECT * FROM VALUES (({DAY}, 1)) AS v (date, id)",
        # Samoa skipped a day: there Spark stores the timestamp that equals it as the next one.
        "SELECT * FROM {s} WHERE date = DATE '2011-12-30'",
        f"SELECT * FROM {{s}} WHERE date IN ({DAY}, DATE '2011-12-30')",
        "SELECT * FROM {s} WHERE region = 'eu'",
        "SELECT 'eu  ' AS code",
        "SELECT 123 AS code",
        # beside a DOUBLE an integer is stored as '1.0'
        "VALUES (1), (2.0D) AS v (region)",
        "VALUES (1), (-CAST(NULL AS DOUBLE)) AS v (region)",
        "VALUES (2026), ('eu') AS v (region)",
        "VALUES ('5'), (6) AS v (n)",
        f"SELECT * FROM (SELECT my_function(x) AS date FROM {{s}}) WHERE {ON_DAY}",
        # other columns
        f"SELECT * EXCEPT (date) FROM {{s}} WHERE {ON_DAY}",
        f"SELECT * REPLACE (ts AS date) FROM {{s}} WHERE {ON_DAY}",
        f"SELECT o.* FROM {{s}} AS s JOIN o ON s.id = o.id WHERE {ON_DAY}",
        f"SELECT info.date FROM {{s}} WHERE {ON_DAY}",
        f"SELECT * FROM {{s}} AS s JOIN o ON s.id = o.id WHERE info.{ON_DAY}",
        f"SELECT * FROM {{s}} WHERE info.{ON_DAY}",
        f"SELECT s.date FROM {{s}} AS s LEFT JOIN o USING (date) WHERE o.{ON_DAY}",
        f"SELECT * FROM {{s}} AS s LEFT JOIN o USING (date) WHERE o.{ON_DAY}",
        f"FROM {{s}} AS s |> WHERE s.{ON_DAY} |> RIGHT JOIN o ON s.id = o.id |> SELECT s.date",
        f"SELECT x AS date, date AS n FROM {{s}} WHERE {ON_DAY}",
        f"SELECT {DAY} AS x, x AS date FROM {{s}}",
        f"SELECT {DAY} AS x, x AS date FROM (SELECT id, ts AS x FROM {{s}})",
        f"SELECT {DAY} AS x, inline(xs), x AS date FROM (SELECT id, xs FROM {{s}})",
        f"WITH a AS (SELECT * FROM b), b AS (SELECT {DAY} AS date) SELECT * FROM a",
        f"WITH RECURSIVE a AS (SELECT {DAY} AS date UNION ALL SELECT date + 1 FROM a) SELECT * FROM a",
        f"SELECT * FROM (SELECT {DAY} AS date) AS a (id)",
        f"SELECT id AS date, date AS x FROM (SELECT {DAY} AS date, id FROM {{s}})",
        f"SELECT id, {DAY} AS date UNION BY NAME SELECT ts AS date, id",
        # what isn't Spark's plain SELECT
        "SELECT TRANSFORM (date) USING 'cat' AS (date) FROM {s}",
        f"SELECT inline(xs) FROM {{s}} WHERE {ON_DAY}",
    ],
)
def test_what_is_not_surely_known_of_rows_bounds_nothing(query: str) -> None:
    assert lands(query) == ANYWHERE


@pytest.mark.parametrize(
    "first",
    [
        "inline(xs)",
        "inline_outer(xs)",
        "explode(m)",
        "posexplode(xs)",
        "stack(1, x, ts)",
        "json_tuple(x, 'a', 'b')",
        "variant_explode(x)",
        "my_function(x)",
        "info.*",
        "*",
        "x.y.*",
        "posexplode(xs) AS (p, q)",
        "explode(m) AS (k, v)",
    ],
)
def test_what_may_be_several_columns_or_none_shifts_those_after_it(first: str) -> None:
    """The table's columns begin with id, ts, my-ts, info, date: the constant is date's only if `first` is one column."""
    query = "INSERT INTO {{t}} SELECT {}, NULL, NULL, NULL, DATE '2026-11-19', 'eu', 1, NULL, NULL FROM {{s}}"
    assert footprint(query.format("id")).writes_text.startswith(ON_DAY)
    assert ON_DAY not in footprint(query.format(first)).writes_text


@pytest.mark.parametrize(
    "one", ["explode(xs) AS x", "my_function(x) AS id", "abs(x)", "count(*) OVER ()", "x.y"]
)
def test_what_is_one_column_shifts_nothing(one: str) -> None:
    query = f"INSERT INTO {{t}} SELECT {one}, NULL, NULL, NULL, {DAY}, 'eu', 1, NULL, NULL FROM {{s}}"
    assert footprint(query).writes_text.startswith(ON_DAY)


@pytest.mark.parametrize(
    ("relations", "known"),
    [
        ("AS a LATERAL VIEW explode(xs) e AS x", True),
        ("AS a JOIN o ON a.id = o.id", True),
        ("AS a LEFT JOIN o ON a.id = o.id", True),
        ("AS a, o", True),
        ("AS a JOIN o USING (date)", False),
        ("AS a NATURAL JOIN o", False),
        ("AS a RIGHT JOIN o ON a.id = o.id", False),
    ],
)
def test_a_star_begins_with_the_columns_of_the_first_relation(relations: str, *, known: bool) -> None:
    first = f"(SELECT id, ts, ts AS u, xs, {DAY} AS date FROM {{s}})"
    where = footprint(f"INSERT INTO {{t}} SELECT * FROM {first} {relations}").writes_text
    assert where == (ON_DAY if known else ANYWHERE)


def test_names_that_differ_in_case_are_two_columns_where_the_session_says_so() -> None:
    query = f"SELECT * EXCEPT (x), {DAY} AS DATE FROM {{s}}"
    assert lands(query) == ON_DAY
    assert lands(query, {"spark.sql.caseSensitive": "true"}) == ANYWHERE
    assert lands(f"SELECT * FROM {{s}} WHERE DATE = {DAY}", {"spark.sql.caseSensitive": "true"}) == ANYWHERE


@pytest.mark.parametrize(
    "query",
    [
        "VALUES (my_function(), NULL)",
        "SELECT explode(array())",
        "SELECT my_function(1)",
        "SELECT 1 LIMIT 0",
        "(SELECT 1) LIMIT 0",
        "SELECT 1 WHERE false",
        "SELECT * FROM (SELECT stack(0, 1))",
        "SELECT inline(array()) AS (a, b)",
    ],
)
def test_rows_that_may_not_come_are_not_surely_added(query: str) -> None:
    assert not footprint("INSERT INTO {t} BY NAME " + query).adds_surely
    assert footprint("INSERT INTO {t} BY NAME " + f"SELECT 1 UNION ALL ({query})").adds_surely


# constants in another type than that of their column, and computed ones


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ("date_add(DATE '2026-11-18', 1) AS date", ON_DAY),
        ("date_sub('2026-11-20', 1) AS date", ON_DAY),
        ("DATE '2026-11-18' + INTERVAL 1 DAY AS date", ON_DAY),
        ("DATE '2026-11-20' - 1 AS date", ON_DAY),
        ("DATE '2026-10-19' + INTERVAL 1 MONTH AS date", ON_DAY),
        ("add_months(DATE '2025-11-19', 12) AS date", ON_DAY),
        ("make_date(2026, 11, 19) AS date", ON_DAY),
        ("to_date('2026-11-19') AS date", ON_DAY),
        ("to_date('20261119', 'yyyyMMdd') AS date", ON_DAY),
        ("concat('2026-11', '-19') AS date", ON_DAY),
        ("trunc(DATE '2026-11-19', 'MM') AS date", "date = DATE '2026-11-01'"),
        ("date_trunc('MONTH', DATE '2026-11-19') AS date", "date = DATE '2026-11-01'"),
        ("CAST(date_trunc('MONTH', DATE '2026-11-19') AS DATE) AS date", "date = DATE '2026-11-01'"),
        ("last_day('2026-11-19') AS date", "date = DATE '2026-11-30'"),
        ("concat('e', 'u') AS region", "region = 'eu'"),
        ("lower('E' || 'U') AS region", "region = 'eu'"),
        ("CAST('eu' AS STRING) AS region", "region = 'eu'"),
        ("trim(' ') AS region", "region <= '' OR region IS NULL"),
        ("2026 AS region", "region = '2026'"),
        ("-05L AS region", "region = '-5'"),
        ("CAST(2026 AS STRING) AS region", "region = '2026'"),
        ("year(DATE '2026-11-19') AS region", "region = '2026'"),
        (f"{DAY} AS region", "region = '2026-11-19'"),
        ("2000 + 26 AS n", "n = 2026"),
        ("year(DATE '2026-11-19') AS n", "n = 2026"),
        ("'2026' AS n", "n = 2026"),
    ],
)
def test_a_constant_lands_as_what_it_is_stored_as(value: str, where: str) -> None:
    assert lands(f"SELECT id, {value} FROM {{s}}") == where
    written, _, column = value.rpartition(" AS ")
    merge = f"MERGE INTO {{t}} t USING {{s}} s ON t.id = s.id WHEN NOT MATCHED THEN INSERT ({column}) VALUES ({written})"
    assert footprint(merge).writes_text == where


@pytest.mark.parametrize(
    "value",
    [
        "'05' AS n",
        "'2.0' AS n",
        "'99999999999' AS n",
        "2.0 AS region",
        "1E0 AS region",
        "TRUE AS region",
        "12345678901234567890 AS region",
        "to_date('2026-11-19 10:00') AS date",
        "to_date('20261119', 'yyyyMMd') AS date",
        "to_date('20261131', 'yyyyMMdd') AS date",
        "to_date('2026-11-9', 'yyyy-MM-dd') AS date",
        "to_date('20111230', 'yyyyMMdd') AS date",
        "date_trunc('DAY', DATE '2011-12-30') AS date",
        "make_date(2026, 11, 31) AS date",
        "current_date() AS date",
        "upper('\u00e9') AS region",
        "my_function('eu') AS region",
        "2147483647 + 1 AS n",
    ],
)
def test_a_constant_that_may_be_stored_as_something_else_bounds_nothing(value: str) -> None:
    assert lands(f"SELECT id, {value} FROM {{s}}") == ANYWHERE


# calls


@pytest.mark.parametrize(
    ("query", "where"),
    [
        (f"SELECT to_date(ts) AS date FROM {{s}} WHERE to_date(ts) = {DAY}", ON_DAY),
        (f"SELECT TO_DATE(TS) AS date FROM {{s}} AS x WHERE CAST(x.ts AS DATE) = {DAY}", ON_DAY),
        (f"SELECT to_date(s, 'yyyyMMdd') AS date FROM {{s}} WHERE to_date(s, 'yyyyMMdd') IN ({DAY})", ON_DAY),
        (
            f"SELECT ts, to_date(ts) AS date FROM {{s}} WHERE to_date(ts) BETWEEN {DAY} AND {DAY} AND id > 5",
            ON_DAY,
        ),
        (
            f"SELECT *, last_day(ts) AS date FROM {{s}} WHERE last_day(ts) < {DAY}",
            "date <= DATE '2026-11-18'",
        ),
        (
            f"SELECT to_date(s.ts) AS date FROM {{s}} s JOIN o ON s.id = o.id WHERE to_date(s.ts) = {DAY}",
            ON_DAY,
        ),
        (
            f"SELECT to_date(ts) AS date, count(*) AS id FROM {{s}} WHERE to_date(ts) = {DAY} GROUP BY to_date(ts)",
            ON_DAY,
        ),
        ("SELECT year(ts) AS n FROM {s} WHERE year(ts) = 2026 AND month(ts) = 11", "n = 2026"),
        ("SELECT year(ts) AS n FROM {s} WHERE year(ts) > 2025", "n >= 2026"),
        (
            "SELECT date_format(ts, 'yyyyMM') AS region FROM {s} WHERE date_format(ts, 'yyyyMM') LIKE '2026%'",
            "region LIKE '2026%'",
        ),
        ("SELECT string(x) AS region FROM {s} WHERE CAST(x AS STRING) = 'eu'", "region = 'eu'"),
        (
            f"WITH a AS (SELECT to_date(ts) AS date FROM {{s}}) SELECT * FROM a WHERE date >= {DAY}",
            f"date >= {DAY}",
        ),
        (f"SELECT CAST(date AS DATE) AS date FROM {{s}} WHERE {ON_DAY}", ON_DAY),
        (f"SELECT * FROM {{s}} WHERE CAST(date AS DATE) = {DAY}", ON_DAY),
        (f"SELECT * FROM {{s}} WHERE to_date(date) IN ({DAY})", ON_DAY),
        (f"SELECT CAST(date AS DATE) AS date FROM {{t}} WHERE date >= {DAY}", f"date >= {DAY}"),
        ("SELECT CAST(region AS STRING) AS region FROM {t} WHERE region LIKE 'e%'", "region LIKE 'e%'"),
        ("SELECT CAST(n AS INT) AS n FROM {t} WHERE CAST(n AS INT) < 5", "n <= 4"),
    ],
)
def test_what_conditions_say_of_a_call_holds_for_the_same_call_in_the_list(query: str, where: str) -> None:
    assert lands(query) == where


@pytest.mark.parametrize(
    "query",
    [
        # another call
        f"SELECT to_date(ts) AS date FROM {{s}} WHERE to_date(seen) = {DAY}",
        f"SELECT to_date(ts) AS date FROM {{s}} WHERE date_add(to_date(ts), id) = {DAY}",
        "SELECT to_date(x, 'yyyyMMdd') AS date FROM {s} WHERE to_date(x, 'ddMMyyyy') = DATE '2026-11-19'",
        "SELECT to_date(x, 'yyyyMMdd') AS date FROM {s} WHERE to_date(x) = DATE '2026-11-19'",
        f"SELECT to_date(a.ts) AS date FROM {{s}} a JOIN o ON a.id = o.id WHERE to_date(o.ts) = {DAY}",
        "SELECT trunc(ts, 'Y') AS date FROM {s} WHERE trunc(ts, 'YEAR') = DATE '2026-01-01'",
        "SELECT substring(x, 1) AS n FROM {s} WHERE substring(x, 1, 1) = 5",
        # another value each time
        f"SELECT to_date(my_function(ts)) AS date FROM {{s}} WHERE to_date(my_function(ts)) = {DAY}",
        f"SELECT to_date(x) AS date FROM (SELECT my_function(ts) AS x FROM {{s}}) WHERE to_date(x) = {DAY}",
        f"SELECT date_add({DAY}, rand()) AS date FROM {{s}} WHERE date_add({DAY}, rand()) = {DAY}",
        # another column by the same name
        f"SELECT ts AS x, to_date(x) AS date FROM {{s}} WHERE to_date(x) = {DAY}",
        # what is stored is not what was compared
        f"SELECT CAST(ts AS DATE) AS region FROM {{s}} WHERE CAST(ts AS DATE) = {DAY}",
        "SELECT upper(x) AS region FROM {s} WHERE upper(x) = 'EU'",
        "SELECT CAST(x AS INT) AS n FROM {s} WHERE x > 5",
        "SELECT CAST(region AS INT) AS n FROM {t} WHERE region > '5'",
        # operators that Spark may bind otherwise
        "SELECT x + 1 AS n FROM {s} WHERE x + 1 = 5",
    ],
)
def test_what_conditions_say_of_something_else_than_a_call_bounds_nothing(query: str) -> None:
    assert lands(query) == ANYWHERE


# UPDATE and MERGE


@pytest.mark.parametrize(
    ("sql", "where"),
    [
        (f"UPDATE {{t}} SET {ON_DAY} WHERE n = 1", f"n = 1 OR (n = 1 AND {ON_DAY})"),
        (
            "UPDATE {t} SET date = date_add(DATE '2026-11-18', 1) WHERE n = 1",
            f"n = 1 OR (n = 1 AND {ON_DAY})",
        ),
        (
            "UPDATE {t} SET `my-ts` = ts WHERE day = DATE '2026-11-19' AND n = 1",
            "(day = DATE '2026-11-19' AND n = 1) OR n = 1",
        ),
        (
            f"MERGE INTO {{t}} AS t USING {{s}} AS s ON t.id = s.id AND t.n = 1 "
            f"WHEN MATCHED AND s.{ON_DAY} THEN UPDATE SET date = s.date",
            f"n = 1 OR (n = 1 AND {ON_DAY})",
        ),
        (
            f"MERGE INTO {{t}} AS t USING {{s}} AS s ON t.id = s.id AND t.n = 1 "
            f"WHEN MATCHED THEN UPDATE SET {ON_DAY}, `my-ts` = s.ts",
            f"n = 1 OR (n = 1 AND {ON_DAY})",
        ),
        (
            "MERGE INTO {t} AS t USING {s} AS s ON t.id = s.id AND t.n = 1 AND t.day = DATE '2026-11-19' "
            "WHEN MATCHED THEN UPDATE SET n = 2, `my-ts` = s.ts",
            "(n = 1 AND day = DATE '2026-11-19') OR n = 2",
        ),
        (
            f"MERGE INTO {{t}} AS t USING (SELECT *, {DAY} AS date FROM {{s}}) AS s ON t.id = s.id "
            "WHEN NOT MATCHED THEN INSERT *",
            ON_DAY,
        ),
        (
            f"MERGE INTO {{t}} AS t USING {{s}} AS s ON t.id = s.id "
            f"WHEN NOT MATCHED AND {ON_DAY} THEN INSERT (id, date) VALUES (s.id, s.date)",
            ON_DAY,
        ),
        (
            "MERGE INTO {t} AS t USING (SELECT 1 AS id, '01' AS region UNION ALL SELECT 2, 3) AS s ON t.id = s.id "
            "WHEN NOT MATCHED THEN INSERT (id, region) VALUES (s.id, s.region)",
            ANYWHERE,
        ),
        (
            f"MERGE INTO {{t}} AS t USING {{s}} AS s ON t.id = s.id AND s.{ON_DAY} "
            "WHEN NOT MATCHED THEN INSERT (id, date) VALUES (s.id, s.date)",
            ANYWHERE,
        ),
    ],
)
def test_a_change_adds_where_it_moves_rows(sql: str, where: str) -> None:
    assert footprint(sql).writes_text == where


@pytest.mark.parametrize(
    ("expression", "follows"),
    [
        ("CAST(`my-ts` AS DATE)", True),
        ("CAST(ts AS DATE)", False),
        ("to_date(date_format(`MY-TS`, 'yyyy-MM-01'))", True),
        ("CAST(info.date AS DATE)", False),
        ("own_function(ts)", True),
        ("CAST(ts AS", True),
        ("(SELECT max(ts))", True),
    ],
)
def test_a_generated_column_follows_what_its_expression_names_and_all_if_it_is_not_understood(
    expression: str, *, follows: bool
) -> None:
    facts = replace(FACTS, generated_columns={"day": expression})
    found = footprint("UPDATE {t} SET `my-ts` = ts WHERE day = DATE '2026-11-19'", facts=facts)
    assert found.writes_text == (ANYWHERE if follows else "day = DATE '2026-11-19'")


@pytest.mark.parametrize(
    "clauses",
    [
        "WHEN NOT AND s.op = 'd' THEN DELETE",
        "WHEN MATCHED THEN INSERT *",
        "WHEN NOT MATCHED THEN DELETE",
        "WHEN NOT MATCHED THEN UPDATE SET *",
        "WHEN NOT MATCHED BY SOURCE THEN INSERT *",
        "WHEN MATCHED THEN UPDATE SET * EXCEPT (id)",
        "WHEN MATCHED THEN UPDATE SET *, id = 1",
        "WHEN MATCHED THEN DO NOTHING",
        "WHEN NOT MATCHED THEN INSERT ROW",
        "WHEN NOT MATCHED THEN INSERT VALUES (1)",
        "WHEN NOT MATCHED THEN INSERT (id) VALUES (1, 2)",
        "WHEN NOT MATCHED THEN INSERT (id, IDENTIFIER('date')) VALUES (1, NULL)",
        "WHEN MATCHED THEN UPDATE SET IDENTIFIER('date') = s.date",
    ],
)
def test_a_clause_that_spark_does_not_have_is_refused(clauses: str) -> None:
    with pytest.raises(NotUnderstoodError, match=r"statement 1, line 1"):
        footprint("MERGE INTO {t} AS t USING {s} AS s ON t.id = s.id " + clauses)


def test_a_view_keeps_the_order_of_its_columns_when_one_that_it_selects_from_is_made_anew() -> None:
    first = f"CREATE TEMP VIEW b AS SELECT DATE '2026-11-20' AS date, {DAY} AS seen"
    anew = f"CREATE OR REPLACE TEMP VIEW b AS SELECT {DAY} AS seen, DATE '2026-11-20' AS date"
    over = "CREATE TEMP VIEW a AS SELECT * FROM b; CREATE TEMP VIEW v AS SELECT * FROM a"
    insert = "INSERT INTO {t} (date, ts) SELECT * FROM v"
    assert footprint(f"{first}; {over}; {insert}").writes_text == "date = DATE '2026-11-20'"
    assert footprint(f"{anew}; {over}; {insert}").writes_text == ON_DAY
    for remade in (anew, f"DROP VIEW b; {anew}"):
        assert footprint(f"{first}; {over}; {remade}; {insert}").writes_text == ANYWHERE
        again = f"{remade}; CREATE OR REPLACE TEMP VIEW a AS SELECT * FROM b"
        assert footprint(f"{first}; {over}; {again}; {insert}").writes_text == ANYWHERE
        again += "; CREATE OR REPLACE TEMP VIEW v AS SELECT * FROM a"
        assert footprint(f"{first}; {over}; {again}; {insert}").writes_text == ON_DAY
