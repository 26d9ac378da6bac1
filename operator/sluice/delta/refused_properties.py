"""The properties that no policy can want, and what to do instead: a closed list beside the one of those that it can."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RefusedProperty:
    why: str
    """To go on after the property's name."""
    names: tuple[str, ...] = ()
    beginnings: tuple[str, ...] = ()
    """Of names that are as much refused."""


REFUSED = (
    RefusedProperty(
        "is the table's protocol, which is never set by number: name what you need under features",
        names=("delta.minReaderVersion", "delta.minWriterVersion"),
    ),
    RefusedProperty(
        "is a feature of the table's protocol, which no property turns on: name it under features",
        beginnings=("delta.feature.",),
    ),
    RefusedProperty(
        "is kept by Delta itself: remove it",
        names=(
            "delta.columnMapping.maxColumnId",
            "delta.inCommitTimestampEnablementVersion",
            "delta.inCommitTimestampEnablementTimestamp",
            "delta.requireCheckpointProtectionBeforeVersion",
        ),
        beginnings=("delta.coordinatedCommits.", "delta.rowTracking.", "delta.redirect"),
    ),
    RefusedProperty(
        "is what Delta sets before it drops row tracking: remove it",
        names=("delta.rowTrackingSuspended",),
    ),
    RefusedProperty(
        "only counts where a table is created: remove it",
        names=("delta.ignoreProtocolDefaults",),
    ),
    RefusedProperty(
        "breaks the table where a transaction takes longer than it says: set it by hand for the one DROP FEATURE, and remove it "
        "here",
        names=("delta.dropFeatureTruncateHistory.retentionDuration",),
    ),
    RefusedProperty(
        "is an old name: write delta.autoOptimize.optimizeWrite or delta.autoOptimize.autoCompact",
        names=("delta.autoOptimize",),
    ),
    RefusedProperty(
        "is an old name: write delta.enableChangeDataFeed",
        names=("delta.enableChangeDataCapture",),
    ),
    RefusedProperty(
        "is a property of Databricks, which open-source Delta refuses: remove it",
        names=("delta.targetFileSize", "delta.tuneFileSizesForRewrites"),
    ),
    RefusedProperty(
        "is a constraint, which no property adds: ALTER TABLE ... ADD CONSTRAINT checks all rows first",
        beginnings=("delta.constraints.",),
    ),
    RefusedProperty(
        "belongs to the conversion to another format: set it with that, and remove it here",
        beginnings=("delta.universalFormat.config.",),
    ),
    RefusedProperty(
        "is no property in the table's log: COMMENT ON TABLE sets it",
        names=("comment",),
    ),
    RefusedProperty(
        "is how a catalog keeps the clustering columns: say clusterBy",
        names=("clusteringColumns",),
    ),
    RefusedProperty(
        "is kept by Spark or by the catalog, and no property that a statement sets: remove it",
        names=(
            *("location", "provider", "owner", "external", "is_managed_location", "collation"),
            *("ucTableId", "io.unitycatalog.tableId"),
        ),
    ),
)
UNKNOWN = (
    "a name that begins with delta. must be one of Delta's properties as docs/properties.md spells them, for Delta refuses unknown "
    "ones: correct it, or name what is your own without delta."
)
DELTAS_OWN = "(?i)^delta[.]"
"""What all of Delta's own names match, however they are spelled."""
