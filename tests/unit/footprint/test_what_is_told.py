"""What is told to who wrote a statement: why it is refused, and what would help. Nothing is advised that would not."""

from collections.abc import Mapping

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import NotUnderstoodError, TableFootprint, footprint_of
from sluice.predicates import Table
from sluice.tables import LogStore, TableFacts, key_of_path, oss

T = "delta.`/lake/t`"
KEY = key_of_path("/lake/t")


def told(sql: str) -> str:
    with pytest.raises(NotUnderstoodError) as caught:
        footprint_of(DeltaWriteJobSpec.model_validate({"sql": sql}), {})
    return str(caught.value)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("DELTE FROM t", "if it should be DELETE, write that"),
        ("COPY INTO t FROM 's3://a/b' FILEFORMAT = PARQUET", "only Databricks has it: write INSERT INTO"),
        ("CREATE DATABASE sales", "write CREATE DATABASE IF NOT EXISTS name"),
        ("CREATE FUNCTION f(x INT) RETURNS INT RETURN x", "write CREATE TEMPORARY FUNCTION"),
        ("CREATE TEMPORARY FUNCTION upper(x INT) RETURNS INT RETURN x", "a name that no function of Spark's has"),
        ("CREATE TEMPORARY FUNCTION f(x INT) RETURNS INT", "RETURNS type RETURN expression are understood"),
        ("DROP TEMPORARY FUNCTION f, g", "write one name and nothing else"),
        ("UNDROP TABLE t", "only Databricks has it: bring the table back outside of jobs"),
        ("ALTER TABLE t RENAME TO u", "'RENAME TO u', by which a name leads elsewhere while jobs use it"),
        ("ALTER TABLE t SET LOCATION '/lake/u'", "by which a name leads elsewhere while jobs use it"),
        ("CREATE OR REFRESH STREAMING TABLE t AS SELECT 1", "it belongs to a pipeline: write a stream"),
        ("MERGE t USING s ON true WHEN MATCHED THEN DELETE", "in Spark MERGE is followed by INTO"),
        ("CALL c.system.expire('t')", "this calls a procedure"),
        (f"TRUNCATE TABLE {T} PARTITION (d = '2026-10-01')", "\"PARTITION (d = '2026-10-01')\", which Delta refuses: write DELETE"),
        (f"ALTER TABLE {T} DROP PARTITION (d = 'x')", "which Delta refuses: write DELETE FROM table WHERE"),
        ("DELETE FROM IDENTIFIER('t')", "Sluice does not resolve IDENTIFIER(...)"),
        ("DELETE FROM delta.'/lake/t'", "delta.`s3://bucket/table`: 'delta' is not one"),
        ("INSERT INTO `prod.sales.t` SELECT 1", "`prod.sales.t` is one name with dots in it"),
        ("UPDATE t SET", "an UPDATE sets no column"),
        ("INSERT INTO t SELECT a, b, FROM s", "something is missing next to the comma on line 1"),
        ("INSERT INTO t VALUES (1) ON CONFLICT (a) DO NOTHING", "Spark has no CONFLICT in an INSERT"),
    ],
)  # fmt: skip
def test_what_is_refused_says_what_to_write_in_its_place(sql: str, why: str) -> None:
    assert why in told(sql)


@pytest.mark.parametrize("day", ["2026-13-19", "2026-02-30", "2025-2-29", "2026-11-31 08:00", "0000-13-01"])
@pytest.mark.parametrize(
    "sql",
    [
        f"DELETE FROM {T} WHERE id = 1 AND\nday = DATE '{{day}}'",
        f"INSERT INTO {T} SELECT 1,\ndate'{{day}}'",
        f"DELETE FROM {T}; WITH s AS (SELECT 1)\nINSERT INTO {T} SELECT DATE '{{day}}' FROM s",
    ],
)
def test_a_day_that_no_calendar_has_is_refused_whatever_is_known_of_the_table(sql: str, day: str) -> None:
    assert told(sql.format(day=day)) == (
        f"spec.sql, line 2: DATE '{day}' is a day that no calendar has: write one that it has"
    )


@pytest.mark.parametrize(
    "sql",
    [
        f"DELETE FROM {T} WHERE day = DATE '0000-02-29' OR day = DATE '2024-2-29' OR day = DATE 'today'",
        f"DELETE FROM {T} WHERE day = DATE '+12026-01-01' OR name = '2026-13-19'",
        f"ALTER TABLE {T} SET TBLPROPERTIES (date '2026-13-19')",
    ],
)
def test_a_text_that_may_be_a_day_to_spark_or_is_none_is_not_refused(sql: str) -> None:
    assert footprint_of(DeltaWriteJobSpec.model_validate({"sql": sql}), {}).tables


BY_DAY = Table.of({"id": "bigint", "day": "date"}, ["day"])
UTC = {"spark.sql.session.timeZone": "UTC"}
NOT_PARTITIONED = Table.of({"id": "bigint", "day": "date"})


def one(sql: str, *, columns: Table = BY_DAY) -> TableFootprint:
    return one_of({"sql": sql}, columns)


def one_of(spec: Mapping[str, object], columns: Table = BY_DAY) -> TableFootprint:
    facts = {KEY: TableFacts(columns=columns, log_store=LogStore.SAFE, dialect=oss("4.4.0"))}
    return footprint_of(DeltaWriteJobSpec.model_validate(spec), UTC, facts=facts).tables[0]


def test_a_merge_that_adds_no_rows_is_not_asked_where_they_land() -> None:
    deletes = one(f"MERGE INTO {T} t USING delta.`/s` s ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert deletes.writes_advice is None
    assert deletes.reads_advice is not None
    inserts = one(f"MERGE INTO {T} t USING delta.`/s` s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *")
    assert inserts.writes_advice is not None


@pytest.mark.parametrize(
    ("clauses", "where"),
    [
        ("WHEN NOT MATCHED THEN INSERT *", "in WHEN NOT MATCHED, a filter in the source query, or"),
        ("WHEN MATCHED THEN UPDATE SET day = s.day", "in WHEN MATCHED, a filter in the source query, or"),
        ("WHEN MATCHED THEN UPDATE SET *", "in WHEN MATCHED, a filter in the source query, or"),
        (
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
            "in WHEN MATCHED and WHEN NOT MATCHED, a filter in the source query, or",
        ),
        (
            "WHEN MATCHED THEN UPDATE SET id = s.id WHEN NOT MATCHED THEN INSERT *",
            "in WHEN NOT MATCHED, a filter in the source query, or",
        ),
        (
            "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET day = date_add(day, id) "
            "WHEN NOT MATCHED AND s.day = DATE '2026-11-19' THEN INSERT *",
            "say where its new rows land: spec.writes",
        ),
        (
            "WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED AND s.day = DATE '2026-11-19' THEN INSERT *",
            "None",
        ),
    ],
)  # fmt: skip
def test_a_merge_is_asked_for_a_condition_only_in_clauses_that_it_has_and_that_bring_rows(
    clauses: str, where: str
) -> None:
    on = "t.id = s.id AND t.day = DATE '2026-11-19'"
    merges = one(f"MERGE INTO {T} t USING delta.`/s` s ON {on} {clauses}")
    assert where in str(merges.writes_advice)


@pytest.mark.parametrize(
    ("without", "day"),
    [
        ("WHEN NOT MATCHED THEN INSERT *", "WHEN NOT MATCHED AND s.day = DATE '2026-11-19' THEN INSERT *"),
        (
            "WHEN MATCHED THEN UPDATE SET day = s.day",
            "WHEN MATCHED AND s.day = DATE '2026-11-19' THEN UPDATE SET day = s.day",
        ),
    ],
)
def test_a_merge_that_has_the_advised_condition_brings_rows_there_alone(without: str, day: str) -> None:
    merge = f"MERGE INTO {T} t USING delta.`/s` s ON t.id = s.id AND t.day = DATE '2026-11-19'"
    assert one(f"{merge} {without}").adds.is_everything
    assert not one(f"{merge} {day}").adds.is_everything


def test_a_merge_by_source_is_not_asked_for_a_condition_that_would_change_its_result() -> None:
    clause = "WHEN NOT MATCHED BY SOURCE AND t.day = DATE '2026-10-01' THEN DELETE"
    read = one(f"MERGE INTO {T} t USING delta.`/s` s ON t.id = s.id WHEN MATCHED THEN DELETE {clause}")
    assert str(read.reads_advice).startswith("WHEN NOT MATCHED BY SOURCE makes it read all of the table")


DYNAMIC = "SET spark.sql.sources.partitionOverwriteMode = dynamic;"
A_DAY = "SELECT 1L AS id, DATE '2026-11-19' AS day"
DAY = "day = DATE '2026-11-19'"


@pytest.mark.parametrize(
    ("sql", "deletes"),
    [
        (f"INSERT OVERWRITE {T} {A_DAY}", "true"),
        (f"CREATE OR REPLACE TABLE {T} USING delta AS {A_DAY}", "true"),
        (f"DELETE FROM {T}", "true"),
        (f"TRUNCATE TABLE {T}", "true"),
        (f"{DYNAMIC} INSERT OVERWRITE {T} {A_DAY}", DAY),
        (f"{DYNAMIC} INSERT OVERWRITE {T} SELECT * FROM delta.`/s`", "true"),
        (f"INSERT OVERWRITE {T} PARTITION (day = DATE '2026-11-19') SELECT 1L", DAY),
        (f"INSERT INTO {T} REPLACE WHERE {DAY} {A_DAY}", DAY),
        (f"INSERT INTO {T} REPLACE WHERE {DAY} AND id = 1 {A_DAY}", None),
        (f"DELETE FROM {T} WHERE {DAY}", DAY),
        (f"DELETE FROM {T} WHERE {DAY} AND id = 1", None),
        (f"UPDATE {T} SET id = 1 WHERE {DAY}", None),
        (f"INSERT INTO {T} {A_DAY}", None),
        (f"INSERT INTO {T} VALUES " + ", ".join(["(1, DATE '2026-10-01')"] * 4000), None),
        (f"INSERT OVERWRITE {T} VALUES " + ", ".join(["(1, DATE '2026-10-01')"] * 4000), "true"),
    ],
    ids=lambda one: str(one)[:60],
)
def test_where_all_rows_are_deleted_is_told(sql: str, deletes: str | None) -> None:
    assert one(sql).deletes_text == deletes


def test_a_promise_bounds_what_an_overwrite_of_partitions_deletes() -> None:
    sql = f"{DYNAMIC} INSERT OVERWRITE {T} SELECT * FROM delta.`/s`"
    assert one_of({"sql": sql, "writes": [DAY]}).deletes_text == DAY


@pytest.mark.parametrize(
    ("declared", "deletes"),
    [
        ({"operation": "Overwrite"}, "true"),
        ({"operation": "Overwrite", "reads": DAY}, None),
        ({"operation": "OverwritePartitions", "writes": DAY}, DAY),
        ({"operation": "Replace"}, "true"),
        ({"operation": "Append"}, None),
    ],
)
def test_where_all_rows_are_deleted_is_told_of_what_is_declared(
    declared: Mapping[str, str], deletes: str | None
) -> None:
    spec = {"sql": "SELECT 1", "footprint": [{"table": {"path": "/lake/t"}, **declared}]}
    assert one_of(spec).deletes_text == deletes


MERGE = f"MERGE INTO {T} t USING delta.`/s` s ON t.id = s.id"


@pytest.mark.parametrize(
    "spec",
    [
        {"sql": f"DELETE FROM {T} WHERE id = 1 OR id = 2"},
        {"sql": f"DELETE FROM {T}"},
        {"sql": f"UPDATE {T} SET id = 1"},
        {"sql": f"UPDATE {T} SET id = 1 WHERE id = 2"},
        {"sql": f"INSERT INTO {T} REPLACE WHERE id = 1 SELECT 1, DATE '2026-11-19'"},
        {
            "write": {
                "table": {"path": "/lake/t"},
                "source": {"sql": "SELECT 1"},
                "mode": "Overwrite",
                "replaceWhere": "id = 1",
            }
        },
        {"sql": f"{MERGE} WHEN NOT MATCHED BY SOURCE THEN DELETE"},
        {"sql": f"{MERGE} WHEN NOT MATCHED BY SOURCE AND t.id < 9 THEN UPDATE SET id = 1"},
    ],
)
def test_no_statement_is_advised_to_change_fewer_rows_than_it_says(spec: Mapping[str, object]) -> None:
    assert one_of(spec).reads_advice is None


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        (
            f"DELETE FROM {T} WHERE id = 1",
            "no condition of it names partitions, so it may change rows in all",
        ),
        (f"UPDATE {T} SET id = 1", "no condition of it names partitions, so it may change rows in all"),
        (f"DELETE FROM {T} WHERE day = DATE '2026-10-01'", None),
        (f"DELETE FROM {T} WHERE day = current_date()", None),
        (f"{MERGE} WHEN MATCHED THEN DELETE", None),
    ],
)
def test_of_a_change_that_no_condition_narrows_it_is_said_why_it_waits(sql: str, why: str | None) -> None:
    told = one(sql).why_everywhere
    assert told is why if why is None else str(told).startswith(why)


def test_a_merge_is_told_what_must_be_true_of_its_rows_before_it_names_partitions() -> None:
    assert one(f"{MERGE} WHEN MATCHED THEN DELETE").reads_advice == (
        "if ON matches rows of some partitions alone, name them, as in ON (...) AND t.day = <the job's day>: rows elsewhere would "
        "no longer match"
    )
    columns = Table.of({"id": "bigint", "day": "date", "n": "int"}, ["day", "n"])
    assert "alone (by day and n), name them" in str(
        one(f"{MERGE} WHEN MATCHED THEN DELETE", columns=columns).reads_advice
    )


@pytest.mark.parametrize(
    "type_",
    [
        *("date", "timestamp", "timestamp_ntz", "string", "varchar(20)", "boolean", "int", "tinyint"),
        *("decimal(10,2)", "double", "float"),
    ],
)
def test_what_is_to_be_filled_in_is_refused_as_it_is_advised(type_: str) -> None:
    columns = Table.of({"id": "bigint", "a p": type_}, ["a p"])
    told = one(f"{MERGE} WHEN MATCHED THEN DELETE", columns=columns).reads_advice
    condition = str(told).partition("ON (...) AND ")[2].partition(": rows")[0]
    assert condition == "t.`a p` = <the job's a p>"
    with pytest.raises(NotUnderstoodError):
        one(f"{MERGE} AND {condition} WHEN MATCHED THEN DELETE", columns=columns)


@pytest.mark.parametrize("type_", ["char(3)", "binary"])
def test_no_condition_is_advised_that_would_not_be_understood(type_: str) -> None:
    columns = Table.of({"id": "bigint", "p": type_}, ["p"])
    assert one(f"{MERGE} WHEN MATCHED THEN DELETE", columns=columns).reads_advice is None


def test_where_rows_land_is_asked_by_the_table_s_own_partitions() -> None:
    insert = f"INSERT INTO {T} SELECT id, day FROM delta.`/s`"
    assert one(insert).writes_advice == "say where its rows land: spec.writes, a condition on day"
    assert one(insert, columns=NOT_PARTITIONED).writes_advice is None


def test_a_source_that_is_perhaps_a_view_is_advised_to_be_bound() -> None:
    read = one(f"INSERT INTO {T} SELECT id, day FROM raw.a JOIN raw.b USING (id)")
    assert "bind raw.a, raw.b in a DeltaTablePolicy" in str(read.reads_advice)


def test_after_a_use_no_policy_helps_but_full_names() -> None:
    spec = DeltaWriteJobSpec.model_validate({"sql": "USE prod.sales; DELETE FROM orders WHERE id = 1"})
    (read,) = footprint_of(spec, {}).tables
    assert "after a USE it is not known which table a name means" in read.widened[0]
    assert str(read.reads_advice).startswith("remove USE")


def test_partitions_are_no_advice_for_what_is_not_told_apart_by_them() -> None:
    spec = DeltaWriteJobSpec.model_validate({"sql": f"VACUUM {T} RETAIN 168 HOURS"})
    assert footprint_of(spec, {}).tables[0].reads_advice is None


def test_what_is_too_large_to_be_read_is_advised_to_be_cut() -> None:
    insert = one(f"INSERT INTO {T} VALUES " + ", ".join(["(1, DATE '2026-10-01')"] * 4000))
    assert insert.widened == ("the statement has more than 20000 tokens",)
    assert "split it into several statements" in str(insert.reads_advice)


def test_who_names_partitions_of_an_unknown_table_is_not_told_to_name_some() -> None:
    spec = {"sql": f"OPTIMIZE {T} WHERE date = DATE '2026-11-18'; OPTIMIZE {T}"}
    named, whole = footprint_of(DeltaWriteJobSpec.model_validate(spec), {}).tables
    assert str(named.reads_advice).startswith("let the operator read the log of file:/lake/t")
    assert str(whole.reads_advice).startswith("name the partitions to compact")
