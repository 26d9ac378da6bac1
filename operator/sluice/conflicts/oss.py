"""Open-source Delta's conflict check (ConflictChecker), as a list of rules in its own order: the first that has
something to say decides.

Sources: "conflicts A.3 #n" is the numbered check in the reference of the code, "measured n" a finding of real races. What
differs by version is data (`eras`), not code.
"""

from sluice.conflicts.eras import ANY_ENGINE
from sluice.conflicts.race import Race, Rule, decided
from sluice.conflicts.verdict import Level, Verdict
from sluice.footprint.model import EVERYTHING, Metadata, Protocol, TableFootprint
from sluice.footprint.sql.advice import how_to_know

_APPEND = "ConcurrentAppendException"
_DELETE_READ = "ConcurrentDeleteReadException"
_DELETE_DELETE = "ConcurrentDeleteDeleteException"
_TRANSACTION = "ConcurrentTransactionException"
_WRITE = "ConcurrentWriteException"
_METADATA = "MetadataChangedException"
_PROTOCOL = "ProtocolChangedException"
_ALL = (EVERYTHING, EVERYTHING)
_CHANGES_APART = (
    "run it when nobody else writes the table; several changes of properties fit into one ALTER TABLE"
)


def single_attempt(race: Race) -> Verdict | None:
    """RESTORE, CLONE and CONVERT try one version only: whatever was committed meanwhile is a conflict. conflicts A.3,
    "commitLarge"; measured: every cell of the row `restore` is CW.
    Differs: no document speaks of it (conflicts A.6 #8)."""
    if not race.loser.single_attempt:
        return None
    return _verdict(
        race,
        "single-attempt",
        f"{race.loser.operation} tries to commit once: after any other commit it fails",
        _WRITE,
    )


def first_commit(race: Race) -> Verdict | None:
    """Who begins on a path without a table and finds one at its commit fails. measured 10; matrices of first commits.
    Differs: seed 002, ProtocolChangedException, says the same of replacing a table, which fails with MetadataChanged."""
    if not (race.loser.creates and race.winner.may_commit_first):
        return None
    return Verdict(
        Level.MAY,
        "first-commit",
        "both may make the table's first commit",
        _PROTOCOL,
        "create the table before: CREATE TABLE IF NOT EXISTS in a job of its own",
        _ALL,
    )


def protocol_changed(race: Race) -> Verdict | None:
    """A removed feature aborts everybody but OPTIMIZE; two commits with a Protocol action exclude each other.
    conflicts A.3 #1, #1b; measured 6, 11.
    Differs: seed 002, ProtocolChangedException, says that any upgrade of the protocol aborts."""
    loser, winner = race.loser, race.winner
    if loser.protocol is Protocol.REMOVES:
        return Verdict(
            Level.MAY,
            "feature-dropped-under-writers",
            "DROP FEATURE checks again whether what was committed meanwhile still uses the feature",
            None,
            _CHANGES_APART,
            _ALL,
        )
    if winner.protocol is Protocol.REMOVES and not loser.retries_itself:
        return Verdict(
            Level.MAY,
            "feature-removed",
            f"a feature that {loser.operation} began with is removed from the table",
            _PROTOCOL,
            _CHANGES_APART,
            _ALL,
        )
    if Protocol.NONE in (loser.protocol, winner.protocol):
        return None
    return Verdict(
        Level.MAY, "two-protocols", "both may change the table's protocol", _PROTOCOL, _CHANGES_APART, _ALL
    )


_IN_STEPS = frozenset({"rowTracking"})
"""Begun by several commits, of which the last one alone writes metadata: it may begin after the winner's."""


def metadata_changed(race: Race) -> Verdict | None:
    """A change of schema or properties aborts what began before it, with exceptions that grew with the versions.
    conflicts A.3 #2; measured 3, 4, 5, 13.
    Differs: seed 000, Importante, says that every change aborts every concurrent write; here OPTIMIZE, the enabling of some
    features and, from 4.1 on, changes that change nothing let others commit."""
    loser, winner = race.loser, race.winner
    if winner.metadata is Metadata.NONE:
        return None
    if loser.retries_itself and not winner.replaces:
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
    clear = Protocol.NONE in (loser.protocol, winner.protocol)
    advice: str | None = _CHANGES_APART
    if _may_have_identity_columns(winner):
        advice = how_to_know(winner.table, winner.operation)
        reason = (
            f"nothing is known of {winner.table}, which may have identity columns: {winner.operation} may raise their mark in "
            f"the metadata that {loser.operation} began with"
        )
    elif both:
        reason = f"both {loser.operation} and {winner.operation} write the table's metadata"
    else:
        reason = f"{winner.operation} may change the metadata that {loser.operation} began with"
    level = Level.WILL if sure and clear and race.sure else Level.MAY
    return Verdict(level, "metadata-changed", reason, _METADATA, advice, _ALL)


def _may_have_identity_columns(statement: TableFootprint) -> bool:
    return statement.metadata is Metadata.IDENTITY and statement.facts is None


def _harmless(race: Race) -> bool:
    winner, era = race.winner, race.era
    if winner.metadata is Metadata.IDENTITY:
        return era is not ANY_ENGINE
    if winner.metadata is Metadata.SAME:
        return era.compares_metadata
    return winner.metadata is Metadata.ENABLES and winner.enables <= era.survives_enabling


def same_domain(race: Race) -> Verdict | None:
    """Two commits with the same metadata domain, such as the clustering columns. conflicts A.3 #3; measured 7.
    Differs: no document speaks of it (conflicts A.6 #8)."""
    if not race.loser.domains & race.winner.domains:
        return None
    sure = race.sure and race.winner.adds.is_empty
    return Verdict(
        Level.WILL if sure else Level.MAY,
        "same-domain",
        "both write the table's clustering columns, an overwrite as well as CLUSTER BY",
        _TRANSACTION,
        None,
        _ALL,
    )


def same_transaction_id(race: Race) -> Verdict | None:
    """Two writes under one txnAppId: whichever commits second aborts, whatever their versions. conflicts A.3 #4.
    Differs: the documents speak of streams on one checkpoint only."""
    if race.loser.txn_app_id is None or race.loser.txn_app_id != race.winner.txn_app_id:
        return None
    return _verdict(
        race,
        "same-transaction-id",
        f"both write under the txnAppId {race.loser.txn_app_id}",
        _TRANSACTION,
        "give each job a txnAppId of its own",
    )


def added_files(race: Race) -> Verdict | None:
    """Files that were added where the loser read. Compared by partition only, never by rows; those of OPTIMIZE count, too.
    conflicts A.3 #6, A.2; measured: "ConcurrentAppend" in all matrices.
    Differs: seed 002 says that it depends on the set of files; seed 000 tells conflicts by rows where tables have deletion
    vectors, lets blind INSERTs through by default (WriteSerializable), and names no files of OPTIMIZE."""
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
    return Verdict(
        Level.WILL if sure else Level.MAY,
        "added-files",
        f"{winner.operation} may add files to partitions that {loser.operation} reads",
        _APPEND,
        race.to_part,
        (loser.reads, winner.adds),
    )


def removed_files(race: Race) -> Verdict | None:
    """Files that the loser read and the winner removed or rewrote. Which files that are depends on the rows.
    conflicts A.3 #7; measured 13 (OPTIMIZE against OPTIMIZE).
    Differs: seed 000, seed 001 and seed 002 say ConcurrentDeleteDelete of two compactions; seed 000 lets OPTIMIZE pass on
    tables with deletion vectors."""
    loser, winner = race.loser, race.winner
    if not race.meet(loser.reads_files, winner.removes):
        return None
    return Verdict(
        Level.MAY,
        "removed-files",
        f"{winner.operation} may remove files that {loser.operation} reads",
        _DELETE_READ,
        race.to_part,
        (loser.reads_files, winner.removes),
    )


def removed_twice(race: Race) -> Verdict | None:
    """Files that both remove: only dynamic overwrite removes what it hasn't read. conflicts A.3 #8; measured 13.
    Differs: the documents give two compactions as the cause, which fail with ConcurrentDeleteRead."""
    loser, winner = race.loser, race.winner
    if not race.meet(loser.removes, winner.removes):
        return None
    return Verdict(
        Level.MAY,
        "removed-twice",
        f"{loser.operation} and {winner.operation} may remove the same files",
        _DELETE_DELETE,
        race.to_part,
        (loser.removes, winner.removes),
    )


def streaming_read(race: Race) -> Verdict | None:
    """A stream that reads a table fails at a commit that changes the table's schema, and goes on when it is started again.
    docs.delta.io, Table streaming reads and writes, Delta table as a source.
    Differs: seed 000, Importante, says so of every change of metadata; which of them leave the schema as it was, a
    footprint does not tell, so this is only `may`."""
    source, winner = race.table, race.winner
    if winner.metadata in (Metadata.NONE, Metadata.IDENTITY, Metadata.SAME):
        return None
    if not source.may_equal(winner.table):
        return None
    return Verdict(
        Level.MAY,
        "streaming-read",
        f"{winner.operation} may change the schema of {source}, which the stream reads",
        None,
        "pause the stream for it (spec.stream.yield: Metadata)",
        _ALL,
    )


RULES_OF_FILES: tuple[Rule, ...] = (added_files, removed_files, removed_twice)
RULES: tuple[Rule, ...] = (
    single_attempt,
    first_commit,
    protocol_changed,
    metadata_changed,
    same_domain,
    same_transaction_id,
    *RULES_OF_FILES,
)
RULES_OF_READERS: tuple[Rule, ...] = (streaming_read,)


def verdict_of(race: Race) -> Verdict:
    files_only = race.loser.only_files and race.winner.only_files
    return decided(RULES_OF_FILES if files_only else RULES, race) or nothing_meets(race)


def nothing_meets(race: Race) -> Verdict:
    """What no rule speaks against."""
    loser, winner = race.loser, race.winner
    if loser.blind:
        return Verdict(Level.NEVER, "blind-append", f"{loser.operation} reads nothing of the table")
    if winner.adds.is_empty and winner.removes.is_empty:
        return Verdict(Level.NEVER, "changes-no-files", f"{winner.operation} changes no files")
    return Verdict(
        Level.NEVER, "disjoint", f"{winner.operation} touches no partition that {loser.operation} reads"
    )


def _verdict(race: Race, rule: str, reason: str, exception: str, advice: str | None = None) -> Verdict:
    return Verdict(Level.WILL if race.sure else Level.MAY, rule, reason, exception, advice, _ALL)
