"""A footprint that the job declares: Sluice believes it, and applies the rules of the operation that it names."""

from sluice.api.job import DeclaredFootprint, Operation
from sluice.footprint.model import EVERYTHING, NOTHING, Metadata, Parts, ProtocolChange, TableFootprint
from sluice.footprint.operations import (
    APPENDS,
    BRINGS_NEW_ROWS,
    CLUSTERS_ANEW,
    CREATES,
    MAKES_A_TABLE,
    REPLACES,
    TRIES_ONCE,
)
from sluice.footprint.regions import because
from sluice.footprint.sql.advice import TOLD_APART_BY_PARTITIONS
from sluice.footprint.sql.statement_context import StatementContext, Surroundings
from sluice.footprint.sql.statement_splitter import Statement
from sluice.footprint.sql.table_names import key_of
from sluice.footprint.statements.insert import CLUSTERING, adds_identity
from sluice.footprint.statements.maintenance import table_retention, vacuumed
from sluice.predicates import Region
from sluice.predicates.limits import MAX_DECLARED
from sluice.tables import key_of_path

_METADATA = {
    Operation.ALTER: Metadata.MAY_CHANGE,
    Operation.CREATE: Metadata.MAY_CHANGE,
    Operation.REPLACE: Metadata.CHANGES,
    Operation.RESTORE: Metadata.RESTORES,
    Operation.CLONE: Metadata.MAY_CHANGE,
}


def declared_footprint(declared: DeclaredFootprint, around: Surroundings, place: str) -> TableFootprint:
    statement = Statement(number=1, text="", line=1, tokens=())
    reading = StatementContext(statement, key_of(declared.table), around, field=place)
    operation = declared.operation
    if operation is Operation.VACUUM:
        return vacuumed(reading, table_retention(reading))
    reads = _region(reading, declared.reads, NOTHING if operation in APPENDS else EVERYTHING)
    writes = _region(reading, declared.writes, EVERYTHING)
    removes = NOTHING if operation in APPENDS else reads
    if operation is Operation.OVERWRITE_PARTITIONS:
        reads = removes = writes
    metadata = Metadata.MAY_CHANGE if declared.metadata else _METADATA.get(operation, Metadata.NONE)
    if metadata is Metadata.NONE and operation in BRINGS_NEW_ROWS and adds_identity(reading, None):
        metadata = Metadata.IDENTITY
    replaced = EVERYTHING if operation in CLUSTERS_ANEW and reads.is_everything else None
    changes = metadata not in (Metadata.NONE, Metadata.IDENTITY)
    return reading.footprint(
        operation,
        reads=NOTHING if operation is Operation.OPTIMIZE else reads,
        reads_files=_files(operation, reads, reading),
        adds=writes,
        removes=EVERYTHING if removes.is_empty and operation not in APPENDS else removes,
        deletes=writes if operation is Operation.OVERWRITE_PARTITIONS else replaced,
        blind=operation in APPENDS and reads.is_empty,
        data_change=operation is not Operation.OPTIMIZE,
        metadata=metadata,
        protocol=ProtocolChange.MAY_ADD if changes else ProtocolChange.NONE,
        leaves_retention_hours=0.0 if changes and operation is not Operation.CREATE else None,
        domains=frozenset({CLUSTERING} if operation in CLUSTERS_ANEW else ()),
        single_attempt=operation in TRIES_ONCE,
        ends_readers=changes,
        keeps_partition_columns=not changes or reading.is_unpartitioned,
        replaces=operation in REPLACES,
        creates=operation in CREATES or (reading.facts is None and operation in MAKES_A_TABLE),
        not_by_row="its conditions are declared, not read",
        retries_itself=operation is Operation.OPTIMIZE,
        checkpoint=None if declared.checkpoint is None else key_of_path(declared.checkpoint).text,
        txn_app_id=declared.txn_app_id,
        parts=Parts(reads, brings=writes),
        **_advice(declared, reading, reads=reads, writes=writes),
    )


def _advice(
    declared: DeclaredFootprint, reading: StatementContext, *, reads: Region, writes: Region
) -> dict[str, str | None]:
    """How to declare less, where jobs could be told apart by that."""
    columns = () if reading.facts is None else reading.facts.columns.partition_columns
    if declared.operation not in TOLD_APART_BY_PARTITIONS or not columns:
        return {}
    names = " and ".join(column.name for column in columns)

    def bound(what: str, name: str) -> str:
        return f"declare {what}, if that is less than all of the table: {reading.field}.{name}, a condition on {names}"

    if declared.operation is Operation.OVERWRITE_PARTITIONS:
        return {
            "reads_advice": bound("which partitions it replaces", "writes") if writes.is_everything else None
        }
    return {
        "reads_advice": bound("what it reads", "reads") if reads.is_everything else None,
        "writes_advice": bound("where it writes", "writes") if writes.is_everything else None,
    }


def _region(reading: StatementContext, text: str | None, absent: Region) -> Region:
    if text is None:
        return absent
    plain = text.strip().lower()
    if plain in ("true", "false"):
        return EVERYTHING if plain == "true" else NOTHING
    if not reading.around.allowance.declared.take(len(text)):
        return because(
            EVERYTHING, f"the conditions of spec.footprint have more than {MAX_DECLARED} characters"
        )
    return reading.recorded(reading.predicate(text))


def _files(operation: Operation, reads: Region, reading: StatementContext) -> Region:
    """The files that an operation reads: dynamic overwrite does not record the files that it replaces, and may
    replace all of them where nothing is known."""
    if operation is Operation.OVERWRITE_PARTITIONS:
        return NOTHING if reading.facts is not None else EVERYTHING
    return reads
