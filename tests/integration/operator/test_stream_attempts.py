"""Attempts of a stream: what its status says while one runs and after it, and what follows a failure."""

import json
from datetime import datetime
from typing import Any

import pytest
from kubernetes import client

from integration.operator.played import Driver, Played, now, rewrite
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json
from sluice.engines.plan import plan_from_arguments

FOR_EVER = {"processingTime": "30 seconds"}


def stream(name: str, *, trigger: Json = FOR_EVER, **more: Any) -> Json:
    return {
        "stream": {
            "source": {"format": "rate"},
            "table": {"path": f"/lake/{name}"},
            "checkpoint": f"/lake/checkpoints/{name}",
            "trigger": trigger,
        },
        **more,
    }


def tells(cluster: Played, driver: Driver, **said: Any) -> None:
    """The driver says on its pod how far it has come."""
    told = {
        "statement": 1,
        "of": 1,
        "operation": "STREAM",
        "since": now(),
        "stream": {"queryId": "q", **said},
    }
    annotations = {names.ANNOTATION_PROGRESS: json.dumps(told)}
    cluster.patch_pod(driver.pod, {"metadata": {"annotations": annotations}})


def failed(class_: str, error_class: str | None = None, **said: Any) -> str:
    exception = {"class": class_, "errorClass": error_class, "message": "it broke", "retriable": False}
    told: Json = {"version": 1, "outcome": "Failed", "attempt": 1, "statements": [], "exception": exception}
    return json.dumps(told | ({"stream": {"queryId": "q", **said}} if said else {}))


def paused(**said: Any) -> str:
    told = {
        "version": 1,
        "outcome": "Paused",
        "attempt": 1,
        "statements": [],
        "stream": {"queryId": "q", **said},
    }
    return json.dumps(told)


def started(cluster: Played, job: str, attempt: int) -> Driver:
    eventually(
        lambda: cluster.status(job).get("attempt") == attempt,
        f"{job} has attempt {attempt}",
        show=lambda: cluster.status(job),
    )
    driver = cluster.submitted(job)
    driver.runs()
    return driver


def has_reason(cluster: Played, job: str, reason: str) -> Json:
    return eventually(
        lambda: (status := cluster.status(job)).get("reason") == reason and status,
        f"{job} says {reason}",
        show=lambda: cluster.status(job),
    )


def messages(cluster: Played, job: str) -> list[str]:
    """Of the Events about it."""
    core, about = client.CoreV1Api(cluster.api), f"involvedObject.name={job}"
    found = core.list_namespaced_event(cluster.namespace, field_selector=about).items
    return [event.message or "" for event in found]


def conditions(status: Json) -> dict[str, str]:
    return {one["type"]: one["status"] for one in status["conditions"]}


def test_a_stream_is_ready_while_it_works_and_what_it_has_done_outlives_its_driver(shared: Played) -> None:
    uid = shared.apply("works", stream("works", retry={"backoff": "1s"}))
    first = started(shared, "works", 1)
    assert conditions(has_reason(shared, "works", "DriverRunning"))["Ready"] == "False"
    application = shared.application(first.application)
    assert application is not None
    assert "run" not in plan_from_arguments(application["spec"]["arguments"])
    tells(shared, first, batch=0, batches=1, batchAt=now(), lag={"files": 3})
    status = has_reason(shared, "works", "Streaming")
    assert conditions(status) == {"Ready": "True", "Reconciling": "False", "Stalled": "False"}
    assert status["stream"]["batch"] == 0
    assert "3 files behind" in status["message"]
    tells(shared, first, batch=7, batches=8, batchAt=now())
    first.ends(137, reason="OOMKilled")
    second = started(shared, "works", 2)
    status = has_reason(shared, "works", "DriverRunning")
    assert conditions(status)["Ready"] == "False"
    before = status["attempts"][0]
    assert (before["outcome"], status["retries"]) == ("Killed", 1)
    assert "batch 7 ended at" in before["message"], "its pod had said it after its status was written"
    assert before["message"].endswith("it goes on from its checkpoint")
    assert (status["stream"]["batch"], status["stream"]["attempt"]) == (7, 1)
    tells(shared, second, batches=0, idleSince=now())
    status = has_reason(shared, "works", "Streaming")
    assert (status["stream"]["batch"], status["stream"]["attempt"]) == (7, 2)
    assert f"{uid}/2" in shared.holders()
    second.ends(137, reason="OOMKilled")
    third = started(shared, "works", 3)
    tells(shared, third, batches=0)
    status = eventually(
        lambda: (status := shared.status("works"))["stream"].get("attempt") == 3 and status,
        "what the third driver says is in its status",
        show=lambda: shared.status("works"),
    )
    assert not {"idleSince", "batches"} & status["stream"].keys(), (
        "those before it had found that, and ended it"
    )
    assert (status["stream"]["batch"], conditions(status)["Ready"]) == (7, "False")
    tells(shared, third, queryId="another", batch=0, batches=1, batchAt=now())
    status = has_reason(shared, "works", "Streaming")
    assert status["stream"]["replaced"] == {"queryId": "q", "batch": 7}
    assert "its checkpoint was emptied or replaced after batch 7" in status["message"]
    eventually(
        lambda: any("emptied or replaced after batch 7" in message for message in messages(shared, "works")),
        "an Event tells that it writes anew what it had written",
        show=lambda: messages(shared, "works"),
    )


def test_one_that_was_asked_to_stop_by_hand_queues_again_at_once(shared: Played) -> None:
    shared.apply("by-hand", stream("by-hand"))
    driver = started(shared, "by-hand", 1)
    driver.ends(0, paused(batch=4, batches=5, batchAt=now()))
    started(shared, "by-hand", 2)
    status = has_reason(shared, "by-hand", "DriverRunning")
    assert status["attempts"][0]["outcome"] == "Paused"
    assert status["attempts"][0]["message"].startswith("it stopped at a batch boundary: batch 4")
    assert status["stream"]["batch"] == 4
    assert not {"retries", "retryAt"} & status.keys()
    events = shared.events_of("by-hand")
    assert "Paused" in events
    assert not {"Failed", "Retrying"} & set(events)


def test_one_that_stops_before_any_batch_though_nobody_asked_it_to_backs_off(shared: Played) -> None:
    shared.apply("unasked", stream("unasked"))
    started(shared, "unasked", 1).ends(0, paused())
    status = shared.reaches("unasked", "BackingOff")
    assert (status["reason"], status["retries"]) == ("Retrying", 1)
    assert "it stopped" not in status["message"]
    assert "its driver stopped at a batch boundary, though no operator had asked it to" in status["message"]
    shared.delete("unasked")


def test_a_corrected_spec_is_tried_at_once_and_begins_the_row_of_failures_anew(shared: Played) -> None:
    shared.apply("corrected", stream("corrected", retry={"backoff": "1h"}))
    started(shared, "corrected", 1).ends(1, failed("SparkException"))
    shared.reaches("corrected", "BackingOff")
    shared.change("corrected", {"spec": {"priority": 5}})  # is no other try
    shared.change("corrected", {"spec": {"stream": {"source": {"options": {"rowsPerSecond": "2"}}}}})
    started(shared, "corrected", 2).ends(1, failed("SparkException"))
    status = shared.reaches("corrected", "BackingOff")
    assert (status["attempt"], status["retries"]) == (2, 1)
    shared.delete("corrected")


def test_a_crash_loop_holds_nothing_while_it_backs_off_and_says_how_often(shared: Played) -> None:
    uid = shared.apply("loops", stream("loops", retry={"backoff": "1s"}))
    for attempt in (1, 2):
        started(shared, "loops", attempt).ends(1, failed("SparkException"))
    third = started(shared, "loops", 3)
    assert shared.status("loops")["retries"] == 2
    shared.apply("waits-for-loops", rewrite("/lake/loops"))
    shared.reaches("waits-for-loops", "Waiting")
    third.ends(1, failed("SparkException"))
    told = eventually(
        lambda: [one for one in messages(shared, "loops") if "3 times in a row" in one],
        "an Event says how often it has failed",
    )
    assert "without ending a batch; it goes on from its checkpoint" in told[0]
    other = shared.start("waits-for-loops")
    assert not any(holder.startswith(f"{uid}/") for holder in shared.holders())
    other.succeeds("file:/lake/loops")
    fourth = started(shared, "loops", 4)
    tells(shared, fourth, batch=0, batches=1, batchAt=now())
    has_reason(shared, "loops", "Streaming")
    fourth.ends(1, failed("SparkException", batch=1, batches=2))
    started(shared, "loops", 5)
    assert shared.status("loops")["retries"] == 1, "what ended a batch began the row anew"


@pytest.mark.parametrize(
    ("name", "class_", "error_class", "said"),
    [
        ("foreign", "CheckpointOfAnotherStreamError", None, "a person has to look at it first"),
        (
            "updated",
            "DeltaUnsupportedOperationException",
            "DELTA_SOURCE_TABLE_IGNORE_CHANGES",
            "skipChangeCommits",
        ),
    ],
)
def test_what_no_restart_cures_ends_it_with_what_to_do(
    shared: Played, name: str, class_: str, error_class: str | None, said: str
) -> None:
    shared.apply(name, stream(name))
    driver = started(shared, name, 1)
    tells(shared, driver, batch=3, batches=4)
    has_reason(shared, name, "Streaming")
    driver.ends(1, failed(class_, error_class, batch=3, batches=4))
    status = shared.reaches(name, "Failed")
    assert said in status["message"]
    assert status["stream"]["batch"] == 3
    assert conditions(status) == {"Ready": "False", "Reconciling": "False", "Stalled": "True"}


def test_a_source_with_a_new_schema_is_gone_on_with_at_once(shared: Played) -> None:
    shared.apply("evolves", stream("evolves", retry={"limit": 0, "backoff": "10m"}))
    driver = started(shared, "evolves", 1)
    driver.ends(
        1, failed("DeltaIllegalStateException", "DELTA_SCHEMA_CHANGED_WITH_VERSION", batch=1, batches=2)
    )
    started(shared, "evolves", 2)
    status = shared.status("evolves")
    ended = datetime.fromisoformat(status["attempts"][0]["endedAt"])
    assert (datetime.fromisoformat(status["retryAt"]) - ended).total_seconds() < 60


def test_many_batches_cost_few_writes(shared: Played) -> None:
    shared.apply("busy", stream("busy"))
    driver = started(shared, "busy", 1)
    tells(shared, driver, batch=0, batches=1, batchAt=now())
    has_reason(shared, "busy", "Streaming")
    version = (shared.job("busy") or {})["metadata"]["resourceVersion"]
    for batch in range(1, 21):
        tells(shared, driver, batch=batch, batches=batch + 1, batchAt=now())
    driver.ends(0, paused(batch=20, batches=21))
    started(shared, "busy", 2)
    writes = [one for one in shared.writes_since(version) if one == "MODIFIED DeltaWriteJob busy"]
    assert shared.status("busy")["stream"]["batch"] == 20
    # Its end, its place in the queue, its grant, that its driver runs; and one for progress, if that took a minute.
    assert len(writes) <= 8


@pytest.mark.parametrize("said", ["nonsense", "[" * 3000, json.dumps({"stream": {"batch": 2**70}})])
def test_what_is_no_progress_costs_nothing(shared: Played, said: str) -> None:
    name = f"strange-{len(said)}"
    shared.apply(name, stream(name))
    driver = started(shared, name, 1)
    shared.patch_pod(driver.pod, {"metadata": {"annotations": {names.ANNOTATION_PROGRESS: said}}})
    has_reason(shared, name, "DriverRunning")
    tells(shared, driver, batch=1, batches=1, queryId="q" * 900)
    assert shared.keeps(name, "stream")["queryId"].startswith("qqq")


def test_a_stream_with_an_end_ends_as_a_job_does(shared: Played) -> None:
    shared.apply("ends", stream("ends", trigger={"availableNow": True}))
    driver = started(shared, "ends", 1)
    driver.ends(
        0,
        json.dumps(
            {
                "version": 1,
                "outcome": "Succeeded",
                "attempt": 1,
                "statements": [],
                "stream": {"batch": 9, "batches": 10},
            }
        ),
    )
    status = shared.reaches("ends", "Succeeded")
    assert "it has processed what was there: batch 9 has ended" in status["message"]
    shared.apply("ends-badly", stream("ends-badly", trigger={"availableNow": True}))
    started(shared, "ends-badly", 1).ends(137)
    assert shared.reaches("ends-badly", "Failed")["reason"] == "DriverKilled"
