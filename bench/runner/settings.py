"""Of a small job's driver; how Java runs it is left as it is, as in the images."""

from integration.runner.jobs import DELTA_SETTINGS
from spark_jars import class_path

SETTINGS = {
    **DELTA_SETTINGS,
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraClassPath": class_path(),
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
