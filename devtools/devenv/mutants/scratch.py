"""A copy of the checkout in which a mutant is tried: the work tree itself never changes."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from devenv.environment import Variables
from devenv.mutants.listed import SELECTION_FILE, Edit
from devenv.processes import spawn
from devenv.project import ROOT
from devenv.testing import records
from devenv.testing.records import RECORDS_FILE, Record
from devenv.testing.run import NOT_FROM_OUTSIDE

_LEFT_OUT = shutil.ignore_patterns(".git", "__pycache__", ".*_cache", ".venv")
_OPTIONS = (
    "-x",
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "devenv.testing.plugin",
    "-p",
    "devenv.mutants.selection",
)
PATIENCE_SECONDS = 1200.0


@dataclass(frozen=True)
class Tested:
    """How the named tests ended."""

    code: int
    written: list[Record]
    output: str


@dataclass
class Scratch:
    """One copy, used by one worker after another."""

    folder: Path
    _root: Path = ROOT
    _edits: int = field(default=0, init=False)

    @classmethod
    def of(cls, root: Path = ROOT) -> "Scratch":
        folder = Path(tempfile.mkdtemp(prefix="mutant-")) / "checkout"
        shutil.copytree(root, folder, ignore=_LEFT_OUT, symlinks=True)
        return cls(folder, root)

    @contextmanager
    def edited(self, edit: Edit) -> Iterator[bool]:
        """Changes the file for the block; False if the text to change is not there exactly once."""
        file = self.folder / edit.file
        before = file.read_text(encoding="utf-8") if file.is_file() else ""
        after = edit.applied(before)
        if after is None:
            yield False
            return
        seen = file.stat()
        file.write_text(after, encoding="utf-8")
        # Python takes compiled code for current by whole seconds and size: each edit has a second of its own.
        self._edits += 1
        os.utime(file, (seen.st_atime, seen.st_mtime + self._edits))
        try:
            yield True
        finally:
            file.write_text(before, encoding="utf-8")
            os.utime(file, (seen.st_atime, seen.st_mtime))

    def run(
        self, tests: Sequence[str], variables: Mapping[str, str], *, options: Sequence[str] = ()
    ) -> Tested:
        """Runs these tests in the copy; files of tests that do not exist are passed over."""
        folder = self.folder.parent
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        there = [file for file in files if (self.folder / file).is_file()]
        if not there:
            return Tested(0, [], "")
        written, selected, log = folder / "records.jsonl", folder / "selected.json", folder / "log"
        written.unlink(missing_ok=True)
        selected.write_text(json.dumps(list(tests)), encoding="utf-8")
        moved = self._moved(variables) | {RECORDS_FILE: str(written), SELECTION_FILE: str(selected)}
        with log.open("wb") as output:
            process = spawn(
                ["pytest", *there, *_OPTIONS, *options],
                output,
                environment=moved,
                folder=self.folder,
                own_session=True,
            )
            try:
                code = process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
        return Tested(code, records.read(written), log.read_text(encoding="utf-8", errors="replace"))

    def _moved(self, variables: Mapping[str, str]) -> Variables:
        """The variables with the copy in the checkout's place, and compiled code beside the copy."""
        here, there = str(self._root), str(self.folder)
        moved = {
            name: value.replace(here, there) if name in ("PATH", "PYTHONPATH") else value
            for name, value in variables.items()
            if name not in NOT_FROM_OUTSIDE
        }
        return moved | {"PYTHONPYCACHEPREFIX": str(self.folder.parent / "bytecode")}
