"""Failed attempts and those that follow them: when, under which leases, and by what Delta knows what is left to do."""

import json
from datetime import datetime
from typing import Any

import pytest

from integration.operator.conftest import StartOperator
from integration.operator.played import Driver, Played, append, lost_a_race, rewrite
from integration.operator.process import OperatorProcess
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json
from sluice.engines.plan import plan_from_arguments

SOON = {"limit": 2, "backoff": "1s"}
LATER = {"limit": 2, "backoff": "10m"}


def _started(cluster: Played, job: str, attempt: int) -> Driver:
    """The driver of this attempt of the job, once it runs."""
    eventually(
        lambda: cluster.status(job).get("attempt") == attempt,
        f"{job} has attempt {attempt}",
        show=lambda: cluster.status(job),
    )
    driver = cluster.submitted(job)
    driver.runs()
    return driver


def _planned(cluster: Played, driver: Driver) -> Json:
    """What the driver is told of its run."""
    application = cluster.application(driver.application)
    assert application is not None
    return dict(plan_from_arguments(application["spec"]["arguments"]))


def _backs_off(cluster: Played, job: str) -> Json:
    status = cluster.reaches(job, "BackingOff")
    assert status["reason"] == "Retrying"
    return status


def _holds_nothing(cluster: Played, uid: str) -> None:
    eventually(
        lambda: not any(holder.startswith(f"{uid}/") for holder in cluster.holders()),
        "its leases are released",
    )


def _asks(cluster: Played, job: str, word: str) -> None:
    cluster.change(job, {"metadata": {"annotations": {names.ANNOTATION_RETRY: word}}})


def test_a_lost_race_is_followed_by_another_attempt_that_succeeds(shared: Played) -> None:
    uid = shared.apply("lost-race", rewrite("/lake/lost-race", retry=SOON))
    first = _started(shared, "lost-race", 1)
    told = _planned(shared, first)
    queued = shared.status("lost-race")["queuedAt"]
    first.ends(1, lost_a_race())
    second = _started(shared, "lost-race", 2)
    again = _planned(shared, second)
    status = shared.status("lost-race")
    assert (status["queuedAt"], status["retries"]) == (queued, 1)
    assert f"{uid}/2" in shared.holders()
    assert f"{uid}/1" not in shared.holders()
    run = told["run"]
    assert (run["closes"], run["firstToken"]) == (False, told["token"])
    assert status["run"] == {"appId": run["appId"], "firstToken": run["firstToken"]}
    assert again["run"] == run
    assert (again["attempt"], again["runKey"]) == (2, uid)
    assert again["token"] > told["token"]
    second.succeeds("file:/lake/lost-race", 6)
    status = shared.reaches("lost-race", "Succeeded")
    assert [(one["number"], one["outcome"]) for one in status["attempts"]] == [
        (1, "Failed"),
        (2, "Succeeded"),
    ]
    assert status["attempts"][0]["exception"]["class"] == "ConcurrentAppendException"
    assert status["attempts"][1]["commits"][0]["version"] == 6
    told_events = shared.events_of("lost-race")
    assert "Retrying" in told_events
    assert "Failed" not in told_events
    _holds_nothing(shared, uid)


def test_meanwhile_it_holds_nothing_and_others_run_and_it_says_when_it_comes(shared: Played) -> None:
    uid = shared.apply("patient", rewrite("/lake/patient", retry=LATER))
    _started(shared, "patient", 1).ends(1, lost_a_race())
    status = _backs_off(shared, "patient")
    assert (
        "ConcurrentAppendException on partition date=2026-11-19: version 5 (WRITE) by no Sluice job"
        in status["message"]
    )
    at = datetime.fromisoformat(status["retryAt"])
    ended = datetime.fromisoformat(status["attempts"][0]["endedAt"])
    assert 300 <= (at - ended).total_seconds() <= 900
    assert f"at {at:%H:%M:%S} UTC, for retry 1 of 2; what to change: " in status["message"]
    conditions = {one["type"]: one["status"] for one in status["conditions"]}
    assert conditions == {"Ready": "False", "Reconciling": "True", "Stalled": "False"}
    _holds_nothing(shared, uid)
    shared.apply("passes", rewrite("/lake/patient"))
    shared.start("passes").succeeds("file:/lake/patient", 7)
    shared.reaches("passes", "Succeeded")
    assert shared.status("patient")["phase"] == "BackingOff"
    shared.delete("patient")
    eventually(lambda: shared.job("patient") is None, "it goes at once")


def test_a_job_that_may_not_be_retried_is_no_run_and_fails_as_ever(shared: Played) -> None:
    shared.apply("once", rewrite("/lake/once", retry={"limit": 0}))
    driver = _started(shared, "once", 1)
    assert "run" not in _planned(shared, driver)
    driver.ends(1, lost_a_race())
    status = shared.reaches("once", "Failed")
    assert not {"run", "retries", "retryAt"} & status.keys()
    assert status["message"].startswith("statement 1: ConcurrentAppendException")


def test_after_the_last_one_it_fails_with_that_one_s_exception(shared: Played) -> None:
    shared.apply("hopeless", rewrite("/lake/hopeless", retry={"limit": 2, "backoff": "1s"}))
    for attempt in (1, 2, 3):
        _started(shared, "hopeless", attempt).ends(1, lost_a_race())
    status = shared.reaches("hopeless", "Failed")
    assert status["reason"] == "ConcurrentAppendException"
    assert status["message"].startswith("after 3 attempts: statement 1: ConcurrentAppendException")
    assert [one["exception"]["class"] for one in status["attempts"]] == ["ConcurrentAppendException"] * 3
    assert status["retries"] == 2


def test_a_driver_that_was_evicted_and_one_that_never_started_are_followed_by_others(shared: Played) -> None:
    uid = shared.apply("moved", rewrite("/lake/moved", retry={"limit": 2, "backoff": "1s"}))
    first = _started(shared, "moved", 1)
    evicted = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "drained",
    }
    shared.patch_pod_status(first.pod, {"conditions": [evicted | {"lastTransitionTime": None}]})
    first.ends(143)
    eventually(lambda: shared.status("moved").get("attempt") == 2, "it has another attempt")
    application = shared.status("moved")["attempts"][1]["application"]
    eventually(lambda: shared.application(application), "the second application")
    shared.application_is(application, "FAILED", "failed to run spark-submit: no such image")
    third = _started(shared, "moved", 3)
    run = _planned(shared, third)["run"]
    assert run["firstToken"] == shared.status("moved")["attempts"][0]["token"]
    third.succeeds("file:/lake/moved")
    status = shared.reaches("moved", "Succeeded")
    assert [one["outcome"] for one in status["attempts"]] == ["DriverLost", "NotStarted", "Succeeded"]
    _holds_nothing(shared, uid)


@pytest.mark.parametrize(
    ("on", "ends", "retried"),
    [
        (["DriverLost"], (1, lost_a_race()), False),
        (["Conflict"], (137, ""), False),
        (["Error"], (137, ""), True),
        (["Conflict", "Error"], (1, "Traceback"), True),
    ],
)
def test_only_what_on_names_is_followed_by_another_attempt(
    shared: Played, on: list[str], ends: tuple[int, str], retried: bool, tmp_path: Any
) -> None:
    name = f"on-{'-'.join(on).lower()}"
    table = f"{tmp_path}/{name}"
    shared.apply(name, append(table, retry={"limit": 1, "backoff": "1s", "on": on}))
    _started(shared, name, 1).ends(*ends)
    if retried:
        _started(shared, name, 2).succeeds(f"file:{table}")
        shared.reaches(name, "Succeeded")
    else:
        assert "it is not retried, because retry.on doesn't name" in shared.reaches(name, "Failed")["message"]


def test_what_a_person_has_to_look_at_is_not_retried(shared: Played) -> None:
    refused = {
        "version": 1,
        "outcome": "Failed",
        "attempt": 1,
        "statements": [],
        "exception": {"class": "HistoryLost", "message": "nobody can tell", "retriable": False},
    }
    shared.apply("judged", rewrite("/lake/judged", retry={"limit": 3, "on": ["Conflict", "Error"]}))
    _started(shared, "judged", 1).ends(1, json.dumps(refused))
    assert "a person has to look at it first" in shared.reaches("judged", "Failed")["message"]


def test_a_policy_s_retry_counts_where_the_job_says_nothing(shared: Played) -> None:
    retry = {"limit": 1, "backoff": "1s", "on": ["Conflict"]}
    shared.declare("retried", {"table": {"path": "/lake/retried"}, "retry": retry})
    shared.policy_is("retried", "Counts")
    shared.apply("by-policy", rewrite("/lake/retried"))
    driver = _started(shared, "by-policy", 1)
    assert _planned(shared, driver)["run"]["appId"] == shared.status("by-policy")["run"]["appId"]
    driver.ends(1, lost_a_race())
    _started(shared, "by-policy", 2).ends(1, lost_a_race())
    assert shared.reaches("by-policy", "Failed")["message"].startswith("after 2 attempts: ")


def test_a_run_key_needs_no_slot(shared: Played) -> None:
    shared.apply("keyed", rewrite("/lake/keyed", runKey="the-day", retry={"limit": 1, "backoff": "1s"}))
    first = _started(shared, "keyed", 1)
    assert _planned(shared, first)["run"]["appId"] == f"sluice/run/{shared.namespace}/the-day"
    first.ends(1, lost_a_race())
    second = _started(shared, "keyed", 2)
    assert _planned(shared, second)["run"]["appId"] == f"sluice/run/{shared.namespace}/the-day"
    second.succeeds("file:/lake/keyed")
    assert "run" not in shared.reaches("keyed", "Succeeded")


def test_jobs_that_run_or_back_off_at_once_have_slots_of_their_own_and_who_comes_later_has_a_free_one(
    cluster: Played, operator: OperatorProcess
) -> None:
    assert operator.running
    drivers = {}
    for number in (1, 2, 3):
        name = f"slotted-{number}"
        cluster.apply(name, append(f"/lake/slotted-{number}", retry=LATER))
        drivers[name] = _started(cluster, name, 1)
    slots = {name: _planned(cluster, driver)["run"]["appId"] for name, driver in drivers.items()}
    assert sorted(slots.values()) == ["sluice/slot/1", "sluice/slot/2", "sluice/slot/3"]
    drivers["slotted-1"].succeeds("file:/lake/slotted-1")
    uid = (cluster.job("slotted-1") or {})["metadata"]["uid"]
    cluster.reaches("slotted-1", "Succeeded")
    _holds_nothing(cluster, uid)
    drivers["slotted-2"].ends(1, lost_a_race())
    _backs_off(cluster, "slotted-2")
    cluster.apply("slotted-4", append("/lake/slotted-4", retry=LATER))
    assert _planned(cluster, _started(cluster, "slotted-4", 1))["run"]["appId"] == slots["slotted-1"]
    cluster.apply("slotted-5", append("/lake/slotted-5", retry=LATER))
    assert _planned(cluster, _started(cluster, "slotted-5", 1))["run"]["appId"] == "sluice/slot/4"


def test_a_leader_that_is_killed_while_a_job_backs_off_changes_nothing_of_it(
    cluster: Played, operator: OperatorProcess
) -> None:
    retry = {"limit": 1, "backoff": "8s"}
    uid = cluster.apply("outlives", rewrite("/lake/outlives", retry=retry))
    first = _started(cluster, "outlives", 1)
    told = _planned(cluster, first)["run"]
    first.ends(1, lost_a_race())
    before = _backs_off(cluster, "outlives")
    operator.kill()
    operator.start()
    cluster.apply("newcomer", append("/lake/newcomer", retry=LATER))
    slot = _planned(cluster, _started(cluster, "newcomer", 1))["run"]["appId"]
    assert slot != told["appId"], "the slot of who backs off is kept by its status"
    second = _started(cluster, "outlives", 2)
    granted = datetime.fromisoformat(cluster.status("outlives")["attempts"][1]["grantedAt"])
    assert granted >= datetime.fromisoformat(before["retryAt"])
    assert _planned(cluster, second)["run"] == told
    second.succeeds("file:/lake/outlives")
    status = cluster.reaches("outlives", "Succeeded")
    assert (status["queuedAt"], status["retries"]) == (before["queuedAt"], 1)
    assert len(cluster.applications_of(uid)) == 2


def test_a_leader_that_is_killed_as_an_attempt_ends_has_it_followed_all_the_same(
    cluster: Played, operator: OperatorProcess
) -> None:
    cluster.apply("cut-off", rewrite("/lake/cut-off", retry={"limit": 1, "backoff": "1s"}))
    first = _started(cluster, "cut-off", 1)
    cluster.reaches("cut-off", "Running")
    operator.kill()
    first.ends(1, lost_a_race())
    operator.start()
    _started(cluster, "cut-off", 2).succeeds("file:/lake/cut-off")
    assert [one["outcome"] for one in cluster.reaches("cut-off", "Succeeded")["attempts"]] == [
        "Failed",
        "Succeeded",
    ]


def test_a_job_that_backs_off_is_suspended_and_goes_on_with_its_age(shared: Played) -> None:
    shared.apply("held-back", rewrite("/lake/held-back", retry=LATER))
    _started(shared, "held-back", 1).ends(1, lost_a_race())
    queued = _backs_off(shared, "held-back")["queuedAt"]
    shared.change("held-back", {"spec": {"admission": {"suspend": True}}})
    shared.reaches("held-back", "Suspended")
    shared.change("held-back", {"spec": {"admission": {"suspend": False}}})
    _started(shared, "held-back", 2).succeeds("file:/lake/held-back")
    assert shared.reaches("held-back", "Succeeded")["queuedAt"] == queued


def test_of_many_that_failed_at_once_each_comes_back_at_its_own_time_and_others_run_meanwhile(
    cluster: Played, operator: OperatorProcess
) -> None:
    jobs = [f"storm-{number}" for number in range(12)]
    for name in jobs:
        cluster.apply(name, append(f"/lake/{name}", retry={"limit": 1, "backoff": "6s"}))
    drivers = {name: _started(cluster, name, 1) for name in jobs}
    for driver in drivers.values():
        driver.ends(1, lost_a_race())
    cluster.apply("calm", append("/lake/storm-0"))
    _started(cluster, "calm", 1).succeeds("file:/lake/storm-0")
    cluster.reaches("calm", "Succeeded")
    pauses = set()
    for name in jobs:
        _started(cluster, name, 2).succeeds(f"file:/lake/{name}")
        status = cluster.reaches(name, "Succeeded")
        first, second = status["attempts"]
        retry_at, ended, granted = (
            datetime.fromisoformat(at) for at in (status["retryAt"], first["endedAt"], second["grantedAt"])
        )
        pauses.add((retry_at - ended).total_seconds())
        assert granted >= retry_at
    assert min(pauses) >= 3
    assert max(pauses) <= 9
    assert len({round(pause, 2) for pause in pauses}) > 8
    assert operator.metric('sluice_retries_total{cause="Conflict"}') == 12
    assert operator.metric('sluice_retries_total{cause="Error"}') == 0


def test_a_person_asks_for_one_more_and_gets_it_once(shared: Played) -> None:
    uid = shared.apply(
        "asked", rewrite("/lake/asked", retry={"limit": 1, "backoff": "1s", "on": ["DriverLost"]})
    )
    first = _started(shared, "asked", 1)
    run = _planned(shared, first)["run"]
    first.ends(1, lost_a_race())
    queued = shared.reaches("asked", "Failed")["queuedAt"]
    _holds_nothing(shared, uid)
    _asks(shared, "asked", "1")
    second = _started(shared, "asked", 2)
    assert _planned(shared, second)["run"] == run
    second.ends(1, lost_a_race())
    status = shared.reaches("asked", "Failed")
    assert (status["queuedAt"], status["retryAsked"]) == (queued, "1")
    assert "retries" not in status
    shared.change("asked", {"metadata": {"annotations": {"other": "word"}}})
    _asks(shared, "asked", "2")
    _started(shared, "asked", 3).succeeds("file:/lake/asked")
    assert len(shared.reaches("asked", "Succeeded")["attempts"]) == 3
    assert shared.events_of("asked").count("Retrying") == 2


@pytest.mark.parametrize(
    ("name", "spec", "ends", "word"),
    [
        ("done-already", append("/lake/done-already"), "succeeds", "1"),
        ("never-ran", {"sql": "DROP TABLE orders"}, None, "0"),
        ("another-one", rewrite("/lake/another-one", runKey="another-one"), "loses", "7"),
        ("who-knows", append("/lake/who-knows"), "killed", "1"),
    ],
)
def test_where_there_is_none_an_event_says_so_once_and_the_job_stays_as_it_is(
    shared: Played, name: str, spec: Json, ends: str | None, word: str
) -> None:
    shared.apply(name, spec)
    if ends is not None:
        driver = _started(shared, name, 1)
        if ends == "succeeds":
            driver.succeeds(f"file:/lake/{name}")
        else:
            driver.ends(*((1, lost_a_race()) if ends == "loses" else (137, "")))
    eventually(lambda: shared.status(name).get("finishedAt"), "it has ended")
    before = shared.status(name)
    _asks(shared, name, word)
    assert shared.keeps(name, "retryAsked") == word
    eventually(lambda: "NotRetried" in shared.events_of(name), "an Event says so")
    changed = {"retryAsked", "writerEpoch"}
    after = shared.status(name)
    assert {field: after[field] for field in after.keys() - changed} == {
        field: before[field] for field in before.keys() - changed
    }
    assert shared.events_of(name).count("NotRetried") == 1


def test_a_job_that_had_no_run_and_surely_committed_nothing_is_one_from_then_on(shared: Played) -> None:
    shared.apply("late-run", rewrite("/lake/late-run"))
    first = _started(shared, "late-run", 1)
    assert "run" not in _planned(shared, first)
    first.ends(1, lost_a_race())
    shared.reaches("late-run", "Failed")
    _asks(shared, "late-run", "1")
    second = _started(shared, "late-run", 2)
    plan = _planned(shared, second)
    assert plan["run"]["firstToken"] == plan["token"]
    second.succeeds("file:/lake/late-run")
    shared.reaches("late-run", "Succeeded")


def test_a_status_that_claims_another_s_slot_gets_neither_it_nor_a_retry(
    cluster: Played, operators: StartOperator
) -> None:
    operators().says("the lease table was rebuilt")
    cluster.apply("owner", append("/lake/owner", retry=LATER))
    slot = _planned(cluster, _started(cluster, "owner", 1))["run"]["appId"]
    cluster.apply("thief", append("/lake/thief", retry={"limit": 1, "backoff": "4s"}))
    _started(cluster, "thief", 1).ends(1, lost_a_race())
    _backs_off(cluster, "thief")
    cluster.write_status("thief", {"run": {"appId": slot, "firstToken": 1}})
    status = cluster.reaches("thief", "Failed")
    assert status["reason"] == "RunLost"
    assert f"another job commits under its id {slot}" in status["message"]
    assert cluster.status("owner")["phase"] == "Running"
