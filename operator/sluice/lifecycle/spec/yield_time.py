"""How long a job leaves others ahead of it, by its own word: longer than its tables' policies have jobs wait until they age, never
shorter.

A policy's maintenance can wait until its table is free, or until it must begin; an annotation says it, which anybody may set,
because it puts off none but the job itself. To the queue such a job is one that is queued so much later, so that what it promises
to all others stays true: nobody who waits longer is passed by it once it ages."""

import re
from datetime import datetime, timedelta
from typing import Any

from sluice.api import names
from sluice.api.durations import seconds

_LONGEST = 32
_DURATION = re.compile(r"([0-9]{1,7}[hms])+")
_NOT_AT_ALL = timedelta()


def counts_from(queued_at: datetime, ages_after: timedelta, annotations: Any) -> datetime:
    """From when on its wait counts in the queue."""
    return queued_at + max(yields_for(annotations) - ages_after, _NOT_AT_ALL)


def yields_for(annotations: Any) -> timedelta:
    """What is no duration yields for no time: the job then ages as all others do."""
    said = annotations.get(names.ANNOTATION_AGE_AFTER) if isinstance(annotations, dict) else None
    if not isinstance(said, str) or len(said) > _LONGEST or _DURATION.fullmatch(said) is None:
        return _NOT_AT_ALL
    return timedelta(seconds=seconds(said))
