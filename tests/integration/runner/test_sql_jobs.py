"""SQL jobs run in order, say what each statement committed, and stop at the first failure."""

from __future__ import annotations

import shutil
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.runner.jobs import (
    Document,
    assumed,
    at,
    location,
    place,
    plan,
    run_here,
    run_sql,
    statements,
)
from integration.runner.operators_plan import of_job
from sluice.footprint import Days
from sluice_runner import commits
from sluice_runner.stamp import CONF


def ids(spark: SparkSession, path: Path) -> list[int]:
    return sorted(row["id"] for row in spark.sql(f"SELECT id FROM {at(path)}").collect())


def test_each_statement_names_its_own_commits(spark: SparkSession, table: Path) -> None:
    result = run_sql(
        spark,
        f"INSERT INTO {at(table)} VALUES (3, DATE'2026-11-21', 'c')",
        f"/* of no row */ DELETE FROM {at(table)} WHERE id = 77",
        f"WITH s AS (SELECT 1 AS id) MERGE INTO {at(table)} t USING s ON t.id = s.id AND t.date = DATE'2026-11-19'"
        " WHEN MATCHED THEN UPDATE SET item = 'z'",
        f"ALTER TABLE {at(table)} SET TBLPROPERTIES ('team' = 'red')",
        f"UPDATE {at(table)} SET item = 'y' WHERE id = 2",
    )
    assert result["outcome"] == "Succeeded"
    assert statements(result) == [
        ("WRITE", "Committed", [2]),
        ("DELETE", "NoCommit", []),
        ("MERGE", "Committed", [3]),
        ("SET TBLPROPERTIES", "Committed", [4]),
        ("UPDATE", "Committed", [5]),
    ]
    merge = result["statements"][2]["commits"][0]
    assert merge["table"] == location(table)
    assert merge["metrics"]["numTargetRowsUpdated"] == 1
    assert spark.conf.get(CONF, None) is None


def test_a_table_by_the_text_of_its_location_is_found(spark: SparkSession, table: Path) -> None:
    spark.sql(f"INSERT INTO {at(table)} VALUES (3, DATE'2026-11-19', 'c')")
    result = run_sql(
        spark, f"OPTIMIZE '{table}' WHERE date = DATE'2026-11-19'", f"VACUUM '{table}' RETAIN 168 HOURS"
    )
    optimized, vacuumed = statements(result)
    assert optimized == ("OPTIMIZE", "Committed", [3])
    assert vacuumed[:2] == ("VACUUM", "Committed")


def test_commits_of_others_are_told_apart_by_their_stamp(spark: SparkSession, table: Path) -> None:
    name = ("delta", place(table))
    before = commits.versions(spark, [name])
    first = run_sql(spark, f"INSERT INTO {at(table)} VALUES (3, DATE'2026-11-21', 'c')", run_key="mine")
    spark.sql(f"INSERT INTO {at(table)} VALUES (4, DATE'2026-11-21', 'foreign')")
    second = run_sql(spark, f"INSERT INTO {at(table)} VALUES (5, DATE'2026-11-21', 'e')", run_key="other")
    assert (statements(first)[0][2], statements(second)[0][2]) == ([2], [4])
    found = list(commits.since(spark, [name], before))
    assert [(commit.version, commit.user_metadata is None) for commit in found] == [
        (2, False),
        (3, True),
        (4, False),
    ]


def test_history_is_read_in_pages_to_its_end(spark: SparkSession, table: Path) -> None:
    for number in range(4):
        spark.sql(f"ALTER TABLE {at(table)} SET TBLPROPERTIES ('n' = '{number}')")
    folder = next(iter(commits.versions(spark, [("delta", place(table))])))
    assert [commit.version for commit in commits.history(spark, folder, page=1)] == [5, 4, 3, 2, 1, 0]
    found = commits.since(spark, [("delta", place(table))], {folder: 2})
    assert [commit.version for commit in found] == [3, 4, 5]


def test_what_is_read_of_a_commit_is_what_deltas_history_says(spark: SparkSession, table: Path) -> None:
    name = ("delta", place(table))
    before = commits.versions(spark, [name])
    run_sql(
        spark,
        f"INSERT INTO {at(table)} VALUES (3, DATE'2026-11-21', 'c')",
        f"DELETE FROM {at(table)} WHERE id = 3",
        f"MERGE INTO {at(table)} t USING (SELECT 1 id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET item = 'd'",
        f"ALTER TABLE {at(table)} SET TBLPROPERTIES ('n' = '1')",
        f"OPTIMIZE {at(table)}",
    )
    read = list(commits.since(spark, [name], before))
    history = commits.history(spark, next(iter(before)), page=100)
    assert read == [
        commit for commit in reversed(list(history)) if commit.version in {c.version for c in read}
    ]
    assert len(read) >= 4


def test_many_commits_and_those_that_are_kept_elsewhere_are_read_from_the_history(
    spark: SparkSession, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        spark.sql(f"INSERT INTO {at(table)} VALUES ({number}, DATE'2026-11-21', 'c')")
    name = ("delta", place(table))
    folder = next(iter(commits.versions(spark, [name])))
    few = list(commits.since(spark, [name], {folder: 1}))
    assert [commit.version for commit in few] == [2, 3, 4]
    monkeypatch.setattr(commits, "_FEW", 2)
    assert list(commits.since(spark, [name], {folder: 1})) == few
    monkeypatch.undo()
    monkeypatch.setattr(
        commits, "_file", lambda table, version: f"{table}/_delta_log/elsewhere-{version}.json"
    )
    assert list(commits.since(spark, [name], {folder: 1})) == few


def test_the_first_failure_ends_the_job(spark: SparkSession, table: Path) -> None:
    result = run_sql(
        spark,
        f"INSERT INTO {at(table)} VALUES (3, DATE'2026-11-21', 'c')",
        f"UPDATE {at(table)} SET item = raise_error('broken')",
        f"INSERT INTO {at(table)} VALUES (4, DATE'2026-11-21', 'd')",
    )
    assert result["outcome"] == "Failed"
    assert statements(result) == [("WRITE", "Committed", [2]), ("UPDATE", "Failed", [])]
    assert result["exception"]["statement"] == 2
    assert "broken" in result["exception"]["message"]
    assert ids(spark, table) == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "error_class", "message"),
    [
        ("MERG INTO x", "PARSE_SYNTAX_ERROR", "MERG"),
        ("INSERT INTO nowhere VALUES (1)", "TABLE_OR_VIEW_NOT_FOUND", "nowhere"),
        ("DELETE FROM IDENTIFIER('a' || 'b')", None, "names its table by IDENTIFIER"),
    ],
)
def test_a_statement_that_cannot_run_says_why(
    spark: SparkSession, text: str, error_class: str | None, message: str
) -> None:
    result = run_sql(spark, text)
    assert result["outcome"] == "Failed"
    assert result["exception"]["errorClass"] == error_class
    assert message in result["exception"]["message"]


@pytest.mark.parametrize("is_there", [True, False])
def test_what_is_advised_about_a_damaged_file_mends_its_table(
    spark: SparkSession, table: Path, *, is_there: bool
) -> None:
    for file in table.glob("date=2026-11-19/*"):
        file.unlink()
        if is_there and file.suffix == ".parquet" and not file.name.startswith("."):
            file.write_bytes(b"PAR1 nonsense" * 30)
    message = run_sql(spark, f"DELETE FROM {at(table)} WHERE id = 1")["exception"]["message"]
    assert ("is damaged" if is_there else "by hand, has deleted it") in message
    assert "a DELETE by partition columns alone reads no file" in message.replace(" A ", " a ")
    mends = run_sql(spark, f"DELETE FROM {at(table)} WHERE date = DATE'2026-11-19'", run_key="mends")
    assert mends["outcome"] == "Succeeded"
    assert run_sql(spark, f"DELETE FROM {at(table)} WHERE id = 1", run_key="again")["outcome"] == "Succeeded"


def test_a_missing_jdbc_driver_is_told_with_what_to_do(spark: SparkSession, tmp_path: Path) -> None:
    source = {"format": "jdbc", "options": {"url": "jdbc:postgresql://db/shop", "dbtable": "t"}}
    work = {"write": {"table": {"path": str(tmp_path / "o")}, "mode": "Append", "source": source}}
    message = run_here(spark, plan(work))["exception"]["message"]
    assert "The image has no JDBC driver for this URL: use an image with its jar" in message


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO {} VALUES (1)",
        "DELETE FROM {} WHERE id = 1",
        "CREATE OR REPLACE TABLE {} USING delta AS SELECT 1 AS id",
        "OPTIMIZE {}",
    ],
)
def test_a_folder_of_other_files_is_refused_and_left_alone(
    spark: SparkSession, tmp_path: Path, text: str
) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "report.csv").write_text("id\n1\n")
    result = run_sql(spark, text.format(at(folder)))
    assert result["outcome"] == "Failed"
    assert result["exception"]["class"] == "NotADeltaTableError"
    assert f"{place(folder)} is not a Delta table" in result["exception"]["message"]
    assert [entry.name for entry in folder.iterdir()] == ["report.csv"]


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_a_statement_runs_on_the_days_that_the_job_was_judged_by_and_on_no_other(
    spark: SparkSession, table: Path, zone: str
) -> None:
    """The day is that of the session, which a statement may set."""
    days = Days(datetime.now(UTC).date())
    before, after = (days.made + timedelta(days=number) for number in (-30, 30))
    deletes = (
        f"SET TIME ZONE '{zone}'",
        f"DELETE FROM {at(table)} WHERE date < current_date() - INTERVAL 1 DAY",
    )
    try:
        other = run_sql(spark, *deletes, assumed=assumed({}, days=told(before, before)))
        assert other["exception"]["class"] == "NotAsJudgedError"
        assert (
            f"the job was judged for the days from {before} to {before}: run sluice retry for it"
            in other["exception"]["message"]
        )
        assert run_sql(spark, *deletes, assumed=assumed({}, days=told(after, after)))["outcome"] == "Failed"
        assert ids(spark, table) != []
        assert (
            run_sql(spark, *deletes, assumed=assumed({}, days=told(days.first, days.last)))["outcome"]
            == "Succeeded"
        )
        assert ids(spark, table) == []
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def told(first: date, last: date) -> Document:
    return {"first": first.isoformat(), "last": last.isoformat()}


def test_nothing_is_committed_past_the_log_store(spark: SparkSession, table: Path) -> None:
    """Delta's second way to write takes neither a LogStore nor the stamp: the commit would be told as none."""
    mode = "spark.databricks.delta.v2.enableMode"
    try:
        result = run_sql(
            spark, f"SET {mode}=STRICT", f"INSERT INTO {at(table)} VALUES (3, DATE'2026-11-21', 'c')"
        )
    finally:
        spark.conf.unset(mode)
    assert result["exception"]["class"] == "NotAsJudgedError"
    assert f"{mode} is STRICT" in result["exception"]["message"]
    assert len(list((table / "_delta_log").glob("0*.json"))) == 2


def test_a_folder_that_is_absent_or_empty_may_become_a_table(spark: SparkSession, tmp_path: Path) -> None:
    absent, empty = tmp_path / "absent", tmp_path / "empty"
    empty.mkdir()
    result = run_sql(
        spark,
        f"CREATE TABLE {at(absent)} USING delta AS SELECT 1L AS id",
        f"CREATE TABLE {at(empty)} (id BIGINT) USING delta",
    )
    assert statements(result) == [
        ("CREATE TABLE AS SELECT", "Committed", [0]),
        ("CREATE TABLE", "Committed", [0]),
    ]


def test_a_table_of_the_catalog_and_a_view_over_one_are_followed_to_their_location(
    spark: SparkSession,
) -> None:
    result = run_sql(
        spark,
        "CREATE TABLE ledger (id BIGINT) USING delta",
        "INSERT INTO ledger VALUES (1), (2)",
        "CREATE OR REPLACE TEMP VIEW entries AS SELECT * FROM ledger",
        "DELETE FROM entries WHERE id = 1",
        "DROP TABLE ledger",
    )
    assert result["outcome"] == "Succeeded"
    assert statements(result)[:4] == [
        ("CREATE TABLE", "Committed", [0]),
        ("WRITE", "Committed", [1]),
        ("CreateViewCommand", "NoCommit", []),
        ("DELETE", "Committed", [2]),
    ]
    tables = {commit["table"] for item in result["statements"] for commit in item["commits"]}
    assert len(tables) == 1
    assert tables.pop().endswith("/ledger")


def test_one_statement_may_commit_to_several_tables(spark: SparkSession, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    result = run_sql(
        spark,
        f"CREATE TABLE {at(first)} (id BIGINT) USING delta",
        f"CREATE TABLE {at(second)} (id BIGINT) USING delta",
        f"FROM (SELECT 1L AS id) INSERT INTO {at(first)} SELECT id INSERT INTO {at(second)} SELECT id",
    )
    commits_of_both = result["statements"][2]["commits"]
    assert {commit["table"] for commit in commits_of_both} == {location(first), location(second)}


def test_the_stamp_gives_way_to_what_the_application_had_set(spark: SparkSession, table: Path) -> None:
    session = spark.newSession()
    session.conf.set(CONF, "by the application")
    run_sql(session, f"INSERT INTO {at(table)} VALUES (3, DATE'2026-11-21', 'c')")
    assert session.conf.get(CONF) == "by the application"


def test_parameters_arrive_as_the_types_that_they_were_given(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "typed"
    names = ("s", "b", "i", "n", "f", "d", "t", "z")
    sql = (
        f"CREATE TABLE {at(path)} USING delta AS SELECT {', '.join(f':{name} AS {name}' for name in names)};"
        f"OPTIMIZE {at(path)};"
        f"DELETE FROM {at(path)} WHERE s = :s AND i = :i AND d = :d AND t = :t AND n = :n"
    )
    parameters: dict[str, Document] = {
        "s": {"string": "it's :d -- `ü \\' ${user} \n\\${user}"},
        "b": {"boolean": True},
        "i": {"integer": -(2**63)},
        "n": {"decimal": "-12.50"},
        "f": {"double": 1e-7},
        "d": {"date": "0001-01-01"},
        "t": {"timestamp": "2026-11-19T08:00:00.123456+02:00"},
        "z": {"timestampNtz": "2026-11-19T08:00:00.5"},
    }
    result = run_here(spark, of_job({"sql": sql, "parameters": parameters}))
    assert result["outcome"] == "Succeeded", result
    row = spark.sql(
        f"SELECT *, CAST(t AS STRING) AS t_text, CAST(z AS STRING) AS z_text FROM {at(path)} VERSION AS OF 0"
    ).collect()[0]
    types = {field.name: field.dataType.simpleString() for field in spark.table(at(path)).schema}
    assert types == {
        "s": "string",
        "b": "boolean",
        "i": "bigint",
        "n": "decimal(4,2)",
        "f": "double",
        "d": "date",
        "t": "timestamp",
        "z": "timestamp_ntz",
    }
    assert (row["s"], row["b"], row["i"], str(row["n"]), row["f"]) == (
        parameters["s"]["string"],
        True,
        -(2**63),
        "-12.50",
        1e-7,
    )
    assert (str(row["d"]), row["t_text"], row["z_text"]) == (
        "0001-01-01",
        "2026-11-19 06:00:00.123456",
        "2026-11-19 08:00:00.5",
    )
    assert ids_left(spark, path) == 0


def ids_left(spark: SparkSession, path: Path) -> int:
    return spark.table(at(path)).count()


def test_a_block_of_plain_statements_does_what_spark_makes_of_it(
    spark: SparkSession, table: Path, tmp_path: Path
) -> None:
    text = (
        "BEGIN\n  INSERT INTO {t} VALUES (3, DATE'2026-11-21', 'c');\n"
        "  UPDATE {t} SET item = CASE WHEN id = 3 THEN 'z' ELSE item END WHERE id > 1;\nEND;"
    )
    copy = tmp_path / "copy"
    shutil.copytree(table, copy)
    result = run_here(spark, of_job({"sql": text.format(t=at(table))}))
    assert statements(result) == [("WRITE", "Committed", [2]), ("UPDATE", "Committed", [3])]
    rows = spark.sql(f"SELECT * FROM {at(table)} ORDER BY id").collect()
    assert [row["item"] for row in rows] == ["a", "b", "z"]
    spark.sql(text.format(t=at(copy)))
    assert spark.sql(f"SELECT * FROM {at(copy)} ORDER BY id").collect() == rows


def test_a_schema_and_a_function_of_the_jobs_own_are_there_for_its_statements(
    spark: SparkSession, table: Path
) -> None:
    session = spark.newSession()
    result = run_here(
        session,
        of_job(
            {
                "sql": "CREATE SCHEMA IF NOT EXISTS made COMMENT 'by a job';"
                "CREATE TEMPORARY FUNCTION doubled(x BIGINT) RETURNS BIGINT RETURN 2 * x;"
                f"INSERT INTO {at(table)} SELECT doubled(id) + 1, date, item FROM {at(table)};"
                "DROP TEMPORARY FUNCTION doubled"
            }
        ),
    )
    assert [one[1:] for one in statements(result)] == [
        *2 * [("NoCommit", [])],
        ("Committed", [2]),
        ("NoCommit", []),
    ], result
    assert ids(spark, table) == [1, 2, 3, 5]
