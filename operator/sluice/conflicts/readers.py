"""Judges what a job can lose on tables that it only reads: races on its sources, which Delta never checks."""

from collections.abc import Iterator

from sluice.conflicts import databricks, oss, stores_and_runs
from sluice.conflicts.race import Race
from sluice.conflicts.verdict import Verdict, only_possible
from sluice.footprint.model import JobFootprint, TableFootprint
from sluice.tables import TableKey

Found = tuple[TableKey, Verdict]
"""A table on which the two meet, and the verdict there."""


def beside(loser: JobFootprint, winner: JobFootprint) -> Iterator[Found]:
    """The races in which one job writes what the other only reads."""
    yield from _by_these_keys(loser, winner)
    if loser.ids_of_sources or winner.ids_of_sources:
        # once with each of the two as the reader
        named_winner, named_loser = _writer_and_reader_by_logs(loser, winner)
        by_logs = _writer_and_reader_by_logs(named_winner, named_loser)
        if by_logs != (loser, winner):
            yield from _by_these_keys(*by_logs)


def _by_these_keys(loser: JobFootprint, winner: JobFootprint) -> Iterator[Found]:
    if loser.vacuums or winner.vacuums:
        yield from _vacuumed_reads(loser, winner)
    if loser.streams_from:
        yield from _streaming_reads(loser, winner)
    for mine in loser.tables:
        if mine.told_by:
            yield from _changed_sources(mine, loser, winner)


def _writer_and_reader_by_logs(
    reader: JobFootprint, writer: JobFootprint
) -> tuple[JobFootprint, JobFootprint]:
    """Returns the writer and the reader with one key for each log that the one writes and the other reads."""
    for source, table_id in reader.ids_of_sources.items():
        written = [footprint.table for footprint in writer.tables if footprint.table_id == table_id]
        for other in written[1:]:
            writer = writer.renamed(other, written[0])
        if written:
            reader = reader.reading(source, written[0])
    return writer, reader


def _vacuumed_reads(loser: JobFootprint, winner: JobFootprint) -> Iterator[Found]:
    """The races in which one deletes files that the other only reads; whichever commits first, the reader is hurt."""
    for reader, other in ((loser, winner), (winner, loser)):
        for vacuum in other.vacuums:
            race = Race(reader.tables[0], vacuum, reader, other, vacuum.table, on_one_table=True)
            verdict = stores_and_runs.vacuum_under_a_read.verdict(race)
            if verdict is not None:
                yield vacuum.table, verdict


def _streaming_reads(loser: JobFootprint, winner: JobFootprint) -> Iterator[Found]:
    """The races that make a stream fail where it only reads. For an engine other than open-source Delta, only what its
    documents say is sure."""
    on_oss = loser.dialect is not None and loser.dialect.is_oss
    is_documented = loser.dialect is not None and not loser.dialect.is_delta_rs
    streaming_read = oss.streaming_read if on_oss else databricks.streaming_read
    for source in loser.streams_from:
        for theirs in winner.tables:
            race = Race(loser.tables[0], theirs, loser, winner, source, source == theirs.table)
            rows, changed = stores_and_runs.streamed_rows.verdict(race), streaming_read.verdict(race)
            if rows is not None:
                yield source, rows if on_oss else only_possible(rows)
            if changed is not None:
                yield source, changed if is_documented else only_possible(changed)


def _changed_sources(mine: TableFootprint, loser: JobFootprint, winner: JobFootprint) -> Iterator[Found]:
    for theirs in winner.tables:
        verdict = stores_and_runs.changed_source.verdict(
            Race(mine, theirs, loser, winner, theirs.table, on_one_table=True)
        )
        if verdict is not None:
            yield theirs.table, verdict
