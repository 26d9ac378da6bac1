"""The file that is sent: what was collected, within bounds, and a list of what is in it and what is not."""

import gzip
import io
import tarfile
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sluice.api.base import Json
from sluice.api.json_text import as_json
from sluice.online.bundle.masked_objects import RULES, STILL_IN_IT, ObjectMasking

MOST_BYTES = 50_000_000
MOST_BYTES_OF_OBJECT = 8_000_000
"""An object that is longer is left out: half of one is none."""
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Collected:
    """A part as it was collected; it is written once all parts are there."""

    file: str
    what: str
    content: Any
    """An object, or a text."""
    note: str = ""


@dataclass
class Bundle:
    job: str
    at: datetime
    made_by: str
    masking: ObjectMasking
    parts: list[Collected] = field(default_factory=list)
    not_collected: list[tuple[str, str]] = field(default_factory=list)
    """What, and why not."""

    def add(self, file: str, what: str, content: Any, note: str = "") -> None:
        self.parts.append(Collected(file, what, self.masking.masked(content), note))

    def lacks(self, what: str, why: str) -> None:
        told = what, str(self.masking.masked(why))
        if told not in self.not_collected:
            self.not_collected.append(told)

    def packed(self, folder: str) -> bytes:
        """The archive. What it was made from decides each byte of it."""
        files: dict[str, bytes] = {}
        rows: list[Json] = []
        left = MOST_BYTES
        for part in self.parts:
            is_text = isinstance(part.content, str)
            text = part.content if is_text else as_json(part.content, indent=2) + "\n"
            content = self.masking.without_found(text).encode(errors="backslashreplace")
            if not is_text and len(content) > MOST_BYTES_OF_OBJECT:
                self.lacks(f"{part.what} ({part.file})", f"it is too large: {len(content):,} bytes")
            elif len(content) > left:
                self.lacks(
                    f"{part.what} ({part.file})", f"the bundle would be larger than {MOST_BYTES:,} bytes"
                )
            else:
                left -= len(content)
                files[part.file] = content
                rows.append({"file": part.file, "what": part.what, "bytes": len(content), "note": part.note})
        manifest = as_json(self._manifest(rows), indent=2) + "\n"
        first = {MANIFEST: self.masking.without_found(manifest).encode(errors="backslashreplace")}
        return _archive(folder, first | dict(sorted(files.items())), int(self.at.timestamp()))

    def _manifest(self, rows: list[Json]) -> Json:
        return {
            "version": 1,
            "job": self.job,
            "at": self.at.isoformat(timespec="seconds"),
            "madeBy": self.made_by,
            "files": sorted(rows, key=lambda row: str(row["file"])),
            "notCollected": [{"what": what, "why": why} for what, why in self.not_collected],
            "leftOut": list(RULES),
            "stillInIt": STILL_IN_IT,
        }


def _archive(folder: str, files: dict[str, bytes], at: int) -> bytes:
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=at, filename="") as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, content in files.items():
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mtime, entry.mode = len(content), at, 0o600
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()
