"""Rules of the table's store and of runs, whatever engine commits: asked before any of Delta's own."""

from sluice.conflicts import example_jobs
from sluice.conflicts.race import Race
from sluice.conflicts.rule import Example, Rule, Ruling, rule
from sluice.conflicts.verdict import Level
from sluice.footprint.model import EVERYTHING, Follows, TableFootprint
from sluice.footprint.operations import CHANGES_SOME_ROWS, KEEPS_ROWS
from sluice.tables import LogStore, TableKey

_STREAMED = "conflicts/test_streamed_tables.py"
_REPLAY = "conflicts/test_replay.py"
_TRANSACTION = "ConcurrentTransactionException"
_WEEK = 168.0
"""Hours that a run may take: no run is ended because of its age."""
_ALL = (EVERYTHING, EVERYTHING)
_RETAIN = "keep files longer (RETAIN 168 HOURS)"


@rule(
    "lost-commits",
    says="Some stores let a commit overwrite another one of the same version without any exception.",
    sources=("S1", "S2", "S3", "S4", "S5", "S6"),
    example=Example(example_jobs.APPEND, example_jobs.APPEND, table={"log_store": LogStore.S3_SINGLE_DRIVER}),
    proofs=(
        "cli/test_batch.py::test_an_unsafe_store_is_unsafe_for_everything",
        "cli/test_batch.py::test_a_link_store_beside_another_is_unsafe",
    ),
)
def lost_commits(race: Race) -> Ruling | None:
    mine, theirs = race.loser.log_store, race.winner.log_store
    apart = race.loser.lock_table, race.winner.lock_table
    if not mine.loses_beside(theirs):
        return None if apart[0] == apart[1] else _locked_apart(*apart)
    if LogStore.UNKNOWN in (mine, theirs):
        table = race.loser.table if mine is LogStore.UNKNOWN else race.winner.table
        reason, advice = _unknown_store(table)
    elif LogStore.S3_SINGLE_DRIVER in (mine, theirs):
        advice = (
            "let every writer commit through io.delta.storage.S3DynamoDBLogStore (spark.delta.logStore.s3a.impl), "
            "or run one at a time"
        )
        reason = "on S3 without S3DynamoDBLogStore one of two drivers can overwrite the other's commit"
    elif race.loser.table.text.startswith("file:") or LogStore.RENAME in (mine, theirs):
        advice = "set spark.delta.logStore.file.impl to dev.sluice.delta.LinkLogStore in the runtime of both"
        reason = (
            "one of the two commits to a file: table through a LogStore that can overwrite the other's commit"
        )
    else:
        advice = "let both jobs commit through the same log store"
        reason = f"one commits through the log store {mine}, the other through {theirs}: neither sees the other's lock"
    return Ruling(Level.UNSAFE, reason, None, advice, _ALL)


def _locked_apart(one: str, other: str) -> Ruling:
    reason = f"one commits through the DynamoDB table {one}, the other through {other}: neither sees the other's commits"
    advice = "give both jobs the same spark.io.delta.storage.S3DynamoDBLogStore.ddb.region and .ddb.tableName"
    return Ruling(Level.UNSAFE, reason, None, advice, _ALL)


def _unknown_store(table: TableKey) -> tuple[str, str]:
    if table.is_name:
        return (
            f"the location of {table} is not known: on S3 without further settings one of two drivers can overwrite the "
            "other's commit",
            f"set the location of {table} in a DeltaTablePolicy (table.path), or set its log store (logStore)",
        )
    declare = "declare it in a DeltaTablePolicy, or in the facts of --table"
    if table.text.startswith("s3:"):
        return (
            f"it is not known what keeps commits to {table} apart: on S3 without further settings one of two drivers "
            "can overwrite the other's commit",
            "if a store or lock lets only one of two commits win, "
            f"{declare}: logStore: S3DynamoDB (every writer uses Delta's DynamoDB log store), "
            "or Safe (something else keeps them apart)",
        )
    return (
        f"the log store of {table} is not known: one of two drivers may overwrite the other's commit",
        f"if it lets only one of two commits win, {declare}: logStore: Safe",
    )


@rule(
    "vacuum-under-a-run",
    says=(
        "VACUUM deletes files that no version within its retention needs, including files that a running writer reads, "
        "or has written but not committed."
    ),
    sources=("D31", "C14"),
    example=Example(example_jobs.APPEND, example_jobs.VACUUM_TOO_SOON),
    proofs=(
        "cli/test_batch.py::test_vacuum_below_a_writers_lifetime_is_unsafe",
        f"{_REPLAY}::test_no_pair_that_delta_aborted_is_never",
    ),
)
def vacuum_under_a_run(race: Race) -> Ruling | None:
    for one, other in ((race.winner, race.loser), (race.loser, race.winner)):
        if one.retention_hours is None or other.retention_hours is not None:
            continue
        if one.retention_hours < _WEEK:
            return Ruling(
                Level.UNSAFE,
                f"{_kept(one)}, but the other job may run for {_hours(_WEEK)}",
                None,
                _RETAIN,
                _ALL,
            )
    return None


@rule(
    "vacuum-under-a-run",
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
def vacuum_under_a_read(race: Race) -> Ruling | None:
    vacuum, reads = race.winner, race.losing_job.reads
    hours = vacuum.retention_hours
    if hours is None or hours >= _WEEK:
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
    return Ruling(
        Level.MAY if read is None else Level.UNSAFE,
        f"{_kept(vacuum)}, but the other job {what} and may run for {_hours(_WEEK)}",
        None,
        _RETAIN,
        _ALL,
    )


def _kept(vacuum: TableFootprint) -> str:
    if vacuum.is_guess:
        return f"it may be a VACUUM of {vacuum.table} that keeps files for 0 hours"
    hours = f"VACUUM keeps files for {_hours(vacuum.retention_hours or 0)}"
    if vacuum.facts is not None or vacuum.retention_hours:
        return hours
    return f"{hours}, unless the properties of {vacuum.table}, which are not known, say more"


def _hours(count: float) -> str:
    return f"{count:g} hour{'' if count == 1 else 's'}"


@rule(
    "streamed-rows",
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
        'if the stream can skip such changes, set skipChangeCommits: "true" under spec.stream.source.options',
        _ALL,
    )


@rule(
    "changed-source",
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
        _ALL,
    )


def may_share_a_checkpoint(mine: TableFootprint, theirs: TableFootprint) -> bool:
    if mine.checkpoint is None or theirs.checkpoint is None:
        return False
    return TableKey(mine.checkpoint).may_equal(TableKey(theirs.checkpoint))


@rule(
    "same-checkpoint",
    says="Of two streams on one checkpoint the second to commit a batch aborts.",
    sources=("M18", "D17", "C7"),
    exceptions=(_TRANSACTION,),
    example=Example(example_jobs.STREAM_TO_ORDERS, example_jobs.STREAM_TO_ORDERS),
    proofs=("conflicts/test_databricks_rules.py::test_d17_the_same_checkpoint_twice",),
)
def same_checkpoint(race: Race) -> Ruling | None:
    mine, theirs = race.loser.checkpoint, race.winner.checkpoint
    if not may_share_a_checkpoint(race.loser, race.winner):
        return None
    return Ruling(
        Level.WILL if mine == theirs else Level.MAY,
        f"both streams use the checkpoint {mine}"
        if mine == theirs
        else f"the streams' checkpoints {mine} and {theirs} may be one",
        _TRANSACTION,
        "give each stream a checkpoint of its own",
        _ALL,
    )


RULES: tuple[Rule, ...] = (lost_commits, vacuum_under_a_run, same_checkpoint)
RULES_OF_READERS: tuple[Rule, ...] = (vacuum_under_a_read, streamed_rows, changed_source)
