"""What is told to who wrote a statement: why it is refused, and what would help. Nothing is advised that would not."""

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


def one(sql: str, *, partitioned: bool = True) -> TableFootprint:
    columns = Table.of({"id": "bigint", "day": "date"}, ["day"] if partitioned else [])
    facts = {KEY: TableFacts(columns=columns, log_store=LogStore.SAFE, dialect=oss("4.4.0"))}
    return footprint_of(DeltaWriteJobSpec.model_validate({"sql": sql}), {}, facts=facts).tables[0]


def test_a_merge_that_adds_no_rows_is_not_asked_where_they_land() -> None:
    deletes = one(f"MERGE INTO {T} t USING delta.`/s` s ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert deletes.writes_advice is None
    assert deletes.reads_advice is not None
    inserts = one(f"MERGE INTO {T} t USING delta.`/s` s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *")
    assert inserts.writes_advice is not None


def test_a_merge_by_source_is_not_asked_for_a_condition_that_would_change_its_result() -> None:
    clause = "WHEN NOT MATCHED BY SOURCE AND t.day = DATE '2026-10-01' THEN DELETE"
    read = one(f"MERGE INTO {T} t USING delta.`/s` s ON t.id = s.id WHEN MATCHED THEN DELETE {clause}")
    assert str(read.reads_advice).startswith("WHEN NOT MATCHED BY SOURCE makes it read all of the table")


def test_where_rows_land_is_asked_by_the_table_s_own_partitions() -> None:
    insert = f"INSERT INTO {T} SELECT id, day FROM delta.`/s`"
    advice = one(insert).writes_advice or ""
    assert advice.startswith("say where its rows land: spec.writes (")
    assert advice.endswith("), a condition on day")
    assert one(insert, partitioned=False).writes_advice is None


@pytest.mark.parametrize(
    "sql",
    [
        f"INSERT INTO {T} SELECT id, day FROM delta.`/s`",
        f"MERGE INTO {T} t USING delta.`/s` s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *",
    ],
)
def test_a_promise_that_the_operator_refuses_is_advised_as_such(sql: str) -> None:
    assert "spec.writes (this version's operator does not run jobs with it yet)" in str(
        one(sql).writes_advice
    )


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
