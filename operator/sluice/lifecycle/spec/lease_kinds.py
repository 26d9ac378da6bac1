"""What a lease keeps others from, by what its job touches."""

from collections.abc import Iterable
from enum import StrEnum

from sluice.footprint import JobFootprint
from sluice.footprint.model import TableFootprint


class LeaseKind(StrEnum):
    PARTITION = "partition"
    """Partitions of a table, from which it reads, or where it adds or removes files."""
    METADATA = "metadata"
    """A table's schema, properties or protocol, or the table itself."""
    TXN_APP_ID = "txnAppId"
    CHECKPOINT = "checkpoint"
    RUN_KEY = "runKey"
    UNKNOWN = "unknown"
    """It isn't known, or not yet, what its job touches."""


def kinds_of(footprints: Iterable[JobFootprint]) -> frozenset[LeaseKind]:
    """Returns all kinds that a lease for these footprints has; without any footprint it isn't known."""
    found = {kind for footprint in footprints for kind in _kinds_of(footprint)}
    return frozenset(found or {LeaseKind.UNKNOWN})


def _kinds_of(footprint: JobFootprint) -> Iterable[LeaseKind]:
    if footprint.run is not None:
        yield LeaseKind.RUN_KEY
    if any(table.is_guess for table in footprint.tables):
        yield LeaseKind.UNKNOWN
        return
    for table in footprint.tables:
        if _touches_files(table):
            yield LeaseKind.PARTITION
        if table.may_change_table:
            yield LeaseKind.METADATA
        if table.txn_app_id is not None:
            yield LeaseKind.TXN_APP_ID
        if table.checkpoint is not None:
            yield LeaseKind.CHECKPOINT


def _touches_files(table: TableFootprint) -> bool:
    regions = (table.reads, table.reads_files, table.adds, table.removes)
    return not all(region.is_empty for region in regions)
