"""A stream that is asked to stop: its driver's pod says so, and its status says what became of that."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.api import names
from sluice.api.base import Json
from sluice.api.job_status import Attempt, DeltaWriteJobStatus, PauseReason, StreamPause, WaitsForPause
from sluice.api.reasons import EventReason, Reason
from sluice.engines import RuntimeProfile
from sluice.lifecycle.attempt import job_events
from sluice.lifecycle.attempt import next_step as way
from sluice.lifecycle.attempt.withdrawal import Creates
from sluice.lifecycle.evidence.attempt_evidence import evidence_of
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.streams.stop_requests import heed, why_it_pauses
from unit.controller.bodies import job_body
from unit.lifecycle.objects import LEASE, NAME, RUNNING, TERMINATED, TOKEN, application, pod

NOW = datetime(2026, 11, 19, 10, tzinfo=UTC)
ASKED = NOW + timedelta(minutes=5)
FOR_ONE = StreamPause(
    reason=PauseReason.YIELDS, for_=(WaitsForPause(job="etl/alter", uid="uid-alter"),), since=ASKED
)
STREAM = {
    "source": {"format": "delta", "path": "/lake/raw"},
    "table": {"path": "/lake/orders"},
    "checkpoint": "/lake/orders/_checkpoints/a",
    "trigger": {"processingTime": "30 seconds"},
}


def stream(attempt: Attempt, **status: Any) -> JobView:
    given = attempt.model_dump(mode="json", by_alias=True, exclude_none=True)
    body = job_body("a", stream=STREAM) | {"status": {"attempts": [given], **status}}
    return JobView(body, {"default": RuntimeProfile(spark_version="4.2.0")}, NOW)


HASH = JobView(
    job_body("a", stream=STREAM), {"default": RuntimeProfile(spark_version="4.2.0")}, NOW
).spec_hash


def paused(pause: StreamPause = FOR_ONE) -> Attempt:
    return Attempt(number=1, token=TOKEN, hash=HASH, application=NAME, granted_at=NOW, pause=pause)


def step(*objects: Json, attempt: Attempt | None = None, after: timedelta = timedelta()) -> way.Step:
    attempt = attempt or paused()
    view = stream(attempt)
    of_job = evidence_of(LEASE.uid, view, objects[:1], objects[1:])
    return way.next_step(view, of_job.of(attempt), way.Cover(LEASE), Creates(), ASKED + after)


def asked_pod(**changed: Any) -> Json:
    body = pod(RUNNING, **changed)
    body["metadata"]["annotations"] |= {names.ANNOTATION_STOP: "{}"}
    return body


def told(found: way.Step) -> way.ReportProgress:
    assert isinstance(found, way.ReportProgress)
    return found


def test_a_running_driver_that_has_not_been_told_is_told_with_the_reason() -> None:
    running = pod(RUNNING)
    found = step(application("RUNNING"), running)
    assert isinstance(found, way.AskToStop)
    assert found.pod == running
    assert found.why == "etl/alter waits for it"


def test_a_driver_is_told_once() -> None:
    assert told(step(application("RUNNING"), asked_pod())).change.reason is Reason.PAUSING


@pytest.mark.parametrize(
    ("reason", "is_idle", "minutes", "says", "says_not"),
    [
        (PauseReason.YIELDS, False, 0, "it pauses once the batch that is under way has ended", "at once"),
        (PauseReason.YIELDS, True, 0, "it pauses at once, as it has nothing to do", "batch that is"),
        (PauseReason.SPEC_CHANGED, False, 0, "it stops, and goes on as its spec says now, once", "pauses"),
        (PauseReason.UNDERSTOOD_OTHERWISE, False, 0, "once it is admitted again, once the", "pauses"),
        (PauseReason.SUSPENDED, True, 0, "it stops at once", "pauses"),
        (PauseReason.YIELDS, False, 1, "nobody ends it for it; who waits for it goes on waiting", "its pod"),
        (PauseReason.SPEC_CHANGED, False, 1, "a batch may take as long as that", "who waits"),
        (PauseReason.YIELDS, True, 1, "its driver may not be able to ask for its pod", "a batch may"),
    ],
)
def test_what_it_is_at_and_what_it_does_next_is_said_as_it_is(
    reason: PauseReason, is_idle: bool, minutes: int, says: str, says_not: str
) -> None:
    pause = FOR_ONE.model_copy(update={"reason": reason})
    message = heed(pause, ASKED, ASKED + timedelta(minutes=minutes), is_idle=is_idle).message
    assert says in message
    assert says_not not in message


def test_what_does_not_run_yet_is_told_once_it_runs() -> None:
    assert told(step(application("SUBMITTED"))).change.reason is Reason.DRIVER_STARTING
    assert told(step(application("SUBMITTED"), pod())).change.reason is Reason.DRIVER_STARTING


def test_a_driver_that_ends_anyway_is_not_told() -> None:
    going = pod(RUNNING, deletionTimestamp="2026-11-19T10:05:00Z")
    assert told(step(application("RUNNING"), going)).change.reason is Reason.PAUSING
    assert not isinstance(step(application("RUNNING"), pod(TERMINATED)), way.AskToStop)


def test_a_stream_that_nobody_asks_to_stop_is_left_alone() -> None:
    alone = paused().model_copy(update={"pause": None})
    assert (
        told(step(application("RUNNING"), pod(RUNNING), attempt=alone)).change.reason is Reason.DRIVER_RUNNING
    )


def test_for_a_minute_it_says_that_it_is_about_to_pause_and_why() -> None:
    found = told(step(application("RUNNING"), asked_pod(), after=timedelta(seconds=20)))
    assert found.change.reason is Reason.PAUSING
    assert (
        "asked to stop at a batch boundary at 10:05:00 UTC, because etl/alter waits for it"
        in found.change.message
    )
    assert found.seconds_until_more == 40


@pytest.mark.parametrize(
    ("after", "how_long", "more"),
    [
        (timedelta(minutes=1), "after a minute", 59 * 60.0),
        (timedelta(minutes=59), "after a minute", 60.0),
        (timedelta(hours=1), "after an hour", 3600.0),
        (timedelta(hours=3, minutes=30), "after 3 hours", 1800.0),
    ],
)
def test_a_stream_that_goes_on_is_told_after_a_minute_and_in_each_hour(
    after: timedelta, how_long: str, more: float
) -> None:
    found = told(step(application("RUNNING"), asked_pod(), after=after))
    assert found.change.reason is Reason.PAUSE_NOT_HEEDED
    assert how_long in found.change.message
    assert found.seconds_until_more == more


def test_its_patience_counts_from_when_its_driver_could_know() -> None:
    late = (ASKED + timedelta(seconds=50)).isoformat()
    starting = asked_pod()
    starting["status"]["containerStatuses"][0]["state"] = {"running": {"startedAt": late}}
    found = told(step(application("RUNNING"), starting, after=timedelta(seconds=70)))
    assert found.change.reason is Reason.PAUSING
    assert found.seconds_until_more == 40


def test_an_event_is_sent_for_each_new_word_of_a_stream_that_goes_on() -> None:
    before = DeltaWriteJobStatus(message="asked to stop")
    first = job_events.pause_not_heeded(before, Reason.PAUSE_NOT_HEEDED, "after a minute")
    assert first is not None
    assert (first.reason, first.is_warning) == (EventReason.PAUSE_NOT_HEEDED, True)
    known = DeltaWriteJobStatus(message="after a minute")
    assert job_events.pause_not_heeded(known, Reason.PAUSE_NOT_HEEDED, "after a minute") is None
    assert job_events.pause_not_heeded(known, Reason.PAUSE_NOT_HEEDED, "after an hour") is not None
    assert job_events.pause_not_heeded(known, Reason.PAUSING, "is about to") is None


def test_why_it_pauses_is_said_of_every_reason() -> None:
    several = (*FOR_ONE.for_, WaitsForPause(job="etl/b", uid="uid-b"))
    for reason in PauseReason:
        assert why_it_pauses(FOR_ONE.model_copy(update={"reason": reason, "for_": several}))
    assert why_it_pauses(FOR_ONE.model_copy(update={"for_": several})) == "etl/alter and 1 more wait for it"


def test_that_a_node_goes_is_said_beside_the_pause() -> None:
    body = asked_pod()
    body["status"]["conditions"] = [
        {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "evicted",
        }
    ]
    said = told(step(application("RUNNING"), body)).change.message
    assert "asked to stop" in said
    assert "evict" in said


def test_the_pause_does_not_hide_that_its_driver_started() -> None:
    found = told(step(application("RUNNING"), asked_pod()))
    assert found.change.attempt is not None
    assert found.change.attempt.started_at == NOW
