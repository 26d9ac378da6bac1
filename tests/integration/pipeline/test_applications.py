"""Users' own PySpark scripts on real Spark, under leases: those that know nothing of Sluice are told of by their tables' logs, and
those made of steps do only what is left when they run again."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from deltalake import DeltaTable, QueryBuilder

from integration.pipeline.conftest import ROOT, SPARK_CONF, Pipeline
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

STEPS = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
from sluice_runner import attempt

spark = SparkSession.builder.getOrCreate()
table, has_failed = sys.argv[1], Path(sys.argv[2])

def append(*ids):
    rows = spark.createDataFrame([(i,) for i in ids], "id BIGINT").selectExpr("id", "DATE '2026-11-19' AS date")
    rows.write.format("delta").mode("append").save(table)

def append_if_the_service_answers():
    if not has_failed.exists():
        has_failed.touch()
        raise ConnectionError("the service does not answer")
    append(3, 4)

with attempt(spark) as run:
    run.once("load", lambda: append(1, 2))
    run.once("enrich", append_if_the_service_answers)
append(5)
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


@pytest.fixture(scope="module")
def tables(pipeline: Pipeline) -> Mapping[str, Path]:
    """One for each test, made by one job, whose commits bear a stamp."""
    made = {name: pipeline.lake / name for name in ("plain", "steps")}
    columns = "(id BIGINT, date DATE) USING delta PARTITIONED BY (date)"
    sql = "; ".join(f"CREATE TABLE delta.`{path}` {columns}" for path in made.values())
    pipeline.apply("make", {"sql": sql})
    pipeline.until("make", "Succeeded")
    return made


def test_a_plain_script_is_told_of_by_its_tables_logs(
    pipeline: Pipeline, tables: Mapping[str, Path], tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text(APPENDS, encoding="utf-8")
    table = tables["plain"]
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
    [attempt] = fails["attempts"]
    assert [one["table"] for one in attempt["commits"]] == [f"file:{table}"]
    assert "retries" not in fails, "what would be done twice isn't, unless its job says so"


def test_a_script_of_steps_that_fails_half_way_does_only_what_is_left(
    pipeline: Pipeline, tables: Mapping[str, Path], tmp_path: Path
) -> None:
    script = tmp_path / "steps.py"
    script.write_text(STEPS, encoding="utf-8")
    table = tables["steps"]
    spec = application(script, table, str(tmp_path / "has-failed"))
    package = ROOT / "spark-images" / "runner" / "src"
    spec["application"]["template"]["driver"]["envVars"] = {"PYTHONPATH": str(package)}
    pipeline.apply("steps", spec | {"retry": {"limit": 1, "backoff": "1s", "on": ["Error"]}})

    status = pipeline.until("steps", "Succeeded")
    first, second = status["attempts"]
    assert (first["outcome"], second["outcome"], status["retries"]) == ("Failed", "Succeeded", 1)
    assert (first["exception"]["class"], first["exception"]["statement"]) == ("ConnectionError", 3)
    assert [one["statement"] for one in first["commits"]] == [2]
    assert "exception" not in second
    assert sorted(one.get("statement", 0) for one in second["commits"]) == [0, 3], (
        "and what follows the block"
    )
    [after_the_block] = [one["version"] for one in second["commits"] if "statement" not in one]
    assert f"beside that it had committed version {after_the_block} of file:{table}" in status["message"]
    assert (first["footprintHeld"], second["footprintHeld"]) == (True, True)
    rows = QueryBuilder().register("t", DeltaTable(table)).execute("SELECT id FROM t").read_all()
    assert sorted(rows.column("id").to_pylist()) == [1, 2, 3, 4, 5], "each once"
