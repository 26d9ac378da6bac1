"""Whether Delta clusters a table by some columns, and how to name them to it.

It clusters by what it keeps statistics of: in a table of many columns that may be the first ones only.
"""

from sluice.delta.properties import PROPERTIES, STATS_COLUMNS, STATS_COUNT
from sluice.tables.table_observation import TableState

ColumnPath = tuple[str, ...]


def paths_of(columns: tuple[str, ...], schema: tuple[str, ...] | None) -> tuple[ColumnPath, ...]:
    """Each a column as the schema spells it, or the names on the way to a field within one: `a.b` is the field b of a, unless
    there is a column with this very name."""
    own = {column.lower(): column for column in schema or ()}
    return tuple(_path_of(column, own) for column in columns)


def _path_of(column: str, own: dict[str, str]) -> ColumnPath:
    if column.lower() in own:
        return (own[column.lower()],)
    first, *fields = column.split(".")
    return (own.get(first.lower(), first), *fields)


def why_it_cannot_cluster(state: TableState, columns: tuple[str, ...]) -> str | None:
    """Says why the table, as it will be once its properties are set, cannot be clustered by them; None if it can."""
    if state.cluster_by is None:
        return "its present clustering columns could not be read, so that it isn't known whether they differ"
    if state.partition_by:
        return (
            f"the table is partitioned by {', '.join(state.partition_by)}, and Delta clusters unpartitioned tables only: remove "
            "clusterBy, or write a new table"
        )
    for path in paths_of(columns, state.columns):
        why = _why_not_by(state, path)
        if why is not None:
            return why
    return None


def _why_not_by(state: TableState, path: ColumnPath) -> str | None:
    column = ".".join(path)
    own = None if state.columns is None else [one.lower() for one in state.columns]
    if own is not None and path[0].lower() not in own:
        return f"the table has no column {column}: correct it, or add the column first"
    if "" in path:
        return f"{column} is no column: correct it"
    listed = PROPERTIES[STATS_COLUMNS].meaning_of(state.properties.get(STATS_COLUMNS))
    if isinstance(listed, frozenset):
        lowered = tuple(name.lower() for name in path)
        if not any(lowered[:end] in listed for end in range(1, len(lowered) + 1)):
            return (
                f"Delta clusters by columns with statistics only, and {STATS_COLUMNS} leaves {column} out: add it there, under "
                "properties"
            )
        return None
    count = PROPERTIES[STATS_COUNT].meaning_of(state.properties.get(STATS_COUNT))
    if own is not None and isinstance(count, int) and 0 <= count <= own.index(path[0].lower()):
        return (
            f"Delta clusters by columns with statistics only, and {column} is not among the first {count}: name it in "
            f"{STATS_COLUMNS}, under properties"
        )
    return None
