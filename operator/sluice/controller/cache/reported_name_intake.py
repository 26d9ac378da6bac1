"""Collects where runs report that catalog names lead, as jobs' statuses have it, until the leader takes it in."""

from collections import OrderedDict
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache

from pydantic import ValidationError

from sluice.api.base import Json
from sluice.api.job_status import MAX_NAMES
from sluice.api.tables import TableRef
from sluice.controller.cache.ended_attempts import ended_attempts
from sluice.installations.reported_names import LONGEST_NAME
from sluice.tables import TableKey, key_of_name
from sluice.tables.reported_names import NameReport

MOST_WAITING = 4096
"""Names that nobody has taken in yet; those that were told of longest ago are forgotten, and bound once they are told again."""
_MOST_BINDINGS = 1 << 14
"""Names with their locations that are kept as they were understood: thousands of jobs report what others have reported."""

_Heard = tuple[TableKey, TableKey, str]
"""A name, where it leads, and the namespace of whoever said so."""


class ReportedNameIntake:
    def __init__(self) -> None:
        self._waiting: OrderedDict[_Heard, NameReport] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def seen(self, body: Json) -> None:
        """Takes in a job as the API server has it."""
        job = f"{body['metadata']['namespace']}/{body['metadata']['name']}"
        for attempt, at in ended_attempts(body):
            for name, lead in _told(attempt, job, min(at, datetime.now(UTC))):
                self._heed(name, lead)

    def take(self) -> list[tuple[TableKey, NameReport]]:
        """Takes what was heard since this was last called, the oldest first."""
        taken, self._waiting = self._waiting, OrderedDict()
        return sorted(((name, lead) for (name, _, _), lead in taken.items()), key=lambda one: one[1].at)

    def _heed(self, name: TableKey, lead: NameReport) -> None:
        heard = (name, lead.table, lead.namespace)
        known = self._waiting.get(heard)
        if known is None or known.at < lead.at:
            self._waiting[heard] = lead
            self._waiting.move_to_end(heard)
        if len(self._waiting) > MOST_WAITING:
            self._waiting.popitem(last=False)


def _told(attempt: Json, job: str, at: datetime) -> Iterator[tuple[TableKey, NameReport]]:
    """Whoever may write statuses may have written anything: what no manifest could say binds nothing."""
    given = attempt.get("names")
    for one in given[:MAX_NAMES] if isinstance(given, list) else ():
        name, location = (one.get("name"), one.get("table")) if isinstance(one, dict) else (None, None)
        if isinstance(name, str) and isinstance(location, str):
            key = _bound(name, location)
            if key is not None:
                yield key, NameReport(location, job, at)


@lru_cache(maxsize=_MOST_BINDINGS)
def _bound(name: str, location: str) -> TableKey | None:
    """The name that is bound to the location; None: no manifest could say so, or no driver, which tells schemas. Without its schema
    one table would have two names that never end to lead to several places."""
    if len(name) > LONGEST_NAME:
        return None
    try:
        TableRef(name=name)
        TableRef(path=location)
    except ValidationError:
        return None
    key = key_of_name(name)
    return key if "." in key.text else None
