"""The differences between versions of open-source Delta, as data."""

from dataclasses import dataclass

from sluice.tables import Dialect


@dataclass(frozen=True)
class DeltaVersion:
    """Versions that abort the same commits."""

    name: str
    survives_enabling: frozenset[str]
    """Features whose enabling lets others commit."""
    compares_metadata: bool
    """Whether a commit of unchanged metadata lets others commit."""


_E2 = frozenset({"rowTracking", "deletionVectors", "columnMapping"})
E1 = DeltaVersion("3.3 and 4.0", frozenset({"rowTracking"}), compares_metadata=False)
E2 = DeltaVersion("4.1 and 4.2", _E2, compares_metadata=True)
E3 = DeltaVersion("4.3 and later", _E2 | {"v2Checkpoint", "inCommitTimestamp"}, compares_metadata=True)
ANY_ENGINE = DeltaVersion("an unknown engine", frozenset(), compares_metadata=False)
"""The era of an unknown engine: only what holds in every version is believed."""
ERAS = (E1, E2, E3)


def era_of(dialect: Dialect | None) -> DeltaVersion:
    if dialect is None or not dialect.is_oss or dialect.version is None:
        return ANY_ENGINE
    if dialect.version < (4, 1):
        return E1
    return E2 if dialect.version < (4, 3) else E3
