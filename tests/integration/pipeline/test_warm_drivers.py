"""A driver in a JVM that another one has used is as good as in one of its own."""

import json
from dataclasses import dataclass
from pathlib import Path

from integration.pipeline.conftest import SPARK_CONF
from integration.waiting import PATIENCE
from integration.warm_drivers.server import WarmDrivers

# Leaves all that a driver can leave in its JVM and its Python, and ends without a word to Spark.
LEAVES = """
import os, sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.config("spark.sql.shuffle.partitions", "7").getOrCreate()
jvm = spark._jvm
spark.sql("CREATE TABLE left_table (id BIGINT) USING delta LOCATION '" + sys.argv[1] + "'")
jvm.java.lang.System.setProperty("spark.sluice.left", "yes")
jvm.dev.sluice.delta.CommitGate.refuseRows("a driver has left this")
jvm.dev.sluice.delta.EmptyCommits.refuse(True)
jvm.dev.sluice.delta.BoundNames.bind("spark_catalog.default.bound", "file:" + sys.argv[1])
os.environ["LEFT"] = "yes"
print(jvm.java.lang.ProcessHandle.current().pid())
raise SystemExit(3)
"""

FINDS = """
import json, os, sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.sql("INSERT INTO delta.`" + sys.argv[1] + "` VALUES (1)")
spark.conf.set("spark.databricks.delta.write.txnAppId", "empty")
spark.conf.set("spark.databricks.delta.write.txnVersion", "1")
spark.sql("INSERT INTO delta.`" + sys.argv[1] + "` SELECT 1 WHERE false")
found = {
    "jvm": spark._jvm.java.lang.ProcessHandle.current().pid(),
    "name": spark.sparkContext.appName,
    "partitions": spark.conf.get("spark.sql.shuffle.partitions"),
    "property": spark.conf.get("spark.sluice.left", None),
    "tables": [one.tableName for one in spark.sql("SHOW TABLES").collect()],
    "variable": os.environ.get("LEFT"),
    "words": sys.argv[1:],
}
print(json.dumps(found))
"""
GATED = {
    "spark.delta.logStore.file.impl": "dev.sluice.delta.GatedLogStore",
    "spark.hadoop.sluice.gate.file": "dev.sluice.delta.LinkLogStore",
}


def test_a_driver_finds_nothing_of_the_one_before(warm: WarmDrivers, tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    left = _driver(warm, tmp_path, "leaves", LEAVES, table)
    assert left.code == 3, left.stderr
    found = _driver(warm, tmp_path, "finds", FINDS, table)
    assert found.code == 0, found.stderr
    assert json.loads(found.stdout) == {
        "jvm": int(left.stdout),
        "name": "finds",
        "partitions": "1",
        "property": None,
        "tables": [],
        "variable": None,
        "words": [table],
    }
    assert len(list((tmp_path / "table" / "_delta_log").glob("0*.json"))) == 3


@dataclass(frozen=True)
class Ended:
    code: int
    stdout: str
    stderr: str


def _driver(warm: WarmDrivers, folder: Path, name: str, script: str, table: str) -> Ended:
    file, out, errors = (folder / f"{name}.{end}" for end in ("py", "out", "err"))
    file.write_text(script, encoding="utf-8")
    with out.open("wb") as stdout, errors.open("wb") as stderr:
        driver = warm.submit(name, SPARK_CONF | GATED, [str(file), table], folder, stdout, stderr)
    return Ended(driver.wait(PATIENCE), out.read_text(), errors.read_text())
