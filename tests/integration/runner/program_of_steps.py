"""A program as a user writes it, of four steps on one table: run with the table's folder.

The first step matches nothing: to do it again after the second one would destroy a row.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from sluice_runner import attempt


class EndedError(Exception):
    """The program ends here, as one that is killed between two steps."""


def load(spark: SparkSession, folder: str, ends_before: str | None = None) -> None:
    table = f"delta.`{folder}`"

    def append(number: int, item: str) -> None:
        rows = spark.sql(f"SELECT {number}L AS id, DATE'2026-11-19' AS date, '{item}' AS item")
        rows.write.format("delta").mode("append").save(folder)

    steps = {
        "clean": lambda: spark.sql(f"DELETE FROM {table} WHERE id = 3"),
        "load": lambda: append(3, "c"),
        "mark": lambda: spark.sql(f"UPDATE {table} SET item = item || '!' WHERE id = 3"),
        "load more": lambda: append(4, "d"),
    }
    with attempt(spark) as run:
        for name, write in steps.items():
            if name == ends_before:
                raise EndedError
            run.once(name, write)


if __name__ == "__main__":
    load(SparkSession.builder.getOrCreate(), sys.argv[1])
