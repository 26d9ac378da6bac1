"""Tells how a job's commits reach a table's log, and whether that is safe: two writers lose data silently unless both
commit through something that lets only one of them win. This is a fact about each job, not about the table."""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from sluice.tables.identity import TableKey

LINK_LOG_STORE = "dev.sluice.delta.LinkLogStore"
S3_CONDITIONAL_LOG_STORE = "dev.sluice.delta.S3ConditionalLogStore"
_SPELLED = {"s3": ("s3", "s3a", "s3n"), "abfss": ("abfss", "abfs", "wasb", "wasbs")}
"""Schemes that lead to one store."""
_SAFE_BY_THEMSELVES = frozenset({"abfss", "gs", "hdfs"})


class LogStore(StrEnum):
    SAFE = "safe"
    LINK = "link"
    """Sluice's own store for `file:`: it commits by link(2), which fails if the version exists."""
    RENAME = "rename"
    """Delta's own store for `file:`: it checks whether the version exists, then renames over it."""
    S3_SINGLE_DRIVER = "s3-single-driver"
    S3_DYNAMODB = "s3-dynamodb"
    S3_CONDITIONAL = "s3-conditional"
    """Sluice's own store for S3: it asks S3 to write only what does not exist."""
    CONDITIONAL = "conditional"
    """Delta's own store for the object stores of Oracle and IBM: it asks them to write only what does not exist."""
    UNKNOWN = "unknown"

    def loses_beside(self, other: "LogStore") -> bool:
        """Whether one of two writers with these log stores may overwrite the other's commit."""
        if LogStore.UNKNOWN in (self, other):
            # One location has one scheme: a store that is safe by itself is safe for both.
            return LogStore.SAFE not in (self, other)
        return self is not other or self in _ALONE


_OF_S3 = {
    frozenset({S3_CONDITIONAL_LOG_STORE}): LogStore.S3_CONDITIONAL,
    frozenset({"io.delta.storage.S3DynamoDBLogStore"}): LogStore.S3_DYNAMODB,
    frozenset({"io.delta.storage.S3SingleDriverLogStore"}): LogStore.S3_SINGLE_DRIVER,
}
"""What settings for S3 mean. Without one it isn't known: the store itself, or something in front of it, may let only
one of two writers win."""
_CONDITIONAL = {
    "oci": "io.delta.storage.OracleCloudLogStore",
    "cos": "io.delta.storage.IBMCOSLogStore",
}
"""Stores where Delta, without a setting, commits as on HDFS: by a rename, which object stores execute as a copy over
an existing file."""
_LOCK_SETTINGS = tuple(
    f"{prefix}io.delta.storage.S3DynamoDBLogStore." for prefix in ("spark.", "spark.hadoop.")
)
_LOCK_TABLE = {"ddb.region": "us-east-1", "ddb.tableName": "delta_log"}
"""The settings of the lock table with their defaults."""
_ALONE = frozenset({LogStore.RENAME, LogStore.S3_SINGLE_DRIVER})
_BY_SETTINGS = frozenset({LogStore.S3_CONDITIONAL, LogStore.S3_DYNAMODB})
"""Stores of S3 that a driver takes only where its settings name them."""


def log_store_of(table: TableKey, conf: Mapping[str, str]) -> LogStore:
    """The log store, judged by the scheme of the table's location and the job's settings."""
    if table.is_name:
        return LogStore.UNKNOWN
    scheme = table.text.partition(":")[0]
    classes = _classes(table, conf)
    if scheme == "file":
        return LogStore.LINK if classes == {LINK_LOG_STORE} else LogStore.RENAME
    if scheme == "s3":
        return _OF_S3.get(frozenset(classes), LogStore.UNKNOWN)
    if scheme in _CONDITIONAL:
        return LogStore.CONDITIONAL if classes == {_CONDITIONAL[scheme]} else LogStore.UNKNOWN
    return LogStore.SAFE if scheme in _SAFE_BY_THEMSELVES and not classes else LogStore.UNKNOWN


def log_store_for(
    table: TableKey, conf: Mapping[str, str], declared: LogStore | None, *, all_settings: bool
) -> LogStore:
    """The log store, judged by the job's settings, and where they say nothing by what is declared of the table's
    writers. `all_settings`: `conf` is all that the driver will have, so that what it does not name is not taken."""
    chosen = log_store_of(table, conf)
    if chosen in _BY_SETTINGS | {LogStore.LINK, LogStore.S3_SINGLE_DRIVER}:
        return chosen
    if declared in _BY_SETTINGS and (all_settings or _classes(table, conf)):
        return LogStore.S3_SINGLE_DRIVER
    if declared is not None:
        return declared
    takes_deltas_own = all_settings and table.text.startswith("s3:") and not _classes(table, conf)
    return LogStore.S3_SINGLE_DRIVER if takes_deltas_own else chosen


def _classes(table: TableKey, conf: Mapping[str, str]) -> set[str]:
    """The classes that settings name for the table's location."""
    settings = _settings_of(table.scheme, table.text.partition(":")[0])
    return {conf[key] for key in settings if key in conf}


def lock_table_of(conf: Mapping[str, str]) -> str:
    """The table in which S3DynamoDBLogStore tells commits apart: writers with different ones do not see each other."""
    found = dict(_LOCK_TABLE)
    for key, value in conf.items():
        for prefix in _LOCK_SETTINGS:
            name = key.removeprefix(prefix)
            if name != key and name in found:
                found[name] = value
    return "/".join(found.values())


def _settings_of(written: str, scheme: str) -> Iterator[str]:
    """The settings that Delta looks up: by the scheme as it is written, whatever store it leads to."""
    yield "spark.delta.logStore.class"
    for spelled in (written,) if written else _SPELLED.get(scheme, (scheme,)):
        yield f"spark.delta.logStore.{spelled}.impl"
