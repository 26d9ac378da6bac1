"""Where a run keeps its output: `<cache>/results/<time>-<pid>`, of which the newest ten stay.

Those of runs in which a test failed are counted apart from the others: what is to be read isn't swept away by a dozen short
runs. Those in use stay in any case.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from devenv.folder_locks import hold, remove_unless_held

KEPT = 10


@dataclass(frozen=True)
class Results:
    """The folder of one run."""

    folder: Path

    @property
    def evidence(self) -> Path:
        """Each failed test of a section with services leaves one file about everything around it there."""
        return self.folder / "evidence"

    @property
    def coverage(self) -> Path:
        """What the processes of a run with --coverage wrote of themselves."""
        return self.folder / "coverage"

    def log(self, section: str) -> Path:
        return self.folder / f"{section}.log"

    def measurement(self, section: str) -> Path:
        return self.folder / f"{section}.measured.json"

    def records(self, section: str) -> Path:
        return self.folder / f"{section}.tests.jsonl"

    def failed(self, section: str) -> Path:
        """What each failed test said, at first and when it ran once more."""
        return self.folder / f"{section}.failed.txt"

    def deselected(self, section: str) -> Path:
        return self.folder / f"{section}.left-out"


def begin(cache: Path) -> Results:
    """A new folder, locked for as long as this process lives; those of the oldest runs that are over go."""
    parent = cache / "results"
    folder = parent / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    (folder / "evidence").mkdir(parents=True)
    hold(folder)
    runs = sorted(entry for entry in parent.iterdir() if entry.is_dir())
    failed = [run for run in runs if any(run.glob("*.failed.txt"))]
    for old in (*failed[:-KEPT], *[run for run in runs if run not in failed][:-KEPT]):
        remove_unless_held(old)
    return Results(folder)
