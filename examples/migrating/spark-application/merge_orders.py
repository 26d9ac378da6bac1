"""Before: the script of a SparkApplication that merges one day of corrections into the orders."""

import argparse

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

parser = argparse.ArgumentParser()
parser.add_argument("--orders", required=True)
parser.add_argument("--corrections", required=True)
parser.add_argument("--day", required=True)
arguments = parser.parse_args()

spark = SparkSession.builder.appName("merge-orders").getOrCreate()
corrections = spark.read.format("delta").load(arguments.corrections).where(f"date = DATE '{arguments.day}'")
(
    DeltaTable.forPath(spark, arguments.orders)
    .alias("t")
    .merge(corrections.alias("s"), "t.id = s.id AND t.date = s.date")
    .whenMatchedUpdate(set={"amount": "s.amount"})
    .whenNotMatchedInsertAll()
    .execute()
)
