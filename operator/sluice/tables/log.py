"""Asks a table's own log about a run that could not report itself: the commits that carry its stamp.

This is also a program, for callers that must go on meanwhile: while delta-rs reads a history, no other thread of Python
runs.
"""

import json
import sys
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from deltalake.exceptions import TableNotFoundError

from sluice.api import names
from sluice.tables.address import LogUnreadableError, address_of, must_be_around
from sluice.tables.identity import TableKey
from sluice.tables.opening import READ_ERRORS, open_table, why_unread

__all__ = ["READING", "LogUnreadableError", "StampedCommit", "commits_of_run"]

_LOOK_BACK = 1000
READING = "reading"
"""The program's first line of output: it begins to read the log."""


@dataclass(frozen=True)
class StampedCommit:
    version: int
    operation: str
    statement: int


def commits_of_run(table: TableKey, uid: str, attempt: int, begun: datetime) -> list[StampedCommit]:
    """The commits of one attempt among the latest of a table; none if the table does not exist. If others have
    committed so often since it began that the latest do not reach back to it, nothing is known."""
    address = address_of(table)
    try:
        history = open_table(table, address).history(_LOOK_BACK)
    except TableNotFoundError:
        must_be_around(table, address)
        return []
    except (LogUnreadableError, *READ_ERRORS) as error:
        raise LogUnreadableError(why_unread(table, error)) from error
    if len(history) == _LOOK_BACK and history[-1].get("timestamp", 0) > begun.timestamp() * 1000:
        raise LogUnreadableError(
            f"{table}: there were more than {_LOOK_BACK} commits since then, and only as many are read"
        )
    found = []
    for entry in history:
        stamp = _stamp(entry.get("userMetadata"))
        statement = stamp.get("statement")
        # Statement 0 is a fence or the end of a run: a commit without rows.
        if (
            (stamp.get("uid"), stamp.get("attempt")) == (uid, attempt)
            and isinstance(statement, int)
            and statement
        ):
            found.append(StampedCommit(entry["version"], entry["operation"], statement))
    return sorted(found, key=lambda commit: commit.version)


def _stamp(text: str | None) -> dict[str, Any]:
    try:
        content = json.loads(text or "{}")
    except (ValueError, RecursionError):  # other writers may put any text there
        return {}
    stamp = content.get(names.STAMP, {}) if isinstance(content, dict) else {}
    return stamp if isinstance(stamp, dict) else {}


def main(table: str, uid: str, attempt: str, begun: str) -> None:
    """Prints that it begins, and then the commits as JSON or why they could not be read."""
    answer: dict[str, Any]
    sys.stdout.write(f"{READING}\n")
    sys.stdout.flush()
    try:
        found = commits_of_run(TableKey.parse(table), uid, int(attempt), datetime.fromisoformat(begun))
        answer = {"commits": [asdict(commit) for commit in found]}
    except LogUnreadableError as error:
        answer = {"unreadable": str(error)}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
