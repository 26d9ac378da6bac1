"""Which jobs may be writing a table just now."""

from collections.abc import Iterable, Iterator
from typing import Any

from sluice.api.job_status import MAX_FOOTPRINTS
from sluice.lifecycle.job.job_view import JobView
from sluice.tables import TableKey


def writers_of(key: TableKey | None, jobs: Iterable[JobView]) -> Iterator[JobView]:
    """Those with an open attempt that may write it. `key`: None where it isn't known which table it is."""
    return (
        job
        for job in jobs
        if _shows_an_open_attempt(job.body.get("status"))
        and job.open_attempt is not None
        and (key is None or _may_write(job, key))
    )


def _shows_an_open_attempt(status: Any) -> bool:
    """Told from the object as it is: reading the statuses of thousands of jobs, most of which wait or are over, takes seconds."""
    attempts = status.get("attempts") if isinstance(status, dict) else None
    return isinstance(attempts, list) and any(
        isinstance(one, dict) and one.get("outcome") is None for one in attempts
    )


def _may_write(job: JobView, key: TableKey) -> bool:
    """A name that its status still shows led to no one place when it was granted, whatever runs have reported since."""
    written = [TableKey.parse(one.table) for one in job.status.footprint]
    may_have_more = not 0 < len(written) < MAX_FOOTPRINTS
    now, by_policies = job.names, job.names.by_policies
    return may_have_more or any(
        names.key_of(one).may_equal(key) for one in written for names in (now, by_policies)
    )
