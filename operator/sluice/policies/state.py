"""Which features a table has, and whether it can be changed at all."""

from sluice.delta.features import (
    FEATURES,
    FEATURES_FROM_WRITER,
    HIGHEST_READER,
    HIGHEST_WRITER,
    OLDEST_KNOWN,
    implied_by,
    in_words,
)
from sluice.delta.version import Version
from sluice.tables.table_observation import TableState

_MANAGED = frozenset({"catalogManaged", "coordinatedCommits-preview"})


def features_of(state: TableState) -> frozenset[str]:
    """The features in its protocol, whether it lists them or implies them. That one is there doesn't mean that it is in use."""
    if state.writer_version >= FEATURES_FROM_WRITER:
        return state.writer_features | state.reader_features
    return implied_by(state.reader_version, state.writer_version)


def why_unwritable(state: TableState, version: Version | None) -> str | None:
    """Says why jobs with this version of Delta cannot change the table at all; None if they can."""
    features = features_of(state)
    managed = sorted(features & _MANAGED)
    if managed:
        return f"its commits go through a catalog or a coordinator ({managed[0]}): change it through that"
    if state.reader_version > HIGHEST_READER or state.writer_version > HIGHEST_WRITER:
        return (
            f"its protocol (reader {state.reader_version}, writer {state.writer_version}) is newer than any that Sluice knows: "
            "change it with the engine that wrote it"
        )
    unknown = sorted(features - set(FEATURES))
    if unknown:
        return (
            f"its protocol has {', '.join(unknown)}, which no open-source Delta that Sluice knows can write: "
            "change it with the engine that wrote it"
        )
    return too_old(
        max((FEATURES[name].since for name in features), default=OLDEST_KNOWN), "its protocol", version
    )


def too_old(needed: Version, what: str, version: Version | None) -> str | None:
    """Says why something that Delta has since the needed version cannot be done with this one; None if it can."""
    if version is not None and version < OLDEST_KNOWN:
        return (
            f"the jobs that would change the table run Delta {in_words(version)}, and Sluice knows properties from "
            f"{in_words(OLDEST_KNOWN)} on: choose a newer version in their runtime profile"
        )
    if needed <= (version or OLDEST_KNOWN):
        return None
    run = (
        f"run Delta {in_words(version)}"
        if version is not None
        else "do not say which version of Delta they run"
    )
    return (
        f"{what} needs Delta {in_words(needed)} or newer, and the jobs that would change the table {run}: "
        "choose it in their runtime profile (deltaVersion)"
    )
