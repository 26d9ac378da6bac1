"""delta-rs' conflict check (conflict_checker.rs, in the `deltalake` package for Python), in its own order: the first
rule that has something to say decides.

Its code was read, not raced. So the rules name what it is known to abort, say `never` where it is known to let a
commit pass whatever files the other has, and let the rest wait: where it looks into files' statistics, what it will
find is not known beforehand. All its failures are one class, CommitFailedError, and it tries a commit at most 15
times.
"""

from sluice.api.job import Operation
from sluice.conflicts import example_jobs
from sluice.conflicts.advice_texts import CREATE_FIRST, OWN_TXN_APP_ID, RUN_ALONE
from sluice.conflicts.race import Race
from sluice.conflicts.rule import WHOLE_TABLE, Example, Rule, Ruling, VersionDifference, rule, verdict_by
from sluice.conflicts.verdict import Level, Verdict
from sluice.footprint.model import EVERYTHING, Metadata, ProtocolChange, TableFootprint
from sluice.predicates import Region
from sluice.tables import Dialect

_TESTS = "conflicts/test_delta_rs.py"
_FAILED = "CommitFailedError"
_WITH_A_PREDICATE = frozenset({Operation.DELETE, Operation.UPDATE, Operation.OVERWRITE})
"""Operations that check files by a predicate of their own. A MERGE makes it from its source's values, so it is not
known beforehand."""


@rule(
    says=("RESTORE, CLONE and CONVERT try one version only; how delta-rs handles them is not known."),
    sources=("C24", "C11"),
    exceptions=(_FAILED,),
    example=Example(example_jobs.RESTORE, example_jobs.APPEND),
    proofs=(f"{_TESTS}::test_what_tries_once_may_lose_to_everything",),
)
def single_attempt(race: Race) -> Ruling | None:
    if not race.loser.single_attempt:
        return None
    return Ruling(
        Level.MAY,
        f"{race.loser.operation} may try to commit only once: after any other commit it fails",
        _FAILED,
        None,
        WHOLE_TABLE,
    )


@rule(
    says='A job that begins without a table and finds one at its commit fails with "version 0 exists".',
    sources=("C23",),
    exceptions=(_FAILED,),
    example=Example(example_jobs.APPEND, example_jobs.APPEND, table=example_jobs.EMPTY),
    proofs=(f"{_TESTS}::test_first_commits_exclude_each_other",),
)
def first_commit(race: Race) -> Ruling | None:
    if not (race.loser.may_commit_first and race.winner.may_commit_first):
        return None
    return Ruling(
        Level.MAY,
        "both may make the table's first commit",
        _FAILED,
        CREATE_FIRST,
        WHOLE_TABLE,
    )


@rule(
    says=(
        "Two commits with a Protocol action exclude each other, and a newer protocol may abort every job: delta-rs "
        "compares versions in its own way."
    ),
    sources=("C17",),
    differs=VersionDifference(
        "open-source Delta lets every job commit except a second change of the protocol.", ("C3",)
    ),
    exceptions=(_FAILED,),
    example=Example(example_jobs.APPEND, example_jobs.ENABLE_VECTORS),
    proofs=(f"{_TESTS}::test_c17_two_changes_of_the_protocol",),
)
def protocol_changed(race: Race) -> Ruling | None:
    loser, winner = race.loser, race.winner
    if winner.protocol is ProtocolChange.NONE and loser.protocol is not ProtocolChange.REMOVES:
        return None
    return Ruling(
        Level.MAY,
        f"{winner.operation} or {loser.operation} may change the table's protocol",
        _FAILED,
        RUN_ALONE,
        WHOLE_TABLE,
    )


@rule(
    says="Any Metadata action aborts every job, including compactions, even if it changes nothing.",
    sources=("C18",),
    differs=VersionDifference(
        "open-source Delta spares OPTIMIZE and, from 4.1 on, lets some changes pass.", ("C5", "C12")
    ),
    exceptions=(_FAILED,),
    example=Example(example_jobs.APPEND, example_jobs.SET),
    proofs=(f"{_TESTS}::test_c18_any_metadata_action_aborts_everything",),
)
def metadata_changed(race: Race) -> Ruling | None:
    loser, winner = race.loser, race.winner
    if winner.metadata is Metadata.NONE:
        return None
    written = winner.metadata in (Metadata.CHANGES, Metadata.SAME, Metadata.ENABLES, Metadata.IDENTITY)
    return Ruling(
        Level.WILL if written and race.sure else Level.MAY,
        f"{winner.operation} may write the table's metadata, which makes {loser.operation} fail whatever has changed",
        _FAILED,
        RUN_ALONE,
        WHOLE_TABLE,
    )


@rule(
    says=(
        "The winner adds files where the loser's predicate may match, judged by partition values and statistics; files "
        "that a compaction adds count as well."
    ),
    sources=("C19",),
    differs=VersionDifference(
        "open-source Delta compares partitions only. delta-rs does not check an overwrite or a DELETE without a "
        "predicate, nor an append that reads its own table: both jobs commit as if neither "
        "had seen the other, so they wait as well.",
        ("C8", "C19"),
    ),
    exceptions=(_FAILED,),
    example=Example(example_jobs.DELETE, example_jobs.APPEND),
    proofs=(f"{_TESTS}::test_c19_files_added_where_the_predicate_may_match",),
)
def added_files(race: Race) -> Ruling | None:
    loser, winner = race.loser, race.winner
    read = _checked(loser) if loser.data_change and not loser.blind else loser.reads
    if not race.meet(read, winner.adds):
        return None
    return Ruling(
        Level.MAY,
        f"{winner.operation} may add files to partitions that {loser.operation} reads: delta-rs aborts, or does not notice",
        _FAILED,
        race.to_part,
        (read, winner.adds),
    )


@rule(
    says=(
        "The winner removes files that the loser read. A job without a predicate, even a plain append, counts as a "
        "reader of all files. From 1.3.0 on, files that a compaction removes do not count."
    ),
    sources=("C20",),
    differs=VersionDifference(
        "open-source Delta lets a blind append pass, and aborts the loser at files that a compaction removes.",
        ("C8", "C9"),
    ),
    exceptions=(_FAILED,),
    example=Example(example_jobs.APPEND, example_jobs.DELETE),
    proofs=(f"{_TESTS}::test_c20_a_plain_append_loses_to_any_removal",),
)
def removed_files(race: Race) -> Ruling | None:
    loser, winner = race.loser, race.winner
    read = _checked(loser)
    counts = winner.data_change or not _spares_compactions(race.dialect)
    if not counts or not race.meet(read, winner.removes):
        return None
    return Ruling(
        Level.MAY,
        f"{winner.operation} may remove files, and {loser.operation} counts as a reader of them",
        _FAILED,
        race.to_part,
        (read, winner.removes),
    )


@rule(
    says="Both remove the same files; files that a compaction removes count as well.",
    sources=("C21",),
    exceptions=(_FAILED,),
    example=Example(example_jobs.OPTIMIZE, example_jobs.OPTIMIZE),
    proofs=(f"{_TESTS}::test_c21_two_compactions_may_remove_the_same_files",),
)
def removed_twice(race: Race) -> Ruling | None:
    loser, winner = race.loser, race.winner
    if not race.meet(loser.removes, winner.removes):
        return None
    return Ruling(
        Level.MAY,
        f"{loser.operation} and {winner.operation} may remove the same files",
        _FAILED,
        race.to_part,
        (loser.removes, winner.removes),
    )


@rule(
    says="Of two writes under one txnAppId the second aborts, whatever their versions. This is checked last.",
    sources=("C22",),
    exceptions=(_FAILED,),
    example=Example(example_jobs.WRITE_WITH_ID, example_jobs.WRITE_WITH_ID),
    proofs=(f"{_TESTS}::test_c22_one_transaction_id_twice",),
)
def same_transaction_id(race: Race) -> Ruling | None:
    if race.shared_txn_app_id is None:
        return None
    return Ruling(
        Level.WILL if race.sure else Level.MAY,
        f"both write under the txnAppId {race.shared_txn_app_id}",
        _FAILED,
        OWN_TXN_APP_ID,
        WHOLE_TABLE,
    )


@rule(
    says="A commit that adds and removes no files is in no other job's way.",
    sources=("C19", "C20", "C21"),
    example=Example(example_jobs.DELETE, example_jobs.VACUUM),
    proofs=("conflicts/test_why_two_may_run_together.py::test_to_delta_rs_vacuum_changes_no_files",),
)
def changes_no_files(race: Race) -> Ruling | None:
    winner = race.winner
    if not (winner.adds.is_empty and winner.removes.is_empty):
        return None
    return Ruling(Level.NEVER, f"{winner.operation} changes no files")


@rule(
    says=(
        "No rule speaks against the pair. A plain append passes any job that removes no files; after 15 lost races for "
        "a version it still fails, but that does not depend on one other job."
    ),
    sources=("C16", "C19", "C20"),
    example=Example(example_jobs.APPEND, example_jobs.OPTIMIZE),
    proofs=(f"{_TESTS}::test_c20_a_compactions_files_are_no_deletes",),
)
def disjoint(race: Race) -> Ruling:
    loser, winner = race.loser, race.winner
    return Ruling(Level.NEVER, f"{winner.operation} adds and removes no file that {loser.operation} looks at")


def _spares_compactions(dialect: Dialect | None) -> bool:
    return dialect is not None and dialect.version is not None and dialect.version >= (1, 3)


def _checked(loser: TableFootprint) -> Region:
    """Where its files count as read: where its own predicate matches, or everywhere if it has none."""
    return loser.reads if loser.operation in _WITH_A_PREDICATE else EVERYTHING


RULES: tuple[Rule, ...] = (
    single_attempt,
    first_commit,
    protocol_changed,
    metadata_changed,
    added_files,
    removed_files,
    removed_twice,
    same_transaction_id,
    changes_no_files,
    disjoint,
)


def verdict_of(race: Race) -> Verdict:
    return verdict_by(RULES, race)
