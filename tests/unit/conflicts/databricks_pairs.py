"""Pairs of jobs on a table that Databricks writes, and what its rules say of who loses."""

from typing import Any, Unpack

from sluice.conflicts import Pair, Verdict, pair_of
from sluice.tables import databricks
from unit.conflicts import pairs as p

VECTORS: p.Given = {"properties": {"delta.enableDeletionVectors": "true"}}
SERIALIZABLE: p.Given = {"serializable": True}
UNPARTITIONED: p.Given = {"partitioned": False}
CLUSTERED: p.Given = {"partitioned": False, "clustering_columns": ("id",)}
CURRENT = databricks("15.4", photon=True)
OF_CURRENT: p.Given = {"dialect": CURRENT}
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
    conf: dict[str, str] | None = None,
    **table: Unpack[p.Given],
) -> Pair:
    known = p.facts(**(OF_CURRENT | table))
    return pair_of(p.job(first, known, **(conf or {})), p.job(second, known, **(conf or {})))


def loses(loser: str, winner: str, conf: dict[str, str] | None = None, **table: Unpack[p.Given]) -> Verdict:
    return pair(loser, winner, conf, **table).first_loses
