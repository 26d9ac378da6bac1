"""Databricks' conflict rules as its documents state them: the first that has something to say decides.

There is no code to read and no engine to measure, so the burden of proof is turned round: a pair is let through only where a
document says that it cannot conflict, and what no document speaks of waits. `will` is said only where a document and
open-source Delta's code agree.

Sources: "seed 000" is Databricks' page of today, "seed 001" that of 2019, "seed 002" open-source Delta's page, "seed 003"
Databricks' page on isolation levels; after the comma comes the heading. "Differs:" says where documents, or a document and
the code of open-source Delta, disagree, and what is made of it.
"""

from sluice.api.job import Operation
from sluice.conflicts import row_level
from sluice.conflicts.race import Race, Rule, decided
from sluice.conflicts.verdict import Level, Verdict
from sluice.footprint.model import EVERYTHING, Metadata, Protocol, TableFootprint
from sluice.footprint.operations import APPENDS, CHANGES_SOME_ROWS, WRITES_ROWS
from sluice.predicates import Region
from sluice.tables import Dialect

_APPEND = "ConcurrentAppendException"
_DELETE_READ = "ConcurrentDeleteReadException"
_DELETE_DELETE = "ConcurrentDeleteDeleteException"
_TRANSACTION = "ConcurrentTransactionException"
_METADATA = "MetadataChangedException"
_PROTOCOL = "ProtocolChangedException"
_ALL = (EVERYTHING, EVERYTHING)
_ALONE = "run it when nobody else writes the table"


def identity_columns(race: Race) -> Verdict | None:
    """A table with identity columns takes one transaction at a time. seed 000, notes above both matrices.
    Differs: open-source Delta lets rows with explicit values pass (conflicts B.2, I03); here they wait."""
    loser, winner = race.loser, race.winner
    known = [side.facts for side in (loser, winner) if side.facts is not None]
    unread = len(known) < 2 and race.dialect is not None
    if not unread and not any(facts.identity_columns for facts in known):
        return None
    facts_of_both = loser.facts is not None and winner.facts is not None
    both_generate = facts_of_both and loser.metadata is winner.metadata is Metadata.IDENTITY
    return Verdict(
        Level.WILL if both_generate and race.sure else Level.MAY,
        "identity-columns",
        "a table with identity columns takes one transaction at a time"
        + (", and nothing is known of this one's columns" if unread else ""),
        _METADATA,
        None,
        _ALL,
    )


def first_commit(race: Race) -> Verdict | None:
    """Several writers into an empty path, or that create or replace a table at the same time. seed 000,
    ProtocolChangedException; seed 002, ProtocolChangedException.
    Differs: seed 001 lists neither cause; in open-source Delta only creating fails so, and replacing a table that is
    there fails with MetadataChangedException (measured, "Findings against the four seed documents")."""
    loser, winner = race.loser, race.winner
    if not (
        (loser.creates and winner.may_commit_first)
        or (loser.replaces and (winner.creates or winner.replaces))
    ):
        return None
    return Verdict(
        Level.MAY,
        "first-commit",
        "both may create or replace the table, or write its first version",
        _PROTOCOL,
        "create the table before: CREATE TABLE IF NOT EXISTS in a job of its own",
        _ALL,
    )


def protocol_changed(race: Race) -> Verdict | None:
    """Features that are enabled or dropped change the protocol, and all concurrent writes fail. seed 000, Importante
    (enableDeletionVectors, DROP FEATURE, REORG UPGRADE UNIFORM) and ProtocolChangedException; seed 001,
    ProtocolChangedException.
    Differs: open-source Delta lets data writers through the enabling of some features (conflicts A.3 #2), and fails others
    with MetadataChangedException; so this is only `may`."""
    winner = race.winner
    upgrades = winner.protocol is Protocol.MAY_ADD and winner.metadata in (
        Metadata.ENABLES,
        Metadata.MAY_CHANGE,
    )
    if winner.protocol is not Protocol.REMOVES and not upgrades:
        return None
    return Verdict(
        Level.MAY,
        "protocol-changed",
        f"{winner.operation} may change the protocol that {race.loser.operation} began with",
        _PROTOCOL,
        _ALONE,
        _ALL,
    )


def metadata_changed(race: Race) -> Verdict | None:
    """A change of schema or properties fails all concurrent writes. seed 000, Importante (SET TBLPROPERTIES, ADD COLUMNS)
    and MetadataChangedException; seed 001 and seed 002, MetadataChangedException.
    Differs: open-source Delta lets OPTIMIZE, and from 4.1 on everybody if nothing really changed, commit (measured 4, 13);
    there it is `may` instead of `will`."""
    loser, winner = race.loser, race.winner
    if winner.metadata is Metadata.NONE:
        return None
    agreed = winner.metadata is Metadata.CHANGES and winner.protocol is loser.protocol is Protocol.NONE
    ordinary = loser.operation in WRITES_ROWS or loser.metadata is Metadata.CHANGES
    return Verdict(
        Level.WILL if agreed and ordinary and not loser.single_attempt and race.sure else Level.MAY,
        "metadata-changed",
        f"{winner.operation} may change the metadata that {loser.operation} began with",
        _METADATA,
        _ALONE,
        _ALL,
    )


def streaming_read(race: Race) -> Verdict | None:
    """A stream that reads a table fails at a commit that changes the table's metadata, and must be started again. seed 000,
    Importante."""
    source, winner = race.table, race.winner
    if winner.metadata in (Metadata.NONE, Metadata.IDENTITY) or not source.may_equal(winner.table):
        return None
    sure = winner.metadata is Metadata.CHANGES and winner.certain and race.on_one_table
    return Verdict(
        Level.WILL if sure else Level.MAY,
        "streaming-read",
        f"{winner.operation} may change the metadata of {source}, which the stream reads",
        None,
        "pause the stream for it (spec.stream.yield: Metadata)",
        _ALL,
    )


def same_transaction_id(race: Race) -> Verdict | None:
    """Two writes under one txnAppId, of which no document speaks. conflicts A.3 #4: open-source Delta aborts the second."""
    if race.loser.txn_app_id is None or race.loser.txn_app_id != race.winner.txn_app_id:
        return None
    return Verdict(
        Level.MAY,
        "same-transaction-id",
        f"both write under the txnAppId {race.loser.txn_app_id}",
        _TRANSACTION,
        "give each job a txnAppId of its own",
        _ALL,
    )


def vacuum(race: Race) -> Verdict | None:
    """VACUUM touches no file of the current version, and no document speaks of it. measured 5: in open-source Delta it hurts
    nobody but RESTORE, and loses to changes of metadata only."""
    if Operation.VACUUM not in (race.loser.operation, race.winner.operation) or (
        race.loser.single_attempt or race.loser.protocol is not Protocol.NONE
    ):
        return None
    return Verdict(Level.NEVER, "vacuum", "VACUUM changes no row, and deletes only what no version needs")


def blind_insert(race: Race) -> Verdict | None:
    """An INSERT that reads nothing of its table never fails because of other writes of rows. seed 000, Quando o Delta Lake
    confirma sem ler a tabela?; cells INSERT x INSERT of both matrices; seed 001, INSERT x INSERT.
    Differs: seed 000 counts a self-read of an older version (VERSION AS OF) as a read, open-source Delta does not
    (measured 8); here it is one."""
    loser, winner = race.loser, race.winner
    if not _is_blind_insert(loser) or winner.operation not in (*WRITES_ROWS, Operation.OPTIMIZE):
        return None
    return Verdict(
        Level.NEVER, "blind-insert", f"{loser.operation} reads nothing of the table before it commits"
    )


def write_serializable(race: Race) -> Verdict | None:
    """Under WriteSerializable, the default, files that a blind INSERT adds conflict with no operation; readers may then see
    what the history says never existed. seed 000, ConcurrentAppendException, and UPDATE, DELETE, MERGE INTO x INSERT of
    both matrices; seed 001, the same cell; seed 003, txn1 and txn2.
    Differs: open-source Delta is Serializable by default and refuses to set anything else (conflicts A.2), and seed 002 knows
    no levels: there the pair can conflict. Operations that change metadata, too, still lose to blind appends in the code
    (measured 13), against the document's "no operation": they wait."""
    loser, winner = race.loser, race.winner
    if loser.operation not in WRITES_ROWS or loser.metadata is not Metadata.NONE:
        return None
    if not (_is_blind_insert(winner) and _says_that_it_is_blind(race) and _is_weak(race)):
        return None
    reason = "under WriteSerializable a blind INSERT conflicts with no other write"
    if not race.meet(loser.reads, winner.adds):
        return Verdict(Level.NEVER, "write-serializable", reason)
    readers = (
        f"the history lists {winner.operation} before {loser.operation}, but its rows stay as if it came after: "
        "delta.isolationLevel = Serializable forbids that"
    )
    reason += ", but readers may see a table that by its history never existed"
    return Verdict(Level.NEVER, "write-serializable", reason, readers=readers)


def compaction(race: Race) -> Verdict | None:
    """OPTIMIZE conflicts neither with INSERT nor, on tables with deletion vectors, with UPDATE, DELETE, MERGE and OPTIMIZE.
    seed 000, OPTIMIZE rows of both matrices; without deletion vectors, and with ZORDER BY, it can: Limitações de
    simultaneidade no nível de linha.
    Differs: seed 001 and seed 002 know no deletion vectors: OPTIMIZE can conflict with everything but INSERT. In open-source
    Delta deletion vectors change nothing (conflicts A.6 #2), its INSERT must be blind (A.6 #7), and two compactions fail with
    ConcurrentDeleteReadException (measured 13), where all documents say ConcurrentDeleteDeleteException."""
    loser, winner = race.loser, race.winner
    if not (_compacts(loser) or _compacts(winner)):
        return None
    if _compacts(loser) and _is_blind_insert(winner):
        return Verdict(
            Level.NEVER, "optimize-beside-insert", "OPTIMIZE takes no notice of files that are added"
        )
    if not all(side.operation in WRITES_ROWS or _compacts(side) for side in (loser, winner)):
        return None
    found = _where_they_meet(race)
    if found is None and not (_compacts(loser) and race.meet(loser.reads_files, winner.adds)):
        return _disjoint(race)
    why_not = _no_help_of_vectors(loser, race.dialect) or _no_help_of_vectors(
        winner, race.winning_job.dialect
    )
    if why_not is None:
        return Verdict(
            Level.NEVER,
            "optimize-with-vectors",
            "on a table with deletion vectors OPTIMIZE conflicts with no change of rows",
        )
    both = _compacts(loser) and _compacts(winner)
    return Verdict(
        Level.MAY,
        "optimize",
        f"{loser.operation} and {winner.operation} may rewrite the same files, because {why_not}",
        _DELETE_DELETE if both else _DELETE_READ,
        "compact other partitions (OPTIMIZE table WHERE ...), or enable deletion vectors and leave ZORDER BY out",
        (loser.reads_files, winner.removes),
    )


def changed_rows(race: Race) -> Verdict | None:
    """UPDATE, DELETE and MERGE, INSERTs that read their own table, and overwrites can conflict unless the table is partitioned
    by columns that both pin explicitly. seed 000, both matrices with their note (1), Evitar conflitos usando particionamento,
    ConcurrentAppendException, ConcurrentDeleteReadException; seed 001 and seed 002, the same headings. With row-level
    concurrency only a change of the same row conflicts, but its limits leave it at `may`: Limitações de simultaneidade no
    nível de linha.
    Differs: open-source Delta has no row-level concurrency (conflicts A.3), and takes pins also from OR, and from the
    conditions of a MERGE's clauses (measured 1), of which no document speaks: here only
    conditions that stand beside the others, and of a MERGE only the ON condition, count."""
    loser, winner = race.loser, race.winner
    if not {loser.operation, winner.operation} <= WRITES_ROWS:
        return None
    found = _where_they_meet(race)
    if found is not None:
        where, exception, does = found
        return _may_meet(race, f"{winner.operation} may {does.format(loser.operation)}", exception, where)
    return _disjoint(race) if loser.metadata is Metadata.NONE else None


RULES: tuple[Rule, ...] = (
    identity_columns,
    first_commit,
    protocol_changed,
    metadata_changed,
    same_transaction_id,
    vacuum,
    blind_insert,
    write_serializable,
    compaction,
    changed_rows,
)
RULES_OF_READERS: tuple[Rule, ...] = (streaming_read,)


def verdict_of(race: Race) -> Verdict:
    return decided(RULES, race) or undocumented(race)


def undocumented(race: Race) -> Verdict:
    """What no document speaks of waits: RESTORE, CLONE, CREATE, ALTER and CLUSTER BY beside others, if it isn't for their
    changes of metadata."""
    loser, winner = race.loser, race.winner
    return Verdict(
        Level.MAY,
        "undocumented",
        f"no document says whether {loser.operation} can lose to {winner.operation}",
        None,
        None,
        _ALL,
    )


def _may_meet(race: Race, reason: str, exception: str, where: tuple[Region, Region]) -> Verdict:
    loser, winner = race.loser, race.winner
    why_not = row_level.why_not(race)
    if why_not is None:
        return Verdict(
            Level.MAY,
            "same-rows",
            f"{loser.operation} and {winner.operation} may change the same rows; conflicts are told by rows",
            exception,
            "only pairs that never meet in a row pass, and Databricks does not promise even that",
            where,
        )
    return Verdict(
        Level.MAY,
        "same-files",
        f"{reason}; conflicts are told by files: {why_not}",
        exception,
        race.to_part,
        where,
    )


def _where_they_meet(race: Race) -> tuple[tuple[Region, Region], str, str] | None:
    loser, winner = race.loser, race.winner
    for mine, theirs, exception, does in (
        (loser.reads, winner.adds, _APPEND, "add files to partitions that {} reads"),
        (loser.reads_files, winner.removes, _DELETE_READ, "remove files that {} reads"),
        (loser.removes, winner.removes, _DELETE_DELETE, "remove files that {} removes, too"),
    ):
        if race.meet(mine, theirs):
            return (mine, theirs), exception, does
    return None


def _disjoint(race: Race) -> Verdict:
    loser, winner = race.loser, race.winner
    return Verdict(
        Level.NEVER, "disjoint", f"{winner.operation} touches no partition that {loser.operation} reads"
    )


def _is_blind_insert(statement: TableFootprint) -> bool:
    return statement.operation in APPENDS and statement.blind and statement.metadata is Metadata.NONE


def _says_that_it_is_blind(race: Race) -> bool:
    """Whether the log will call the winner's commit a blind append: not every engine writes that."""
    return race.winning_job.dialect is not None


def _is_weak(race: Race) -> bool:
    """Whether the loser commits under WriteSerializable: a table whose log names no level has it on Databricks."""
    dialect = race.dialect
    return all(
        side.facts is not None and side.facts.is_write_serializable(dialect)
        for side in (race.loser, race.winner)
    )


def _compacts(statement: TableFootprint) -> bool:
    return statement.operation is Operation.OPTIMIZE and not statement.data_change


def _no_help_of_vectors(statement: TableFootprint, dialect: Dialect | None) -> str | None:
    if dialect is None or not dialect.is_databricks:
        return f"{statement.operation} does not run on Databricks"
    if not row_level.has_deletion_vectors(statement):
        return "the table is not known to have deletion vectors"
    if _compacts(statement):
        return "auto-compaction is not OPTIMIZE" if statement.hook else statement.not_by_row
    return (
        None
        if statement.operation in APPENDS | CHANGES_SOME_ROWS
        else f"{statement.operation} replaces whole files"
    )
