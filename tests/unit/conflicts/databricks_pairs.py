"""Pairs of jobs on a table that Databricks writes, and what its rules say of who loses."""

from typing import Any

from sluice.conflicts import Pair, Verdict, pair_of
from sluice.tables import Dialect, databricks
from unit.conflicts import pairs as p

VECTORS = {"properties": {"delta.enableDeletionVectors": "true"}}
SERIALIZABLE = {"serializable": True}
UNPARTITIONED = {"partitioned": False}
CLUSTERED = {"partitioned": False, "clustering_columns": ("id",)}
CURRENT = databricks("15.4", photon=True)
PREVIEW = {"spark.databricks.delta.rowLevelConcurrencyPreview": "true"}

DELETE_ROW = "DELETE FROM {t} WHERE id = 1"
UPDATE_ROW = "UPDATE {t} SET v = 'x' WHERE id = 2"
MERGE_ROW = (
    f"MERGE INTO {{t}} t USING ({p.row(p.A)}) s ON t.id = s.id AND t.k = 1 "
    "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
)
READING_INSERT = "INSERT INTO {t} SELECT id, k, v, date FROM {t} WHERE id = 1"
OPTIMIZE = "OPTIMIZE {t}"
ZORDER = "OPTIMIZE {t} ZORDER BY (id)"


def pair(
    first: str | dict[str, Any],
    second: str | dict[str, Any],
    dialect: Dialect = CURRENT,
    conf: dict[str, str] | None = None,
    **table: Any,
) -> Pair:
    known = p.facts(dialect=dialect, **table)
    return pair_of(p.job(first, known, **(conf or {})), p.job(second, known, **(conf or {})))


def loses(loser: str, winner: str, dialect: Dialect = CURRENT, **more: Any) -> Verdict:
    return pair(loser, winner, dialect, **more).first_loses
