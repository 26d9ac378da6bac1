"""After each statement the runner looks whether its commits are where the job was judged to touch."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

from integration.runner.jobs import Document, at, location, place, plan, run_here, sql
from sluice_runner.commits import Commit
from sluice_runner.footprint_check import Judged

NINETEENTH, TWENTIETH = "date = DATE '2026-11-19'", "date = DATE '2026-11-20'"


def touched(table: Path, statement: int | None = 1, **regions: str | None) -> Document:
    return {"statement": statement, "table": {"path": place(table)}, **regions}


def looked_at(spark: SparkSession, text: str, *expected: Document) -> Any:
    result = run_here(spark, plan(sql(text), touched=list(expected)))
    assert result["outcome"] == "Succeeded", result
    return result["footprint"]


@pytest.mark.parametrize(
    ("text", "regions", "strayed"),
    [
        ("INSERT INTO {t} VALUES (9, DATE'2026-11-19', 'x')", (NINETEENTH, "FALSE"), None),
        ("INSERT INTO {t} VALUES (9, DATE'2026-11-21', 'x')", (NINETEENTH, "FALSE"), "adds to date=2026-11-21"),
        ("DELETE FROM {t} WHERE item = 'b'", (TWENTIETH, TWENTIETH), None),
        ("DELETE FROM {t} WHERE item = 'b'", (NINETEENTH, NINETEENTH), "removes from date=2026-11-20"),
        ("DELETE FROM {t} WHERE item = 'b'", (None, None), None),
        ("UPDATE {t} SET date = DATE'2026-11-21' WHERE id = 1", ("TRUE", NINETEENTH), None),
        ("UPDATE {t} SET date = DATE'2026-11-21' WHERE id = 1", (NINETEENTH, NINETEENTH), "adds to date=2026-11-21"),
        ("INSERT OVERWRITE {t} VALUES (9, DATE'2026-11-19', 'x')", (NINETEENTH, NINETEENTH), "removes from date=2026-11-20"),
        ("INSERT INTO {t} VALUES (9, null, 'x')", (f"{NINETEENTH} OR date IS NULL", "FALSE"), None),
        ("INSERT INTO {t} VALUES (9, null, 'x')", (NINETEENTH, "FALSE"), "adds to date=null"),
    ],
)  # fmt: skip
def test_what_lies_elsewhere_is_told_and_stays(
    spark: SparkSession, table: Path, text: str, regions: tuple[str | None, str | None], strayed: str | None
) -> None:
    adds, removes = regions
    found = looked_at(spark, text.format(t=at(table)), touched(table, adds=adds, removes=removes))
    assert found["unlooked"] is None
    if strayed is None:
        assert found["strayed"] == []
    else:
        assert found["strayed"][0] == f"statement 1: version 2 of {location(table)} {strayed}"


def test_files_of_a_null_partition_are_found_where_they_are_removed(spark: SparkSession, table: Path) -> None:
    spark.sql(f"INSERT INTO {at(table)} VALUES (9, null, 'x')")
    found = looked_at(
        spark, f"DELETE FROM {at(table)} WHERE id = 9", touched(table, adds="FALSE", removes=NINETEENTH)
    )
    assert [place.partition("removes from ")[2] for place in found["strayed"]] == ["date=null"]


def test_a_statement_may_touch_what_any_of_its_footprints_says(spark: SparkSession, table: Path) -> None:
    text = f"INSERT INTO {at(table)} VALUES (8, DATE'2026-11-19', 'x'), (9, DATE'2026-11-20', 'x')"
    one, other = touched(table, adds=NINETEENTH), touched(table, adds=TWENTIETH)
    assert looked_at(spark, text, one, other)["strayed"] == []
    assert looked_at(spark, text, one)["strayed"]
    assert looked_at(spark, text, touched(table, 2, adds=TWENTIETH), one)["strayed"]
    assert looked_at(spark, text, touched(table, None, adds=TWENTIETH), one)["strayed"] == []


def test_a_table_that_the_job_was_not_judged_to_write_is_told(
    spark: SparkSession, table: Path, tmp_path: Path
) -> None:
    found = looked_at(
        spark, f"INSERT INTO {at(table)} VALUES (9, DATE'2026-11-19', 'x')", touched(tmp_path / "other")
    )
    assert found["strayed"] == [
        f"statement 1: version 2 of {location(table)} is of a table that the statement wasn't judged to write"
    ]


def test_columns_that_are_mapped_are_known_by_their_names_in_the_log(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "mapped"
    spark.sql(
        f"CREATE TABLE {at(path)} (id BIGINT, `a b` STRING) USING delta PARTITIONED BY (`a b`) "
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    text = f"INSERT INTO {at(path)} VALUES (1, 'x'), (2, 'y')"
    assert looked_at(spark, text, touched(path, adds="`a b` IN ('x', 'y')"))["strayed"] == []
    assert looked_at(spark, text, touched(path, adds="`a b` = 'x'"))["strayed"][0].endswith("adds to a b=y")


def test_a_table_without_partitions_is_one_place(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "whole"
    spark.sql(f"CREATE TABLE {at(path)} (id BIGINT) USING delta")
    text = f"INSERT INTO {at(path)} VALUES (1)"
    assert looked_at(spark, text, touched(path, removes="FALSE"))["strayed"] == []
    overwritten = looked_at(spark, text.replace("INTO", "OVERWRITE"), touched(path, removes="FALSE"))
    assert overwritten["strayed"][0].endswith("removes from the table")


def test_files_that_are_told_more_of_stray_nowhere(spark: SparkSession, table: Path) -> None:
    text = f"ALTER TABLE {at(table)} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')"
    assert looked_at(spark, text, touched(table, adds="FALSE", removes="FALSE"))["strayed"] == []


def test_what_an_earlier_attempt_committed_is_looked_at_as_well(spark: SparkSession, table: Path) -> None:
    document = plan(
        sql(f"INSERT INTO {at(table)} VALUES (9, DATE'2026-11-21', 'x')"),
        "twice",
        token=1 << 32,
        run={
            "appId": "sluice/twice",
            "closes": True,
            "firstToken": 1 << 32,
            "tables": [{"path": place(table)}],
        },
        touched=[touched(table, adds=NINETEENTH)],
    )
    for outcome in ("Succeeded", "AlreadyCommitted"):
        result = run_here(spark, document)
        assert result["outcome"] == outcome, result
        [strayed] = result["footprint"]["strayed"]
        assert strayed.endswith("adds to date=2026-11-21")
        document |= {"attempt": 2, "token": (1 << 32) + 1}


@pytest.mark.skipif(pyspark.__version__ < "4.2", reason="Spark reads INSERT ... WITH since 4.2")
def test_commits_that_options_may_hide_are_not_said_to_be_looked_at(spark: SparkSession, table: Path) -> None:
    text = f"INSERT INTO {at(table)} WITH ('userMetadata' = 'mine') VALUES (9, DATE'2026-11-21', 'x')"
    found = looked_at(spark, text, touched(table, adds=NINETEENTH))
    assert found == {
        "strayed": [],
        "unlooked": "statement 1: its options may keep its commits from being known as its own",
    }


def test_a_table_that_is_gone_by_then_is_named(
    spark: SparkSession, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strayed = Judged.strayed

    def once_it_is_gone(judged: Judged, statement: int, own: Sequence[Commit]) -> list[str]:
        shutil.rmtree(table)
        return strayed(judged, statement, own)

    monkeypatch.setattr(Judged, "strayed", once_it_is_gone)
    found = looked_at(
        spark,
        f"INSERT INTO {at(table)} VALUES (9, DATE'2026-11-19', 'x')",
        touched(table, adds=NINETEENTH),
    )
    gone = f"statement 1: after version 2 of {location(table)} there is no such Delta table any more"
    assert found["unlooked"] == gone


def test_what_could_not_be_looked_at_is_told_and_harms_nothing(spark: SparkSession, table: Path) -> None:
    text = f"INSERT INTO {at(table)} VALUES (9, DATE'2026-11-19', 'x')"
    found = looked_at(spark, text, touched(table, adds="nope = 1"))
    assert found["strayed"] == []
    assert found["unlooked"].startswith("statement 1: ")
    assert "nope" in found["unlooked"]


def test_nothing_is_said_where_the_plan_says_nothing(spark: SparkSession, table: Path) -> None:
    result = run_here(spark, plan(sql(f"DELETE FROM {at(table)}")))
    assert "footprint" not in result
