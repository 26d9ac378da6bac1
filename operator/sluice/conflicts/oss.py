"""Open-source Delta's conflict check (ConflictChecker), as a list of rules in its own order: the first rule that has
something to say decides.

What differs between versions is data (`eras`), not code.
"""

from sluice.conflicts import example_jobs
from sluice.conflicts.advice_texts import CHANGES_APART, CREATE_FIRST, OWN_TXN_APP_ID, PAUSE_STREAM, RUN_ALONE
from sluice.conflicts.delta_versions import ANY_ENGINE
from sluice.conflicts.race import Race
from sluice.conflicts.rule import WHOLE_TABLE, Example, Rule, Ruling, VersionDifference, rule, verdict_by
from sluice.conflicts.verdict import Level, Verdict
from sluice.footprint.model import Metadata, ProtocolChange, TableFootprint
from sluice.footprint.sql.advice import how_to_know

_REPLAY = "conflicts/test_replay.py"
_MATRICES = "conflicts/test_matrices.py"
_DIFFER = "conflicts/test_documents_differ.py"
_TOGETHER = "conflicts/test_why_two_may_run_together.py"
_APPEND = "ConcurrentAppendException"
_DELETE_READ = "ConcurrentDeleteReadException"
_DELETE_DELETE = "ConcurrentDeleteDeleteException"
_TRANSACTION = "ConcurrentTransactionException"
_WRITE = "ConcurrentWriteException"
_METADATA = "MetadataChangedException"
_PROTOCOL = "ProtocolChangedException"
_CHANGES_APART = f"{RUN_ALONE}, and {CHANGES_APART}"


@rule(
    says="RESTORE, CLONE and CONVERT try one version only: any commit made meanwhile is a conflict.",
    sources=("C11", "M15"),
    differs=VersionDifference("no document mentions it."),
    exceptions=(_WRITE,),
    example=Example(example_jobs.RESTORE, example_jobs.APPEND),
    proofs=(
        f"{_MATRICES}::test_a_restore_commits_in_one_attempt",
        f"{_DIFFER}::test_no_document_speaks_of_restore_c11_it_has_one_attempt",
        f"{_REPLAY}::test_no_pair_that_delta_aborted_is_never",
    ),
)
def single_attempt(race: Race) -> Ruling | None:
    if not race.loser.single_attempt:
        return None
    return Ruling(
        Level.WILL if race.sure else Level.MAY,
        f"{race.loser.operation} tries to commit only once: after any other commit it fails",
        _WRITE,
        None,
        WHOLE_TABLE,
    )


@rule(
    says="A job that begins on a path without a table and finds one at its commit fails.",
    sources=("M8",),
    differs=VersionDifference(
        "documents name the same exception for replacing an existing table, which fails with MetadataChangedException.",
        ("D18", "D28", "M17"),
    ),
    exceptions=(_PROTOCOL,),
    example=Example(example_jobs.APPEND, example_jobs.APPEND, table=example_jobs.EMPTY),
    proofs=(
        f"{_MATRICES}::test_first_commits_exclude_each_other",
        f"{_REPLAY}::test_no_pair_that_delta_aborted_is_never",
    ),
)
def first_commit(race: Race) -> Ruling | None:
    if not (race.loser.creates and race.winner.may_commit_first):
        return None
    return Ruling(
        Level.MAY,
        "both may make the table's first commit",
        _PROTOCOL,
        CREATE_FIRST,
        WHOLE_TABLE,
    )


_ANY_UPGRADE = VersionDifference(
    "documents say that any upgrade of the protocol aborts.", ("D18", "D23", "D28")
)


@rule(
    says="DROP FEATURE re-checks the commits made meanwhile, and fails if any still uses the feature.",
    sources=("C4",),
    example=Example(example_jobs.DROP_FEATURE, example_jobs.APPEND),
    proofs=("conflicts/test_two_protocols.py::test_who_drops_a_feature_may_lose_to_whoever_uses_it",),
)
def feature_dropped_under_writers(race: Race) -> Ruling | None:
    if race.loser.protocol is not ProtocolChange.REMOVES:
        return None
    return Ruling(
        Level.MAY,
        "DROP FEATURE checks again whether what was committed meanwhile still uses the feature",
        None,
        _CHANGES_APART,
        WHOLE_TABLE,
    )


@rule(
    says="Removing a feature aborts every job but OPTIMIZE.",
    sources=("C3", "C12", "M6"),
    differs=_ANY_UPGRADE,
    exceptions=(_PROTOCOL,),
    example=Example(example_jobs.APPEND, example_jobs.DROP_FEATURE),
    proofs=("conflicts/test_two_protocols.py::test_a_dropped_feature_may_abort_all_but_compaction",),
)
def feature_removed(race: Race) -> Ruling | None:
    loser, winner = race.loser, race.winner
    if winner.protocol is not ProtocolChange.REMOVES or loser.retries_itself:
        return None
    return Ruling(
        Level.MAY,
        f"a feature that the table had when {loser.operation} began is removed",
        _PROTOCOL,
        _CHANGES_APART,
        WHOLE_TABLE,
    )


@rule(
    says="Two commits with a Protocol action exclude each other.",
    sources=("C3", "M9"),
    differs=_ANY_UPGRADE,
    exceptions=(_PROTOCOL,),
    example=Example(example_jobs.ENABLE_TIMESTAMPS, example_jobs.ENABLE_VECTORS),
    proofs=(
        f"{_MATRICES}::test_changes_of_metadata_exclude_each_other_but_not_writers",
        f"{_REPLAY}::test_a_change_of_the_protocol_that_aborted_was_told_as_one",
    ),
)
def two_protocols(race: Race) -> Ruling | None:
    if ProtocolChange.NONE in (race.loser.protocol, race.winner.protocol):
        return None
    return Ruling(Level.MAY, "both may change the table's protocol", _PROTOCOL, _CHANGES_APART, WHOLE_TABLE)


_IN_STEPS = frozenset({"rowTracking"})
"""Features that take several commits to begin; only the last of these writes metadata, so it may begin after the
winner's commit."""


@rule(
    says=(
        "A change of schema or properties aborts every job that began before it; later versions make more exceptions."
    ),
    sources=("C5", "C12", "C15", "M3", "M4", "M5", "M13", "M14", "M17"),
    differs=VersionDifference(
        "Databricks' documents say that every change aborts every concurrent write, and open-source Delta's name no "
        "exceptions; here OPTIMIZE survives what leaves the partition columns as they are, and enabling some features or, "
        "from 4.1 on, writing unchanged metadata "
        "lets others commit.",
        ("D1", "D16", "D27"),
    ),
    exceptions=(_METADATA,),
    example=Example(example_jobs.APPEND, example_jobs.SET),
    proofs=(
        f"{_MATRICES}::test_a_change_of_metadata_will_abort_what_surely_commits",
        f"{_MATRICES}::test_enabling_a_feature_lets_others_commit_from_a_version_on",
        f"{_REPLAY}::test_no_pair_that_delta_aborted_is_never",
    ),
)
def metadata_changed(race: Race) -> Ruling | None:
    loser, winner = race.loser, race.winner
    if winner.metadata is Metadata.NONE:
        return None
    if loser.retries_itself and not (winner.replaces or _may_change_partition_columns(winner)):
        return None
    if loser.metadata is Metadata.NONE and _harmless(race):
        return None
    both = loser.metadata is not Metadata.NONE
    sure = (
        winner.metadata in (Metadata.CHANGES, Metadata.IDENTITY, Metadata.SAME, Metadata.ENABLES)
        and loser.metadata not in (Metadata.MAY_CHANGE, Metadata.RESTORES)
        and not loser.enables & _IN_STEPS
        and not any(_may_have_identity_columns(side) for side in (loser, winner))
    )
    clear = ProtocolChange.NONE in (loser.protocol, winner.protocol)
    advice: str | None = _CHANGES_APART
    if _may_have_identity_columns(winner):
        advice = how_to_know(winner.table, winner.operation)
        reason = (
            f"nothing is known of {winner.table}, which may have identity columns: {winner.operation} may raise their "
            f"high-water mark in the metadata that {loser.operation} began with"
        )
    elif both:
        reason = f"both {loser.operation} and {winner.operation} write the table's metadata"
    else:
        reason = f"{winner.operation} may change the metadata that {loser.operation} began with"
    if loser.retries_itself and not winner.replaces:
        sure = False
        reason = (
            f"{winner.operation} may change a partition column, its comment or default included: after that {loser.operation} "
            "does not start again"
        )
    level = Level.WILL if sure and clear and race.sure else Level.MAY
    return Ruling(level, reason, _METADATA, advice, WHOLE_TABLE)


def _may_change_partition_columns(statement: TableFootprint) -> bool:
    """Whether OPTIMIZE may find partition columns that are not those which it began with, so that it does not start again."""
    written = statement.metadata not in (Metadata.NONE, Metadata.SAME, Metadata.IDENTITY)
    return written and not statement.keeps_partition_columns


def _may_have_identity_columns(statement: TableFootprint) -> bool:
    return statement.metadata is Metadata.IDENTITY and statement.facts is None


def _harmless(race: Race) -> bool:
    winner, era = race.winner, race.era
    if winner.metadata is Metadata.IDENTITY:
        return era is not ANY_ENGINE
    if winner.metadata is Metadata.SAME:
        return era.compares_metadata
    return winner.metadata is Metadata.ENABLES and winner.enables <= era.survives_enabling


@rule(
    says="Two commits that write the same metadata domain, such as the clustering columns, exclude each other.",
    sources=("C6", "D33", "M7"),
    differs=VersionDifference(
        "the documents on write conflicts do not mention it; the protocol requires it."
    ),
    exceptions=(_TRANSACTION,),
    example=Example(
        example_jobs.OVERWRITE,
        "ALTER TABLE orders CLUSTER BY (amount)",
        partitioned=False,
        table={"clustering_columns": ("id",)},
    ),
    proofs=(
        f"{_MATRICES}::test_clustering_columns_are_a_domain_of_their_own",
        f"{_REPLAY}::test_no_pair_that_delta_aborted_is_never",
    ),
)
def same_domain(race: Race) -> Ruling | None:
    if not race.loser.domains & race.winner.domains:
        return None
    sure = race.sure and race.winner.adds.is_empty
    return Ruling(
        Level.WILL if sure else Level.MAY,
        "both write the table's clustering columns, as overwrites and CLUSTER BY do",
        _TRANSACTION,
        None,
        WHOLE_TABLE,
    )


@rule(
    says="Of two writes under one txnAppId the second aborts, whatever their versions.",
    sources=("C7",),
    differs=VersionDifference("documents mention only streams on one checkpoint.", ("D17",)),
    exceptions=(_TRANSACTION,),
    example=Example(example_jobs.WRITE_WITH_ID, example_jobs.WRITE_WITH_ID),
    proofs=(
        f"{_MATRICES}::test_one_transaction_id_lets_one_of_two_writes_commit",
        f"{_REPLAY}::test_no_pair_that_delta_aborted_is_never",
    ),
)
def same_transaction_id(race: Race) -> Ruling | None:
    if race.shared_txn_app_id is None:
        return None
    return Ruling(
        Level.WILL if race.sure else Level.MAY,
        f"both write under the txnAppId {race.shared_txn_app_id}",
        _TRANSACTION,
        OWN_TXN_APP_ID,
        WHOLE_TABLE,
    )


@rule(
    says=(
        "The winner adds files where the loser read. Delta compares partitions, never rows; files that OPTIMIZE adds "
        "count as well."
    ),
    sources=("C1", "C2", "C8", "M1", "M10", "M16"),
    differs=VersionDifference(
        "open-source Delta's documents say that it depends on the set of files; Databricks' judge conflicts row by row "
        "where tables have deletion vectors, let blind INSERTs through by default (WriteSerializable), and do not "
        "mention files that OPTIMIZE adds.",
        ("D4", "D10", "D13", "D25"),
    ),
    exceptions=(_APPEND,),
    example=Example(example_jobs.DELETE, example_jobs.APPEND),
    proofs=(
        f"{_MATRICES}::test_who_reads_a_partition_may_lose_to_files_added_there",
        f"{_DIFFER}::test_d10_defaults_to_WriteSerializable_c2_to_Serializable",
        f"{_DIFFER}::test_d4_tells_conflicts_by_rows_c13_never",
        f"{_REPLAY}::test_no_pair_that_delta_aborted_is_never",
    ),
)
def added_files(race: Race) -> Ruling | None:
    loser, winner = race.loser, race.winner
    if not loser.data_change or not race.meet(loser.reads, winner.adds):
        return None
    if (
        loser.write_serializable
        and winner.write_serializable
        and winner.blind
        and loser.metadata is Metadata.NONE
    ):
        return None  # the level that other engines store in the log lets losers ignore blind appends
    sure = race.sure and winner.adds_surely and loser.keeps_no_row
    return Ruling(
        Level.WILL if sure else Level.MAY,
        f"{winner.operation} may add files to partitions that {loser.operation} reads",
        _APPEND,
        race.to_part,
        (loser.reads, winner.adds),
    )


@rule(
    says=(
        "The winner removes or rewrites files that the loser read. Which files these are depends on the rows."
    ),
    sources=("C9", "M11"),
    differs=VersionDifference(
        "all documents say that two compactions fail with ConcurrentDeleteDelete; Databricks' current ones let "
        "OPTIMIZE pass on tables with deletion vectors.",
        ("D5", "D8", "D15", "D21", "D26"),
    ),
    exceptions=(_DELETE_READ,),
    example=Example(example_jobs.OPTIMIZE, example_jobs.DELETE),
    proofs=(
        f"{_MATRICES}::test_compaction_may_lose_its_files",
        f"{_DIFFER}::test_d15_two_compactions_ConcurrentDeleteDelete_m11_ConcurrentDeleteRead",
        f"{_REPLAY}::test_no_pair_that_delta_aborted_is_never",
    ),
)
def removed_files(race: Race) -> Ruling | None:
    loser, winner = race.loser, race.winner
    if not race.meet(loser.reads_files, winner.removes):
        return None
    return Ruling(
        Level.MAY,
        f"{winner.operation} may remove files that {loser.operation} reads",
        _DELETE_READ,
        race.to_part,
        (loser.reads_files, winner.removes),
    )


@rule(
    says="Both remove the same files: only dynamic overwrite removes files that it has not read.",
    sources=("C10", "M12"),
    differs=VersionDifference(
        "documents give two compactions as the cause, but those fail with ConcurrentDeleteRead.",
        ("D15", "D21", "D26", "M11"),
    ),
    exceptions=(_DELETE_DELETE,),
    example=Example(example_jobs.DYNAMIC_OVERWRITE, example_jobs.DELETE_DAY),
    proofs=(
        f"{_MATRICES}::test_dynamic_overwrite_is_the_way_to_delete_twice",
        f"{_REPLAY}::test_no_pair_that_delta_aborted_is_never",
    ),
)
def removed_twice(race: Race) -> Ruling | None:
    loser, winner = race.loser, race.winner
    if not race.meet(loser.removes, winner.removes):
        return None
    return Ruling(
        Level.MAY,
        f"{loser.operation} and {winner.operation} may remove the same files",
        _DELETE_DELETE,
        race.to_part,
        (loser.removes, winner.removes),
    )


@rule(
    says=(
        "A stream that reads a table fails at a commit that changes the table's schema, and goes on once it is restarted."
    ),
    sources=("D30",),
    differs=VersionDifference(
        "Databricks' documents say so for every change of metadata; a footprint does not tell which changes leave the "
        "schema as it was, so this is only `may`.",
        ("D2",),
    ),
    example=Example(example_jobs.STREAM_THAT_LOOKS_INTO_ORDERS, example_jobs.ADD_COLUMN),
    proofs=(
        "conflicts/test_streamed_tables.py::test_a_change_of_the_schema_may_break_a_stream_until_it_starts_again",
    ),
)
def streaming_read(race: Race) -> Ruling | None:
    source, winner = race.table, race.winner
    if winner.metadata in (Metadata.NONE, Metadata.IDENTITY, Metadata.SAME):
        return None
    if not source.may_equal(winner.table):
        return None
    return Ruling(
        Level.MAY,
        f"{winner.operation} may change the schema of {source}, which the stream reads",
        None,
        PAUSE_STREAM,
        WHOLE_TABLE,
    )


@rule(
    says="A commit that adds files and reads nothing of the table does not lose to the files of any other job.",
    sources=("C1", "C8", "M2"),
    example=Example(example_jobs.APPEND, example_jobs.DELETE),
    proofs=(f"{_TOGETHER}::test_an_append_reads_nothing",),
)
def blind_append(race: Race) -> Ruling | None:
    loser = race.loser
    if not (
        loser.blind or all(region.is_empty for region in (loser.reads, loser.reads_files, loser.removes))
    ):
        return None
    return Ruling(Level.NEVER, f"{loser.operation} reads nothing of the table")


@rule(
    says="A commit that adds and removes no files is in nobody's way.",
    sources=("C8", "C9", "M5"),
    example=Example(example_jobs.DELETE, example_jobs.VACUUM),
    proofs=(f"{_TOGETHER}::test_vacuum_changes_no_files",),
)
def changes_no_files(race: Race) -> Ruling | None:
    winner = race.winner
    if not (winner.adds.is_empty and winner.removes.is_empty):
        return None
    return Ruling(Level.NEVER, f"{winner.operation} changes no files")


@rule(
    says="No rule speaks against the pair.",
    sources=("C1", "M16"),
    example=Example(example_jobs.DELETE, example_jobs.APPEND_ELSEWHERE),
    proofs=(
        f"{_MATRICES}::test_writers_of_other_partitions_pass_each_other",
        f"{_REPLAY}::test_hardly_any_pair_waits_needlessly",
    ),
)
def disjoint(race: Race) -> Ruling:
    loser, winner = race.loser, race.winner
    why = f"{winner.operation} touches no partition that {loser.operation} reads"
    if winner.write_serializable and winner.blind and race.meet(loser.reads, winner.adds):
        why = f"{winner.operation} is blind, and by the table's isolation level it is in nobody's way"
    elif not loser.data_change and race.meet(loser.reads_files, winner.adds):
        why = f"{winner.operation} removes no file that {loser.operation} rewrites, which takes no notice of added ones"
    return Ruling(Level.NEVER, why)


RULES_OF_FILES: tuple[Rule, ...] = (
    added_files,
    removed_files,
    removed_twice,
    blind_append,
    changes_no_files,
    disjoint,
)
"""The rules for two footprints that only add and remove files, which is nearly all of them."""
RULES: tuple[Rule, ...] = (
    single_attempt,
    first_commit,
    feature_dropped_under_writers,
    feature_removed,
    two_protocols,
    metadata_changed,
    same_domain,
    same_transaction_id,
    *RULES_OF_FILES,
)
RULES_OF_READERS: tuple[Rule, ...] = (streaming_read,)


def verdict_of(race: Race) -> Verdict:
    files_only = race.loser.only_files and race.winner.only_files
    return verdict_by(RULES_OF_FILES if files_only else RULES, race)
