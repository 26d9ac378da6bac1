"""What a job can lose where it only reads: races on its sources, which no check of Delta's sees."""

from collections.abc import Iterator

from sluice.conflicts import common, databricks, oss
from sluice.conflicts.race import Race
from sluice.conflicts.verdict import Verdict, only_possible
from sluice.footprint.model import JobFootprint, TableFootprint
from sluice.tables import TableKey

Told = tuple[TableKey, Verdict]


def beside(loser: JobFootprint, winner: JobFootprint) -> Iterator[Told]:
    """Where the one writes what the other only reads."""
    yield from _by_these_keys(loser, winner)
    if loser.ids_of_sources or winner.ids_of_sources:
        by_logs = _by_their_logs(*_by_their_logs(loser, winner))
        if by_logs != (loser, winner):
            yield from _by_these_keys(*by_logs)


def _by_these_keys(loser: JobFootprint, winner: JobFootprint) -> Iterator[Told]:
    if loser.vacuums or winner.vacuums:
        yield from _vacuumed_reads(loser, winner)
    if loser.streams_from:
        yield from _streaming_reads(loser, winner)
    for mine in loser.tables:
        if mine.told_by:
            yield from _changed_sources(mine, loser, winner)


def _by_their_logs(reader: JobFootprint, writer: JobFootprint) -> tuple[JobFootprint, JobFootprint]:
    """Both with one key for each log that the one reads and the other writes; the writer first."""
    for source, table_id in reader.ids_of_sources.items():
        written = [footprint.table for footprint in writer.tables if footprint.table_id == table_id]
        for other in written[1:]:
            writer = writer.renamed(other, written[0])
        if written:
            reader = reader.reading(source, written[0])
    return writer, reader


def _vacuumed_reads(loser: JobFootprint, winner: JobFootprint) -> Iterator[Told]:
    """Files that one of the two deletes and the other only reads; whoever commits first, it is the reader that is hurt."""
    for reader, other in ((loser, winner), (winner, loser)):
        for vacuum in other.vacuums:
            race = Race(reader.tables[0], vacuum, reader, other, vacuum.table, on_one_table=True)
            verdict = common.vacuum_under_a_read.verdict(race)
            if verdict is not None:
                yield vacuum.table, verdict


def _streaming_reads(loser: JobFootprint, winner: JobFootprint) -> Iterator[Told]:
    """What fails a stream where it only reads. Of an engine that is not open-source Delta only what its documents say is
    sure."""
    on_oss = loser.dialect is not None and loser.dialect.is_oss
    is_documented = loser.dialect is not None and not loser.dialect.is_delta_rs
    streaming_read = oss.streaming_read if on_oss else databricks.streaming_read
    for source in loser.streams_from:
        for theirs in winner.tables:
            race = Race(loser.tables[0], theirs, loser, winner, source, source == theirs.table)
            rows, changed = common.streamed_rows.verdict(race), streaming_read.verdict(race)
            if rows is not None:
                yield source, rows if on_oss else only_possible(rows)
            if changed is not None:
                yield source, changed if is_documented else only_possible(changed)


def _changed_sources(mine: TableFootprint, loser: JobFootprint, winner: JobFootprint) -> Iterator[Told]:
    for theirs in winner.tables:
        verdict = common.changed_source.verdict(
            Race(mine, theirs, loser, winner, theirs.table, on_one_table=True)
        )
        if verdict is not None:
            yield theirs.table, verdict
