"""A Spark without Sluice's runner, in a process of its own: it reads one statement a line, runs it, and answers."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

from integration.runner.jobs import DELTA_SETTINGS, SMALL_SETTINGS, class_path

READY = b"ready\n"
DONE = b"done\n"


def main() -> None:
    # The JVM inherits standard output and may have something of its own to say there.
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    spark = start()
    os.write(answers, READY)
    for line in sys.stdin:
        spark.sql(line)
        os.write(answers, DONE)
    # Nothing is left to be finished, and the end of a session takes seconds.
    os._exit(0)


def start() -> SparkSession:
    builder = SparkSession.builder.master("local[1]").config("spark.driver.extraClassPath", class_path())
    for key, value in {**SMALL_SETTINGS, **DELTA_SETTINGS}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


if __name__ == "__main__":
    main()
