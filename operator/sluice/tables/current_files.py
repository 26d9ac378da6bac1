"""The files of one version of a table, as a compaction would see them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from deltalake import DeltaTable

from sluice.tables.table_observation import File, Partition

MOST_FILES = 200_000
"""Of one table: with more of them, only their number and size are told."""


@dataclass(frozen=True)
class CurrentFiles:
    count: int
    size: int
    """Bytes."""
    files: tuple[File, ...] | None
    """None: not known, or too many."""


def files_of(table: DeltaTable, deleted_rows: Mapping[str, int] | None, room: int) -> CurrentFiles:
    """`deleted_rows`: by the paths of files; None if they aren't known. `room`: for so many of them. Raises one of the errors of
    delta-rs."""
    actions = table.get_add_actions()
    columns = {name: actions.column(name) for name in actions.schema.names}
    sizes = columns["size_bytes"].to_pylist()
    count, size = len(sizes), sum(sizes)
    if deleted_rows is None or count > min(MOST_FILES, room):
        return CurrentFiles(count, size, None)
    rows = columns["num_records"].to_pylist() if "num_records" in columns else [None] * count
    partitions = columns["partition"].to_pylist() if "partition" in columns else [None] * count
    deleted = {unquote(path): number for path, number in deleted_rows.items()}
    paths = columns["path"].to_pylist() if deleted else [""] * count
    files = tuple(
        File(partition, size_of_it, count_of_rows, deleted.get(unquote(path), 0))
        for partition, size_of_it, count_of_rows, path in zip(
            _shared(partitions), sizes, rows, paths, strict=True
        )
    )
    return CurrentFiles(count, size, files)


def _shared(partitions: list[dict[str, Any] | None]) -> Iterator[Partition]:
    """Files of one partition share its values: there are many more files than partitions."""
    known: dict[tuple[object, ...], Partition] = {}
    for partition in partitions:
        values = partition or {}
        yield known.setdefault(
            tuple(values.values()), {name: _as_in_logs(value) for name, value in values.items()}
        )


def _as_in_logs(value: object) -> str | None:
    """Of numbers with a floating point and of timestamps there are several spellings, and this is one of them."""
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case bytes():
            return value.decode("latin-1")
        case _:
            return str(value)
