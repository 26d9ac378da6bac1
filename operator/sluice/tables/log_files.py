"""Reads single files of a table's log, within bounds. Logs are not listed: which files there are is told by their names."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from deltalake._internal import DeltaFileSystemHandler

from sluice.tables.commit_files import FilesUnknownError

LARGEST_COMMIT = 64 * 1024 * 1024
"""Bytes."""
_LARGEST_POINTER = 16 * 1024 * 1024
"""Bytes: one that names a V2 checkpoint may repeat the schema, and all that is in it but files."""
_MARKED = 4096
_PIECE = 1024 * 1024
_V2_NAME = re.compile(r"[0-9]{20}\.checkpoint\.[0-9A-Za-z-]+\.(json|parquet)")


@dataclass(frozen=True)
class Checkpoint:
    version: int
    files: tuple[str, ...]
    """Their names."""


class LogFiles:
    def __init__(self, table: DeltaTable) -> None:
        self._files = DeltaFileSystemHandler.from_table(table._table)

    def commit(self, version: int) -> bytes:
        """Raises FilesUnknownError, or one of the errors of delta-rs."""
        return self._content(_name_of_commit(version), LARGEST_COMMIT)

    def has_commit(self, version: int) -> bool:
        try:
            self._files.open_input_file(f"_delta_log/{_name_of_commit(version)}")
        except FileNotFoundError:
            return False
        return True

    def mark(self, version: int) -> str | None:
        """What tells a commit from another one in its place: what it says of itself comes first. None: it is not there."""
        try:
            file = self._files.open_input_file(f"_delta_log/{_name_of_commit(version)}")
        except FileNotFoundError:
            return None
        return f"{file.size()}-{hashlib.sha256(file.read(_MARKED)).hexdigest()}"

    def last_checkpoint(self) -> Checkpoint | None:
        """The last one that the log points to. None: it points to none that is understood."""
        try:
            told = json.loads(self._content("_last_checkpoint", _LARGEST_POINTER))
        except (FilesUnknownError, ValueError, RecursionError):
            return None
        return _checkpoint(told) if isinstance(told, dict) else None

    def content(self, name: str, largest: int) -> bytes:
        return self._content(name, largest)

    def fetch(self, name: str, to: Path, largest: int) -> int:
        """Copies the file, and returns its size. Raises as `commit`."""
        file = self._opened(name, largest)
        with to.open("wb") as copy:
            while piece := file.read(_PIECE):
                copy.write(piece)
        return int(file.size())

    def _content(self, name: str, largest: int) -> bytes:
        file = self._opened(name, largest)
        return bytes(file.read(file.size()))

    def _opened(self, name: str, largest: int) -> Any:
        try:
            file = self._files.open_input_file(f"_delta_log/{name}")
        except FileNotFoundError:
            raise FilesUnknownError(f"{name} is no longer in the log") from None
        if file.size() > largest:
            raise FilesUnknownError(f"{name} in the log has more than {largest} bytes")
        return file


def _name_of_commit(version: int) -> str:
    return f"{version:020}.json"


def _checkpoint(told: Mapping[str, Any]) -> Checkpoint | None:
    version, parts, of_v2 = told.get("version"), told.get("parts"), told.get("v2Checkpoint")
    if type(version) is not int or version < 0:
        return None
    if isinstance(of_v2, dict):
        name = of_v2.get("path")
        return Checkpoint(version, (name,)) if isinstance(name, str) and _V2_NAME.fullmatch(name) else None
    if type(parts) is int and 0 < parts <= 10_000:
        return Checkpoint(
            version,
            tuple(f"{version:020}.checkpoint.{part:010}.{parts:010}.parquet" for part in range(1, parts + 1)),
        )
    return Checkpoint(version, (f"{version:020}.checkpoint.parquet",)) if parts is None else None
