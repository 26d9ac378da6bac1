"""The features of Delta's protocol: a closed list, so that a table with one that nobody here knows is left alone.

Taken from what delta-spark 3.3 to 4.4 supports. Which of them a policy may want in `features` is the closed list below it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import MappingProxyType

from sluice.delta.version import Version

OLDEST_KNOWN: Version = (3, 3)
"""What older versions of Delta can do is not known here."""

HIGHEST_READER, HIGHEST_WRITER = 3, 7
FEATURES_FROM_WRITER = 7
"""From this writer version on a protocol lists its features; an older one implies them by its number."""


@dataclass(frozen=True)
class Feature:
    name: str
    """As the protocol spells it."""
    since: Version = OLDEST_KNOWN
    """The first version of Delta that can write tables that have it."""
    droppable_since: Version | None = None
    """The first version whose ALTER TABLE ... DROP FEATURE takes it out; None: none does."""
    implied_by: tuple[int, int] | None = None
    """The lowest reader and writer version that imply it in a protocol that lists no features."""
    needs: tuple[str, ...] = ()
    """Features that the protocol gets with it."""


_ALL = (
    Feature("appendOnly", implied_by=(1, 2)),
    Feature("invariants", implied_by=(1, 2)),
    Feature("checkConstraints", implied_by=(1, 3), droppable_since=(3, 3)),
    Feature("changeDataFeed", implied_by=(1, 4)),
    Feature("generatedColumns", implied_by=(1, 4)),
    Feature("columnMapping", implied_by=(2, 5), droppable_since=(3, 3)),
    Feature("identityColumns", implied_by=(1, 6)),
    Feature("allowColumnDefaults"),
    Feature("checkpointProtection", droppable_since=(3, 3)),
    Feature("clustering", needs=("domainMetadata",)),
    Feature(
        "coordinatedCommits-preview",
        droppable_since=(3, 3),
        needs=("inCommitTimestamp", "vacuumProtocolCheck"),
    ),
    Feature("deletionVectors", droppable_since=(4, 0)),
    Feature("domainMetadata", droppable_since=(4, 1)),
    Feature("icebergCompatV1", needs=("columnMapping",)),
    Feature("icebergCompatV2", needs=("columnMapping",)),
    Feature("inCommitTimestamp", droppable_since=(3, 3)),
    Feature("rowTracking", droppable_since=(4, 1), needs=("domainMetadata",)),
    Feature("timestampNtz"),
    Feature("typeWidening", droppable_since=(3, 3)),
    Feature("typeWidening-preview", droppable_since=(3, 3)),
    Feature("v2Checkpoint", droppable_since=(3, 3)),
    Feature("vacuumProtocolCheck", droppable_since=(3, 3)),
    Feature("variantType-preview"),
    Feature(
        "catalogManaged",
        since=(4, 0),
        droppable_since=(4, 0),
        needs=("inCommitTimestamp", "vacuumProtocolCheck"),
    ),
    Feature("variantShredding-preview", since=(4, 0)),
    Feature("variantType", since=(4, 0)),
    Feature("materializePartitionColumns", since=(4, 1), droppable_since=(4, 1)),
    Feature("variantShredding", since=(4, 1), needs=("variantType",)),
    Feature("geospatial", since=(4, 3), droppable_since=(4, 3)),
    Feature("geospatial-dev", since=(4, 3), droppable_since=(4, 3)),
    Feature("icebergCompatV3", since=(4, 3), needs=("columnMapping", "rowTracking")),
)
FEATURES = MappingProxyType({feature.name: feature for feature in _ALL})


def implied_by(reader_version: int, writer_version: int) -> frozenset[str]:
    """The features that a protocol has by its numbers alone."""
    return frozenset(
        feature.name
        for feature in _ALL
        if feature.implied_by is not None
        and feature.implied_by[0] <= reader_version
        and feature.implied_by[1] <= writer_version
    )


def with_needed(name: str) -> Iterator[str]:
    """The feature and all that the protocol gets with it."""
    yield name
    for needed in FEATURES[name].needs:
        yield from with_needed(needed)


def why_irreversible(added: Iterable[str]) -> str | None:
    """Says why a change that adds features to the protocol cannot be taken back; None if it adds none."""
    names = sorted(set(added))
    if not names:
        return None
    lasting = [name for name in names if FEATURES[name].droppable_since is None]
    if lasting:
        out = f"no version of Delta takes {_listed(lasting)} out again"
    else:
        since = max(FEATURES[name].droppable_since or OLDEST_KNOWN for name in names)
        out = f"only ALTER TABLE ... DROP FEATURE takes it out again, from Delta {in_words(since)} on"
    return f"it adds {_listed(names)} to the table's protocol, which shuts out engines that do not know it, and {out}"


def in_words(version: Version) -> str:
    return f"{version[0]}.{version[1]}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


@dataclass(frozen=True)
class Switch:
    """The property that turns a feature on."""

    property: str
    value: str
    means_on: frozenset[str] = field(default_factory=frozenset)
    """Other values of it that mean that the feature is on, too."""


WANTED = MappingProxyType(
    {
        "changeDataFeed": Switch("delta.enableChangeDataFeed", "true"),
        "columnMapping": Switch("delta.columnMapping.mode", "name", frozenset({"id"})),
        "deletionVectors": Switch("delta.enableDeletionVectors", "true"),
        "inCommitTimestamp": Switch("delta.enableInCommitTimestamps", "true"),
        "rowTracking": Switch("delta.enableRowTracking", "true"),
        "typeWidening": Switch("delta.enableTypeWidening", "true"),
        "v2Checkpoint": Switch("delta.checkpointPolicy", "v2"),
    }
)
"""What a policy may want under `features`."""

BY_OTHER_MEANS = MappingProxyType(
    {
        "appendOnly": "set the property delta.appendOnly",
        "clustering": "say clusterBy",
        "checkConstraints": "a constraint brings it: ALTER TABLE ... ADD CONSTRAINT",
        "icebergCompatV1": "set the property delta.enableIcebergCompatV1",
        "icebergCompatV2": "set the property delta.enableIcebergCompatV2",
        "icebergCompatV3": "set the property delta.enableIcebergCompatV3",
        "materializePartitionColumns": "set the property delta.enableMaterializePartitionColumnsFeature",
        "variantShredding": "set the property delta.enableVariantShredding",
        "variantShredding-preview": "set the property delta.enableVariantShredding",
    }
)
"""What turns the others on that a policy can bring to a table: what to do instead of naming them under `features`."""
