"""Streams at rest: they pause, back off, wait or start again, and hold no lease. What others do meanwhile must not break for good
what they read, nor go on from their checkpoints."""

from typing import Any

from sluice.admission import Holder
from sluice.conflicts import conflict_at_rest
from sluice.lifecycle.evidence.finished_jobs import has_ended
from sluice.lifecycle.evidence.outcome import COMMITTED_NOTHING
from sluice.lifecycle.job.job_view import JobView

_NEVER_RAN = frozenset(outcome.value for outcome in COMMITTED_NOTHING)


def may_rest(body: Any) -> bool:
    """Whether the job may be a stream that has run and will run again, as its object says: of thousands of others nothing has to
    be read for that."""
    spec, status = body.get("spec"), body.get("status")
    if not isinstance(spec, dict) or not isinstance(status, dict) or "deletionTimestamp" in body["metadata"]:
        return False
    attempts = status.get("attempts")
    return (
        "stream" in spec
        and not has_ended(body)
        and isinstance(attempts, list)
        and any(isinstance(one, dict) and str(one.get("outcome")) not in _NEVER_RAN for one in attempts)
    )


def holder_at_rest(job: JobView) -> Holder | None:
    """What it keeps others from while it holds no lease; None if nothing could break it."""
    footprint = job.footprint
    if not footprint.streams_from and all(one.checkpoint is None for one in footprint.tables):
        return None
    if conflict_at_rest(footprint, footprint) is not None:
        return None  # it breaks itself, whoever runs beside it
    return Holder(job.uid, job.key, footprint, at_rest=True)
