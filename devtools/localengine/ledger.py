"""Remembers, on disk and before the fact, that an application is being submitted.

Between the start of a driver and the status that tells of it the engine can die; the real operator then submits again and fails
on its own driver's name. With this record a restarted engine knows that the submission happened (or may have), and never makes
a second one.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path


@dataclass(frozen=True)
class Submission:
    id: str
    at: datetime


class Ledger:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    def find(self, application_uid: str) -> Submission | None:
        try:
            record = json.loads(self._file(application_uid).read_text())
        except FileNotFoundError:
            return None
        return Submission(record["id"], datetime.fromisoformat(record["at"]))

    def add(self, application_uid: str, submission_id: str) -> Submission:
        submission = Submission(submission_id, datetime.now(UTC))
        record = json.dumps({"id": submission.id, "at": submission.at.isoformat()})
        write_durably(self._file(application_uid), record)
        return submission

    def forget(self, application_uid: str) -> None:
        self._file(application_uid).unlink(missing_ok=True)

    def _file(self, application_uid: str) -> Path:
        return self._folder / f"{application_uid}.json"


def write_durably(path: Path, text: str) -> None:
    """All of `text` under `path` or nothing of it, also when the machine goes down."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with draft.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
