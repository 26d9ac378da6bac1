"""What a lease keeps others from, by what its job touches."""

from collections.abc import Iterable
from enum import StrEnum

from sluice.footprint import JobFootprint
from sluice.footprint.model import TableFootprint


class Kind(StrEnum):
    PARTITION = "partition"
    """Partitions of a table, from which it reads, or where it adds or removes files."""
    METADATA = "metadata"
    """A table's schema, properties or protocol, or the table itself."""
    TXN_APP_ID = "txnAppId"
    CHECKPOINT = "checkpoint"
    RUN_KEY = "runKey"
    UNKNOWN = "unknown"
    """It isn't known, or not yet, what its job touches."""


def kinds_of(footprints: Iterable[JobFootprint]) -> frozenset[Kind]:
    """Returns all kinds that a lease for these footprints has; without any footprint it isn't known."""
    found = {kind for footprint in footprints for kind in _kinds_of(footprint)}
    return frozenset(found or {Kind.UNKNOWN})


def _kinds_of(footprint: JobFootprint) -> Iterable[Kind]:
    if footprint.run is not None:
        yield Kind.RUN_KEY
    if any(table.is_guess for table in footprint.tables):
        yield Kind.UNKNOWN
        return
    for table in footprint.tables:
        if _touches_files(table):
            yield Kind.PARTITION
        if table.may_change_table:
            yield Kind.METADATA
        if table.txn_app_id is not None:
            yield Kind.TXN_APP_ID
        if table.checkpoint is not None:
            yield Kind.CHECKPOINT


def _touches_files(table: TableFootprint) -> bool:
    regions = (table.reads, table.reads_files, table.adds, table.removes)
    return not all(region.is_empty for region in regions)
