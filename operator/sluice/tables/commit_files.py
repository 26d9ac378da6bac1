"""Reads from a commit's own file in a log what nothing else tells of one commit: what it says of itself, and in which partitions it
added and removed files."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from deltalake import DeltaTable
from deltalake._internal import DeltaFileSystemHandler

Partition = dict[str, str | None]
"""The values of its columns, as a log writes them."""

LARGEST = 256 * 1024 * 1024
"""Bytes of a commit's file that is read."""
MOST_PARTITIONS = 10_000
_PHYSICAL = "delta.columnMapping.physicalName"


class FilesUnknownError(Exception):
    """Why it can't be said which partitions a commit touched."""


@dataclass(frozen=True)
class TouchedFiles:
    adds: list[Partition]
    removes: list[Partition]
    changes_metadata: bool


class CommitFiles:
    def __init__(self, table: DeltaTable) -> None:
        self._table = table
        self._files = DeltaFileSystemHandler.from_table(table._table)

    @cached_property
    def _names(self) -> dict[str, str]:
        fields: list[dict[str, Any]] = json.loads(self._table.schema().to_json())["fields"]
        return {field["metadata"].get(_PHYSICAL, field["name"]): field["name"] for field in fields}

    def info(self, version: int) -> dict[str, Any] | None:
        """What the commit says of itself, which it need not do. Raises as `touched`."""
        found = (action["commitInfo"] for action in self._actions(version) if action.get("commitInfo"))
        return next(found, None)

    def touched(self, version: int) -> TouchedFiles:
        """Raises FilesUnknownError, or one of the errors of delta-rs."""
        adds: dict[str, Partition] = {}
        removes: dict[str, Partition] = {}
        changes_metadata = False
        for action in self._actions(version):
            changes_metadata |= any(action.get(kind) is not None for kind in ("metaData", "protocol"))
            for kind, found in (("add", adds), ("remove", removes)):
                if action.get(kind) is not None:
                    partition = self._partition(action[kind], kind)
                    found[json.dumps(partition, sort_keys=True)] = partition
            if len(adds) + len(removes) > MOST_PARTITIONS:
                raise FilesUnknownError(f"it touched more than {MOST_PARTITIONS} partitions")
        return TouchedFiles(list(adds.values()), list(removes.values()), changes_metadata)

    def _actions(self, version: int) -> Iterator[dict[str, Any]]:
        try:
            file = self._files.open_input_file(f"_delta_log/{version:020}.json")
        except FileNotFoundError:
            raise FilesUnknownError("its file is no longer in the log") from None
        if file.size() > LARGEST:
            raise FilesUnknownError(f"its file in the log has more than {LARGEST} bytes")
        return map(json.loads, file.read(file.size()).splitlines())

    def _partition(self, file: dict[str, object], kind: str) -> Partition:
        values = file.get("partitionValues")
        if not isinstance(values, dict) or not all(
            value is None or isinstance(value, str) for value in values.values()
        ):
            raise FilesUnknownError(f"it doesn't tell of which partition a file is that it {kind}s")
        return {self._names.get(str(name), str(name)): value for name, value in values.items()}
