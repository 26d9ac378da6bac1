"""A stream stops at a batch boundary for those that wait for it, and goes on after them."""

import time
from datetime import datetime
from typing import Any

import pytest

from integration.operator.played import Driver, Played, rewrite, set_property, stream
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json

PAUSE_TARGET = 5.0
"""Seconds from the end of who a stream pauses for until the stream is granted again."""


def started_stream(cluster: Played, name: str, table: str, **more: Any) -> Driver:
    """One whose driver runs and has ended a batch."""
    cluster.apply(name, stream(table, **more))
    driver = cluster.start(name)
    driver.has_ended_batches(1, f"file:{table}")
    cluster.reaches(name, "Running")
    return driver


def grants(cluster: Played, name: str, number: int) -> Json:
    """The attempt with this number, once it is granted."""

    def granted() -> Json | None:
        attempts = cluster.status(name).get("attempts") or []
        return next((one for one in attempts if one["number"] == number), None)

    return eventually(granted, f"{name} has attempt {number}", show=lambda: cluster.status(name))


def seconds_between(one: str, other: str) -> float:
    return (datetime.fromisoformat(other) - datetime.fromisoformat(one)).total_seconds()


def is_told(cluster: Played, name: str, *reasons: str) -> None:
    """These Events have been told of it, in this order, whatever was told besides."""

    def in_order() -> bool:
        told = iter(cluster.events_of(name))
        return all(reason in told for reason in reasons)

    eventually(in_order, f"{name} is told {reasons}", show=lambda: cluster.events_of(name))


def test_a_stream_pauses_for_a_change_of_metadata_and_goes_on_after_it(
    shared: Played, capsys: pytest.CaptureFixture[str]
) -> None:
    table = "/lake/paused-for-metadata"
    driver = started_stream(shared, "yields", table, **{"yield": "Metadata"})
    uid = shared.apply("sets", set_property(table))
    asked = driver.is_asked_to_stop()
    assert asked["why"] == f"{shared.namespace}/sets waits for it"
    status = shared.status("yields")
    assert (status["phase"], status["reason"]) == ("Running", "Pausing")
    assert [one["uid"] for one in status["attempts"][0]["pause"]["for"]] == [uid]
    eventually(
        lambda: (
            f"asked to pause for it at a batch boundary: {shared.namespace}/yields"
            in shared.status("sets").get("message", "")
        ),
        "who waits is told that the stream was asked",
        show=lambda: shared.status("sets"),
    )
    driver.stops(2, f"file:{table}", 2)
    change = shared.start("sets")
    status = shared.reaches("yields", "Paused")
    assert status["reason"] == "Yielded"
    assert f"{shared.namespace}/sets" in status["message"]
    assert seconds_between(status["attempts"][0]["endedAt"], status["pause"]["until"]) == 900
    assert [one["outcome"] for one in status["attempts"]] == ["Paused"]
    change.succeeds(f"file:{table}", 3)
    again = grants(shared, "yields", 2)
    assert "pause" not in shared.status("yields")
    ended = grants(shared, "sets", 1)
    stopped = shared.status("yields")["attempts"][0]["endedAt"]
    to_the_change = seconds_between(stopped, ended["grantedAt"])
    to_the_stream = seconds_between(ended["endedAt"], again["grantedAt"])
    with capsys.disabled():
        print(
            f"\nfrom the stream's end to the change's grant {to_the_change:.2f} s, "
            f"from the change's end to the stream's grant {to_the_stream:.2f} s"
        )
    assert to_the_change <= PAUSE_TARGET
    assert to_the_stream <= PAUSE_TARGET
    shared.start("yields")
    shared.reaches("yields", "Running")
    assert shared.status("yields")["queuedAt"] == status["queuedAt"]
    is_told(shared, "yields", "Admitted", "Started", "Pausing", "Paused", "Resumed", "Admitted", "Started")
    is_told(shared, "sets", "Queued", "PauseAsked", "Admitted", "Started", "Succeeded")
    shared.delete("yields")


def test_a_stream_that_yields_to_metadata_alone_does_not_pause_for_anything_else(shared: Played) -> None:
    table = "/lake/only-metadata"
    driver = started_stream(shared, "only-metadata", table, **{"yield": "Metadata"})
    shared.apply("rewrites", rewrite(table))
    message = shared.reaches("rewrites", "Waiting")["message"]
    assert "a stream that runs for ever, and makes room for it only with spec.stream.yield: Aged" in message
    shared.apply("rewrites-later", set_property(table, admission={"whenBlocked": "Skip"}))
    shared.reaches("rewrites-later", "Skipped")
    time.sleep(2.0)  # longer than it takes to ask
    pod = shared.pod(driver.pod)
    assert pod is not None
    assert names.ANNOTATION_STOP not in pod["metadata"]["annotations"]
    assert shared.status("only-metadata")["reason"] != "Pausing"
    shared.delete("rewrites")
    shared.delete("only-metadata")
