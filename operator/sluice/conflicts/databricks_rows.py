"""Databricks' rules on what writers of rows, and compaction, do to each other's files.

A pair that shares no partition passes; a pair that shares one passes where a document says so, and otherwise waits.
"""

from sluice.api.job import Operation
from sluice.conflicts import example_jobs, row_level
from sluice.conflicts.advice_texts import WITH_VECTORS
from sluice.conflicts.race import Race
from sluice.conflicts.rule import Example, Rule, Ruling, VersionDifference, rule
from sluice.conflicts.verdict import Level
from sluice.footprint.model import Metadata, TableFootprint
from sluice.footprint.operations import APPENDS, CHANGES_SOME_ROWS, WRITES_ROWS
from sluice.predicates import Region
from sluice.tables import Dialect

_DIFFER = "conflicts/test_documents_differ.py"
_RULES = "conflicts/test_databricks_rules.py"
_CELLS = "conflicts/test_databricks_matrices.py"
_APPEND = "ConcurrentAppendException"
_DELETE_READ = "ConcurrentDeleteReadException"
_DELETE_DELETE = "ConcurrentDeleteDeleteException"
_PINS = VersionDifference(
    "open-source Delta has no row-level concurrency, and also takes pins from OR and from the conditions of a MERGE's "
    "clauses, which no document mentions: here only conditions joined by AND count, and in a MERGE only the ON condition.",
    ("C13", "M1"),
)


@rule(
    says="An INSERT that reads nothing of its table never fails because of other writes of rows.",
    sources=("D4", "D8", "D9", "D19"),
    differs=VersionDifference(
        "reading an older version of its own table (VERSION AS OF) counts as a read in Databricks' documents, but not "
        "in open-source Delta; here it counts.",
        ("D9", "M2"),
    ),
    example=Example(example_jobs.APPEND, example_jobs.DELETE),
    proofs=(f"{_RULES}::test_d9_who_selects_from_the_target_reads_it",),
)
def blind_insert(race: Race) -> Ruling | None:
    loser, winner = race.loser, race.winner
    if not _is_blind_insert(loser) or winner.operation not in (*WRITES_ROWS, Operation.OPTIMIZE):
        return None
    return Ruling(Level.NEVER, f"{loser.operation} reads nothing of the table before it commits")


@rule(
    says=(
        "Under WriteSerializable, the default, files that a blind INSERT adds conflict with no operation; readers may "
        "then see a state that, by the history, never existed."
    ),
    sources=("D4", "D8", "D10", "D11", "D13", "D19", "D20"),
    differs=VersionDifference(
        "open-source Delta is Serializable by default and refuses to set anything else, and its documents know no "
        "levels: there the pair can conflict. In its code, operations that also change metadata still lose to blind "
        'appends, against Databricks\' "no operation": they wait.',
        ("D24", "C2", "M10"),
    ),
    example=Example(example_jobs.DELETE, example_jobs.APPEND),
    proofs=(
        f"{_CELLS}::test_a_cell",
        f"{_RULES}::test_d11_readers_may_see_what_the_history_says_never_existed",
        f"{_DIFFER}::test_d10_defaults_to_WriteSerializable_c2_to_Serializable",
    ),
)
def write_serializable(race: Race) -> Ruling | None:
    loser, winner = race.loser, race.winner
    if loser.operation not in WRITES_ROWS or loser.metadata is not Metadata.NONE:
        return None
    if not (_is_blind_insert(winner) and _says_that_it_is_blind(race) and _is_weak(race)):
        return None
    reason = "under WriteSerializable a blind INSERT conflicts with no other write"
    if not race.meet(loser.reads, winner.adds):
        return Ruling(Level.NEVER, reason)
    readers = (
        f"the history lists {winner.operation} before {loser.operation}, but its rows stay as if it came after; to "
        "forbid that, set delta.isolationLevel = Serializable"
    )
    reason += ", but readers may see a table that, by its history, never existed"
    return Ruling(Level.NEVER, reason, readers=readers)


@rule(
    says="OPTIMIZE does not conflict with INSERT.",
    sources=("D4", "D8", "D19", "D24"),
    differs=VersionDifference("in open-source Delta its INSERT must be blind.", ("C8",)),
    example=Example(example_jobs.OPTIMIZE, example_jobs.APPEND),
    proofs=(f"{_CELLS}::test_a_cell",),
)
def optimize_beside_insert(race: Race) -> Ruling | None:
    if not (_compacts(race.loser) and _is_blind_insert(race.winner)):
        return None
    return Ruling(Level.NEVER, "OPTIMIZE ignores files that are added")


@rule(
    says=(
        "UPDATE, DELETE, MERGE, INSERTs that read their own table, overwrites and OPTIMIZE do not conflict where the "
        "table is partitioned by columns that both pin explicitly."
    ),
    sources=("D12", "D20", "D25"),
    differs=_PINS,
    example=Example(example_jobs.DELETE, "UPDATE orders SET amount = 0 WHERE date = DATE '2026-11-19'"),
    proofs=(
        f"{_RULES}::test_d12_the_two_statements_of_the_document",
        f"{_RULES}::test_d13_a_merge_condition_must_pin_explicitly",
    ),
)
def disjoint(race: Race) -> Ruling | None:
    loser, winner = race.loser, race.winner
    if _is_about_compaction(race):
        meets = _compacts(loser) and race.meet(loser.reads_files, winner.adds)
    elif _both_write_rows(race):
        meets = loser.metadata is not Metadata.NONE
    else:
        return None
    if meets or _where_they_meet(race) is not None:
        return None
    return Ruling(Level.NEVER, f"{winner.operation} touches no partition that {loser.operation} reads")


@rule(
    says="On tables with deletion vectors OPTIMIZE does not conflict with UPDATE, DELETE, MERGE and OPTIMIZE.",
    sources=("D4", "D5", "D8"),
    differs=VersionDifference(
        "the documents of 2019 and those of open-source Delta do not mention deletion vectors: there OPTIMIZE can "
        "conflict with everything but INSERT. In open-source Delta's code deletion vectors change nothing.",
        ("D19", "D24", "C13", "M11"),
    ),
    example=Example(example_jobs.OPTIMIZE, example_jobs.DELETE, table=example_jobs.WITH_VECTORS),
    proofs=(
        f"{_CELLS}::test_a_cell",
        f"{_DIFFER}::test_d8_optimize_cannot_conflict_with_deletion_vectors_m11_it_does_both_ways",
    ),
)
def optimize_with_vectors(race: Race) -> Ruling | None:
    if not _is_about_compaction(race) or _no_help_of_vectors(race) is not None:
        return None
    return Ruling(
        Level.NEVER, "on a table with deletion vectors OPTIMIZE does not conflict with changes of rows"
    )


@rule(
    says="Without deletion vectors, or with ZORDER BY, OPTIMIZE can conflict with changes of rows and with OPTIMIZE.",
    sources=("D4", "D6", "D8"),
    differs=VersionDifference(
        "in open-source Delta two compactions fail with ConcurrentDeleteReadException, although all documents say "
        "ConcurrentDeleteDeleteException.",
        ("D15", "D21", "D26", "M11"),
    ),
    exceptions=(_DELETE_READ, _DELETE_DELETE),
    example=Example(example_jobs.OPTIMIZE, example_jobs.DELETE),
    proofs=(
        f"{_CELLS}::test_a_cell",
        f"{_RULES}::test_d6_optimize_with_zorder_is_not_helped_by_deletion_vectors",
    ),
)
def optimize(race: Race) -> Ruling | None:
    if not _is_about_compaction(race):
        return None
    loser, winner = race.loser, race.winner
    why_not = _no_help_of_vectors(race)
    if why_not is None:
        return None
    both = _compacts(loser) and _compacts(winner)
    return Ruling(
        Level.MAY,
        f"{loser.operation} and {winner.operation} may rewrite the same files, because {why_not}",
        _DELETE_DELETE if both else _DELETE_READ,
        WITH_VECTORS,
        (loser.reads_files, winner.removes),
    )


@rule(
    says="With row-level concurrency only changes of the same row conflict; because of its limits the rule still says `may`.",
    sources=("D4", "D5", "D6", "D7"),
    differs=VersionDifference("open-source Delta has no row-level concurrency.", ("C13",)),
    exceptions=(_APPEND, _DELETE_READ),
    example=Example(
        example_jobs.DELETE, example_jobs.UPDATE, partitioned=False, table=example_jobs.WITH_VECTORS
    ),
    proofs=(
        f"{_CELLS}::test_a_cell",
        f"{_RULES}::test_where_conflicts_are_told_by_rows",
        f"{_DIFFER}::test_d4_tells_conflicts_by_rows_c13_never",
    ),
)
def same_rows(race: Race) -> Ruling | None:
    if not _both_write_rows(race) or row_level.why_not(race) is not None:
        return None
    found = _where_they_meet(race)
    if found is None:
        return None
    where, exception, _ = found
    return Ruling(
        Level.MAY,
        f"{race.loser.operation} and {race.winner.operation} may change the same rows; conflicts are judged row by row, and "
        "Databricks does not promise that only those conflict",
        exception,
        None,
        where,
    )


@rule(
    says=(
        "UPDATE, DELETE, MERGE, INSERTs that read their own table, and overwrites can conflict unless the table is "
        "partitioned by columns that both pin explicitly."
    ),
    sources=("D4", "D8", "D9", "D12", "D13", "D14", "D19", "D20", "D21", "D24", "D25", "D26"),
    differs=_PINS,
    exceptions=(_APPEND, _DELETE_READ, _DELETE_DELETE),
    example=Example(example_jobs.DELETE, example_jobs.UPDATE),
    proofs=(
        f"{_CELLS}::test_a_cell",
        f"{_RULES}::test_d13_a_merge_condition_must_pin_explicitly",
        f"{_RULES}::test_where_conflicts_are_told_by_rows",
        f"{_DIFFER}::test_d12_pins_by_the_merge_condition_m1_by_conditions_of_clauses_too",
    ),
)
def same_files(race: Race) -> Ruling | None:
    if not _both_write_rows(race):
        return None
    why_not = row_level.why_not(race)
    found = None if why_not is None else _where_they_meet(race)
    if found is None:
        return None
    where, exception, does = found
    return Ruling(
        Level.MAY,
        f"{race.winner.operation} may {does.format(race.loser.operation)}; conflicts are judged file by file: {why_not}",
        exception,
        race.to_part,
        where,
    )


RULES: tuple[Rule, ...] = (
    blind_insert,
    write_serializable,
    optimize_beside_insert,
    disjoint,
    optimize_with_vectors,
    optimize,
    same_rows,
    same_files,
)


def _both_write_rows(race: Race) -> bool:
    return race.loser.operation in WRITES_ROWS and race.winner.operation in WRITES_ROWS


def _is_about_compaction(race: Race) -> bool:
    """Whether one of the two compacts and the other compacts as well or writes rows."""
    loser, winner = race.loser, race.winner
    if not (_compacts(loser) or _compacts(winner)):
        return False
    return all(side.operation in WRITES_ROWS or _compacts(side) for side in (loser, winner))


def _where_they_meet(race: Race) -> tuple[tuple[Region, Region], str, str] | None:
    loser, winner = race.loser, race.winner
    for mine, theirs, exception, does in (
        (loser.reads, winner.adds, _APPEND, "add files to partitions that {} reads"),
        (loser.reads_files, winner.removes, _DELETE_READ, "remove files that {} reads"),
        (loser.removes, winner.removes, _DELETE_DELETE, "remove files that {} also removes"),
    ):
        if race.meet(mine, theirs):
            return (mine, theirs), exception, does
    return None


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


def _no_help_of_vectors(race: Race) -> str | None:
    """Why deletion vectors don't keep the two apart; None if they do."""
    return _no_help_to(race.loser, race.dialect) or _no_help_to(race.winner, race.winning_job.dialect)


def _no_help_to(statement: TableFootprint, dialect: Dialect | None) -> str | None:
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
