"""The same statements in plain PySpark: what a job would be without the runner. Started by spark-submit."""

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession


def main(plan: Path) -> None:
    marks = {"main": time.time()}
    spark = SparkSession.builder.getOrCreate()
    marks["session"] = time.time()
    for number, text in enumerate(json.loads(plan.read_text()), 1):
        spark.sql(text)
        marks[f"statement {number}"] = time.time()
    sys.stdout.write(json.dumps(marks) + "\n")
    sys.stdout.flush()
    spark.stop()


main(Path(sys.argv[1]))
