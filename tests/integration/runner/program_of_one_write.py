"""A program as a user writes it, which adds rows to a folder: run with the folder and a format."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from sluice_runner import attempt

if __name__ == "__main__":
    _, folder, format_of_files = sys.argv
    spark = SparkSession.builder.getOrCreate()
    with attempt(spark):
        spark.range(3).write.format(format_of_files).mode("append").save(folder)
