"""A run takes effect once, whatever becomes of its drivers: they die, come late, stand still and go on."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from integration.runner.freezing import Freeze, wait_for
from integration.runner.jobs import Document, at, location, place, plan, run_here, sql, statements
from sluice_runner.commits import txn_versions as txn_versions_since

TOKEN = 1 << 32
_SINCE_4 = pytest.mark.skipif(
    pyspark.__version__ < "4", reason="Delta takes no generated column of a table by its path"
)
DAY = "DATE'2026-11-19'"


def attempt(number: int, work: Document, run_key: str, *tables: Path, **changes: object) -> Document:
    """The plan of an attempt of a job with a run key."""
    run = {
        "appId": f"sluice/sales/{run_key}",
        "closes": True,
        "firstToken": TOKEN,
        "tables": [{"path": place(table)} for table in tables],
    }
    return plan(work, run_key, **{"attempt": number, "token": TOKEN + number, "run": run, **changes})


def on_slot(number: int, work: Document, run_key: str, *tables: Path, first: int = 0) -> Document:
    """The plan of an attempt of a job without one, whose token comes after those of `first` attempts of other jobs."""
    run = {
        "appId": "sluice/slot/0",
        "closes": False,
        "firstToken": TOKEN + first + 1,
        "tables": [{"path": place(table)} for table in tables],
    }
    return plan(work, run_key, attempt=number, token=TOKEN + first + number, run=run)


def first_of(work: Document, count: int) -> Document:
    """What a driver had done that died after so many statements."""
    return {"sql": {"statements": work["sql"]["statements"][:count]}}


def died_after(spark: SparkSession, work: Document, count: int, run_key: str, *tables: Path) -> None:
    document = attempt(1, first_of(work, count), run_key, *tables)
    document["run"]["closes"] = False
    result = run_here(spark, document)
    assert result["outcome"] == "Succeeded", result["exception"]


def rows(spark: SparkSession, table: Path) -> list[tuple[int, str, str]]:
    found = spark.sql(f"SELECT id, CAST(date AS STRING), item FROM {at(table)} ORDER BY ALL").collect()
    return [tuple(row) for row in found]


def commits(table: Path) -> int:
    return len(list((table / "_delta_log").glob("*.json")))


def txn_versions(table: Path) -> list[int]:
    lines = [
        json.loads(line)
        for file in sorted((table / "_delta_log").glob("*.json"))
        for line in file.read_text().splitlines()
    ]
    return [line["txn"]["version"] for line in lines if "txn" in line]


INSERTS = (
    f"INSERT INTO {{t}} VALUES (3, {DAY}, 'c')",
    f"INSERT INTO {{t}} VALUES (4, {DAY}, 'd')",
)
FOUR = [1, 2, 3, 4]
PROGRAMS = {
    "inserts": (INSERTS, [1], FOUR),
    "a delete that matches nothing": (("DELETE FROM {t} WHERE id = 3", INSERTS[0]), [0, 2], [1, 2, 3]),
    "a merge": (
        (
            INSERTS[0],
            f"MERGE INTO {{t}} t USING (SELECT 3L AS id, {DAY} AS date, 'd' AS item) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET id = t.id + 1 WHEN NOT MATCHED THEN INSERT *",
            "UPDATE {t} SET id = id + 1",
        ),
        [1, 2, 3],
        [2, 3, 5],
    ),
    "an overwrite": (
        ("INSERT OVERWRITE {t} SELECT 1L, DATE'2026-11-19', 'new'", *INSERTS, "DELETE FROM {t} WHERE id = 3"),
        [1, 4],
        [1, 4],
    ),
    "what only the session knows": (
        (
            "CREATE TEMPORARY VIEW new_rows AS SELECT 3L AS id, DATE'2026-11-19' AS date, 'c' AS item",
            "INSERT INTO {t} SELECT * FROM new_rows",
            "CREATE SCHEMA IF NOT EXISTS run_twice",
            "INSERT INTO {t} SELECT id + 1, date, item FROM new_rows",
            "DROP VIEW new_rows",
        ),
        [3],
        FOUR,
    ),
    "maintenance": ((*INSERTS, "OPTIMIZE {t}", "UPDATE {t} SET id = id + 1"), [2, 3], [2, 3, 4, 5]),
    "columns": (
        ("ALTER TABLE {t} ADD COLUMNS (more INT)", "INSERT INTO {t} VALUES (3, null, 'c', 1)"),
        [1],
        [1, 2, 3],
    ),
}


COVERED_BY_OTHERS = {
    ("a delete that matches nothing", 0),
    ("a merge", 2),
    ("an overwrite", 4),
    ("maintenance", 2),
}
"""Drawn by --long alone: a retry after nothing, after a statement in the middle, and after all are drawn of other programs."""


@pytest.mark.parametrize(
    ("name", "count"),
    [
        pytest.param(name, count, marks=pytest.mark.long if (name, count) in COVERED_BY_OTHERS else ())
        for name, (_, counts, _) in PROGRAMS.items()
        for count in counts
    ],
)
def test_a_retry_does_the_rest_and_no_more(spark: SparkSession, table: Path, name: str, count: int) -> None:
    texts, _, ids = PROGRAMS[name]
    work = sql(*(text.format(t=at(table)) for text in texts))
    if count:
        died_after(spark.newSession(), work, count, "retried", table)
    result = run_here(spark.newSession(), attempt(2, work, "retried", table))
    assert result["outcome"] == ("AlreadyCommitted" if count == len(texts) else "Succeeded"), result
    assert [row[0] for row in rows(spark, table)] == ids


def test_a_run_that_is_done_tells_its_versions_and_runs_nothing(spark: SparkSession, table: Path) -> None:
    work = sql(*(text.format(t=at(table)) for text in INSERTS))
    first = run_here(spark, attempt(1, work, "done", table))
    assert statements(first) == [("WRITE", "Committed", [2]), ("WRITE", "Committed", [3])]
    before = commits(table)
    created_again = attempt(
        1, work, "done", table, token=TOKEN + 7, job={"namespace": "sales", "name": "daily", "uid": "new"}
    )
    again = run_here(spark, created_again)
    assert again["outcome"] == "AlreadyCommitted"
    assert statements(again) == [("WRITE", "AlreadyCommitted", [2]), ("WRITE", "AlreadyCommitted", [3])]
    assert commits(table) == before


def test_the_same_run_key_in_another_namespace_is_another_run(spark: SparkSession, table: Path) -> None:
    work = sql(INSERTS[0].format(t=at(table)))
    assert run_here(spark, attempt(1, work, "shared", table))["outcome"] == "Succeeded"
    elsewhere = attempt(1, work, "shared", table, job={"namespace": "crm", "name": "daily", "uid": "x"})
    elsewhere["run"]["appId"] = "sluice/crm/shared"
    assert run_here(spark, elsewhere)["outcome"] == "Succeeded"
    assert len(rows(spark, table)) == 4


def test_another_spec_under_the_same_run_key_is_refused(spark: SparkSession, table: Path) -> None:
    assert run_here(spark, attempt(1, sql(INSERTS[0].format(t=at(table))), "reused", table))["outcome"] == (
        "Succeeded"
    )
    before = commits(table)
    other = attempt(
        1, sql(INSERTS[1].format(t=at(table))), "reused", table, token=TOKEN + 5, specHash="other"
    )
    result = run_here(spark, other)
    assert (result["outcome"], result["exception"]["class"]) == ("Failed", "RunKeyReused")
    assert commits(table) == before


def test_an_attempt_that_stands_before_its_commit_is_fenced_off(
    spark: SparkSession, freezes: Path, table: Path
) -> None:
    work = sql(*(text.format(t=at(table)) for text in INSERTS))
    zombie = attempt(1, work, "fenced", table, job={"namespace": "sales", "name": "daily", "uid": "zombie"})
    freeze = Freeze(freezes, "zombie")
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(run_here, spark.newSession(), zombie)
        wait_for(lambda: freeze.is_reached() or running.done(), "the first attempt's commit")
        retried = run_here(spark, attempt(2, work, "fenced", table))
        freeze.lift()
        result = running.result(timeout=300)
    assert retried["outcome"] == "Succeeded", retried
    assert (result["outcome"], result["exception"]["class"]) == ("Failed", "Superseded")
    assert [row[0] for row in rows(spark, table)] == [1, 2, 3, 4]


def test_an_attempt_that_starts_after_its_retry_writes_nothing(spark: SparkSession, table: Path) -> None:
    """Delta skips what it writes, which looks like success."""
    work = sql(*(text.format(t=at(table)) for text in INSERTS))
    retry = attempt(2, work, "late", table)
    retry["run"]["closes"] = False
    assert run_here(spark, retry)["outcome"] == "Succeeded"
    before = commits(table)
    late = attempt(
        1, sql(f"DELETE FROM {at(table)}", f"INSERT INTO {at(table)} VALUES (9, {DAY}, 'x')"), "late", table
    )
    late["run"]["closes"] = False
    late["specHash"] = "abc"
    result = run_here(spark, {**late, "runKey": "slot-neighbour"})
    assert (result["outcome"], result["exception"]["class"]) == ("Failed", "Superseded"), result
    assert len(result["statements"]) == 1
    assert commits(table) == before
    assert [row[0] for row in rows(spark, table)] == [1, 2, 3, 4]


def test_a_driver_that_is_started_twice_does_nothing_twice(spark: SparkSession, table: Path) -> None:
    work = sql(f"DELETE FROM {at(table)} WHERE id = 3", INSERTS[0].format(t=at(table)))
    assert run_here(spark, on_slot(1, work, "uid-1", table))["outcome"] == "Succeeded"
    twin = run_here(spark, on_slot(1, work, "uid-1", table))
    assert twin["outcome"] == "AlreadyCommitted"
    assert [row[0] for row in rows(spark, table)] == [1, 2, 3]


def test_runs_that_share_a_slot_need_no_closing_commit(spark: SparkSession, table: Path) -> None:
    for number in range(2):
        work = sql(INSERTS[number].format(t=at(table)))
        result = run_here(spark, on_slot(1, work, f"uid-{number}", table, first=number))
        assert result["outcome"] == "Succeeded"
    retried = run_here(
        spark, on_slot(2, sql(f"INSERT INTO {at(table)} VALUES (5, {DAY}, 'e')"), "uid-2", table, first=2)
    )
    assert retried["outcome"] == "Succeeded"
    assert [row[0] for row in rows(spark, table)] == [1, 2, 3, 4, 5]
    assert txn_versions(table) == [
        (TOKEN + 1) << 12 | 1,
        (TOKEN + 2) << 12 | 1,
        (TOKEN + 4) << 12,
        (TOKEN + 4) << 12 | 1,
    ]
    newest = commits(table) - 1
    for floor in range(newest + 1):
        found = txn_versions_since(spark, location(table), "sluice/slot/0", floor, newest)
        assert found == txn_versions(table)[max(0, floor - 1) :]
    assert txn_versions_since(spark, location(table), "sluice/slot/1", 0, newest) == []
    assert txn_versions_since(spark, location(table), "sluice/slot/0", newest, newest + 1) is None, (
        "a commit that is no file"
    )


def test_a_table_that_is_not_there_yet_is_created_once(spark: SparkSession, tmp_path: Path) -> None:
    new = tmp_path / "new"
    work = sql(
        f"CREATE TABLE {at(new)} USING delta AS SELECT 1L AS id, {DAY} AS date, 'a' AS item",
        f"INSERT INTO {at(new)} VALUES (2, {DAY}, 'b')",
    )
    died_after(spark, work, 1, "created", new)
    result = run_here(spark, attempt(2, work, "created", new))
    assert statements(result) == [
        ("CREATE TABLE AS SELECT", "AlreadyCommitted", [0]),
        ("WRITE", "Committed", [2]),
    ]
    assert [row[0] for row in rows(spark, new)] == [1, 2]


def test_a_log_that_was_cleaned_up_under_a_run_is_for_a_person_to_judge(
    spark: SparkSession, table: Path
) -> None:
    work = sql(*(text.format(t=at(table)) for text in INSERTS))
    spark.sql(f"ALTER TABLE {at(table)} SET TBLPROPERTIES ('delta.checkpointInterval' = '1')")
    died_after(spark, work, 1, "cleaned", table)
    spark.sql(f"INSERT INTO {at(table)} VALUES (8, {DAY}, 'x')")
    log = table / "_delta_log"
    last = max(log.glob("*.json")).name
    for file in [*log.glob("*.json"), *log.glob(".*.json.crc"), *log.glob("*.crc")]:
        if file.name.lstrip(".")[:20] < last[:20]:
            file.unlink()
    before = commits(table)
    result = run_here(spark.newSession(), attempt(2, work, "cleaned", table))
    assert (result["outcome"], result["exception"]["class"]) == ("Failed", "HistoryLost"), result
    assert "run what is missing under another run key" in result["exception"]["message"]
    assert commits(table) == before + 1, "the fence alone"


def test_a_write_is_numbered_and_closed_like_a_statement(spark: SparkSession, table: Path) -> None:
    work = {
        "write": {
            "table": {"path": place(table)},
            "source": {"sql": f"SELECT 3L AS id, {DAY} AS date, 'c' AS item"},
        }
    }
    assert run_here(spark, attempt(1, work, "write", table))["outcome"] == "Succeeded"
    assert txn_versions(table)[0] == (TOKEN + 1) << 12 | 1
    assert run_here(spark, attempt(2, work, "write", table))["outcome"] == "AlreadyCommitted"
    assert len(rows(spark, table)) == 3


def test_a_table_that_is_not_fenced_is_not_written(spark: SparkSession, table: Path, tmp_path: Path) -> None:
    fenced = tmp_path / "fenced"
    spark.sql(f"CREATE TABLE {at(fenced)} (id BIGINT) USING delta")
    result = run_here(
        spark, attempt(1, sql(f"INSERT INTO {at(table)} VALUES (9, {DAY}, 'x')"), "astray", fenced)
    )
    assert (result["outcome"], result["exception"]["class"]) == ("Failed", "UnknownTargetError")
    assert len(rows(spark, table)) == 2


@pytest.mark.parametrize(
    "text", ["TRUNCATE TABLE {t}", "ALTER TABLE {t} ADD COLUMNS (more INT)", "OPTIMIZE {t}"]
)
def test_nothing_else_is_done_to_a_table_that_is_not_fenced_either(
    spark: SparkSession, table: Path, tmp_path: Path, text: str
) -> None:
    fenced, before = tmp_path / "fenced", commits(table)
    spark.sql(f"CREATE TABLE {at(fenced)} (id BIGINT) USING delta")
    result = run_here(spark, attempt(1, sql(text.format(t=at(table))), f"beside-{len(text)}", fenced))
    assert (result["outcome"], result["exception"]["class"]) == ("Failed", "UnknownTargetError")
    assert commits(table) == before


def test_a_table_that_is_not_deltas_is_not_written_because_it_could_not_tell_that_it_was(
    spark: SparkSession,
) -> None:
    spark.sql("CREATE TABLE sheets (id BIGINT) USING parquet")
    try:
        document = attempt(1, sql("INSERT INTO sheets VALUES (1)"), "sheets")
        document["run"]["tables"] = [{"name": "sheets"}]
        result = run_here(spark, document)
        assert (result["outcome"], result["exception"]["class"]) == ("Failed", "NotADeltaTableError"), result
        assert spark.table("sheets").count() == 0
    finally:
        spark.sql("DROP TABLE sheets")


def test_a_table_that_forgets_its_runs_takes_none_that_has_a_key_and_no_retry(
    spark: SparkSession, table: Path
) -> None:
    spark.sql(
        f"ALTER TABLE {at(table)} SET TBLPROPERTIES ('delta.setTransactionRetentionDuration' = 'interval 1 day')"
    )
    work = sql(f"INSERT INTO {at(table)} VALUES (9, {DAY}, 'x')")
    result = run_here(spark, attempt(1, work, "forgotten", table))
    assert (result["outcome"], result["exception"]["class"]) == ("Failed", "RunsForgottenError"), result
    assert len(rows(spark, table)) == 2
    assert run_here(spark, on_slot(1, work, "remembered", table))["outcome"] == "Succeeded"
    again = run_here(spark, on_slot(2, work, "remembered", table))
    assert (again["outcome"], again["exception"]["class"]) == ("Failed", "RunsForgottenError"), again


def test_inserts_that_share_a_from_are_refused_where_delta_would_skip_the_second(
    spark: SparkSession, table: Path
) -> None:
    text = f"FROM {at(table)} INSERT INTO {at(table)} SELECT * WHERE id = 1 INSERT INTO {at(table)} SELECT * WHERE id = 2"
    assert run_here(spark, plan(sql(text)))["outcome"] == "Succeeded"
    assert len(rows(spark, table)) == 4
    result = run_here(spark, attempt(1, sql(text), "shared-from", table))
    assert (result["outcome"], result["exception"]["class"]) == ("Failed", "RefusedStatementError")
    assert len(rows(spark, table)) == 4


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ALTER TABLE {t} DROP FEATURE deletionVectors", "AlterTableDropFeature"),
        ("CACHE TABLE held AS SELECT * FROM {t}", "CacheTableAsSelect"),
        ("DROP TABLE {t}", "DropTable"),
        ("INSERT OVERWRITE DIRECTORY '/nowhere' USING parquet SELECT 1", "InsertIntoDir"),
        ("SET spark.databricks.delta.write.txnAppId = other", "txn versions are set by"),
        ("SET spark.databricks.delta.write.txnVersion.autoReset.enabled = true", "txn versions are set by"),
    ],
)
def test_a_statement_that_a_retry_could_not_tell_about_is_refused(
    spark: SparkSession, table: Path, text: str, why: str
) -> None:
    before = commits(table)
    result = run_here(spark.newSession(), attempt(1, sql(text.format(t=at(table))), "untold", table))
    assert (result["outcome"], result["exception"]["class"]) == ("Failed", "RefusedStatementError"), result
    assert why in result["exception"]["message"]
    assert commits(table) == before


@pytest.mark.skipif(pyspark.__version__ < "4.2", reason="Spark reads INSERT ... WITH since 4.2")
def test_options_that_would_take_a_commit_out_of_its_run_are_refused(
    spark: SparkSession, table: Path
) -> None:
    text = f"INSERT INTO {at(table)} WITH (txnAppId = 'mine', txnVersion = '1') VALUES (9, {DAY}, 'x')"
    result = run_here(spark, attempt(1, sql(text), "options", table))
    assert (result["outcome"], result["exception"]["class"]) == ("Failed", "RefusedStatementError"), result
    assert len(rows(spark, table)) == 2


@pytest.mark.parametrize(
    "source", ["INSERT INTO {t} VALUES (9, DATE'2026-11-19', 'x')", "TRUNCATE TABLE {t}"]
)
def test_the_source_of_a_write_is_a_query_and_nothing_else(
    spark: SparkSession, table: Path, source: str
) -> None:
    work = {"write": {"table": {"path": place(table)}, "source": {"sql": source.format(t=at(table))}}}
    before = commits(table)
    result = run_here(spark, plan(work))
    assert (result["outcome"], result["exception"]["class"]) == ("Failed", "RefusedStatementError"), result
    assert commits(table) == before


def test_a_name_that_leads_elsewhere_later_is_another_table(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("CREATE SCHEMA IF NOT EXISTS elsewhere")
    for name in ("bound", "elsewhere.bound"):
        spark.sql(f"CREATE TABLE {name} (id BIGINT) USING delta LOCATION '{tmp_path / name}'")
    try:
        document = attempt(1, sql("USE elsewhere", "INSERT INTO bound VALUES (1)"), "moved")
        document["run"]["tables"] = [{"name": "bound"}]
        result = run_here(spark.newSession(), document)
        assert (result["outcome"], result["exception"]["class"]) == ("Failed", "UnknownTargetError"), result
        assert spark.table("elsewhere.bound").count() == 0
    finally:
        for name in ("bound", "elsewhere.bound"):
            spark.sql(f"DROP TABLE {name}")
        spark.sql("DROP SCHEMA elsewhere")


def test_a_table_that_an_earlier_attempt_creates_behind_a_retry_is_for_a_person_to_judge(
    spark: SparkSession, freezes: Path, table: Path, tmp_path: Path
) -> None:
    """It wasn't there to be fenced, so that what the earlier attempt does to it is not known."""
    new = tmp_path / "new"
    work = sql(
        INSERTS[0].format(t=at(table)),
        f"CREATE TABLE IF NOT EXISTS {at(new)} (id BIGINT, date DATE, item STRING) USING delta",
        f"INSERT INTO {at(new)} VALUES (1, {DAY}, 'a')",
    )
    freeze = Freeze(freezes, "behind")
    with ThreadPoolExecutor(1) as threads:
        # Held in the fence of the table that is there: it has seen by then that the other is not.
        running = threads.submit(run_here, spark.newSession(), attempt(2, work, "behind", table, new))
        wait_for(lambda: freeze.is_reached() or running.done(), "the retry's fence")
        late = attempt(1, sql(*(item["text"] for item in work["sql"]["statements"][1:])), "unheld", new)
        late["run"] |= {"appId": "sluice/sales/behind", "closes": False}
        created = run_here(spark.newSession(), late)
        freeze.lift()
        result = running.result(timeout=300)
    assert created["outcome"] == "Succeeded", created
    assert (result["outcome"], result["exception"]["class"]) == ("Failed", "HistoryLost"), result
    assert len(rows(spark, new)) == 1


def test_a_property_that_was_half_enabled_is_enabled_by_the_retry(spark: SparkSession, table: Path) -> None:
    """Row tracking takes several commits: the protocol's upgrade proves nothing of the rest."""
    work = sql(f"ALTER TABLE {at(table)} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    assert run_here(spark, attempt(1, work, "half", table))["outcome"] == "Succeeded"
    log = table / "_delta_log"
    operations = [
        json.loads(line)["commitInfo"]["operation"]
        for file in sorted(log.glob("*.json"))
        for line in file.read_text().splitlines()
        if "commitInfo" in line
    ]
    last = operations.index("SET TBLPROPERTIES")
    assert last > 2, operations
    for file in log.iterdir():
        if file.is_file() and file.name.lstrip(".") >= f"{last:020}":
            file.unlink()
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]
    assert run_here(spark.newSession(), attempt(2, work, "half", table))["outcome"] == "Succeeded"
    shown = {row["key"]: row["value"] for row in spark.sql(f"SHOW TBLPROPERTIES {at(table)}").collect()}
    assert shown["delta.enableRowTracking"] == "true"


@pytest.mark.parametrize(
    "definition",
    [
        "(id BIGINT NOT NULL, date DATE NOT NULL) USING delta PARTITIONED BY (date)",
        pytest.param(
            "(id BIGINT, day DATE GENERATED ALWAYS AS (CAST(at AS DATE)), at TIMESTAMP) USING delta PARTITIONED BY (day)",
            marks=_SINCE_4,
        ),
        "(id BIGINT, n STRUCT<a: INT NOT NULL, b: ARRAY<MAP<STRING, INT>>>, v VARCHAR(3), c CHAR(2)) USING delta",
        "(`a b` BIGINT, `x,y` STRING) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        "(id BIGINT) USING delta TBLPROPERTIES ('delta.appendOnly' = 'true', 'delta.enableChangeDataFeed' = 'true')",
        "(id BIGINT, d INT) USING delta CLUSTER BY (d) TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', "
        "'delta.enableRowTracking' = 'true', 'delta.autoOptimize.autoCompact' = 'true')",
    ],
)
def test_any_table_can_be_fenced(spark: SparkSession, tmp_path: Path, definition: str) -> None:
    path = tmp_path / "any"
    spark.sql(f"CREATE TABLE {at(path)} {definition}")
    schema = spark.table(at(path)).schema
    before = commits(path)
    result = run_here(spark, attempt(2, sql(f"OPTIMIZE {at(path)}"), "any", path))
    assert result["outcome"] == "Succeeded", result
    assert commits(path) == before + 2, "the fence and the closing"
    assert spark.table(at(path)).schema == schema
    assert spark.table(at(path)).count() == 0
