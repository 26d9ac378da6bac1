"""What Delta makes of a table when one of the statements runs: written from its rules, without the code that plans them."""

from collections.abc import Mapping
from dataclasses import replace

from sluice.policies.alteration import Alteration, ClusterBy
from sluice.tables.table_observation import TableState

_ADDS = {
    ("delta.appendOnly", "true"): {"appendOnly"},
    ("delta.enableChangeDataFeed", "true"): {"changeDataFeed"},
    ("delta.enableDeletionVectors", "true"): {"deletionVectors"},
    ("delta.columnMapping.mode", "name"): {"columnMapping"},
    ("delta.enableRowTracking", "true"): {"rowTracking", "domainMetadata"},
    ("delta.enableTypeWidening", "true"): {"typeWidening"},
    ("delta.enableInCommitTimestamps", "true"): {"inCommitTimestamp"},
    ("delta.checkpointPolicy", "v2"): {"v2Checkpoint"},
    ("delta.enableIcebergCompatV1", "true"): {"icebergCompatV1", "columnMapping"},
    ("delta.enableIcebergCompatV2", "true"): {"icebergCompatV2", "columnMapping"},
    ("delta.enableIcebergCompatV3", "true"): {
        "icebergCompatV3",
        "columnMapping",
        "rowTracking",
        "domainMetadata",
    },
}
_BY_WRITER = {
    2: {"appendOnly", "invariants"},
    3: {"checkConstraints"},
    4: {"changeDataFeed", "generatedColumns"},
    5: {"columnMapping"},
    6: {"identityColumns"},
}
_WITH_READERS = {"columnMapping", "deletionVectors", "typeWidening", "v2Checkpoint"}


class RefusedError(Exception):
    """Delta would refuse the statement, and leave the table as it is."""


def applied(state: TableState, change: Alteration, version: tuple[int, int] | None = None) -> TableState:
    """None stands for the newest version."""
    if isinstance(change, ClusterBy):
        if state.partition_by or len(change.columns) > 4:
            raise RefusedError
        columns = tuple(".".join(path) for path in change.columns)
        adds = {"clustering", "domainMetadata"} if columns else set()
        return replace(_with(state, adds), cluster_by=columns, version=(state.version or 0) + 1)
    properties = {**state.properties, **change.properties}
    on = {name for name, value in properties.items() if value.lower() == "true"}
    was_on = {name for name, value in state.properties.items() if value.lower() == "true"}
    _refuse_what_excludes_each_other(on, was_on, properties)
    before, after = (_mapping(one) for one in (state.properties, properties))
    if before != after and (before, after) != ("none", "name"):
        raise RefusedError
    if version is None or version >= (4, 1):
        _refuse_short_logs(change.properties)
    if "delta.enableIcebergCompatV3" in on - was_on:
        properties["delta.enableRowTracking"] = "true"
    adds = {
        feature
        for name, value in change.properties.items()
        for feature in _ADDS.get((name, value.lower()), set())
    }
    return replace(_with(state, adds), properties=properties, version=(state.version or 0) + 1)


def _mapping(properties: Mapping[str, str]) -> str:
    return properties.get("delta.columnMapping.mode", "none").lower()


def _refuse_what_excludes_each_other(on: set[str], was_on: set[str], properties: Mapping[str, str]) -> None:
    vectors, rows = "delta.enableDeletionVectors", "delta.enableRowTracking"
    compats = {f"delta.enableIcebergCompatV{n}" for n in (1, 2, 3)} & on
    without_vectors = compats - {"delta.enableIcebergCompatV3"}
    formats = properties.get("delta.universalFormat.enabledFormats", "")
    new_v3 = "delta.enableIcebergCompatV3" in on - was_on
    if (
        len(compats) > 1
        or (without_vectors and vectors in on)
        or (without_vectors - was_on and vectors in was_on)
        or (vectors in on and "delta.compatibility.symlinkFormatManifest.enabled" in on)
        or (vectors in on and "hudi" in formats)
        or (compats and _mapping(properties) == "none")
        or ("iceberg" in formats and not compats)
        or (new_v3 and (rows in was_on or properties.get(rows, "true").lower() == "false"))
        or ("delta.enableIcebergCompatV3" in was_on - on)
    ):
        raise RefusedError


def _refuse_short_logs(given: Mapping[str, str]) -> None:
    """Delta looks at what the statement says, and takes its defaults for the rest."""
    log, files = "delta.logRetentionDuration", "delta.deletedFileRetentionDuration"
    if (log in given or files in given) and _days(given.get(log, "30 days")) < _days(
        given.get(files, "7 days")
    ):
        raise RefusedError


def _days(text: str) -> float:
    amount, unit = text.lower().removeprefix("interval ").split()
    return int(amount) * {"week": 7.0, "day": 1.0, "hour": 1 / 24}[unit.rstrip("s")]


def _with(state: TableState, adds: set[str]) -> TableState:
    if state.writer_version < 7:
        has = {
            name for version, names in _BY_WRITER.items() if version <= state.writer_version for name in names
        }
        if state.reader_version < 2:
            has -= {"columnMapping"}
    else:
        has = set(state.writer_features | state.reader_features)
    if adds <= has:
        return state
    everything = has | adds
    reads = everything & _WITH_READERS
    return replace(
        state,
        reader_version=3 if reads else max(state.reader_version, 1),
        writer_version=7,
        reader_features=frozenset(reads),
        writer_features=frozenset(everything),
    )
