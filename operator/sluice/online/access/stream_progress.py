"""How far streams have come, which their drivers' pods tell sooner than their jobs' statuses."""

from datetime import UTC, datetime

from pydantic import ValidationError

from sluice.api.base import Json
from sluice.api.job_status import Phase, StreamProgress
from sluice.engines.progress import stream_of
from sluice.lifecycle.streams.stream_progress import put_together
from sluice.online.access.driver_pods import DriverPods, driver_of
from sluice.online.access.job_objects import attempts_of, object_in, phase_of, status_in, whole_number


def stream_in(job: Json, pods: DriverPods) -> Json | None:
    """None: it is no stream, or has told nothing."""
    known, now = _in_status(job), datetime.now(UTC)
    said = stream_of(driver_of(job, pods)) if phase_of(job) == Phase.RUNNING.value else None
    if said is not None:
        known = put_together(known, said, _attempt(job), now)
    return None if known is None else known.model_dump(mode="json", by_alias=True, exclude_none=True)


def _attempt(job: Json) -> int:
    return whole_number(attempts_of(job)[-1].get("number")) or 1


def _in_status(job: Json) -> StreamProgress | None:
    given = object_in(status_in(job).get("stream"))
    try:
        return StreamProgress.as_stored(given) if given else None
    except ValidationError:
        return None
