"""Two jobs on one table of orders by day, and what the oracle says of them."""

from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

from sluice.api.job import DeltaWriteJobSpec
from sluice.conflicts import Pair, pair_of
from sluice.footprint import JobFootprint, footprint_of
from sluice.predicates import Table
from sluice.tables import Dialect, LogStore, TableFacts, key_of_path, oss

T = "delta.`/lake/t`"
COLUMNS = {"id": "bigint", "k": "int", "v": "string", "date": "date"}
A, B = "DATE '2026-11-18'", "DATE '2026-11-19'"


class Known(TypedDict, total=False):
    """What a table's log says of it, and who writes it where."""

    clustering_columns: tuple[str, ...] | None
    properties: Mapping[str, str]
    identity_columns: frozenset[str]
    generated_columns: Mapping[str, str]
    write_serializable: bool
    serializable: bool
    exists: bool
    table_id: str | None
    dialect: Dialect | None
    log_store: LogStore | None
    unread: str | None


class Given(Known, total=False):
    """The same of the table of orders, which has its partitions or none."""

    partitioned: bool
    columns: Mapping[str, str]
    """Types of columns that it has besides."""


def facts(
    version: str = "4.4.0",
    *,
    partitioned: bool = True,
    columns: Mapping[str, str] | None = None,
    **more: Unpack[Known],
) -> TableFacts:
    given: Known = {"log_store": LogStore.SAFE, "dialect": oss(version), **more}
    every = {**COLUMNS, **(columns or {})}
    return TableFacts(columns=Table.of(every, ["date"] if partitioned else []), **given)


def job(spec: str | dict[str, Any], known: TableFacts, **conf: str) -> JobFootprint:
    given = {"sql": spec.replace("{t}", T)} if isinstance(spec, str) else spec
    return footprint_of(DeltaWriteJobSpec.model_validate(given), conf, facts={key_of_path("/lake/t"): known})


def pair(first: str, second: str, version: str = "4.4.0", **more: Unpack[Given]) -> Pair:
    known = facts(version, **more)
    return pair_of(job(first, known), job(second, known))


def row(day: str) -> str:
    return f"SELECT 1L AS id, 1 AS k, 'v' AS v, {day} AS date"


APPEND = f"INSERT INTO {{t}} VALUES (1, 1, 'v', {A})"
APPEND_B = f"INSERT INTO {{t}} VALUES (1, 1, 'v', {B})"
SELF_READ = f"INSERT INTO {{t}} SELECT id, k, v, date FROM {{t}} WHERE date = {A}"
DELETE = f"DELETE FROM {{t}} WHERE date = {A} AND k = 1"
DELETE_PARTITION = f"DELETE FROM {{t}} WHERE date = {A}"
DELETE_B = f"DELETE FROM {{t}} WHERE date = {B} AND k = 1"
UPDATE = f"UPDATE {{t}} SET v = 'x' WHERE date = {A} AND k = 1"
UPDATE_B = f"UPDATE {{t}} SET v = 'x' WHERE date = {B} AND k = 1"
MERGE = (
    f"MERGE INTO {{t}} t USING ({row(A)}) s ON t.id = s.id AND t.date = {A} "
    "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
)
MERGE_B = MERGE.replace(A, B)
OVERWRITE = f"INSERT OVERWRITE {{t}} {row(A)}"
REPLACE_WHERE = f"INSERT INTO {{t}} REPLACE WHERE date = {A} {row(A)}"
REPLACE_WHERE_B = REPLACE_WHERE.replace(A, B)
DYNAMIC = f"SET spark.sql.sources.partitionOverwriteMode = dynamic; INSERT OVERWRITE {{t}} {row(A)}"
DYNAMIC_B = DYNAMIC.replace(A, B)
OPTIMIZE = f"OPTIMIZE {{t}} WHERE date = {A}"
OPTIMIZE_B = f"OPTIMIZE {{t}} WHERE date = {B}"
TRUNCATE = "TRUNCATE TABLE {t}"
VACUUM = "VACUUM {t}"
RESTORE = "RESTORE TABLE {t} TO VERSION AS OF 1"
REPLACE_TABLE = f"CREATE OR REPLACE TABLE {{t}} USING delta AS {row(A)}"
SET = "ALTER TABLE {t} SET TBLPROPERTIES ('owner' = 'ops')"
ADD_COLUMN = "ALTER TABLE {t} ADD COLUMNS (extra INT)"
ADD_CONSTRAINT = "ALTER TABLE {t} ADD CONSTRAINT c CHECK (k > 0)"
VECTORS = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
TRACKING = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')"
TIMESTAMPS = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')"
CHANGE_FEED = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
