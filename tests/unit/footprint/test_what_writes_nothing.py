"""Statements that write no table, and what those after them may read because of them."""

import pytest

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint import JobFootprint, NotUnderstoodError, footprint_of
from sluice.tables import TableKey, key_of_path
from unit.footprint.landing import FACTS, footprint

T, S = "delta.`/lake/t`", "delta.`/lake/s`"
DAY = "DATE '2026-11-19'"
SOURCE = key_of_path("/lake/s")


def job(sql: str) -> JobFootprint:
    spec = DeltaWriteJobSpec.model_validate({"sql": sql.format(t=T, s=S)})
    return footprint_of(spec, {}, facts={key_of_path("/lake/t"): FACTS})


def read(statement: str) -> tuple[TableKey, ...]:
    found = job(statement + "; DELETE FROM {t}")
    assert len(found.tables) == 1
    return found.reads.tables


@pytest.mark.parametrize(
    "statement",
    [
        "EXPLAIN SELECT * FROM {s}",
        "EXPLAIN EXTENDED TABLE {s}",
        "EXPLAIN CODEGEN WITH x AS (SELECT * FROM {s}) SELECT * FROM x",
        "EXPLAIN COST INSERT INTO {t} SELECT * FROM {s}",
        "EXPLAIN FORMATTED MERGE INTO {t} t USING {s} s ON t.id = s.id WHEN MATCHED THEN DELETE",
        "EXPLAIN WITH x AS (SELECT * FROM {s}) INSERT INTO {t} SELECT * FROM x",
        "CACHE TABLE {s}",
        "CACHE LAZY TABLE {s} OPTIONS ('storageLevel' 'DISK_ONLY')",
        "CACHE TABLE c AS SELECT * FROM {s}",
        "CACHE TABLE c OPTIONS ('storageLevel' = 'DISK_ONLY') SELECT * FROM {s}",
        "CACHE LAZY TABLE c (SELECT * FROM {s})",
        "CACHE TABLE c TABLE {s}",
        "CREATE TEMP VIEW v AS SELECT * FROM {s}; CACHE TABLE v",
        "TABLE {s}",
    ],
)
def test_what_is_shown_or_kept_is_read_and_nothing_is_written(statement: str) -> None:
    assert read(statement) == (SOURCE,)


@pytest.mark.parametrize(
    "statement",
    [
        *("UNCACHE TABLE {s}", "UNCACHE TABLE IF EXISTS v", "CLEAR CACHE"),
        *("REFRESH TABLE {s}", "REFRESH {s}", "REFRESH '/lake/s'", "REFRESH a.b", "REFRESH FUNCTION f"),
        *("DESCRIBE QUERY SELECT * FROM {s}", "DESC WITH x AS (SELECT 1) SELECT * FROM x"),
        *("DESCRIBE HISTORY {s} LIMIT 3", "DESC DETAIL '/lake/s'", "DESCRIBE query", "DESCRIBE QUERY TABLE {s}"),
    ],
)  # fmt: skip
def test_what_looks_at_no_rows_reads_nothing(statement: str) -> None:
    assert read(statement) == ()


@pytest.mark.parametrize(
    "statement",
    [
        "EXPLAIN",
        "EXPLAIN ANALYZE SELECT 1",
        "EXPLAIN LOGICAL SELECT 1",
        "EXPLAIN EXTENDED OPTIMIZE {t}",
        "EXPLAIN VACUUM {t}",
        "EXPLAIN DELETE FROM",
        "EXPLAIN SELECT FROM {s}",
        "CACHE TABLE",
        "CACHE TABLE 1 AS SELECT 1",
        "CACHE TABLE {s} AS SELECT 1",
        "CACHE TABLE a.b AS SELECT 1",
        "CACHE TABLE c AS",
        "CACHE TABLE c AS DELETE FROM {t}",
        "CACHE TABLE c AS SELECT * FROM c",
        "CACHE TABLE c OPTIONS (x) AS SELECT 1",
        "UNCACHE TABLE",
        "UNCACHE {s}",
        "CLEAR CACHE c",
        "REFRESH",
        "REFRESH TABLE {s} now",
        "ANALYZE TABLE {t} COMPUTE STATISTICS",
        "ANALYZE TABLES COMPUTE STATISTICS NOSCAN",
        "DESCRIBE QUERY DELETE FROM {t}",
        "DESCRIBE HISTORY 3",
        "CREATE TEMP VIEW 1 AS SELECT 1",
        "CREATE TEMP VIEW v (1) AS SELECT 1",
        "CREATE TEMP VIEW v () AS SELECT 1",
        "CREATE TEMP VIEW v (a.b) AS SELECT 1",
        "CREATE TEMP VIEW v TBLPROPERTIES ('a' = 'b') AS SELECT 1",
        "CREATE TEMP VIEW v (a) AS SELECT a FROM v",
    ],
)
def test_what_spark_refuses_is_refused_with_its_place(statement: str) -> None:
    with pytest.raises(NotUnderstoodError, match=r"^statement 1, line 1"):
        read(statement)


def test_names_of_a_view_s_columns_are_those_that_it_lists() -> None:
    view = f"CREATE TEMP VIEW v (id, date COMMENT 'c') COMMENT 'd' AS SELECT n, {DAY} FROM {{s}}; "
    found = footprint(view + "INSERT INTO {t} BY NAME SELECT * FROM v")
    assert found.writes_text == f"date = {DAY}"
    renamed = "CREATE TEMP VIEW v (date, id) AS SELECT id, " + DAY + " AS date FROM {s}; "
    assert footprint(renamed + "INSERT INTO {t} BY NAME SELECT * FROM v").adds.is_everything


@pytest.mark.parametrize(
    "view",
    [
        f"CREATE TEMP VIEW v (id, date) AS SELECT id, date FROM {{t}} WHERE date = {DAY}",
        f"CACHE TABLE v AS SELECT id, date FROM {{t}} WHERE date = {DAY}",
        "CREATE TEMP VIEW v (id, date) AS TABLE {t}",
    ],
)
def test_a_view_over_the_target_is_read_through_its_names(view: str) -> None:
    found = footprint(view + "; INSERT INTO {t} (id, date) TABLE v")
    assert not found.blind
    assert not found.reads.is_empty


def test_what_an_explained_statement_sets_holds_for_none_after_it() -> None:
    found = job("CREATE TEMP VIEW v AS SELECT * FROM {s}; EXPLAIN DELETE FROM {t}; INSERT INTO {t} TABLE v")
    assert [one.operation.value for one in found.tables] == ["Append"]
