"""Advises the author of a statement on how to let more be known of it. Only what would help is advised."""

import re
from collections.abc import Iterable, Sequence

from sluice.api.job import Operation
from sluice.api.strings import first_of
from sluice.footprint.operations import WRITES_ROWS
from sluice.predicates import Column, blank
from sluice.tables import TableFacts, TableKey

TOLD_APART_BY_PARTITIONS = WRITES_ROWS | {Operation.OPTIMIZE}
OPERATOR_READS = "let the operator read the log of "
LOOKED_UP_ELSEWHERE = "remove USE, and write the names of tables in full, such as catalog.schema.table"
BY_SOURCE = "WHEN NOT MATCHED BY SOURCE makes it read all of the table"
APART_FROM_BY_SOURCE = (
    f"{BY_SOURCE}: unless it must be the same commit, write it as another MERGE, whose source selects these rows and whose ON "
    "names their partitions"
)
_PERHAPS_A_VIEW = re.compile(r"(.+) may be a view over .+, so all of it may be read")


def perhaps_a_view(source: TableKey, written: TableKey) -> str:
    return f"{source} may be a view over {written}, so all of it may be read"


def how_to_bind(widened: Iterable[str]) -> str | None:
    """Advises to bind names, where names that no policy binds made a job touch more."""
    found = (_PERHAPS_A_VIEW.fullmatch(reason) for reason in widened)
    names = list(dict.fromkeys(one[1] for one in found if one is not None))
    if not names:
        return None
    listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return (
        f"bind {listed} in a DeltaTablePolicy (table.name and table.path), or read by location, as delta.`<its path>`: "
        "an unbound name may be a view over the table that is written"
    )


def how_to_know(table: TableKey, operation: Operation) -> str | None:
    if table.is_name and table.bound:
        paths = first_of(sorted(table.bound))
        return f"leave one path for {table}: DeltaTablePolicies bind it, or runs led it, to {paths}"
    if table.is_name:
        return f"bind {table} to its path in a DeltaTablePolicy (table.name and table.path)"
    if operation not in TOLD_APART_BY_PARTITIONS:
        return None
    return f"{OPERATOR_READS}{table}, so that conditions on its partition columns can tell jobs apart"


def how_to_name_partitions(columns: Sequence[Column], table: str | None) -> str | None:
    """Advises a MERGE what keeps its result only if it is true of the table's rows, which its author alone knows. `table`: what the
    MERGE calls it."""
    condition = next(filter(None, map(blank, columns)), None)
    if condition is None:
        return None
    by = f" (by {' and '.join(column.name for column in columns)})" if len(columns) > 1 else ""
    qualifier = "" if table is None else f"{table}."
    return (
        f"if ON matches rows of some partitions alone{by}, name them, as in ON (...) AND {qualifier}{condition}: rows elsewhere "
        "would no longer match"
    )


def how_to_promise(facts: TableFacts | None, promised_in: str) -> str | None:
    """`promised_in`: the field in which a job of its kind says it."""
    if facts is None or not facts.columns.columns:
        return f'say where its rows land: {promised_in}, such as "date = <the job\'s date>"'
    names = " and ".join(column.name for column in facts.columns.partition_columns)
    return f"say where its rows land: {promised_in}, a condition on {names}" if names else None
