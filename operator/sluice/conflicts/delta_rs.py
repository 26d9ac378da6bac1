"""delta-rs' conflict check (conflict_checker.rs), which the `deltalake` package for Python has, in its own order: the first
rule that has something to say decides.

It was read, not raced. So what it is known to abort is said, what it is known to let pass beside every file of the other
is `never`, and the rest waits: where it looks into files' statistics nobody knows before what it will find. All its
failures are one class, CommitFailedError, and it tries a commit 15 times at most.
"""

from sluice.api.job import Operation
from sluice.conflicts.race import Race, Rule, decided
from sluice.conflicts.verdict import Level, Verdict
from sluice.footprint.model import EVERYTHING, Metadata, Protocol, TableFootprint
from sluice.predicates import Region
from sluice.tables import Dialect

_FAILED = "CommitFailedError"
_ALL = (EVERYTHING, EVERYTHING)
_WITH_A_PREDICATE = frozenset({Operation.DELETE, Operation.UPDATE, Operation.OVERWRITE})
"""What checks files by its own predicate. That of a MERGE is made of the values of its source, so it is not known before."""
_ALONE = "run it when nobody else writes the table"


def single_attempt(race: Race) -> Verdict | None:
    """What tries one version only, and of which nothing is known in delta-rs: RESTORE, CLONE and CONVERT. conflicts A.3,
    "commitLarge"."""
    if not race.loser.single_attempt:
        return None
    return Verdict(
        Level.MAY,
        "single-attempt",
        f"{race.loser.operation} may try to commit once only: after any other commit it fails",
        _FAILED,
        None,
        _ALL,
    )


def first_commit(race: Race) -> Verdict | None:
    """Who begins without a table and finds one at its commit, "version 0 exists". conflicts E."""
    loser, winner = race.loser, race.winner
    if not (
        (loser.creates and winner.may_commit_first)
        or (loser.replaces and (winner.creates or winner.replaces))
    ):
        return None
    return Verdict(
        Level.MAY,
        "first-commit",
        "both may make the table's first commit",
        _FAILED,
        "create the table before, in a job of its own",
        _ALL,
    )


def protocol_changed(race: Race) -> Verdict | None:
    """Two commits with a Protocol action exclude each other, and a newer protocol may abort everybody: versions are compared
    in a way of its own. conflicts C, protocol; conflicts B.2, X08.
    Differs: open-source Delta lets everybody but a second change of the protocol commit (conflicts A.3 #1)."""
    loser, winner = race.loser, race.winner
    if winner.protocol is Protocol.NONE and loser.protocol is not Protocol.REMOVES:
        return None
    return Verdict(
        Level.MAY,
        "protocol-changed",
        f"{winner.operation} or {loser.operation} may change the table's protocol",
        _FAILED,
        _ALONE,
        _ALL,
    )


def metadata_changed(race: Race) -> Verdict | None:
    """Any Metadata action aborts everybody, compactions among them, also if it changes nothing. conflicts C, metadata
    change; conflicts B.2, X07.
    Differs: open-source Delta spares OPTIMIZE, and from 4.1 on lets some changes pass (conflicts A.3 #2)."""
    loser, winner = race.loser, race.winner
    if winner.metadata is Metadata.NONE:
        return None
    written = winner.metadata in (Metadata.CHANGES, Metadata.SAME, Metadata.ENABLES, Metadata.IDENTITY)
    return Verdict(
        Level.WILL if written and race.sure else Level.MAY,
        "metadata-changed",
        f"{winner.operation} may write the table's metadata, at which {loser.operation} fails whatever has changed",
        _FAILED,
        _ALONE,
        _ALL,
    )


def added_files(race: Race) -> Verdict | None:
    """Files that were added where the loser's predicate may match, by partition values and statistics; those of a compaction
    count, too. conflicts C, append granularity; conflicts B.2, X03, X05, X09, X15, X16, X20, X21.
    Differs: open-source Delta compares partitions only (conflicts A.3 #6). An overwrite or a DELETE without a predicate, and
    an append that reads its own table, are not checked at all (issue #3622): both commit, as if the one had not seen the
    other, so they wait as well."""
    loser, winner = race.loser, race.winner
    read = _checked(loser) if loser.data_change and not loser.blind else loser.reads
    if not race.meet(read, winner.adds):
        return None
    return Verdict(
        Level.MAY,
        "added-files",
        f"{winner.operation} may add files to partitions that {loser.operation} reads: delta-rs aborts, or does not notice",
        _FAILED,
        race.to_part,
        (read, winner.adds),
    )


def removed_files(race: Race) -> Verdict | None:
    """Files that the loser read and the winner removed. Whoever has no predicate, a plain append among them, counts as a
    reader of all files. From 1.3.0 on those that a compaction removes don't count. conflicts C, read files when no predicate,
    and winner removes with dataChange=false; conflicts B.2, X02, X10, X11, X12; delta-rs, pull request 3982.
    Differs: open-source Delta lets a blind append pass, and aborts at a compaction's files (conflicts A.3 #7)."""
    loser, winner = race.loser, race.winner
    read = _checked(loser)
    counts = winner.data_change or not _spares_compactions(race.dialect)
    if not counts or not race.meet(read, winner.removes):
        return None
    return Verdict(
        Level.MAY,
        "removed-files",
        f"{winner.operation} may remove files, and {loser.operation} counts as a reader of them",
        _FAILED,
        race.to_part,
        (read, winner.removes),
    )


def removed_twice(race: Race) -> Verdict | None:
    """Files that both remove, compactions' among them. conflicts C, winner removes with dataChange=false; conflicts B.2,
    X04, X14."""
    loser, winner = race.loser, race.winner
    if not race.meet(loser.removes, winner.removes):
        return None
    return Verdict(
        Level.MAY,
        "removed-twice",
        f"{loser.operation} and {winner.operation} may remove the same files",
        _FAILED,
        race.to_part,
        (loser.removes, winner.removes),
    )


def same_transaction_id(race: Race) -> Verdict | None:
    """Two writes under one txnAppId, whatever their versions: the second aborts. It is looked at last. conflicts C, order;
    conflicts B.2, X17."""
    if race.loser.txn_app_id is None or race.loser.txn_app_id != race.winner.txn_app_id:
        return None
    return Verdict(
        Level.WILL if race.sure else Level.MAY,
        "same-transaction-id",
        f"both write under the txnAppId {race.loser.txn_app_id}",
        _FAILED,
        "give each job a txnAppId of its own",
        _ALL,
    )


RULES: tuple[Rule, ...] = (
    single_attempt,
    first_commit,
    protocol_changed,
    metadata_changed,
    added_files,
    removed_files,
    removed_twice,
    same_transaction_id,
)


def verdict_of(race: Race) -> Verdict:
    return decided(RULES, race) or nothing_meets(race)


def nothing_meets(race: Race) -> Verdict:
    """What no rule speaks against. A plain append passes whoever removes no file; after 15 lost races for a version it
    fails all the same, which is no matter of two jobs. conflicts C, which ops carry predicate, and commit retries."""
    loser, winner = race.loser, race.winner
    if winner.adds.is_empty and winner.removes.is_empty:
        return Verdict(Level.NEVER, "changes-no-files", f"{winner.operation} changes no files")
    return Verdict(
        Level.NEVER,
        "disjoint",
        f"{winner.operation} adds and removes no file that {loser.operation} looks at",
    )


def _spares_compactions(dialect: Dialect | None) -> bool:
    return dialect is not None and dialect.version is not None and dialect.version >= (1, 3)


def _checked(loser: TableFootprint) -> Region:
    """Where files count as read: by a predicate of its own; else everywhere."""
    return loser.reads if loser.operation in _WITH_A_PREDICATE else EVERYTHING
