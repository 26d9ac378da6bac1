"""The table properties that a policy can want: a closed list, from what delta-spark 3.3 to 4.4 takes and keeps.

Delta itself refuses what is not on its list or has another value, but only after a driver was started for it; so it is
told before. Other names than `delta....` are the users' own and mean nothing to Delta. A policy spells them as Delta keeps them.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from sluice.delta.values import (
    BOOLEAN,
    COLUMNS,
    FORMAT_VERSION,
    INTERVAL,
    Values,
    formats,
    whole,
    word,
    word_in_any_case,
)
from sluice.delta.version import Version

ISOLATION = "delta.isolationLevel"
MAPPING = "delta.columnMapping.mode"
LOG_RETENTION = "delta.logRetentionDuration"
FILE_RETENTION = "delta.deletedFileRetentionDuration"
STATS_COLUMNS = "delta.dataSkippingStatsColumns"
STATS_COUNT = "delta.dataSkippingNumIndexedCols"
ENABLED_FORMATS = "delta.universalFormat.enabledFormats"
WRITES_ICEBERG_SINCE: Version = (4, 4)
"""The oldest version that was seen to write a table with iceberg where the driver has no jar of delta-iceberg: 3.3 fails after
each commit, when it has landed already."""


@dataclass(frozen=True)
class Property:
    name: str
    values: Values
    default: str | None = None
    """What it means that a table does not have it; None: nothing that any of its values says."""
    engines_differ: bool = False
    """Whether other engines take the absent property for something else than open-source Delta on Spark does: then it
    is set even to Delta's default."""
    since: Version = (3, 3)
    feature: str | None = None
    """What every value but the default one adds to the protocol."""
    preview_before: Version | None = None
    """Older versions add a preview of the feature instead."""
    lost_when_shorter: str | None = None
    """What is gone for good once the interval is shorter, even if it is set back."""
    lost_when_on: str | None = None
    """The same once it is true."""

    def meaning_of(self, value: str | None) -> Hashable | None:
        """What a table with this value does; None where it has none, and where Delta would refuse it."""
        given = self.default if value is None else value
        return None if given is None else self.values.read(given)

    def adds_by(self, version: Version) -> str | None:
        """The feature that this version of Delta adds."""
        is_preview = self.preview_before is not None and version < self.preview_before
        return f"{self.feature}-preview" if is_preview else self.feature

    def turns_on(self, value: str) -> bool:
        """Whether a table with this value uses the feature."""
        return self.meaning_of(value) not in (None, self.meaning_of(None))


def _switch(name: str, feature: str | None = None, *, on: bool = False, since: Version = (3, 3)) -> Property:
    return Property(name, BOOLEAN, "true" if on else "false", feature=feature, since=since)


_SERIALIZABLE = replace(
    word_in_any_case("Serializable"),
    must_be="Serializable: open-source Delta accepts Serializable only, and what the table has from another engine is declared "
    "under isolationLevel",
)

_ALL = (
    _switch("delta.appendOnly", "appendOnly"),
    # the engines disagree on what absence means: on Databricks it is WriteSerializable
    Property(ISOLATION, _SERIALIZABLE, "Serializable", engines_differ=True),
    Property("delta.checkpointInterval", whole(1), "10", engines_differ=True),
    Property("delta.checkpointPolicy", word("classic", "v2"), "classic", feature="v2Checkpoint"),
    _switch("delta.checkpoint.writeStatsAsJson", on=True),
    _switch("delta.checkpoint.writeStatsAsStruct", on=True),
    Property(
        LOG_RETENTION,
        INTERVAL,
        "interval 30 days",
        lost_when_shorter="the history that is older is deleted with the next checkpoint",
    ),
    Property(
        FILE_RETENTION,
        INTERVAL,
        "interval 1 week",
        lost_when_shorter="files that only older versions need are deleted with the next VACUUM",
    ),
    Property(
        "delta.setTransactionRetentionDuration",
        INTERVAL,
        lost_when_shorter="older runs are forgotten, so that one that comes again would write its rows twice",
    ),
    replace(
        _switch("delta.enableExpiredLogCleanup", on=True),
        lost_when_on=f"the history that is older than {LOG_RETENTION} is deleted with the next checkpoint",
    ),
    _switch("delta.enableFullRetentionRollback", on=True),
    Property("delta.checkpointRetentionDuration", INTERVAL, "interval 2 days"),
    Property("delta.sampleRetentionDuration", INTERVAL, "interval 7 days"),
    Property(STATS_COUNT, whole(-1), "32"),
    Property(STATS_COLUMNS, COLUMNS),
    Property("delta.dataSkippingStringPrefixLength", whole(0), since=(4, 1)),
    # no defaults: the writers' own settings count where the table says nothing
    Property("delta.autoOptimize.optimizeWrite", BOOLEAN),
    Property("delta.autoOptimize.autoCompact", BOOLEAN),
    _switch("delta.randomizeFilePrefixes"),
    Property("delta.randomPrefixLength", whole(1), "2"),
    _switch("delta.compatibility.symlinkFormatManifest.enabled"),
    _switch("delta.enableChangeDataFeed", "changeDataFeed"),
    _switch("delta.enableDeletionVectors", "deletionVectors"),
    Property(MAPPING, word_in_any_case("none", "name", "id"), "none", feature="columnMapping"),
    _switch("delta.enableRowTracking", "rowTracking"),
    Property("delta.enableTypeWidening", BOOLEAN, "false", feature="typeWidening", preview_before=(4, 0)),
    _switch("delta.enableInCommitTimestamps", "inCommitTimestamp"),
    _switch("delta.enableIcebergCompatV1", "icebergCompatV1"),
    _switch("delta.enableIcebergCompatV2", "icebergCompatV2"),
    _switch("delta.enableIcebergCompatV3", "icebergCompatV3", since=(4, 3)),
    Property(ENABLED_FORMATS, formats("iceberg", "hudi"), ""),
    # a preview in 4.4, too
    _switch("delta.enableVariantShredding", "variantShredding-preview", since=(4, 0)),
    _switch(
        "delta.enableMaterializePartitionColumnsFeature",
        "materializePartitionColumns",
        since=(4, 1),
    ),
    Property("delta.writePartitionColumnsToParquet", BOOLEAN, since=(4, 4)),
    Property("delta.parquet.format.version", FORMAT_VERSION, "1.0.0", since=(4, 3)),
)
PROPERTIES = MappingProxyType({one.name: one for one in _ALL})


def problem_with(name: str, value: str) -> str | None:
    """Says why Delta would refuse the value of a property that it knows; None if it takes it."""
    one = PROPERTIES.get(name)
    if one is None or one.values.read(value) is not None:
        return None
    return f"{name} must be {one.values.must_be}, not {_short(value)}"


def same(name: str, one: str, other: str) -> bool:
    """Whether the two values say the same; texts that Delta would refuse say only what they say word for word."""
    known = PROPERTIES.get(name)
    if known is None:
        return one == other
    meaning = known.values.read(one)
    return one == other or (meaning is not None and meaning == known.values.read(other))


def spelled(name: str, value: str) -> str:
    """A valid value as every engine reads it."""
    known = PROPERTIES.get(name)
    return value if known is None else known.values.spelled(value)


def is_as_wanted(name: str, wanted: str, found: str | None) -> bool:
    """Whether a table that has the property as found, or not at all, does what is wanted."""
    if found is not None:
        return same(name, wanted, found)
    known = PROPERTIES.get(name)
    return (
        known is not None
        and known.default is not None
        and not known.engines_differ
        and same(name, wanted, known.default)
    )


def is_on(properties: Mapping[str, str], name: str) -> bool:
    """Whether a table with these properties uses what the property turns on."""
    value = properties.get(name)
    return value is not None and PROPERTIES[name].turns_on(value)


def _short(value: str, longest: int = 60) -> str:
    return repr(value if len(value) <= longest else f"{value[:longest]}...")
