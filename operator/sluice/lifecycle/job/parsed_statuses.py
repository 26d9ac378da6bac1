"""Statuses as they were read. A job's status is asked for many times while something is done for it, and then not at all for
hours: only those that were asked for last are kept, because the read form takes several times the memory of the object."""

from collections import OrderedDict
from typing import Any

from pydantic import ValidationError

from sluice.api.job_status import DeltaWriteJobStatus
from sluice.api.problems import problems_of

ReadStatus = tuple[DeltaWriteJobStatus, str | None]
"""A status as far as it can be read, and what of it can't be, if that part tells what the job has done or holds."""

MOST = 1_024

_RECORD = frozenset({"phase", "attempt", "attempts", "footprint", "run"})
"""Fields that a later leader goes by."""


class ParsedStatuses:
    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept: OrderedDict[str, tuple[Any, ReadStatus]] = OrderedDict()
        """Statuses by uid, with the object that each was read from."""

    def of(self, uid: str, body: dict[str, Any]) -> ReadStatus:
        known = self._kept.get(uid)
        if known is not None and known[0] is body:
            self._kept.move_to_end(uid)
            return known[1]
        found = _read(body.get("status"))
        self._kept[uid] = body, found
        self._kept.move_to_end(uid)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return found


def _read(given: Any) -> ReadStatus:
    """Reads the status; fields that somebody wrote by hand may be anything that the schema lets through."""
    if given is None:
        return DeltaWriteJobStatus(), None
    if not isinstance(given, dict):
        return DeltaWriteJobStatus(), f"status: it is {type(given).__name__}, not an object"
    try:
        return DeltaWriteJobStatus.as_stored(given), None
    except ValidationError as error:
        wrong = {str(problem["loc"][0]) for problem in error.errors()}
        rest = {name: value for name, value in given.items() if name not in wrong}
        why = None if wrong.isdisjoint(_RECORD) else problems_of(error, "status", most=1)
        return DeltaWriteJobStatus.as_stored(rest), why
