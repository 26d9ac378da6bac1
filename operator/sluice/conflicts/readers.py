"""Judges what a job can lose on tables that it only reads: races on its sources, which Delta never checks.

The rules here hold whatever engine commits; what breaks a stream that reads differs between engines (`streaming_read`).
"""

from collections.abc import Iterator

from sluice.conflicts import databricks, example_jobs, oss, stores_and_runs
from sluice.conflicts.advice_texts import END_STREAM, SKIP_CHANGES
from sluice.conflicts.race import Race
from sluice.conflicts.rule import WHOLE_TABLE, Example, Rule, Ruling, VersionDifference, rule
from sluice.conflicts.verdict import Level, Verdict, only_possible
from sluice.footprint.model import Follows, JobFootprint
from sluice.footprint.operations import CHANGES_SOME_ROWS, KEEPS_ROWS
from sluice.tables import TableKey

_STREAMED = "conflicts/test_streamed_tables.py"
_REPLAY = "conflicts/test_replay.py"


@rule(
    says=(
        "VACUUM deletes files of a table that a running job only reads or may read, in a query, as a MERGE's source or "
        "in a stream."
    ),
    sources=("D31", "C14"),
    example=Example(
        "INSERT INTO report SELECT date, SUM(amount) FROM orders GROUP BY date", example_jobs.VACUUM_TOO_SOON
    ),
    proofs=(
        "conflicts/test_vacuumed_reads.py::test_a_reader_loses_its_files_to_a_vacuum_that_keeps_them_too_shortly",
    ),
)
def vacuum_under_a_run(race: Race) -> Ruling | None:
    vacuum, reads = race.winner, race.losing_job.reads
    if not stores_and_runs.deletes_too_soon(vacuum):
        return None
    candidates = [key for key in reads.tables if vacuum.table.may_hold(key)]
    read = vacuum.table if vacuum.table in candidates else next(iter(candidates), None)
    if read is None and not reads.any_table:
        return None
    what = (
        f"reads {read}"
        if read == vacuum.table
        else f"may read {vacuum.table}" + (f" as {read}" if read else "")
    )
    return stores_and_runs.too_soon(
        vacuum, f"{what} and may run", Level.MAY if read is None else Level.UNSAFE
    )


@rule(
    says=(
        "A stream fails for good at a commit that rewrites or deletes rows of the table that it reads, "
        "unless its source's options say skipChangeCommits or ignoreChanges; ignoreDeletes helps only where no file is "
        "rewritten. Compaction and changes of the table's metadata touch no row."
    ),
    sources=("D29", "D33"),
    example=Example(example_jobs.STREAM_FROM_ORDERS, example_jobs.DELETE),
    proofs=(
        f"{_STREAMED}::test_a_change_of_rows_breaks_a_stream_that_reads_them",
        f"{_STREAMED}::test_options_of_the_source_let_changes_pass",
    ),
)
def streamed_rows(race: Race) -> Ruling | None:
    stream, source, winner = race.losing_job, race.table, race.winner
    if winner.operation in KEEPS_ROWS or winner.removes.is_empty or not source.may_equal(winner.table):
        return None
    if stream.follows is Follows.CHANGES or (stream.follows is Follows.DELETES and winner.adds.is_empty):
        return None
    sure = race.on_one_table and stream.streams_surely and winner.operation in CHANGES_SOME_ROWS
    return Ruling(
        Level.WILL if sure else Level.MAY,
        f"{winner.operation} may rewrite or delete rows of {source}, which the stream reads: a stream accepts only "
        "appends, and restarting it does not help",
        None,
        SKIP_CHANGES,
        WHOLE_TABLE,
    )


@rule(
    says=(
        "A stream fails for good once the table that it reads is replaced by another one, or a column of it is renamed or dropped, "
        "or the feature typeWidening is dropped by which a column has another type than the stream has read, "
        "or its change feed, by which the stream may read it, ends: "
        "neither starting it again helps nor an option of its source, only a new checkpoint."
    ),
    sources=("M19",),
    differs=VersionDifference(
        "documents say of each change of the schema that a stream goes on once it is started again.", ("D30",)
    ),
    example=Example(example_jobs.STREAM_FROM_ORDERS, "ALTER TABLE orders DROP COLUMN amount"),
    proofs=(f"{_STREAMED}::test_no_restart_helps_a_stream_whose_table_is_another_or_lacks_a_column",),
)
def streamed_columns(race: Race) -> Ruling | None:
    source, winner = race.table, race.winner
    if not (winner.replaces or winner.ends_readers) or not source.may_equal(winner.table):
        return None
    what = (
        "may replace"
        if winner.replaces
        else "may drop or rename columns, forget what they were, or end the change feed, of"
    )
    return Ruling(
        Level.MAY,
        f"{winner.operation} {what} {source}, which the stream reads: it would fail for good, and restarting it does not help",
        None,
        END_STREAM,
        WHOLE_TABLE,
    )


@rule(
    says=(
        "Sluice may have derived where a query's rows land from the columns of the tables that it selects from, as "
        "they were when the job was judged: from their order for `SELECT *`, from their types for "
        "`WHERE region = 'eu'`. A job that changes these columns before the query runs changes where its rows land, and "
        "which jobs that hurts."
    ),
    sources=("D30",),
    example=Example(
        "INSERT INTO archive SELECT * FROM orders WHERE date = DATE '2026-11-18'",
        "ALTER TABLE orders ADD COLUMNS (note STRING FIRST)",
    ),
    proofs=(
        "conflicts/test_changed_sources.py::test_what_may_change_the_source_s_columns_waits",
        f"{_REPLAY}::test_no_pair_that_delta_aborted_after_a_third_job_was_let_run_beside_it",
    ),
)
def changed_source(race: Race) -> Ruling | None:
    told, winner = race.loser, race.winner
    if not winner.may_change_table:
        return None
    source = next((key for key in told.told_by if key.may_equal(winner.table)), None)
    if source is None:
        return None
    return Ruling(
        Level.MAY,
        f"{winner.operation} may change the columns of {source}, which decide where the rows of {told.operation} land",
        None,
        None,
        WHOLE_TABLE,
    )


RULES: tuple[Rule, ...] = (vacuum_under_a_run, streamed_rows, streamed_columns, changed_source)
LASTING = frozenset({streamed_rows.id, streamed_columns.id})
"""The rules by which a stream that reads fails for good, so that restarting it cures nothing."""

Found = tuple[TableKey, Verdict]
"""A table on which the two meet, and the verdict there."""


def lasting(stream: JobFootprint, other: JobFootprint) -> Found | None:
    """What the other would do to the stream that no restart mends, so that it counts also while the stream doesn't run: it breaks
    what the stream reads, or may go on from the stream's checkpoint."""
    for table, verdict in beside(stream, other):
        if verdict.rule in LASTING or (verdict.rule == vacuum_under_a_run.id and _follows(stream, table)):
            return table, verdict
    for mine in stream.kinds:
        for theirs in other.kinds:
            if mine.checkpoint != theirs.checkpoint:
                verdict_there = stores_and_runs.same_checkpoint.verdict(
                    Race(mine, theirs, stream, other, mine.table, on_one_table=False)
                )
                if verdict_there is not None:
                    return mine.table, verdict_there
    return None


def _follows(stream: JobFootprint, vacuumed: TableKey) -> bool:
    """Whether it goes on, after whatever pause, from files of the table that it hasn't read yet: compaction may have taken them out
    of the table since. What a query joins to its rows is read as it is then."""
    return any(vacuumed.may_hold(source) for source in stream.streams_from)


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
    if loser.streamed:
        yield from _streaming_reads(loser, winner)
    if winner.changed:
        yield from _changed_sources(loser, winner)


def _writer_and_reader_by_logs(
    reader: JobFootprint, writer: JobFootprint
) -> tuple[JobFootprint, JobFootprint]:
    """Returns the writer and the reader with one key for each log that the one writes and the other reads."""
    for source, table_id in reader.ids_of_sources.items():
        written = list(dict.fromkeys(one.table for one in writer.tables if one.table_id == table_id))
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
            verdict = vacuum_under_a_run.verdict(race)
            if verdict is not None:
                yield vacuum.table, verdict


def _streaming_reads(loser: JobFootprint, winner: JobFootprint) -> Iterator[Found]:
    """The races that make a stream fail where it only reads. For an engine other than open-source Delta, only what its
    documents say is sure."""
    on_oss = loser.dialect is not None and loser.dialect.is_oss
    is_documented = loser.dialect is not None and not loser.dialect.is_delta_rs
    streaming_read = oss.streaming_read if on_oss else databricks.streaming_read
    for source in loser.streams_from:
        for theirs in winner.kinds:
            race = Race(loser.tables[0], theirs, loser, winner, source, source == theirs.table)
            for rule_for_good in (streamed_rows, streamed_columns):
                verdict = rule_for_good.verdict(race)
                if verdict is not None:
                    yield source, verdict if on_oss else only_possible(verdict)
    for source in loser.streamed:
        for theirs in winner.kinds:
            race = Race(loser.tables[0], theirs, loser, winner, source, source == theirs.table)
            changed = streaming_read.verdict(race)
            if changed is not None:
                yield source, changed if is_documented else only_possible(changed)


def _changed_sources(loser: JobFootprint, winner: JobFootprint) -> Iterator[Found]:
    """The first race in which one changes the columns that tell where rows of the other land: all are as bad."""
    told = dict.fromkeys(key for mine in loser.tables for key in mine.told_by)
    if not told:
        return
    changing = [theirs for theirs in winner.kinds if theirs.may_change_table]
    looks, stands = (
        frozenset().union(*places) for places in zip(*(one.table.seen for one in changing), strict=True)
    )
    near = {key for key in told if not (key.seen[0].isdisjoint(stands) and key.seen[1].isdisjoint(looks))}
    for mine in loser.tables:
        for theirs in () if near.isdisjoint(mine.told_by) else changing:
            race = Race(mine, theirs, loser, winner, theirs.table, on_one_table=True)
            verdict = changed_source.verdict(race)
            if verdict is not None:
                yield theirs.table, verdict
                return
