"""What an object tells of a job, taken with care: whoever may write it may have written anything that the schema lets through."""

from datetime import UTC, datetime
from typing import Any

from sluice.api.base import Json
from sluice.api.job_status import Phase

NEW = "New"
"""The phase of a job that nobody has looked at yet."""
HOLDING = frozenset({Phase.STARTING.value, Phase.RUNNING.value, Phase.ENDING.value})
AT_REST = frozenset({Phase.PAUSED.value, Phase.BACKING_OFF.value, Phase.SUSPENDED.value})
"""Phases in which a job is in nobody's way but a stream, which keeps away what would break it for good."""


def key_of(job: Json) -> str:
    return f"{job['metadata'].get('namespace', '')}/{job['metadata']['name']}"


def status_in(job: Json) -> Json:
    return object_in(job.get("status"))


def phase_of(job: Json) -> str:
    return str(status_in(job).get("phase") or NEW)


def attempts_of(job: Json) -> list[Json]:
    return objects_in(status_in(job).get("attempts"))


def runs_for_ever(job: Json) -> bool:
    """Whether it is a stream whose trigger lets it end only when it fails or is stopped."""
    stream = object_in(object_in(job.get("spec")).get("stream"))
    return "processingTime" in object_in(stream.get("trigger"))


def pause_in(job: Json) -> Json | None:
    """Why its stream pauses, or is asked to."""
    attempts, phase = attempts_of(job), phase_of(job)
    if phase == Phase.PAUSED.value:
        return object_in(status_in(job).get("pause")) or None
    return object_in(attempts[-1].get("pause")) or None if attempts and phase in HOLDING else None


def object_in(given: Any) -> Json:
    return given if isinstance(given, dict) else {}


def objects_in(given: Any) -> list[Json]:
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []


def whole_number(given: Any) -> int | None:
    return given if isinstance(given, int) and not isinstance(given, bool) else None


def time_in(text: Any) -> datetime | None:
    """Times without a zone are Kubernetes': UTC."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
