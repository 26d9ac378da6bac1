"""Tables whose logs the operator does not read for a while, written down on its Lease: the next leader knows them from there.

A person who removes a table from that annotation has its log read at once.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

MOST_TABLES = 16
"""The newest ones: the Lease is written every few seconds."""
_LONGEST = 2048
_FIELDS = {"table": str, "reader": str, "cause": str, "why": str, "since": str}


@dataclass(frozen=True)
class QuarantinedTable:
    table: str
    """Its identity, as statuses name it."""
    reader: str
    """For whom the log is read: the kind of the question."""
    cause: str
    """Of what its readers died."""
    why: str
    """Of the reader, without it as the subject."""
    since: datetime
    """When the last reader died."""

    @property
    def place(self) -> tuple[str, str]:
        return self.table, self.reader


def written(tables: Iterable[QuarantinedTable]) -> str | None:
    """None: there are none."""
    newest = sorted(tables, key=lambda one: one.since)[-MOST_TABLES:]
    fields = [vars(one) | {"since": one.since.isoformat()} for one in newest]
    return json.dumps(fields, separators=(",", ":")) if fields else None


def read(text: str | None) -> tuple[QuarantinedTable, ...]:
    """Leaves out what no operator has written."""
    try:
        found = json.loads(text or "[]")
    except (ValueError, RecursionError):
        return ()
    tables = (_table(one) for one in (found if isinstance(found, list) else ()))
    return tuple(one for one in tables if one is not None)


def _table(given: Any) -> QuarantinedTable | None:
    if not isinstance(given, dict) or {*given} != {*_FIELDS}:
        return None
    if not all(type(given[name]) is kind and len(given[name]) <= _LONGEST for name, kind in _FIELDS.items()):
        return None
    try:
        since = datetime.fromisoformat(given["since"])
    except ValueError:
        return None
    return None if since.tzinfo is None else QuarantinedTable(**given | {"since": since})
