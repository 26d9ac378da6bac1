"""Restores an intent that is gone from its job's status while its application or its driver is there: somebody edited the
status, or the API server went back to an earlier state.

The object's own record says what was granted, so it is written again. Without it nobody would look for the attempt's end, and
the job would never end either.
"""

from collections.abc import Collection
from datetime import datetime

from sluice.api.engine_kind import EngineKind
from sluice.api.job_status import Attempt, Phase
from sluice.api.reasons import Reason
from sluice.engines import engine_of
from sluice.engines.attempt import application_name
from sluice.footprint import NotUnderstoodError
from sluice.leases.model import Grant, Lease
from sluice.lifecycle.evidence.attempt_evidence import (
    Evidence,
    JobEvidence,
    UnreadableRecordError,
    is_marked,
    record_of,
)
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import StatusChange, UnderstoodFields
from sluice.lifecycle.spec.commit_ids import shown_run


def restored(job: JobView, evidence: JobEvidence, held: Collection[Lease]) -> StatusChange | None:
    """Returns the change; None if no intent is missing. `held`: the job's leases. What no lease covers was not granted: it is
    ended first, like anything that came late."""
    for one in evidence.by_application.values():
        if one.intent is not None or one.application_name != application_name(job.name, job.uid, one.number):
            continue
        grant = _granted(one)
        if grant is not None and any(lease.holder == grant.lease.holder for lease in held):
            message = (
                f"attempt {one.number} was missing from the status; its application says what was granted"
            )
            attempt = Attempt(
                number=one.number,
                token=grant.token,
                hash=grant.lease.hash,
                application=one.application_name,
                engine=_engine_of(one),
                granted_at=_created_at(one),
            )
            first = grant.token if one.number == 1 else 0
            return StatusChange(
                Phase.STARTING,
                Reason.ATTEMPT_RESTORED,
                message,
                _understood(job, grant),
                attempt,
                run=shown_run(job.status.run, grant.lease.run, first),
            )
    return None


def _engine_of(one: Evidence) -> EngineKind:
    """Where only its driver's pod is left, nothing is created for it any more, for whichever Spark operator it was made."""
    return engine_of(one.application).kind if one.application is not None else EngineKind.KUBEFLOW


def _granted(one: Evidence) -> Grant | None:
    for body in (one.application, one.pod):
        if body is not None and is_marked(body):
            try:
                return record_of(body)
            except UnreadableRecordError:
                continue  # another witness says it
    return None


def _created_at(one: Evidence) -> datetime:
    first = min(body["metadata"]["creationTimestamp"] for body in (one.application, one.pod) if body)
    return datetime.fromisoformat(first)


def _understood(job: JobView, grant: Grant) -> UnderstoodFields | None:
    try:
        return UnderstoodFields.of(job) if job.hashes.are(grant.lease.hash) else None
    except NotUnderstoodError:
        return None
