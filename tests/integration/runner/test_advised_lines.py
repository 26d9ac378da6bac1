"""A line that is advised for a MERGE goes into its text as it is shown, and Delta runs both: either gives the same rows, unless the
line is a promise, which its author has to keep."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

from integration.runner.jobs import at, place
from sluice.offline.advice import Change
from sluice.offline.api import Oracle

CORRECTIONS = (
    "(1, DATE'2026-11-19', 'x'), (2, DATE'2026-11-19', 'x'), (2, DATE'2026-11-20', 'y'), (3, DATE'2026-11-19', 'x'), "
    "(4, DATE'2026-11-21', 'z'), (5, NULL, 'n')"
)
"""The table has id 1 on the 19th, and id 2 on the 20th alone."""
SCHEMA = [
    {"name": name, "type": kind} for name, kind in (("id", "bigint"), ("date", "date"), ("item", "string"))
]
INSERTS = "WHEN NOT MATCHED THEN INSERT *"


class Lake:
    def __init__(self, spark: SparkSession, table: Path) -> None:
        self._spark = spark
        self._table = table
        self.corrections = table.with_name("corrections")
        spark.sql(
            f"CREATE TABLE {at(self.corrections)} USING delta AS SELECT CAST(col1 AS BIGINT) AS id, col2 AS date, col3 AS item "
            f"FROM VALUES {CORRECTIONS}"
        )

    def merge(self, source: str, on: str, clauses: str) -> str:
        where = f"SELECT * FROM {at(self.corrections)} WHERE {source}"
        return f"MERGE INTO {at(self._table)} t USING ({where}) s\nON {on}\n{clauses}"

    def advised(self, merge: str) -> tuple[Change, str]:
        """The first change that lets it run beside a job of another day, and the text that it makes of the MERGE."""
        facts = (
            {"path": place(self._table), "partitionColumns": ["date"]},
            {"path": place(self.corrections)},
        )
        oracle = Oracle(*(one | {"schema": SCHEMA} for one in facts))
        other = oracle.job(f"DELETE FROM {at(self._table)} WHERE date = DATE'2026-12-24' AND id = 1")
        (remedy, *_) = oracle.pair(oracle.job(merge), other).remedies
        (line,) = remedy.change.lines
        assert merge.count(line.before) == 1
        return remedy.change, merge.replace(line.before, line.after)

    def after(self, merge: str) -> list[Row]:
        """The rows that it leaves of a table that no other job has changed."""
        kept = self._table.with_name("kept")
        shutil.copytree(self._table, kept)
        try:
            self._spark.sql(merge)
            return self._spark.sql(f"SELECT * FROM {at(self._table)} ORDER BY ALL").collect()
        finally:
            shutil.rmtree(self._table)
            kept.rename(self._table)


@pytest.fixture
def lake(spark: SparkSession, table: Path) -> Lake:
    return Lake(spark, table)


def test_a_line_that_is_said_to_keep_the_result_keeps_it(lake: Lake) -> None:
    days = "date BETWEEN DATE'2026-11-19' AND DATE'2026-11-20' OR date IS NULL"
    merge = lake.merge(
        days, "t.id = s.id AND t.date = s.date", f"WHEN MATCHED THEN UPDATE SET item = s.item {INSERTS}"
    )
    change, advised = lake.advised(merge)
    assert change.keeps_result
    assert "AND (t.date IN (DATE '2026-11-19', DATE '2026-11-20') OR t.date IS NULL)\n" in advised
    rows = lake.after(merge)
    assert {(row["id"], row["item"]) for row in rows} == {(1, "x"), (2, "x"), (2, "y"), (3, "x"), (5, "n")}
    assert lake.after(advised) == rows


def test_a_merge_whose_on_lacks_the_day_gets_a_promise_which_holds_only_where_no_id_changes_its_day(
    lake: Lake,
) -> None:
    day = "date = DATE'2026-11-19'"
    kept, broken = (lake.merge(source, "t.id = s.id", INSERTS) for source in (f"{day} AND id <> 2", day))
    for merge in (kept, broken):
        change, advised = lake.advised(merge)
        assert not change.keeps_result
        assert (
            change.because
            == "every row of the table that the rest of ON matches has date = DATE '2026-11-19'"
        )
        assert "ON t.id = s.id AND t.date = DATE '2026-11-19'\n" in advised
        assert (lake.after(advised) == lake.after(merge)) is (merge is kept)
