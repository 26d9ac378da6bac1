"""A stream stops at a batch boundary for those that wait for it, and goes on after them."""

import signal
import time
from datetime import datetime
from typing import Any

import pytest

from integration.operator.conftest import StartOperator
from integration.operator.played import Driver, Played, append, rewrite, set_property, stream, told_to_end
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
    assert 900 <= seconds_between(status["attempts"][0]["endedAt"], status["pause"]["until"]) < 910
    assert [one["outcome"] for one in status["attempts"]] == ["Paused"]
    shared.reaches("sets", "Running")
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


def test_of_two_jobs_on_one_checkpoint_the_younger_is_refused_and_named_the_other(shared: Played) -> None:
    table = "/lake/one-checkpoint"
    driver = started_stream(
        shared, "has-it", table, checkpoint="/lake/checkpoints/one", **{"yield": "Metadata"}
    )
    shared.apply("wants-it", stream("/lake/elsewhere", checkpoint="file:///lake//checkpoints/one/"))
    status = shared.reaches("wants-it", "Failed")
    assert status["reason"] == "CheckpointInUse"
    assert f"{shared.namespace}/has-it uses the checkpoint file:/lake/checkpoints/one" in status["message"]
    shared.apply("pauses-it", set_property(table))
    driver.is_asked_to_stop()
    driver.stops(2, f"file:{table}", 2)
    change = shared.start("pauses-it")
    shared.reaches("has-it", "Paused")
    declared = {
        "table": {"path": "/lake/declared"},
        "operation": "Stream",
        "checkpoint": "/lake/checkpoints/one",
    }
    shared.apply("declares-it", append("/lake/declared", footprint=[declared]))
    assert shared.reaches("declares-it", "Failed")["reason"] == "CheckpointInUse"
    shared.delete("has-it")
    shared.apply("has-it-next", stream("/lake/elsewhere", checkpoint="/lake/checkpoints/one"))
    shared.start("has-it-next")
    shared.reaches("has-it-next", "Running")
    change.succeeds(f"file:{table}", 3)
    shared.delete("has-it-next")


def test_of_many_jobs_created_at_once_on_one_checkpoint_exactly_one_goes(shared: Played) -> None:
    names_ = [f"at-once-{number}" for number in range(6)]
    for number, name in enumerate(names_):
        shared.apply(name, stream(f"/lake/at-once-{number}", checkpoint="/lake/checkpoints/at-once"))
    refused = eventually(
        lambda: (
            (found := [name for name in names_ if shared.status(name).get("phase") == "Failed"])[4:] and found
        ),
        "all but one are refused",
    )
    (goes,) = set(names_) - set(refused)
    shared.start(goes)
    shared.reaches(goes, "Running")
    assert {shared.status(name)["reason"] for name in refused} == {"CheckpointInUse"}
    shared.delete(goes)


def test_a_checkpoint_of_a_job_that_is_being_deleted_is_waited_for(shared: Played) -> None:
    driver = started_stream(shared, "is-deleted", "/lake/is-deleted", checkpoint="/lake/checkpoints/freed")
    shared.delete("is-deleted")
    shared.apply("comes-after", stream("/lake/comes-after", checkpoint="/lake/checkpoints/freed"))
    (blocker,) = shared.reaches("comes-after", "Waiting")["blockedBy"]
    assert blocker["job"] == f"{shared.namespace}/is-deleted"
    driver.ends(143)
    shared.start("comes-after")
    shared.reaches("comes-after", "Running")
    shared.delete("comes-after")


def test_a_changed_spec_stops_the_stream_and_the_next_attempt_runs_as_it_says(shared: Played) -> None:
    table = "/lake/changed-spec"
    driver = started_stream(shared, "changes", table)
    shared.change("changes", {"spec": {"stream": {"yield": "Aged"}, "priority": 5}})
    shared.change("changes", {"spec": {"stream": {"trigger": {"processingTime": "5 seconds"}}}})
    assert "its spec was changed" in driver.is_asked_to_stop()["why"]
    driver.stops(3, f"file:{table}", 3)
    again = grants(shared, "changes", 2)
    first = shared.status("changes")["attempts"][0]
    assert (first["outcome"], first["pause"]["reason"]) == ("Paused", "SpecChanged")
    assert again["hash"] != first["hash"]
    assert seconds_between(first["endedAt"], again["grantedAt"]) <= PAUSE_TARGET
    is_told(shared, "changes", "Started", "Pausing", "Paused", "Admitted")
    shared.delete("changes")


def test_a_suspended_stream_stops_and_goes_on_when_it_is_let(shared: Played) -> None:
    table = "/lake/suspended-stream"
    driver = started_stream(shared, "held-back", table)
    shared.change("held-back", {"spec": {"admission": {"suspend": True}}})
    assert "suspend" in driver.is_asked_to_stop()["why"]
    driver.stops(2, f"file:{table}", 2)
    status = shared.reaches("held-back", "Suspended")
    assert status["attempts"][0]["pause"]["reason"] == "Suspended"
    shared.change("held-back", {"spec": {"admission": {"suspend": False}}})
    grants(shared, "held-back", 2)
    shared.start("held-back")
    shared.reaches("held-back", "Running")
    shared.delete("held-back")


def test_a_stream_that_yields_to_the_aged_pauses_for_an_optimize_once_that_has_aged(
    cluster: Played, operators: StartOperator
) -> None:
    operators(ageAfter="3s").says("the lease table was rebuilt")
    table = "/lake/aged"
    driver = started_stream(cluster, "yields", table, **{"yield": "Aged"})
    cluster.apply("optimizes", {"sql": f"OPTIMIZE delta.`{table}`"})
    cluster.reaches("optimizes", "Waiting")
    driver.is_asked_to_stop()
    waiting = cluster.status("optimizes")
    assert (
        seconds_between(waiting["queuedAt"], cluster.status("yields")["attempts"][0]["pause"]["since"]) >= 2.5
    )
    driver.stops(2, f"file:{table}", 2)
    change = cluster.start("optimizes")
    cluster.reaches("yields", "Paused")
    change.succeeds(f"file:{table}", 3)
    grants(cluster, "yields", 2)
    second = cluster.start("yields")
    is_told(cluster, "yields", "Admitted", "Started", "Pausing", "Paused", "Resumed", "Admitted", "Started")
    is_told(cluster, "optimizes", "Queued", "PauseAsked", "Admitted", "Started", "Succeeded")
    cluster.apply("optimizes-again", {"sql": f"OPTIMIZE delta.`{table}`"})
    cluster.reaches("optimizes-again", "Waiting")
    time.sleep(5.0)  # it has aged by then, and the stream has ended no batch since its pause
    pod = cluster.pod(second.pod)
    assert pod is not None
    assert names.ANNOTATION_STOP not in pod["metadata"]["annotations"]
    second.has_ended_batches(1, f"file:{table}", 4)
    second.is_asked_to_stop()


def _pauses_for_both(shared: Played, stream: str) -> None:
    eventually(
        lambda: len(shared.status(stream)["attempts"][0]["pause"]["for"]) == 2,
        "the stream pauses for both",
        show=lambda: shared.status(stream),
    )


def test_who_has_not_ended_when_a_pause_is_over_gives_way_to_the_stream(shared: Played) -> None:
    table = "/lake/gives-way"
    driver = started_stream(shared, "has-paused", table, **{"yield": "Metadata", "maxPause": "8s"})
    shared.apply("runs-long", set_property(table))
    driver.is_asked_to_stop()
    shared.apply("waits-long", set_property(table))
    _pauses_for_both(shared, "has-paused")
    driver.stops(2, f"file:{table}", 2)
    change = shared.start("runs-long")
    shared.reaches("waits-long", "BackingOff")
    assert shared.status("waits-long")["reason"] == "PauseExceeded"
    shared.reaches("runs-long", "Ending")
    change.ends(143, told_to_end())
    status = shared.reaches("runs-long", "Failed")
    assert status["reason"] == "PauseExceeded"
    assert f"{shared.namespace}/has-paused" in status["message"]
    grants(shared, "has-paused", 2)
    is_told(shared, "runs-long", "PauseAsked", "Admitted", "Started", "PauseExceeded")
    is_told(shared, "waits-long", "PauseAsked", "PauseExceeded")
    is_told(shared, "has-paused", "Pausing", "Paused", "Resumed")
    shared.delete("has-paused")
    shared.delete("waits-long")


def test_who_gives_way_because_one_of_two_streams_stops_late_begins_once_that_has_stopped(
    shared: Played,
) -> None:
    """Its own patience with quotas, which kept it out of the queue for ten minutes, has nothing to do with that."""
    one, other = "/lake/stops-soon", "/lake/stops-late"
    yields = {"yield": "Metadata", "maxPause": "8s"}
    soon = started_stream(shared, "stops-soon", one, **yields)
    late = started_stream(shared, "stops-late", other, **yields)
    both = "; ".join(str(set_property(table)["sql"]) for table in (one, other))
    shared.apply("begins-after-all", {"sql": both})
    for driver in (soon, late):
        driver.is_asked_to_stop()
    soon.stops(2, f"file:{one}", 2)
    is_told(shared, "begins-after-all", "PauseAsked", "PauseExceeded")
    (message,) = shared.messages_of("begins-after-all", "PauseExceeded")
    assert f"the stream {shared.namespace}/stops-late has not stopped yet" in message
    grants(shared, "stops-soon", 2)
    soon = shared.start("stops-soon")
    soon.has_ended_batches(3, f"file:{one}", 3)
    shared.reaches("begins-after-all", "Waiting")
    late.stops(2, f"file:{other}", 2)
    soon.is_asked_to_stop()
    soon.stops(4, f"file:{one}", 4)
    shared.start("begins-after-all").succeeds(f"file:{one}", 5)
    shared.reaches("begins-after-all", "Succeeded")
    grants(shared, "stops-soon", 3)
    grants(shared, "stops-late", 2)
    is_told(shared, "begins-after-all", "PauseAsked", "PauseExceeded", "Admitted", "Succeeded")
    shared.delete("stops-soon")
    shared.delete("stops-late")


def test_who_could_begin_only_when_a_pause_is_nearly_over_does_not_begin_and_the_stream_goes_on(
    shared: Played,
) -> None:
    table = "/lake/too-late"
    driver = started_stream(shared, "nearly-over", table, **{"yield": "Metadata", "maxPause": "12s"})
    shared.apply("in-time", set_property(table))
    driver.is_asked_to_stop()
    shared.apply("too-late", set_property(table))
    _pauses_for_both(shared, "nearly-over")
    driver.stops(2, f"file:{table}", 2)
    change = shared.start("in-time")
    status = shared.reaches("too-late", "BackingOff")
    assert (status["reason"], status.get("attempts")) == ("PauseExceeded", None)
    assert "less than a quarter of its spec.stream.maxPause (12 s) is left" in status["message"]
    assert shared.status("in-time")["phase"] in ("Starting", "Running")
    change.succeeds(f"file:{table}", 3)
    shared.reaches("in-time", "Succeeded")
    grants(shared, "nearly-over", 2)
    shared.reaches("too-late", "Waiting")
    shared.delete("nearly-over")
    shared.delete("too-late")


def test_who_waits_for_ever_is_told_so_and_keeps_nobody_else_waiting(
    cluster: Played, operators: StartOperator
) -> None:
    operators(ageAfter="1s").says("the lease table was rebuilt")
    table, beside = "/lake/for-ever", "/lake/beside-for-ever"
    started_stream(cluster, "for-ever", table, **{"yield": "Aged"})
    merge = f"MERGE INTO delta.`{table}` t USING batch s ON t.id = s.id WHEN MATCHED THEN DELETE"
    sql = f"{merge}; INSERT INTO delta.`{beside}` SELECT * FROM batch"
    another = stream(table, checkpoint="/lake/checkpoints/never-begins", sql=sql)
    del another["stream"]["table"]
    cluster.apply("never-begins", another)
    message = cluster.reaches("never-begins", "Waiting")["message"]
    assert f"{cluster.namespace}/for-ever is a stream that runs for ever, and makes no room for" in message
    assert "let one of the two have the trigger availableNow" in message
    time.sleep(2.0)  # it has aged by then, and would be a barrier for whoever comes after it
    cluster.apply("after-it", rewrite(beside))
    cluster.start("after-it").succeeds(f"file:{beside}", 1)
    cluster.reaches("after-it", "Succeeded")
    assert cluster.status("never-begins")["phase"] == "Waiting"


def test_a_running_stream_whose_new_spec_cannot_be_understood_goes_on_and_is_stalled(shared: Played) -> None:
    """The API server's schema knows no SQL."""
    table = "/lake/misspelt"
    driver = started_stream(shared, "misspelt", table)
    shared.change("misspelt", {"spec": {"stream": {"query": "SELEKT id FROM source"}}})
    status = eventually(
        lambda: (found := shared.status("misspelt")).get("reason") == "NotUnderstood" and found,
        "it says that its spec can't be understood",
        show=lambda: shared.status("misspelt"),
    )
    assert status["phase"] == "Running"
    assert "spec.stream.query" in status["message"]
    assert "the stream goes on as it was" in status["message"]
    assert shared.condition("misspelt", "Stalled")["status"] == "True"
    shared.change("misspelt", {"spec": {"stream": {"query": None}}})
    eventually(
        lambda: shared.condition("misspelt", "Ready").get("status") == "True",
        "it is ready again, as its spec says what it does",
        show=lambda: shared.status("misspelt"),
    )
    pod = shared.pod(driver.pod)
    assert pod is not None
    assert names.ANNOTATION_STOP not in pod["metadata"]["annotations"]
    assert [one.get("outcome") for one in shared.status("misspelt")["attempts"]] == [None]
    shared.delete("misspelt")


def test_who_has_not_even_begun_when_a_pause_is_over_gives_its_leases_back(shared: Played) -> None:
    table = "/lake/gives-back"
    driver = started_stream(shared, "goes-first", table, **{"yield": "Metadata", "maxPause": "4s"})
    uid = shared.apply("starts-long", set_property(table))
    driver.is_asked_to_stop()
    driver.stops(2, f"file:{table}", 2)
    eventually(lambda: shared.applications_of(uid), "it is admitted")
    status = shared.reaches("starts-long", "BackingOff")
    assert (status["reason"], status["attempts"][0]["outcome"]) == ("PauseExceeded", "Withdrawn")
    grants(shared, "goes-first", 2)
    is_told(shared, "starts-long", "PauseAsked", "Admitted", "PauseExceeded")
    shared.delete("goes-first")
    shared.delete("starts-long")


def test_what_breaks_a_reader_for_good_waits_for_one_that_pauses_and_nothing_else_does(
    shared: Played,
) -> None:
    source, table = "/lake/read", "/lake/read-into"
    driver = started_stream(shared, "reads", table, source=source, **{"yield": "Metadata"})
    shared.apply("deletes-read", rewrite(source))
    shared.reaches("deletes-read", "Waiting")
    shared.apply("pauses-reader", set_property(table))
    driver.is_asked_to_stop()
    driver.stops(2, f"file:{table}", 2)
    change = shared.start("pauses-reader")
    shared.reaches("reads", "Paused")
    blocker = eventually(
        lambda: next(
            (
                one
                for one in shared.status("deletes-read").get("blockedBy", [])
                if one["rule"] == "streamed-rows"
            ),
            None,
        ),
        "who would break the reader waits for it",
        show=lambda: shared.status("deletes-read"),
    )
    assert blocker["job"] == f"{shared.namespace}/reads"
    assert shared.status("deletes-read")["phase"] == "Waiting"
    shared.delete("deletes-read")
    shared.apply("sets-read", set_property(source))
    shared.start("sets-read").succeeds(f"file:{source}", 3)
    shared.reaches("sets-read", "Succeeded")
    assert shared.status("reads")["phase"] == "Paused"
    change.succeeds(f"file:{table}", 3)
    grants(shared, "reads", 2)
    shared.delete("reads")


def test_a_pause_goes_on_whoever_leads(cluster: Played, operators: StartOperator) -> None:
    first = operators("first")
    first.says("the lease table was rebuilt")
    table = "/lake/whoever-leads"
    driver = started_stream(cluster, "yields", table, **{"yield": "Metadata"})
    first.kill()  # having written for whom it pauses, and nothing else
    uid = cluster.apply("sets", set_property(table))
    (attempt,) = cluster.status("yields")["attempts"]
    pause = {
        "reason": "Yields",
        "since": attempt["grantedAt"],
        "for": [{"job": f"{cluster.namespace}/sets", "uid": uid}],
    }
    cluster.write_status("yields", {"attempts": [attempt | {"pause": pause}]})
    second = operators("second")
    driver.is_asked_to_stop()
    second.kill()
    driver.stops(2, f"file:{table}", 2)
    third = operators("third")
    cluster.reaches("yields", "Paused")
    change = cluster.start("sets")
    cluster.reaches("sets", "Running")
    third.kill()
    change.succeeds(f"file:{table}", 3)
    operators("fourth")
    grants(cluster, "yields", 2)
    assert cluster.reaches("sets", "Succeeded")["attempt"] == 1
    is_told(cluster, "yields", "Paused", "Resumed")


def test_a_stopped_leader_that_wakes_within_a_pause_asks_nobody_and_grants_no_checkpoint_twice(
    cluster: Played, operators: StartOperator
) -> None:
    first = operators("first")
    first.says("the lease table was rebuilt")
    second = operators("second")
    table = "/lake/two-leaders"
    driver = started_stream(cluster, "yields", table, **{"yield": "Metadata"})
    uids = {"sets": cluster.apply("sets", set_property(table))}
    both = ("one", "another")
    for name in both:
        uids[name] = cluster.apply(name, stream(f"/lake/{name}", checkpoint="/lake/checkpoints/contended"))
    first.signal(signal.SIGSTOP)  # wherever it is
    second.says("the lease table was rebuilt")
    driver.is_asked_to_stop()
    refused = eventually(
        lambda: [name for name in both if cluster.status(name).get("phase") == "Failed"],
        "one of the two is refused the checkpoint",
    )
    (goes,) = set(both) - set(refused)
    cluster.start(goes)
    driver.stops(2, f"file:{table}", 2)
    change = cluster.start("sets")
    cluster.reaches("yields", "Paused")
    first.signal(signal.SIGCONT)
    first.says("no longer leading")
    change.succeeds(f"file:{table}", 3)
    grants(cluster, "yields", 2)
    again = cluster.start("yields")
    cluster.reaches("yields", "Running")
    cluster.reaches("sets", "Succeeded")
    cluster.reaches(goes, "Running")
    pod = cluster.pod(again.pod)
    assert pod is not None
    assert names.ANNOTATION_STOP not in pod["metadata"]["annotations"]
    assert [one.get("outcome") for one in cluster.status("yields")["attempts"]] == ["Paused", None]
    assert cluster.status(refused[0])["reason"] == "CheckpointInUse"
    made = {name: len(cluster.applications_of(uid)) for name, uid in uids.items()}
    assert made == {"sets": 1, goes: 1, refused[0]: 0}
    assert {uid for uid in uids.values() if f"{uid}/1" in cluster.holders()} == {uids[goes]}


def test_a_stream_that_does_not_heed_is_told_of_and_never_ended_for_it(shared: Played) -> None:
    table = "/lake/not-heeded"
    driver = started_stream(shared, "goes-on", table, **{"yield": "Metadata"})
    shared.apply("waits-on", set_property(table))
    driver.is_asked_to_stop()
    eventually(
        lambda: shared.status("goes-on").get("reason") == "PauseNotHeeded",
        "after a minute it is told that the stream goes on",
        show=lambda: shared.status("goes-on"),
    )
    is_told(shared, "goes-on", "Pausing", "PauseNotHeeded")
    is_told(shared, "waits-on", "PauseAsked", "PauseNotHeeded")
    application = shared.application(driver.application)
    assert application is not None
    assert "deletionTimestamp" not in application["metadata"]
    assert shared.status("goes-on")["phase"] == "Running"
    assert shared.status("waits-on")["phase"] == "Waiting"
    driver.stops(9, f"file:{table}", 9)
    shared.start("waits-on").succeeds(f"file:{table}", 10)
    grants(shared, "goes-on", 2)
    shared.delete("goes-on")
