"""A user's own PySpark script, which knows nothing of Sluice, on real Spark: under leases, told of by its tables' logs."""

from pathlib import Path

import pytest

from integration.pipeline.conftest import SPARK_CONF, Pipeline
from sluice.api.base import Json

pytestmark = pytest.mark.timeout(900)

APPENDS = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.sql(f"INSERT INTO delta.`{sys.argv[1]}` SELECT id, DATE '{sys.argv[2]}' FROM range(10)")
if sys.argv[3:] == ["fails"]:
    raise ValueError("no such customer")
spark.stop()
"""


def application(script: Path, table: Path, *arguments: str) -> Json:
    template = {
        "type": "Python",
        "mode": "cluster",
        "sparkVersion": "4.2.0",
        "mainApplicationFile": f"local://{script}",
        "arguments": [str(table), *arguments],
        "sparkConf": SPARK_CONF,
        "driver": {"cores": 1, "memory": "1g"},
        "executor": {"instances": 1, "cores": 1, "memory": "1g"},
    }
    declared = {"table": {"path": str(table)}, "operation": "Append", "reads": "false"}
    return {
        "application": {"engine": "kubeflow", "template": template},
        "runtime": {"deltaVersion": "4.4.0"},
        "footprint": [declared | {"writes": "date = DATE '2026-11-19'"}],
    }


def test_a_plain_script_is_told_of_by_its_tables_logs(pipeline: Pipeline, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(APPENDS, encoding="utf-8")
    table = pipeline.lake / "applications"
    made = f"CREATE TABLE delta.`{table}` (id BIGINT, date DATE) USING delta PARTITIONED BY (date)"
    pipeline.apply("applications-make", {"sql": made})
    pipeline.until("applications-make", "Succeeded")
    pipeline.apply("applications-keeps", application(script, table, "2026-11-19"))
    pipeline.apply("applications-strays", application(script, table, "2026-11-20"))
    pipeline.apply("applications-fails", application(script, table, "2026-11-19", "fails"))

    keeps = pipeline.until("applications-keeps", "Succeeded")
    [committed] = keeps["attempts"][-1]["commits"]
    assert (committed["table"], committed["operation"]) == (f"file:{table}", "WRITE")
    assert "statement" not in committed
    assert keeps["attempts"][-1]["footprintHeld"] is True
    assert f"it had committed version {committed['version']} of file:{table}" in keeps["message"]

    strays = pipeline.until("applications-strays", "Succeeded")
    assert strays["attempts"][-1]["footprintHeld"] is False
    [told] = [one for one in strays["conditions"] if one["type"] == "FootprintHeld"]
    assert "adds to date=2026-11-20" in told["message"]

    fails = pipeline.until("applications-fails", "Failed")
    assert fails["reason"] == "RunFailed"
    assert "ValueError: no such customer" in fails["message"]
    assert [one["table"] for one in fails["attempts"][-1]["commits"]] == [f"file:{table}"]
