"""What the status of a stream says while its driver runs, and how often."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from sluice.api.base import Json
from sluice.api.job_status import Outcome, Phase
from sluice.api.reasons import Reason
from sluice.lifecycle.attempt import next_step as way
from sluice.lifecycle.attempt.withdrawal import Creates
from sluice.lifecycle.evidence.attempt_evidence import evidence_of
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.job.status import as_body, status_after
from sluice.predicates import Table
from sluice.tables import TableFacts, key_of_path
from unit.lifecycle.objects import LEASE, application
from unit.lifecycle.streaming import FOR_EVER, NOW, ONCE, PROFILES, attempt, stream, telling_pod


def look(view: JobView, driver: Json, now: datetime) -> way.ReportProgress:
    found = way.next_step(
        view,
        evidence_of(LEASE.uid, view, [application("RUNNING")], [driver]).of(view.status.attempts[-1]),
        way.Cover(LEASE),
        Creates(),
        now,
    )
    assert isinstance(found, way.ReportProgress)
    return found


def written(view: JobView, told: way.ReportProgress, now: datetime) -> JobView:
    status = as_body(status_after(view, told.change, now))
    return replace(view, body=view.body | {"status": status})


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def running(trigger: Json = FOR_EVER, **changed: Any) -> JobView:
    """One that has said that its driver runs."""
    view = stream(attempt(), trigger=trigger)
    return written(view, look(view, telling_pod(**changed), at(1)), at(1))


def conditions(view: JobView) -> dict[str, str]:
    return {one.type: one.status for one in view.status.conditions}


def test_until_it_has_ended_a_batch_its_driver_runs_and_it_is_not_ready() -> None:
    view = running()
    assert (view.phase, view.status.reason) == (Phase.RUNNING, Reason.DRIVER_RUNNING)
    assert "no batch of it has ended yet" in (view.status.message or "")
    assert conditions(view) == {"Ready": "False", "Reconciling": "True", "Stalled": "False"}


def test_its_first_batch_is_told_at_once_and_makes_it_ready() -> None:
    view = running()
    driver = telling_pod(batch=0, batches=1, batchAt="2026-11-19T10:00:03Z")
    told = look(view, driver, at(4))
    assert told.seconds_until_worth_it == 0
    view = written(view, told, at(4))
    assert view.status.reason == Reason.STREAMING
    assert "the stream runs: batch 0 ended at 10:00:03 UTC" in (view.status.message or "")
    assert conditions(view) == {"Ready": "True", "Reconciling": "False", "Stalled": "False"}
    assert view.status.stream is not None
    assert (view.status.stream.batch, view.status.stream.attempt, view.status.stream.told_at) == (0, 1, at(4))
    assert view.status.attempts[-1].progress is None


@pytest.mark.parametrize("batches", [0, 1])
def test_one_whose_new_spec_is_not_understood_goes_on_and_says_that_a_person_has_to_put_it_right(
    batches: int,
) -> None:
    view = running()
    driver = telling_pod(batches=batches)
    view = written(view, look(view, driver, at(4)), at(4))
    changed = view.body["spec"]["stream"] | {"query": "SELEKT"}
    metadata = view.body["metadata"] | {"generation": 2}
    body = view.body | {"metadata": metadata, "spec": view.body["spec"] | {"stream": changed}}
    view = JobView(body, PROFILES, NOW)
    view = written(view, look(view, driver, at(70)), at(70))
    assert view.status.observed_generation == 2
    assert (view.phase, view.open_attempt is not None and view.open_attempt.pause) == (Phase.RUNNING, None)
    assert view.status.reason == Reason.NOT_UNDERSTOOD
    assert "can't be understood, so that the stream goes on as it was" in (view.status.message or "")
    assert conditions(view) == {"Ready": "False", "Reconciling": "False", "Stalled": "True"}


def test_one_that_finds_nothing_to_do_is_ready_as_well() -> None:
    view = running()
    driver = telling_pod(idleSince="2026-11-19T10:00:03Z")
    view = written(view, look(view, driver, at(4)), at(4))
    assert (view.status.reason, conditions(view)["Ready"]) == (Reason.STREAMING, "True")


def test_after_that_batches_are_told_once_a_minute() -> None:
    view = written(running(), look(running(), telling_pod(batch=0, batches=1), at(4)), at(4))
    told = look(view, telling_pod(batch=1, batches=2), at(34))
    assert told.seconds_until_worth_it == 30
    told = look(view, telling_pod(batch=2, batches=3), at(64))
    assert told.seconds_until_worth_it == 0
    assert told.change.stream is not None
    assert told.change.stream.batch == 2
    view = written(view, told, at(64))
    assert "batch 2 has ended" in (view.status.message or "")


def test_a_stream_of_batches_of_a_second_costs_a_write_a_minute() -> None:
    view, writes = running(), 0
    for second in range(2, 602):
        told = look(view, telling_pod(batch=second, batches=second), at(second))
        if told.seconds_until_worth_it == 0:
            after = written(view, told, at(second))
            writes += after.status != view.status
            view = after
    assert writes <= 11


def test_a_moment_that_is_yet_to_come_keeps_no_progress_from_being_told() -> None:
    ahead = at(3600)
    first = running()
    told = look(first, telling_pod(batch=0, batches=1, batchAt="2026-11-19T10:00:03Z"), ahead)
    view = written(first, told, ahead)
    assert view.status.stream is not None
    assert view.status.stream.told_at == ahead
    news = look(view, telling_pod(batch=1, batches=2, batchAt="2026-11-19T10:00:05Z"), at(70))
    assert news.seconds_until_worth_it == 0
    assert news.change.stream is not None
    assert (news.change.stream.batch, news.change.stream.told_at) == (1, at(70))


def test_an_idle_stream_costs_no_write() -> None:
    idle = telling_pod(idleSince="2026-11-19T10:00:03Z")
    view = written(running(), look(running(), idle, at(4)), at(4))
    told = look(view, idle, at(4000))
    assert told.change.stream is None
    assert written(view, told, at(4000)).status == view.status


def test_what_else_there_is_to_say_does_not_wait_for_progress() -> None:
    view = written(running(), look(running(), telling_pod(batch=0, batches=1), at(4)), at(4))
    driver = telling_pod(batch=1, batches=2)
    driver["status"]["conditions"] = [
        {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "evicted",
        }
    ]
    told = look(view, driver, at(10))
    assert told.seconds_until_worth_it == 0
    assert "batch 0 has ended" in told.change.message
    assert "evict" in told.change.message


def test_a_stream_with_an_end_tells_of_its_batches_and_is_not_ready_before_it() -> None:
    view = running(ONCE)
    early = look(view, telling_pod(batch=0, batches=1), at(4))
    assert early.seconds_until_worth_it > 0
    view = written(view, look(view, telling_pod(batch=3, batches=4), at(64)), at(64))
    assert view.status.reason == Reason.DRIVER_RUNNING
    assert "batch 3 has ended" in (view.status.message or "")
    assert conditions(view)["Ready"] == "False"


def test_another_attempt_is_ready_only_by_its_own_word() -> None:
    view = written(running(), look(running(), telling_pod(batch=0, batches=1), at(4)), at(4))
    before = attempt(ended_at=at(50), outcome=Outcome.FAILED)
    again = attempt(2, granted_at=at(60), hash=view.spec_hash)
    given = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in (before, again)]
    body = view.body | {"status": view.body["status"] | {"attempts": given, "attempt": 2}}
    view = replace(view, body=body)
    lease = replace(LEASE, attempt=2)
    objects = application("RUNNING", lease=lease), telling_pod()
    objects[1]["metadata"] |= {
        "labels": objects[0]["metadata"]["labels"],
        "annotations": objects[1]["metadata"]["annotations"] | objects[0]["metadata"]["annotations"],
    }
    evidence = evidence_of(LEASE.uid, view, [objects[0]], [objects[1]]).of(view.status.attempts[-1])
    told = way.next_step(view, evidence, way.Cover(lease), Creates(), at(63))
    assert isinstance(told, way.ReportProgress)
    assert told.change.reason is Reason.DRIVER_RUNNING
    assert view.status.stream is not None
    assert view.status.stream.batch == 0, "what it has done stays known"


def test_a_table_that_would_forget_its_batches_is_named_as_long_as_the_stream_runs() -> None:
    properties = {"Delta.setTransactionRetentionDuration": "interval 1 day"}
    keeps = TableFacts(columns=Table.of([]))
    forgetful = replace(keeps, properties=properties)
    orders = key_of_path("/lake/orders")
    driver = telling_pod(batch=0, batches=1, batchAt="2026-11-19T10:00:03Z")
    for facts, is_named in (({}, False), ({orders: keeps}, False), ({orders: forgetful}, True)):
        view = replace(stream(attempt()), facts=facts)
        said = look(view, driver, at(4)).change
        assert said.reason is Reason.STREAMING
        assert ("file:/lake/orders forgets after interval 1 day" in said.message) is is_named
