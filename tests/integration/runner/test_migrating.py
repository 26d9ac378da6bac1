"""The examples of migrating do the same work after it as before: both are run here, on two copies of one table."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest
import yaml
from pyspark.sql import Row, SparkSession

from integration.runner.jobs import at, run_here
from integration.runner.operators_plan import of_job

EXAMPLES = Path(__file__).parents[3] / "examples" / "migrating"
DAY = "2026-11-19"
AFTER = ("spark-application/after.yaml", "airflow/merge-orders.yaml")


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Path:
    """Corrections of two days, and orders by date in two copies: one row to be changed, one to be added, and the same for the
    next day, which nobody may touch."""
    columns = "(id BIGINT, amount INT, date DATE) USING delta PARTITIONED BY (date)"
    rows = {
        "before": f"(1, 10, DATE'{DAY}'), (2, 20, DATE'{DAY}'), (3, 30, DATE'2026-11-20')",
        "after": f"(1, 10, DATE'{DAY}'), (2, 20, DATE'{DAY}'), (3, 30, DATE'2026-11-20')",
        "corrections": f"(1, 11, DATE'{DAY}'), (3, 31, DATE'{DAY}'), (3, 32, DATE'2026-11-20'), (4, 40, DATE'2026-11-20')",
    }
    for name, values in rows.items():
        spark.sql(f"CREATE TABLE {at(tmp_path / name)} {columns}")
        spark.sql(f"INSERT INTO {at(tmp_path / name)} VALUES {values}")
    return tmp_path


def _content(spark: SparkSession, table: Path) -> list[Row]:
    return spark.sql(f"SELECT id, amount, CAST(date AS STRING) FROM {at(table)} ORDER BY ALL").collect()


@pytest.mark.parametrize("after", AFTER)
def test_the_job_does_what_the_script_did(
    spark: SparkSession, lake: Path, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    arguments = [f"--orders={lake}/before", f"--corrections={lake}/corrections", f"--day={DAY}"]
    monkeypatch.setattr(sys, "argv", ["merge_orders.py", *arguments])
    runpy.run_path(str(EXAMPLES / "spark-application" / "merge_orders.py"), run_name="__main__")
    spec = yaml.safe_load((EXAMPLES / after).read_text(encoding="utf-8"))["spec"]
    orders, corrections = "s3a://lake/store/orders", "s3a://lake/store/corrections"
    assert orders in spec["sql"]
    assert corrections in spec["sql"]
    sql = spec["sql"].replace(orders, f"{lake}/after").replace(corrections, f"{lake}/corrections")
    result = run_here(spark, of_job({"sql": sql, "parameters": spec["parameters"]}))
    assert result["outcome"] == "Succeeded", result
    changed = _content(spark, lake / "after")
    assert changed == _content(spark, lake / "before")
    assert [tuple(row) for row in changed] == [
        (1, 11, DAY),
        (2, 20, DAY),
        (3, 30, "2026-11-20"),
        (3, 31, DAY),
    ]
