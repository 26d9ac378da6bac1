"""The streams of the examples and of docs/streams.md run on real Spark, from the operator's plan to their commits.

Only the addresses are others here, and each ends when it has taken what is there. What reads from Kafka is left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from integration.runner.jobs import Document
from integration.runner.operators_plan import of_job
from integration.runner.streaming import run_stream

ROOT = Path(__file__).parents[3]
ROWS = "(1, 7, 1.5, DATE'2026-11-18'), (2, 7, 2.5, DATE'2026-11-19')"


def manifests() -> list[tuple[str, Document]]:
    texts = [file.read_text() for file in sorted((ROOT / "examples").glob("stream-*.yaml"))]
    texts += re.findall(
        r"^```yaml\n(.*?)^```$", (ROOT / "docs" / "streams.md").read_text(), re.MULTILINE | re.DOTALL
    )
    found = [(body["metadata"]["name"], body["spec"]) for body in map(yaml.safe_load, texts)]
    return [(name, spec) for name, spec in found if spec["stream"]["source"]["format"] != "kafka"]


def of_here(spec: Document, folder: Path) -> Any:
    text = yaml.safe_dump(spec).replace("s3://", f"{folder}/")
    return yaml.safe_load(re.sub(r"\blake\.(\w+\.\w+)", rf"delta.`{folder}/\1`", text))


def make_source(spark: SparkSession, source: Document) -> None:
    rows = spark.sql(f"SELECT * FROM VALUES {ROWS} AS t (id, customer, amount, date)")
    if source["format"] == "delta":
        rows.selectExpr("id", "customer", "amount", "date", "CAST(date AS TIMESTAMP) AS at").write.format(
            "delta"
        ).save(source["path"])
    else:
        rows.write.format(source["format"]).save(source["path"])


@pytest.mark.parametrize(
    "spec", [pytest.param(spec, id=f"{number}-{name}") for number, (name, spec) in enumerate(manifests(), 1)]
)
def test_a_stream_that_is_shown_brings_each_row_to_its_table(
    spark: SparkSession, tmp_path: Path, spec: Document
) -> None:
    spec = of_here(spec, tmp_path)
    stream = spec["stream"]
    stream["trigger"] = {"availableNow": True}
    make_source(spark, stream["source"])
    if "sql" in stream:
        [target] = re.findall(r"MERGE INTO (delta.`[^`]+`)", stream["sql"])
        columns = "id INT, customer INT, amount DECIMAL(2,1), date DATE, at TIMESTAMP"
        spark.sql(f"CREATE TABLE {target} ({columns}) USING delta PARTITIONED BY (date)")
    else:
        target = f"delta.`{stream['table']['path']}`"
    result = run_stream(spark, of_job(spec))
    assert result["outcome"] == "Succeeded", result
    assert (result["stream"]["batch"], result["stream"]["batches"]) == (0, 1)
    assert sorted(row.id for row in spark.sql(f"SELECT id FROM {target}").collect()) == [1, 2]
    assert run_stream(spark, of_job(spec))["stream"]["batches"] == 0, "each row is taken once"
