"""Which statements a run may hold that is done once, whatever becomes of its drivers: a closed list.

Those whose commits bear the run's txn version and prove them done, and those that another attempt may run again.
"""

from __future__ import annotations

from sluice_runner.targets import CHANGE_THE_SESSION, ParsedStatement, RefusedStatementError

WRITES_ONE_TABLE = frozenset(
    {
        "AddColumns",
        "AlterColumn",
        "AlterColumnSyncIdentity",
        "AlterColumns",
        "AlterTableAddConstraint",
        "AlterTableClusterBy",
        "AlterTableDropConstraint",
        "AppendData",
        "CloneTableStatement",
        "CommentOnTable",
        "ConvertToDeltaCommand",
        "CreateTable",
        "CreateTableAsSelect",
        "DeleteFromTable",
        "DeltaReorgTable",
        "DropColumns",
        "InsertIntoStatement",
        "MergeIntoTable",
        "OptimizeTableCommand",
        "OverwriteByExpression",
        "RenameColumn",
        "ReplaceColumns",
        "ReplaceTable",
        "ReplaceTableAsSelect",
        "RestoreTableStatement",
        "SetTableProperties",
        "TruncateTable",
        "UnsetTableProperties",
        "UpdateTable",
        "VacuumTableCommand",
    }
)
"""Writes of one table. Not DROP FEATURE, which commits several times, waits in between, and may cut off the log."""

WRITES_DELTA = WRITES_ONE_TABLE - {"ConvertToDeltaCommand"}
"""Those whose table is Delta's already, if it is there."""

_OF_BATCHES = frozenset(
    {
        "AppendData",
        "DeleteFromTable",
        "InsertIntoStatement",
        "MergeIntoTable",
        "OverwriteByExpression",
        "UpdateTable",
    }
)
"""INSERT, MERGE, UPDATE and DELETE."""

_AGAIN = CHANGE_THE_SESSION | frozenset(
    {
        "AlterViewAs",
        "CreateNamespace",
        "CreateView",
        "DescribeColumn",
        "DescribeDeltaDetailCommand",
        "DescribeDeltaHistory",
        "DescribeFunction",
        "DescribeNamespace",
        "DescribeQueryCommand",
        "DescribeRelation",
        "DropView",
        "ExplainCommand",
        "SetViewProperties",
        "ShowColumns",
        "ShowCreateTable",
        "ShowFunctions",
        "ShowNamespaces",
        "ShowTableProperties",
        "ShowTables",
        "ShowViews",
    }
)
"""Not CACHE, nor variables: another attempt would fill them with what the tables hold by then."""

_RUNS_OWN_SETTINGS = "spark.databricks.delta.write.txn"


def refuse_unrepeatable(statement: ParsedStatement) -> None:
    why = _why(statement)
    if why is not None:
        raise RefusedStatementError(f"the statement was not run, because {why}")


def refuse_in_a_batch(statement: ParsedStatement) -> None:
    """Refuses what no batch of a stream may hold: what a table's log doesn't tell to be done, or what outlasts the batch."""
    refuse_unrepeatable(statement)
    if statement.command not in _OF_BATCHES:
        raise RefusedStatementError(
            f"the statement was not run, because the batches of a stream run INSERT, MERGE, UPDATE and DELETE alone, and this is "
            f"{statement.command}: let a job of its own do it"
        )


def _why(statement: ParsedStatement) -> str | None:
    if statement.writes > 1 and statement.command != "ExplainCommand":
        # Delta would skip the second write to a table, because it bears the txn version of the first; and of two tables one
        # might be left out, because the other's commit proves the statement done.
        return (
            f"it is {statement.writes} writes in one, which cannot be told apart in a log: write each INSERT as a statement of its "
            "own"
        )
    if not statement.is_query and statement.command not in WRITES_ONE_TABLE | _AGAIN:
        return (
            f"another attempt of the run could not tell whether it is done, nor run it again ({statement.command}): put it into a "
            "job of its own, without a run key and without retry"
        )
    if statement.has_options:
        return "options of the table that it writes may take its commit out of the run: remove WITH (...)"
    if statement.setting is not None and statement.setting.startswith(_RUNS_OWN_SETTINGS):
        return f"the run's own txn versions are set by {statement.setting}: remove it"
    return None
