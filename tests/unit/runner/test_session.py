"""Spark is configured as the application says; only what Delta can't do without is added."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sluice_runner import main, session
from sluice_runner.assumptions import Assumed
from sluice_runner.failures import classify, terminated
from sluice_runner.plan import Job, Plan, Source, Sql, Statement, Stream, Target
from sluice_runner.session import completed

STATEMENTS = (Statement(1, "DELETE FROM t", 1),)
PLAN = Plan(Job("sales", "daily", "1"), "run", "abc", 1, 1, Sql(STATEMENTS), Assumed("4.2.0", None, {}))
APPEND = Stream(Source(None, "delta", "/a", {}, {}), None, None, Target("/b", None), (), "/c", None)
DELTA = "io.delta.sql.DeltaSparkSessionExtension"
EXTENSIONS = "spark.sql.extensions"
CATALOG = "spark.sql.catalog.spark_catalog"


def test_an_application_that_sets_nothing_gets_delta() -> None:
    added = completed({})
    assert added[EXTENSIONS] == DELTA
    assert added[CATALOG] == "org.apache.spark.sql.delta.catalog.DeltaCatalog"


def test_other_extensions_stay_beside_delta() -> None:
    assert completed({EXTENSIONS: "org.example.Mine"})[EXTENSIONS] == f"org.example.Mine,{DELTA}"


def test_what_the_application_set_stays_as_it_is() -> None:
    added = completed(
        {EXTENSIONS: f" {DELTA} ,org.example.Mine", CATALOG: "io.unitycatalog.spark.UCSingleCatalog"}
    )
    assert EXTENSIONS not in added
    assert CATALOG not in added


@pytest.mark.parametrize(
    ("changes", "is_gated"),
    [
        ({}, False),
        ({"writes": ("date = DATE'2026-11-19'",)}, True),
        ({"work": APPEND}, True),
        ({"work": replace(APPEND, table=None, statements=STATEMENTS)}, False),
    ],
)
def test_commits_are_looked_at_that_were_promised_or_may_be_empty(
    changes: dict[str, Any], is_gated: bool
) -> None:
    assert main.is_gated(replace(PLAN, **changes)) is is_gated


def test_a_driver_that_was_ended_tells_that_without_asking_a_jvm_that_may_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spark: Any = object()
    asked: list[object] = []

    def is_stopped(of: object) -> bool:
        asked.append(of)
        return True

    monkeypatch.setattr(session, "is_stopped", is_stopped)
    driver = main._Driver()
    driver._spark = spark
    ended = terminated("the driver was ended by SIGTERM")
    assert (driver.meant_by(ended), asked) == (ended, [])
    missing = classify(ValueError("nobody answers"))
    assert (driver.meant_by(missing).name, asked) == ("Terminated", [spark])
