"""Applies spec.writes, a promise about all rows that a job adds. It bounds only what the statement leaves open."""

from collections.abc import Sequence
from dataclasses import replace

from sluice.api.job import Operation
from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.model import NOTHING, TableFootprint
from sluice.footprint.regions import united
from sluice.footprint.sql.statement_context import StatementContext, partitions
from sluice.predicates import Predicate, Region, compiled, conjunction, disjoint, overlap, to_sql
from sluice.predicates.limits import MAX_PROMISED


def promised_region(reading: StatementContext, promise: Sequence[str], statements: int) -> Region:
    """Where the rows land that these conditions hold for. `statements` are those that make the promise."""
    held = conjunction(reading.predicate(text) for text in promise)
    _refuse_what_no_log_tells(held, reading)
    region = partitions(held)
    if region.size * statements > MAX_PROMISED:
        raise NotUnderstoodError(
            f"spec.writes lists {region.size} values for {statements} statements, and takes {MAX_PROMISED // statements} for so "
            "many: promise ranges, with >= and <=, or split the job"
        )
    return region


def promised(footprint: TableFootprint, region: Region) -> TableFootprint:
    """Bounds new rows by the promise; rows that are only rewritten, as by OPTIMIZE, stay where they are."""
    if not footprint.data_change or footprint.adds.is_empty:
        return footprint
    if disjoint(region, footprint.adds):
        raise NotUnderstoodError(
            f"spec.writes promises {to_sql(region, shorten=True)}, but statement {footprint.statement} adds rows where "
            f"{to_sql(footprint.adds, shorten=True)}: one of them is wrong"
        )
    return adding_only(footprint, region)


def adding_only(footprint: TableFootprint, region: Region) -> TableFootprint:
    """The footprint of a statement all of whose new rows land in the region."""
    if footprint.operation is Operation.OVERWRITE_PARTITIONS and not footprint.removes.is_empty:
        lands = overlap(footprint.adds, region)
        return replace(
            footprint,
            adds=lands,
            removes=lands,
            deletes=lands,
            reads=overlap(footprint.reads, region),
            widened=(),
            writes_advice=None,
        )
    new = overlap(footprint.adds, region)
    rewritten = NOTHING if footprint.keeps_no_row else footprint.removes
    return replace(footprint, adds=united([rewritten, new]), writes_advice=None)


def _refuse_what_no_log_tells(held: Predicate, reading: StatementContext) -> None:
    """Refuses conditions on other columns than those by which a commit's files are kept apart: nobody could check them."""
    if reading.facts is None:
        return
    other = sorted({column.name for column in compiled(held).columns.values() if not column.is_partition})
    if other:
        columns = ", ".join(column.name for column in reading.facts.columns.partition_columns)
        raise NotUnderstoodError(
            f"spec.writes names {', '.join(other)}, which no commit tells: promise only what the partition columns say"
            f" ({columns or 'the table has none'})"
        )
