"""Refuses a stream's checkpoint where something else would delete it: inside the folder of a table of the stream's."""

from collections.abc import Iterable, Iterator

from sluice.api.job import DeltaWriteJobSpec
from sluice.footprint.errors import NotUnderstoodError
from sluice.footprint.model import JobFootprint
from sluice.tables import TableKey, key_of_path

_LOG = "_delta_log"
_TAKEN_BY_VACUUM = frozenset({"_change_data", "_delta_index", "_db_index"})
"""Folders of which VACUUM deletes files although their names hide them."""


def checkpoints_of(spec: DeltaWriteJobSpec) -> Iterator[tuple[str, TableKey]]:
    """Yields each checkpoint with its place in the spec."""
    if spec.stream is not None:
        yield "spec.stream.checkpoint", key_of_path(spec.stream.checkpoint)
    for position, declared in enumerate(spec.footprint or ()):
        if declared.checkpoint is not None:
            yield f"spec.footprint[{position}].checkpoint", key_of_path(declared.checkpoint)


def refuse_checkpoints_in_tables(spec: DeltaWriteJobSpec, found: JobFootprint) -> None:
    for place, checkpoint in checkpoints_of(spec):
        for table, folder in _folders((*found.keys, *found.streams_from, *found.reads.tables)):
            if checkpoint.text != folder and not checkpoint.text.startswith(f"{folder}/"):
                continue
            why = _not_there(checkpoint.text[len(folder) + 1 :])
            if why is not None:
                raise NotUnderstoodError(
                    f"{place}: {checkpoint} {why} of {table}: put it elsewhere, or below a folder of the table that VACUUM passes "
                    f"over, such as {folder}/_checkpoints/{_name_of(checkpoint)}"
                )


def _folders(tables: Iterable[TableKey]) -> Iterator[tuple[TableKey, str]]:
    """Yields the folders that may be those of tables: a name may lead to several."""
    for table in tables:
        for folder in sorted(table.bound | table.claimed) if table.is_name else (table.text,):
            yield table, folder


def _not_there(below: str) -> str | None:
    """Why no checkpoint may lie there; `below` is what its path has after the table's folder."""
    folders = below.split("/")
    if not below:
        return "is the folder"
    if _LOG in folders:
        return f"lies in {_LOG}, where Delta keeps its own files,"
    if folders[0][:1] in ("_", ".") and "=" not in folders[0] and folders[0] not in _TAKEN_BY_VACUUM:
        return None
    return "lies where VACUUM would delete its files, in the folder"


def _name_of(checkpoint: TableKey) -> str:
    """A name for it where it is hidden: its own, unless that already is the name of something else."""
    name = checkpoint.text.rpartition("/")[2]
    return name if name[:1] not in ("_", ".") and "=" not in name else "this-stream"
