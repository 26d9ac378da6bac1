"""delta-rs' conflict check (conflict_checker.rs), which the `deltalake` package for Python has, in its own order: the first
rule that has something to say decides.

It was read, not raced. So what it is known to abort is said, what it is known to let pass beside every file of the other
is `never`, and the rest waits: where it looks into files' statistics nobody knows before what it will find. All its
failures are one class, CommitFailedError, and it tries a commit 15 times at most.
"""

from sluice.api.job import Operation
from sluice.conflicts import orders
from sluice.conflicts.race import Race
from sluice.conflicts.rule import Difference, Example, Rule, Ruling, rule, verdict_by
from sluice.conflicts.verdict import Level, Verdict
from sluice.footprint.model import EVERYTHING, Metadata, Protocol, TableFootprint
from sluice.predicates import Region
from sluice.tables import Dialect

_TESTS = "conflicts/test_delta_rs.py"
_FAILED = "CommitFailedError"
_ALL = (EVERYTHING, EVERYTHING)
_WITH_A_PREDICATE = frozenset({Operation.DELETE, Operation.UPDATE, Operation.OVERWRITE})
"""What checks files by its own predicate. That of a MERGE is made of the values of its source, so it is not known before."""
_ALONE = "run it when nobody else writes the table"


@rule(
    "single-attempt",
    says=(
        "What tries one version only, and of which nothing is known in delta-rs: RESTORE, CLONE and CONVERT."
    ),
    sources=("C24", "C11"),
    example=Example(orders.RESTORE, orders.APPEND),
    proofs=(f"{_TESTS}::test_what_tries_once_may_lose_to_everything",),
)
def single_attempt(race: Race) -> Ruling | None:
    if not race.loser.single_attempt:
        return None
    return Ruling(
        Level.MAY,
        f"{race.loser.operation} may try to commit once only: after any other commit it fails",
        _FAILED,
        None,
        _ALL,
    )


@rule(
    "first-commit",
    says='Who begins without a table and finds one at its commit, "version 0 exists".',
    sources=("C23",),
    example=Example(orders.APPEND, orders.APPEND, table=orders.EMPTY),
    proofs=(f"{_TESTS}::test_first_commits_exclude_each_other",),
)
def first_commit(race: Race) -> Ruling | None:
    loser, winner = race.loser, race.winner
    if not (
        (loser.creates and winner.may_commit_first)
        or (loser.replaces and (winner.creates or winner.replaces))
    ):
        return None
    return Ruling(
        Level.MAY,
        "both may make the table's first commit",
        _FAILED,
        "create the table before, in a job of its own",
        _ALL,
    )


@rule(
    "protocol-changed",
    says=(
        "Two commits with a Protocol action exclude each other, and a newer protocol may abort everybody: "
        "versions are compared in a way of its own."
    ),
    sources=("C17",),
    differs=Difference(
        "open-source Delta lets everybody but a second change of the protocol commit.", ("C3",)
    ),
    example=Example(orders.APPEND, orders.ENABLE_VECTORS),
    proofs=(f"{_TESTS}::test_c17_two_changes_of_the_protocol",),
)
def protocol_changed(race: Race) -> Ruling | None:
    loser, winner = race.loser, race.winner
    if winner.protocol is Protocol.NONE and loser.protocol is not Protocol.REMOVES:
        return None
    return Ruling(
        Level.MAY,
        f"{winner.operation} or {loser.operation} may change the table's protocol",
        _FAILED,
        _ALONE,
        _ALL,
    )


@rule(
    "metadata-changed",
    says="Any Metadata action aborts everybody, compactions among them, also if it changes nothing.",
    sources=("C18",),
    differs=Difference(
        "open-source Delta spares OPTIMIZE, and from 4.1 on lets some changes pass.", ("C5", "C12")
    ),
    example=Example(orders.APPEND, orders.SET),
    proofs=(f"{_TESTS}::test_c18_any_metadata_action_aborts_everything",),
)
def metadata_changed(race: Race) -> Ruling | None:
    loser, winner = race.loser, race.winner
    if winner.metadata is Metadata.NONE:
        return None
    written = winner.metadata in (Metadata.CHANGES, Metadata.SAME, Metadata.ENABLES, Metadata.IDENTITY)
    return Ruling(
        Level.WILL if written and race.sure else Level.MAY,
        f"{winner.operation} may write the table's metadata, at which {loser.operation} fails whatever has changed",
        _FAILED,
        _ALONE,
        _ALL,
    )


@rule(
    "added-files",
    says=(
        "Files that were added where the loser's predicate may match, by partition values and statistics; "
        "those of a compaction count, too."
    ),
    sources=("C19",),
    differs=Difference(
        "open-source Delta compares partitions only. An overwrite or a DELETE without a predicate, and an append "
        "that reads its own table, are not checked at all: both commit, as if the one had not seen the other, so "
        "they wait as well.",
        ("C8", "C19"),
    ),
    example=Example(orders.DELETE, orders.APPEND),
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
    "removed-files",
    says=(
        "Files that the loser read and the winner removed. Whoever has no predicate, a plain append among "
        "them, counts as a reader of all files. From 1.3.0 on those that a compaction removes don't count."
    ),
    sources=("C20",),
    differs=Difference(
        "open-source Delta lets a blind append pass, and aborts at a compaction's files.", ("C8", "C9")
    ),
    example=Example(orders.APPEND, orders.DELETE),
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
    "removed-twice",
    says="Files that both remove, compactions' among them.",
    sources=("C21",),
    example=Example(orders.OPTIMIZE, orders.OPTIMIZE),
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
    "same-transaction-id",
    says="Two writes under one txnAppId, whatever their versions: the second aborts. It is looked at last.",
    sources=("C22",),
    example=Example(orders.WRITE_WITH_ID, orders.WRITE_WITH_ID),
    proofs=(f"{_TESTS}::test_c22_one_transaction_id_twice",),
)
def same_transaction_id(race: Race) -> Ruling | None:
    if race.loser.txn_app_id is None or race.loser.txn_app_id != race.winner.txn_app_id:
        return None
    return Ruling(
        Level.WILL if race.sure else Level.MAY,
        f"both write under the txnAppId {race.loser.txn_app_id}",
        _FAILED,
        "give each job a txnAppId of its own",
        _ALL,
    )


@rule(
    "changes-no-files",
    says="A commit that adds and removes no files is in nobody's way.",
    sources=("C19", "C20", "C21"),
    example=Example(orders.DELETE, orders.VACUUM),
    proofs=("conflicts/test_why_two_may_run_together.py::test_to_delta_rs_vacuum_changes_no_files",),
)
def changes_no_files(race: Race) -> Ruling | None:
    winner = race.winner
    if not (winner.adds.is_empty and winner.removes.is_empty):
        return None
    return Ruling(Level.NEVER, f"{winner.operation} changes no files")


@rule(
    "disjoint",
    says=(
        "What no rule speaks against. A plain append passes whoever removes no file; after 15 lost races for a version it "
        "fails all the same, which is no matter of two jobs."
    ),
    sources=("C16", "C19", "C20"),
    example=Example(orders.APPEND, orders.OPTIMIZE),
    proofs=(f"{_TESTS}::test_c20_a_compactions_files_are_no_deletes",),
)
def disjoint(race: Race) -> Ruling:
    loser, winner = race.loser, race.winner
    return Ruling(Level.NEVER, f"{winner.operation} adds and removes no file that {loser.operation} looks at")


def _spares_compactions(dialect: Dialect | None) -> bool:
    return dialect is not None and dialect.version is not None and dialect.version >= (1, 3)


def _checked(loser: TableFootprint) -> Region:
    """Where files count as read: by a predicate of its own; else everywhere."""
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
