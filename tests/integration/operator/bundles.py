"""Bundles as whoever gets one opens them."""

import json
import tarfile
from pathlib import Path
from typing import Any


class Opened:
    def __init__(self, file: Path) -> None:
        with tarfile.open(file, mode="r:gz") as packed:
            self.folders = {entry.name.split("/")[0] for entry in packed.getmembers()}
            self.files = {
                entry.name.partition("/")[2]: content.read().decode()
                for entry in packed.getmembers()
                if (content := packed.extractfile(entry)) is not None
            }

    def read(self, name: str) -> Any:
        return json.loads(self.files[name])

    @property
    def not_collected(self) -> dict[str, str]:
        return {row["what"]: row["why"] for row in self.read("manifest.json")["notCollected"]}

    @property
    def whole(self) -> str:
        return "\n".join((*self.files, *self.files.values()))
