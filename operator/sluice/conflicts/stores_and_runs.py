"""Rules of the table's store and of runs, whatever engine commits: asked before any of Delta's own."""

from sluice.conflicts import example_jobs
from sluice.conflicts.advice_texts import OWN_CHECKPOINT
from sluice.conflicts.race import Race
from sluice.conflicts.rule import WHOLE_TABLE, Example, Rule, Ruling, rule
from sluice.conflicts.verdict import Level
from sluice.footprint.model import TableFootprint
from sluice.footprint.sql.advice import OPERATOR_READS
from sluice.footprint.statements.maintenance import DATA_RETENTION, hours_kept_by
from sluice.tables import S3_CONDITIONAL_LOG_STORE, LogStore, TableKey

_REPLAY = "conflicts/test_replay.py"
_TRANSACTION = "ConcurrentTransactionException"
_WEEK = 168.0
"""Hours that a run may take: no run is ended because of its age."""


@rule(
    says="Some stores let a commit overwrite another one of the same version without any exception.",
    sources=("S1", "S2", "S3", "S4", "S5", "S6", "S7"),
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
            "let the runtime profiles of both name Sluice's log store, as the chart's does: spark.delta.logStore.s3.impl and "
            f"spark.delta.logStore.s3a.impl: {S3_CONDITIONAL_LOG_STORE}"
        )
        reason = "through Delta's own LogStore for S3 one of two drivers can overwrite the other's commit"
    elif race.loser.table.text.startswith("file:") or LogStore.RENAME in (mine, theirs):
        advice = "set spark.delta.logStore.file.impl to dev.sluice.delta.LinkLogStore in the runtime of both"
        reason = (
            "one of the two commits to a file: table through a LogStore that can overwrite the other's commit"
        )
    else:
        advice = "let both jobs commit through the same log store"
        reason = f"one commits through the log store {mine}, the other through {theirs}: neither sees the other's lock"
    return Ruling(Level.UNSAFE, reason, None, advice, WHOLE_TABLE)


def _locked_apart(one: str, other: str) -> Ruling:
    reason = f"one commits through the DynamoDB table {one}, the other through {other}: neither sees the other's commits"
    advice = "give both jobs the same spark.io.delta.storage.S3DynamoDBLogStore.ddb.region and .ddb.tableName"
    return Ruling(Level.UNSAFE, reason, None, advice, WHOLE_TABLE)


def _unknown_store(table: TableKey) -> tuple[str, str]:
    if table.is_name:
        return (
            f"the location of {table} is not known: on S3 without further settings one of two drivers can overwrite the "
            "other's commit",
            f"set the location of {table} in a DeltaTablePolicy (table.path), or set its log store (logStore)",
        )
    declare = "declare it in a DeltaTablePolicy"
    if table.text.startswith("s3:"):
        return (
            f"it is not known what keeps commits to {table} apart: on S3 without further settings one of two drivers "
            "can overwrite the other's commit",
            f"if the jobs' runtime profiles name {S3_CONDITIONAL_LOG_STORE} for S3, as the chart's does, {declare}: "
            "logStore: S3Conditional",
        )
    return (
        f"the log store of {table} is not known: one of two drivers may overwrite the other's commit",
        f"if it lets only one of two commits win, {declare}: logStore: Safe",
    )


@rule(
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
        if deletes_too_soon(one) and other.retention_hours is None:
            return too_soon(one, "may run")
    return None


@rule(
    says=(
        "A VACUUM that begins after the table was told to keep files for a shorter time deletes what other running jobs read, or "
        "have written but not committed: these were let run beside it because the table kept files for longer."
    ),
    sources=("D31", "C14"),
    example=Example(
        example_jobs.VACUUM,
        "ALTER TABLE orders SET TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval 1 hour')",
    ),
    proofs=(
        "conflicts/test_shorter_retention.py::test_what_may_shorten_the_retention_is_unsafe_beside_a_vacuum",
        "conflicts/test_shorter_retention.py::test_whoever_accepts_risks_does_not_accept_this_one",
    ),
)
def shorter_retention(race: Race) -> Ruling | None:
    for vacuum, other in ((race.winner, race.loser), (race.loser, race.winner)):
        hours = other.leaves_retention_hours
        if vacuum.retention_hours is not None and hours is not None and hours < _WEEK:
            kept = f"for {_hours(hours)}" if hours else "for less"
            return Ruling(
                Level.UNSAFE,
                f"VACUUM would delete what third jobs need: {other.operation} may have {other.table} keep files {kept}, and they "
                f"may run for {_hours(_WEEK)}",
                None,
                None,
                WHOLE_TABLE,
            )
    return None


def deletes_too_soon(footprint: TableFootprint) -> bool:
    return footprint.retention_hours is not None and footprint.retention_hours < _WEEK


def too_soon(vacuum: TableFootprint, other_job: str, level: Level = Level.UNSAFE) -> Ruling:
    """What to say of a VACUUM beside another job; `other_job` says what that does, up to how long."""
    return Ruling(
        level,
        f"{_kept(vacuum)}, but the other job {other_job} for {_hours(_WEEK)}",
        None,
        _how_to_keep_files(vacuum),
        WHOLE_TABLE,
    )


def _how_to_keep_files(vacuum: TableFootprint) -> str | None:
    """RETAIN helps nobody: it is believed only where it is shorter than what the table says."""
    if vacuum.is_guess:
        return None
    if vacuum.facts is None:
        return (
            f"{OPERATOR_READS}{vacuum.table}, and let VACUUM be a job of its own: how long it keeps files is what "
            f"{DATA_RETENTION} of the table says"
        )
    own = hours_kept_by(vacuum.facts.properties)
    if own is not None and own >= _WEEK:
        return f"leave RETAIN out: the table itself keeps files for {_hours(own)}"
    return f"let {DATA_RETENTION} of the table be 'interval {_hours(_WEEK)}' or longer, and leave RETAIN out"


def _kept(vacuum: TableFootprint) -> str:
    if vacuum.is_guess:
        return f"it may be a VACUUM of {vacuum.table} that keeps files for 0 hours"
    hours = f"VACUUM keeps files for {_hours(vacuum.retention_hours or 0)}"
    if vacuum.facts is not None or vacuum.retention_hours:
        return hours
    return f"{hours}, unless the properties of {vacuum.table}, which are not known, say more"


def _hours(count: float) -> str:
    return f"{count:g} hour{'' if count == 1 else 's'}"


def may_share_a_checkpoint(mine: TableFootprint, theirs: TableFootprint) -> bool:
    if mine.checkpoint is None or theirs.checkpoint is None:
        return False
    return TableKey(mine.checkpoint).may_equal(TableKey(theirs.checkpoint))


@rule(
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
        OWN_CHECKPOINT,
        WHOLE_TABLE,
    )


RULES: tuple[Rule, ...] = (lost_commits, vacuum_under_a_run, shorter_retention, same_checkpoint)
