"""Decides whether Databricks judges a pair row by row, from a table of what each of its runtimes supports.

This decides what a verdict says, but never makes it `never`: the documents promise fewer conflicts, not none, because
a writer may prefer to be quick.
"""

from dataclasses import dataclass

from sluice.api.job import Operation
from sluice.conflicts.race import Race
from sluice.footprint.model import TableFootprint
from sluice.footprint.operations import APPENDS, CHANGES_SOME_ROWS
from sluice.tables import Dialect, TableFacts

_VECTORS = "delta.enableDeletionVectors"
_BY_ROW = APPENDS | CHANGES_SOME_ROWS
_MERGES = APPENDS | {Operation.MERGE}
"""An INSERT that reads its own table follows the rules of MERGE."""


@dataclass(frozen=True)
class RowLevelSupport:
    """What Databricks supports from a runtime on."""

    since: tuple[int, int]
    unpartitioned: bool
    """Whether it also works on tables without clustering that have deletion vectors."""
    preview: bool
    """Whether it works there if the session asks for the preview."""
    without_photon: frozenset[Operation]
    finding: str
    """Id of the finding in docs/sources.md."""


SUPPORT = (
    RowLevelSupport((14, 2), True, False, _BY_ROW - _MERGES, "D5"),
    RowLevelSupport((14, 0), False, True, frozenset({Operation.DELETE}), "D7"),
    RowLevelSupport((13, 3), False, False, frozenset({Operation.DELETE}), "D7"),
)


def why_not(race: Race) -> str | None:
    """Why the pair's conflicts are judged file by file; None if they are judged row by row."""
    loser, winner = race.loser, race.winner
    return _why_not(loser, race.dialect) or _why_not(winner, race.winning_job.dialect)


def _why_not(statement: TableFootprint, dialect: Dialect | None) -> str | None:  # noqa: PLR0911 - one limit a line
    facts = statement.facts
    if facts is None:
        return "nothing is known of the table"
    if statement.operation not in _BY_ROW:
        return f"{statement.operation} is not UPDATE, DELETE or MERGE"
    if facts.columns.partition_columns:
        return "the table is partitioned"
    if not (has_deletion_vectors(statement) or (facts.clustering_columns and not _disabled(facts))):
        return "the table has no deletion vectors"
    if dialect is None or not dialect.is_databricks or dialect.version is None:
        return "the runtime is unknown"
    support = next((one for one in SUPPORT if dialect.version >= one.since), None)
    if support is None:
        return "the runtime is older than 13.3"
    if not (facts.clustering_columns or support.unpartitioned):
        if not support.preview:
            return "this runtime judges conflicts row by row only on tables with liquid clustering"
        if not statement.previews_rows:
            return "this runtime judges conflicts row by row only with spark.databricks.delta.rowLevelConcurrencyPreview = true"
    if not dialect.photon and statement.operation not in support.without_photon:
        return f"{statement.operation} needs Photon for row-level concurrency"
    return statement.not_by_row


def has_deletion_vectors(statement: TableFootprint) -> bool:
    return statement.facts is not None and statement.facts.enabled(_VECTORS)


def _disabled(facts: TableFacts) -> bool:
    return facts.properties.get(_VECTORS, "").lower() == "false"
