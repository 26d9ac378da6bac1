"""A stream as its driver tells of it, for tests."""

import json
from datetime import UTC, datetime
from typing import Any

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import Attempt, StreamProgress
from sluice.engines import RuntimeProfile
from sluice.lifecycle.job.job_view import JobView
from unit.controller.bodies import job_body
from unit.lifecycle.objects import NAME, RUNNING, TOKEN, pod

NOW = datetime(2026, 11, 19, 10, tzinfo=UTC)
FOR_EVER = {"processingTime": "30 seconds"}
ONCE = {"availableNow": True}
PROFILES = {"default": RuntimeProfile(spark_version="4.2.0")}


def spec(trigger: Json = FOR_EVER, **changed: Any) -> Json:
    stream: Json = {
        "source": {"format": "delta", "path": "/lake/raw"},
        "table": {"path": "/lake/orders"},
        "checkpoint": "/lake/checkpoints/a",
        "trigger": trigger,
    }
    return {"stream": stream | changed}


def attempt(number: int = 1, **changed: Any) -> Attempt:
    intent = Attempt(number=number, token=TOKEN, hash="hash", application=NAME, granted_at=NOW)
    return intent.model_copy(update=changed)


def stream(
    *attempts: Attempt, trigger: Json = FOR_EVER, status: Json | None = None, retry: Json | None = None
) -> JobView:
    body = job_body("a") | {"spec": spec(trigger) | ({"retry": retry} if retry is not None else {})}
    # The spec is the one that they were granted for.
    granted = {"hash": JobView(body, PROFILES, NOW).spec_hash}
    given = [one.model_dump(mode="json", by_alias=True, exclude_none=True) | granted for one in attempts]
    told = {"attempts": given, **(status or {})}
    return JobView(body | {"status": told}, PROFILES, NOW)


def said(**changed: Any) -> Json:
    """What a driver says of its stream."""
    told: Json = {"queryId": "9c2b", "batches": 0} | changed
    return {name: value for name, value in told.items() if value is not None}


def progress(**changed: Any) -> StreamProgress:
    return StreamProgress.as_stored(said(**changed))


def telling_pod(**changed: Any) -> Json:
    """The pod of a driver that runs and says this of its stream."""
    told = {
        "statement": 1,
        "of": 1,
        "operation": "STREAM",
        "since": "2026-11-19T10:00:01Z",
        "stream": said(**changed),
    }
    body = pod(RUNNING)
    body["metadata"]["annotations"] |= {names.ANNOTATION_PROGRESS: json.dumps(told)}
    return body
