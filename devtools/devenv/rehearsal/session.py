"""Run by spark-submit while its JVM notes the classes that it loads: one of each kind of write that drivers do."""

import sys
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

DAYS = "array(DATE '2026-01-01', DATE '2026-01-02')"


def statements(table: str) -> list[str]:
    rows = f"SELECT id, date, 10 AS amount FROM range(20) LATERAL VIEW explode({DAYS}) d AS date"
    return [
        f"CREATE TABLE {table} (id BIGINT, date DATE, amount INT) USING delta PARTITIONED BY (date)",
        f"INSERT INTO {table} {rows}",
        f"MERGE INTO {table} t USING (SELECT id, 5 AS off FROM range(30)) s "
        "ON t.id = s.id AND t.date = DATE '2026-01-01' "
        "WHEN MATCHED THEN UPDATE SET amount = t.amount - s.off "
        "WHEN NOT MATCHED THEN INSERT (id, date, amount) VALUES (s.id, DATE '2026-01-01', 1)",
        f"UPDATE {table} SET amount = amount + 1 WHERE id < 5",
        f"DELETE FROM {table} WHERE id = 3",
        f"DESCRIBE HISTORY {table}",
    ]


def main(folder: Path) -> None:
    spark = SparkSession.builder.getOrCreate()
    table = f"delta.`{folder / 'table'}`"
    for statement in statements(table):
        spark.sql(statement).collect()
    spark.sql("SELECT id + 1000 AS id, DATE '2026-01-01' AS date, 1 AS amount FROM range(5)").write.format(
        "delta"
    ).mode("append").save(str(folder / "table"))
    try:
        spark.sql(f"SELECT nope FROM {table}").collect()
    except AnalysisException:
        spark.stop()
        return
    raise RuntimeError(f"{table} has a column nope, which nobody has made")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
