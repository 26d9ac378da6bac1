"""Jobs for which nothing is to be done any more: finished, reported, and with nothing left that may write or must be put away.

Nobody looks at one again before something of it changes. It is told from the objects as they are, because there may be
thousands: what isn't plainly so is looked at in full.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import OVER, Outcome
from sluice.engines import Stage, is_placeholder, observe
from sluice.lifecycle.evidence.attempt_evidence import PROVED, is_marked
from sluice.lifecycle.job import pruned_objects

_OUTCOMES = frozenset(outcome.value for outcome in Outcome)
_OF_STATUS = ("phase", "observedGeneration", "finishedAt", "run", "retryAsked")
_OF_POLICYS = (*_OF_STATUS, "reason", "message")
"""Also how it ended, which the policy that made it says."""
_OF_OVER_ATTEMPT = (
    *("number", "token", "hash", "application", "grantedAt", "startedAt", "outcome"),
    *("exitCode", "footprintHeld", "loss"),
)
_LONGEST_WORD = 100
_OF_DRIVER = ("pod", "podUid")
"""Of whose end the outcome was proved."""
_OF_FOOTPRINT = ("table", "statement", "operation", "reads", "writes")
"""Fields without which it couldn't be read any more."""
_OF_ATTEMPT = {"number": int, "token": int, "hash": str, "application": str, "grantedAt": str, "outcome": str}


def kept(job: Json) -> Json:
    """Returns what a mirror keeps: for a job that is over, what tells that it is, what its leftovers are told by, and when it
    goes."""
    if not is_over(job):
        return pruned_objects.of_job(job)
    status, spec = job["status"], job.get("spec")
    attempts = [_over(attempt) for attempt in status.get("attempts", [])]
    wanted = _OF_STATUS if pruned_objects.policy_of(job) is None else _OF_POLICYS
    tables = [_only(table, _OF_FOOTPRINT) for table in status.get("footprint", [])]
    return pruned_objects.sharing_texts(
        {
            "metadata": pruned_objects.metadata(job["metadata"]),
            "spec": _only(spec, ("ttlSecondsAfterFinished",)) if isinstance(spec, dict) else spec,
            "status": _only(status, wanted) | {"attempts": attempts, "footprint": tables},
        }
    )


def _over(attempt: Json) -> Json:
    driver = attempt.get("driver")
    told = {"driver": _only(driver, _OF_DRIVER)} if isinstance(driver, dict) else {}
    return _only(attempt, _OF_OVER_ATTEMPT) | told


def _only(given: Json, wanted: Iterable[str]) -> Json:
    return {name: given[name] for name in wanted if name in given}


def is_done_with(job: Json, applications: Iterable[Json], pods: Iterable[Json]) -> bool:
    """Whether nothing is to be done for a job that holds no lease; the caller knows of leases."""
    return (
        is_over(job) and not any(map(_application_may_act, applications)) and not any(map(_pod_may_act, pods))
    )


def has_ended(job: Json) -> bool:
    """Whether the job's status says so, whatever somebody wrote there."""
    status = job.get("status")
    phase = status.get("phase") if isinstance(status, dict) else None
    return isinstance(phase, str) and phase in OVER


def is_over(job: Json) -> bool:
    """Whether the job itself says that it is over."""
    metadata, status = job["metadata"], job.get("status")
    if "deletionTimestamp" in metadata or not isinstance(status, dict):
        return False
    attempts, footprint = status.get("attempts", []), status.get("footprint", [])
    return (
        has_ended(job)
        and status.get("observedGeneration") == metadata["generation"]
        and isinstance(attempts, list)
        and all(map(_is_closed, attempts))
        and isinstance(footprint, list)
        and all(isinstance(one, dict) and isinstance(one.get("table"), str) for one in footprint)
        and retry_asked(job) is None
    )


def retry_asked(job: Json) -> str | None:
    """The word by which somebody asks for one more attempt, if it isn't heeded yet."""
    said = (job["metadata"].get("annotations") or {}).get(names.ANNOTATION_RETRY)
    status = job.get("status")
    if not isinstance(said, str) or not isinstance(status, dict):
        return None
    word = said[:_LONGEST_WORD]
    return None if status.get("retryAsked") == word else word


def seconds_to_live(job: Json, by_default: int | None, now: datetime) -> float | None:
    """Seconds until a finished job is removed; None: it stays until somebody deletes it."""
    spec, status = job.get("spec"), job["status"]
    own = spec.get("ttlSecondsAfterFinished") if isinstance(spec, dict) else None
    ttl = own if type(own) is int else by_default
    try:
        ended = datetime.fromisoformat(status["finishedAt"])
        return None if ttl is None else ttl - (now - ended).total_seconds()
    except (KeyError, TypeError, ValueError):
        return None  # somebody wrote over it: nothing tells how long ago that was


def _is_closed(attempt: Any) -> bool:
    return (
        isinstance(attempt, dict)
        and all(type(attempt.get(name)) is type_ for name, type_ in _OF_ATTEMPT.items())
        and attempt["outcome"] in _OUTCOMES
    )


def _application_may_act(body: Json) -> bool:
    return is_marked(body) or observe(body, None, driver_seen=False).stage is Stage.STARTING


def _pod_may_act(body: Json) -> bool:
    """Whether the pod may still act, or is a placeholder, which is to be put away."""
    if is_marked(body) or is_placeholder(body):
        return True
    return observe(None, body, driver_seen=True).stage not in PROVED
