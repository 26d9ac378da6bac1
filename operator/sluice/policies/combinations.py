"""Which properties Delta lets a table have together, and which values lead to which: what it would refuse is told, not tried."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sluice.api.validation import searching
from sluice.delta.exclusions import EXCLUSIONS, Use, why_not_both
from sluice.delta.features import OLDEST_KNOWN, in_words, why_irreversible, with_needed
from sluice.delta.properties import (
    ENABLED_FORMATS,
    FILE_RETENTION,
    LOG_RETENTION,
    MAPPING,
    PROPERTIES,
    STATS_COLUMNS,
    WRITES_ICEBERG_SINCE,
    is_on,
)
from sluice.delta.version import Version
from sluice.policies.state import features_of
from sluice.tables.table_observation import TableState

_VECTORS = "delta.enableDeletionVectors"
_ROW_TRACKING = "delta.enableRowTracking"
_SUSPENDED = "delta.rowTrackingSuspended"
_MANIFEST = "delta.compatibility.symlinkFormatManifest.enabled"
_ICEBERG = tuple(f"delta.enableIcebergCompatV{n}" for n in (1, 2, 3))
_WITHOUT_VECTORS = _ICEBERG[:2]
_RETENTIONS_COMPARED_SINCE: Version = (4, 1)


@dataclass(frozen=True)
class Clash:
    properties: tuple[str, ...]
    """Those of them that would be changed are not."""
    why: str


def exclusions(properties: Mapping[str, str]) -> Iterator[Clash]:
    """Properties that no table can have together, whatever else it has."""
    for one, other in EXCLUSIONS:
        if _uses(properties, one) and _uses(properties, other):
            yield Clash((one.property, other.property), why_not_both(one, other))


def _uses(properties: Mapping[str, str], use: Use) -> bool:
    return searching(use.pattern)(properties.get(use.property, ""))


def clashes(before: Mapping[str, str], after: Mapping[str, str], version: Version | None) -> Iterator[Clash]:
    """Why Delta would refuse to lead a table from the one to the other."""
    yield from exclusions(after)
    for compat in _ICEBERG:
        if is_on(after, compat):
            yield from _clashes_with_iceberg(compat, before, after)
    if "iceberg" in _formats(after) and not any(is_on(after, compat) for compat in _ICEBERG):
        yield Clash(
            (ENABLED_FORMATS,),
            f"iceberg in {ENABLED_FORMATS} needs one of {', '.join(_ICEBERG)}: set it to true, too",
        )
    if is_on(after, _ROW_TRACKING) and after.get(_SUSPENDED, "").lower() == "true":
        yield Clash(
            (_ROW_TRACKING,),
            f"somebody is dropping row tracking ({_SUSPENDED} is true): take the property off the table first, or row tracking "
            "out of the policy",
        )
    if version is None or version >= _RETENTIONS_COMPARED_SINCE:
        yield from _clashing_retentions(after)


def _clashes_with_iceberg(
    compat: str, before: Mapping[str, str], after: Mapping[str, str]
) -> Iterator[Clash]:
    if not is_on(after, MAPPING):
        yield Clash((compat, MAPPING), f"{compat} needs {MAPPING}: set it to name, too")
    if is_on(before, compat):
        return
    if compat in _WITHOUT_VECTORS and is_on(before, _VECTORS):
        yield Clash((compat,), f"{compat} needs a table that has {_VECTORS} off already: turn it off first")
    if compat not in _WITHOUT_VECTORS and is_on(before, _ROW_TRACKING):
        yield Clash(
            (compat,), f"{compat} cannot be turned on while {_ROW_TRACKING} is on: turn that off first"
        )
    if compat not in _WITHOUT_VECTORS and _ROW_TRACKING in after and not is_on(after, _ROW_TRACKING):
        yield Clash(
            (compat, _ROW_TRACKING),
            f"{compat} needs {_ROW_TRACKING}, which is false: take that property away first",
        )


def _clashing_retentions(after: Mapping[str, str]) -> Iterator[Clash]:
    log, files = (PROPERTIES[name].meaning_of(after.get(name)) for name in (LOG_RETENTION, FILE_RETENTION))
    if isinstance(log, int) and isinstance(files, int) and log < files:
        log_text, file_text = (
            after.get(name, PROPERTIES[name].default) for name in (LOG_RETENTION, FILE_RETENTION)
        )
        yield Clash(
            (LOG_RETENTION, FILE_RETENTION),
            f"{LOG_RETENTION} ({log_text}) must not be shorter than {FILE_RETENTION} ({file_text}): lengthen the one or shorten "
            "the other",
        )


def _formats(properties: Mapping[str, str]) -> frozenset[str]:
    found = PROPERTIES[ENABLED_FORMATS].meaning_of(properties.get(ENABLED_FORMATS))
    return found if isinstance(found, frozenset) else frozenset()


def why_no_way(name: str, found: str | None, wanted: str) -> str | None:
    """Says why Delta does not lead a table from the value it has to the other one, whatever else it has."""
    if name == _ICEBERG[2] and found is not None and PROPERTIES[name].turns_on(found):
        return f"{name} cannot be turned off again: remove it from the policy, or write a new table"
    if name != MAPPING:
        return None
    mapping = PROPERTIES[MAPPING]
    before, after = mapping.meaning_of(found), mapping.meaning_of(wanted)
    if after == "none":
        return (
            "taking column mapping away rewrites all files of the table: run ALTER TABLE ... SET TBLPROPERTIES "
            f"('{MAPPING}' = 'none') by a job of your own"
        )
    if (before, after) != ("none", "name"):
        return f"Delta changes {MAPPING} of a table from none to name only, not from {before} to {after}: write a new table"
    return None


def why_later_writes_would_fail(name: str, wanted: str, version: Version | None) -> str | None:
    """Says why this version of Delta would take the value, and fail with each statement from then on."""
    if name != ENABLED_FORMATS or "iceberg" not in _formats({name: wanted}):
        return None
    if version is not None and version >= WRITES_ICEBERG_SINCE:
        return None
    told = (
        f"run Delta {in_words(version)}"
        if version is not None
        else "do not say which version of Delta they run"
    )
    return (
        f"before Delta {in_words(WRITES_ICEBERG_SINCE)} every statement on a table with iceberg may fail after its commit, for "
        f"want of the jar delta-iceberg, and the jobs that would change the table {told}: choose a newer one in their runtime "
        f"profile (deltaVersion), or set {name} by a job of your own, if the drivers of all writers have that jar"
    )


def why_not_for(state: TableState, name: str, wanted: str) -> str | None:
    """Says why the table's columns or files do not allow the value, or may not."""
    if name == _MANIFEST and PROPERTIES[name].turns_on(wanted) and "deletionVectors" in features_of(state):
        return (
            f"{name} needs a table without a single deletion vector, and this one may have some: take them away with REORG TABLE "
            "... APPLY (PURGE) and the feature with ALTER TABLE ... DROP FEATURE deletionVectors first"
        )
    if name != STATS_COLUMNS:
        return None
    given = PROPERTIES[name].meaning_of(wanted)
    paths = sorted(given) if isinstance(given, frozenset) else []
    partitions = {column.lower() for column in state.partition_by}
    for path in paths:
        column = ".".join(path)
        if column in partitions:
            return f"{column} is a partition column, of which Delta keeps no statistics: take it out"
        if state.columns is not None and path[0] not in {own.lower() for own in state.columns}:
            return f"the table has no column {column}: correct it, or add the column first"
    return None


def why_it_cannot_be_taken_back(
    state: TableState, name: str, wanted: str, version: Version | None
) -> str | None:
    """Says why setting the value, and then the old one again, would not leave the table as it was."""
    known = PROPERTIES.get(name)
    if known is None:
        return None
    found = state.properties.get(name)
    reasons = []
    feature = known.adds_by(version or OLDEST_KNOWN)
    if feature is not None and known.turns_on(wanted):
        reasons.append(why_irreversible(set(with_needed(feature)) - features_of(state)))
    if name == MAPPING:
        reasons.append("taking it back rewrites all files of the table")
    if known.lost_when_shorter is not None and _is_shorter(known.meaning_of(found), known.meaning_of(wanted)):
        reasons.append(f"it is shorter than before: {known.lost_when_shorter}")
    is_turned_on = (known.meaning_of(found), known.meaning_of(wanted)) == (False, True)
    if known.lost_when_on is not None and is_turned_on:
        reasons.append(f"it turns on what was off: {known.lost_when_on}")
    told = [reason for reason in reasons if reason is not None]
    return "; ".join(told) or None


def _is_shorter(before: object, after: object) -> bool:
    """Without an interval Delta keeps what it is about for ever."""
    return isinstance(after, int) and (not isinstance(before, int) or after < before)
