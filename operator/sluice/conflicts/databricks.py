"""Databricks' conflict rules as its documents state them: the first rule that has something to say decides.

There is no code to read and no engine to measure, so the burden of proof is reversed: a pair is let through only
where a document says that it cannot conflict, and what no document mentions waits. `will` is said only where a
document and open-source Delta's code agree.
"""

from sluice.api.job import Operation
from sluice.conflicts import databricks_rows, example_jobs
from sluice.conflicts.advice_texts import CREATE_FIRST, OWN_TXN_APP_ID, PAUSE_STREAM, RUN_ALONE
from sluice.conflicts.race import Race
from sluice.conflicts.rule import WHOLE_TABLE, Example, Rule, Ruling, VersionDifference, rule, verdict_by
from sluice.conflicts.verdict import Level, Verdict
from sluice.footprint.model import Metadata, ProtocolChange
from sluice.footprint.operations import WRITES_ROWS

_DIFFER = "conflicts/test_documents_differ.py"
_RULES = "conflicts/test_databricks_rules.py"
_TRANSACTION = "ConcurrentTransactionException"
_METADATA = "MetadataChangedException"
_PROTOCOL = "ProtocolChangedException"


@rule(
    says="A table with identity columns takes one transaction at a time.",
    sources=("D3",),
    differs=VersionDifference(
        "open-source Delta's documents say the same, but its code lets rows with explicit values through; here they wait.",
        ("D32", "C15"),
    ),
    exceptions=(_METADATA,),
    example=Example(
        "INSERT INTO orders (amount, date) VALUES (10, CURRENT_DATE())",
        example_jobs.APPEND,
        table={"identity_columns": frozenset({"id"})},
    ),
    proofs=(
        f"{_RULES}::test_d3_identity_columns_allow_no_concurrent_transactions",
        f"{_DIFFER}::test_d3_identity_columns_allow_no_two_transactions_c15_lets_explicit_values_through",
    ),
)
def identity_columns(race: Race) -> Ruling | None:
    loser, winner = race.loser, race.winner
    known = [side.facts for side in (loser, winner) if side.facts is not None]
    unread = len(known) < 2 and race.dialect is not None
    if not unread and not any(facts.identity_columns for facts in known):
        return None
    facts_of_both = loser.facts is not None and winner.facts is not None
    both_generate = facts_of_both and loser.metadata is winner.metadata is Metadata.IDENTITY
    return Ruling(
        Level.WILL if both_generate and race.sure else Level.MAY,
        "a table with identity columns takes one transaction at a time"
        + (", and this table's columns are not known" if unread else ""),
        _METADATA,
        None,
        WHOLE_TABLE,
    )


@rule(
    says="Several jobs write into an empty path, or create or replace a table, at the same time.",
    sources=("D18", "D28"),
    differs=VersionDifference(
        "the documents of 2019 list neither cause; in open-source Delta only creating a table fails like this, and "
        "replacing an existing table fails with MetadataChangedException.",
        ("D23", "M8", "M17"),
    ),
    exceptions=(_PROTOCOL,),
    example=Example(example_jobs.APPEND, example_jobs.APPEND, table=example_jobs.EMPTY),
    proofs=(
        f"{_RULES}::test_d18_d28_several_write_into_an_empty_path",
        f"{_RULES}::test_d18_d28_several_create_or_replace",
        f"{_DIFFER}::test_d18_d28_replacing_fails_with_ProtocolChanged_m17_with_MetadataChanged",
    ),
)
def first_commit(race: Race) -> Ruling | None:
    if not (race.loser.may_commit_first and race.winner.may_commit_first):
        return None
    return Ruling(
        Level.MAY,
        "both may create or replace the table or write its first version",
        _PROTOCOL,
        CREATE_FIRST,
        WHOLE_TABLE,
    )


@rule(
    says="Enabling or dropping a feature changes the protocol, and all concurrent writes fail.",
    sources=("D1", "D18", "D23"),
    differs=VersionDifference(
        "in open-source Delta, data writers survive the enabling of some features and fail at others with "
        "MetadataChangedException; so this is only `may`.",
        ("C3", "C5", "M14"),
    ),
    exceptions=(_PROTOCOL,),
    example=Example(example_jobs.APPEND, example_jobs.ENABLE_VECTORS),
    proofs=(
        f"{_RULES}::test_d1_a_metadata_change_fails_every_concurrent_write",
        f"{_RULES}::test_d18_d23_a_new_version_of_the_protocol",
        f"{_DIFFER}::test_d1_enabling_a_feature_fails_every_write_m14_lets_data_through",
    ),
)
def protocol_changed(race: Race) -> Ruling | None:
    winner = race.winner
    upgrades = winner.protocol is ProtocolChange.MAY_ADD and winner.metadata in (
        Metadata.ENABLES,
        Metadata.MAY_CHANGE,
    )
    if winner.protocol is not ProtocolChange.REMOVES and not upgrades:
        return None
    return Ruling(
        Level.MAY,
        f"{winner.operation} may change the protocol that {race.loser.operation} began with",
        _PROTOCOL,
        RUN_ALONE,
        WHOLE_TABLE,
    )


@rule(
    says="A change of schema or properties makes all concurrent writes fail.",
    sources=("D1", "D16", "D22", "D27"),
    differs=VersionDifference(
        "open-source Delta lets OPTIMIZE commit and, from 4.1 on, every job if nothing really changed; there it is "
        "`may` instead of `will`.",
        ("C5", "C12", "M4", "M13"),
    ),
    exceptions=(_METADATA,),
    example=Example(example_jobs.APPEND, example_jobs.SET),
    proofs=(
        f"{_RULES}::test_d1_a_change_of_schema_or_properties_will_fail_what_surely_commits",
        f"{_RULES}::test_d16_alter_table_changes_metadata",
        f"{_DIFFER}::test_d1_a_change_of_metadata_fails_every_write_m13_spares_optimize",
    ),
)
def metadata_changed(race: Race) -> Ruling | None:
    loser, winner = race.loser, race.winner
    if winner.metadata is Metadata.NONE:
        return None
    agreed = winner.metadata is Metadata.CHANGES and winner.protocol is loser.protocol is ProtocolChange.NONE
    ordinary = loser.operation in WRITES_ROWS or loser.metadata is Metadata.CHANGES
    return Ruling(
        Level.WILL if agreed and ordinary and not loser.single_attempt and race.sure else Level.MAY,
        f"{winner.operation} may change the metadata that {loser.operation} began with",
        _METADATA,
        RUN_ALONE,
        WHOLE_TABLE,
    )


@rule(
    says=(
        "A stream that reads a table fails at a commit that changes the table's metadata, and must be restarted."
    ),
    sources=("D2",),
    example=Example(example_jobs.STREAM_THAT_LOOKS_INTO_ORDERS, example_jobs.ADD_COLUMN),
    proofs=(f"{_RULES}::test_d2_streaming_reads_fail_at_a_metadata_change",),
)
def streaming_read(race: Race) -> Ruling | None:
    source, winner = race.table, race.winner
    if winner.metadata in (Metadata.NONE, Metadata.IDENTITY) or not source.may_equal(winner.table):
        return None
    sure = winner.metadata is Metadata.CHANGES and winner.certain and race.on_one_table
    return Ruling(
        Level.WILL if sure else Level.MAY,
        f"{winner.operation} may change the metadata of {source}, which the stream reads",
        None,
        PAUSE_STREAM,
        WHOLE_TABLE,
    )


@rule(
    says="No document mentions two writes under one txnAppId.",
    sources=("C7",),
    exceptions=(_TRANSACTION,),
    example=Example(example_jobs.WRITE_WITH_ID, example_jobs.WRITE_WITH_ID),
    proofs=(f"{_RULES}::test_two_writes_under_one_transaction_id_wait_though_no_document_says_so",),
)
def same_transaction_id(race: Race) -> Ruling | None:
    if race.shared_txn_app_id is None:
        return None
    return Ruling(
        Level.MAY,
        f"both write under the txnAppId {race.shared_txn_app_id}",
        _TRANSACTION,
        OWN_TXN_APP_ID,
        WHOLE_TABLE,
    )


@rule(
    says="VACUUM touches no file of the current version, and no document on write conflicts mentions it.",
    sources=("C14", "M5"),
    example=Example(example_jobs.VACUUM, example_jobs.DELETE),
    proofs=(f"{_RULES}::test_no_document_on_write_conflicts_speaks_of_vacuum_so_it_goes_by_m5",),
)
def vacuum(race: Race) -> Ruling | None:
    if Operation.VACUUM not in (race.loser.operation, race.winner.operation) or (
        race.loser.single_attempt or race.loser.protocol is not ProtocolChange.NONE
    ):
        return None
    return Ruling(Level.NEVER, "VACUUM changes no row and deletes only files that no version needs")


@rule(
    says=(
        "What no document mentions waits: RESTORE, CLONE, CREATE, ALTER and CLUSTER BY beside others, unless their "
        "changes of metadata already decide."
    ),
    example=Example(example_jobs.RESTORE, example_jobs.APPEND),
    proofs=(f"{_RULES}::test_what_others_do_to_a_metadata_change_no_document_says_so_it_waits",),
)
def undocumented(race: Race) -> Ruling:
    loser, winner = race.loser, race.winner
    return Ruling(
        Level.MAY,
        f"no document says whether {loser.operation} can lose to {winner.operation}",
        None,
        None,
        WHOLE_TABLE,
    )


RULES: tuple[Rule, ...] = (
    identity_columns,
    first_commit,
    protocol_changed,
    metadata_changed,
    same_transaction_id,
    vacuum,
    *databricks_rows.RULES,
    undocumented,
)
RULES_OF_READERS: tuple[Rule, ...] = (streaming_read,)


def verdict_of(race: Race) -> Verdict:
    return verdict_by(RULES, race)
