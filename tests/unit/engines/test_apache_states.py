"""What each state of Apache's Spark operator tells of the driver, alone and after others."""

from typing import Any

import pytest

from sluice.api.base import Json
from sluice.engines import Stage, engine_of, observe
from sluice.engines.apache_states import FAILURES, MEANINGS, StateMeaning

ALL = [
    "Submitted",
    "ScheduledToRestart",
    "DriverRequested",
    "DriverStarted",
    "DriverReady",
    "InitializedBelowThresholdExecutors",
    "RunningHealthy",
    "RunningWithPartialCapacity",
    "RunningWithBelowThresholdExecutors",
    "DriverStartTimedOut",
    "ExecutorsStartTimedOut",
    "DriverReadyTimedOut",
    "Succeeded",
    "Failed",
    "SchedulingFailure",
    "DriverEvicted",
    "ResourceReleased",
    "TerminatedWithoutReleaseResources",
]
"""As its custom resource definition lists them."""
FINAL = {"ResourceReleased", "TerminatedWithoutReleaseResources"}
BEFORE_THE_DRIVER = {"Submitted", "ScheduledToRestart"}
TELL_NOTHING_OF_IT = {"Failed", "SchedulingFailure"}
GOING: Json = {"deletionTimestamp": "2026-11-19T10:00:00Z"}


def application(*states: str, history: bool = True, **metadata: Any) -> Json:
    """In the last of these states, after the others; more than nine, so that their order is that of numbers."""
    earlier = ["Submitted"] * 9
    told = [{"currentStateSummary": state, "message": f"because of {state}"} for state in (*earlier, *states)]
    status: Json = {"currentState": told[-1]} if states else {}
    if history:
        numbered = sorted(enumerate(told), key=lambda one: str(one[0]), reverse=True)
        status["stateTransitionHistory"] = {str(number): state for number, state in numbered}
    return {
        "apiVersion": "spark.apache.org/v1",
        "metadata": {"name": "app", "namespace": "etl", **metadata},
        "status": status,
    }


def pod(state: Json | None = None) -> Json:
    containers = [{"name": "spark-kubernetes-driver", "state": state}] if state else []
    status = {"phase": "Running", "containerStatuses": containers}
    return {"metadata": {"name": "app-driver"}, "spec": {"nodeName": "n"}, "status": status}


ENDED = {"terminated": {"exitCode": 0, "finishedAt": "2026-11-19T10:05:00Z"}}


def test_every_state_is_known() -> None:
    assert set(MEANINGS) == {"", *ALL}
    assert set(ALL) > FAILURES


@pytest.mark.parametrize("state", ALL)
def test_only_in_its_final_states_it_starts_no_driver_any_more(state: str) -> None:
    progress = engine_of(application()).progress(application(state))
    assert progress.has_ended is (state in FINAL)


@pytest.mark.parametrize("state", ["", *ALL])
def test_an_ended_driver_proves_the_end_only_once_its_application_starts_no_other(state: str) -> None:
    body = application(state) if state else application(history=False)
    seen = observe(body, pod(ENDED), driver_seen=True)
    assert seen.stage is (Stage.ENDED if state in FINAL else Stage.NOT_OVER)
    assert seen.exit_code == 0


@pytest.mark.parametrize("state", ALL)
def test_one_that_is_being_deleted_starts_no_other_if_it_has_had_its_driver(state: str) -> None:
    knows = state in FINAL or state not in BEFORE_THE_DRIVER | TELL_NOTHING_OF_IT
    seen = observe(application(state, **GOING), pod(ENDED), driver_seen=True)
    assert seen.stage is (Stage.ENDED if knows else Stage.NOT_OVER)


@pytest.mark.parametrize("state", ALL)
def test_what_had_its_driver_and_has_none_is_lost(state: str) -> None:
    """With what it says alone, and with what it has said before."""
    had = MEANINGS[state] is StateMeaning.HAS_HAD_ITS_DRIVER
    stage = observe(application(state), None, driver_seen=False).stage
    assert stage is (Stage.LOST if had else Stage.NO_DRIVER if state in FINAL else Stage.STARTING)
    later = observe(application("DriverStarted", state), None, driver_seen=False).stage
    assert later is (Stage.STARTING if state in BEFORE_THE_DRIVER else Stage.LOST)


def test_a_driver_that_was_scheduled_again_may_be_another_one() -> None:
    again = application("DriverStarted", "Failed", "ScheduledToRestart")
    assert not engine_of(again).progress(again).driver_was_seen
    assert observe(again, pod(ENDED), driver_seen=True).stage is Stage.NOT_OVER
    over = application("DriverRequested", "Succeeded", "ScheduledToRestart", "Failed", "ResourceReleased")
    assert observe(over, None, driver_seen=False).stage is Stage.NO_DRIVER


@pytest.mark.parametrize("state", ["Unheard", "SUCCEEDED", "COMPLETED"])
def test_in_an_unknown_state_it_is_not_over_and_may_start_a_driver(state: str) -> None:
    for body in (application(state), application("DriverStarted", state)):
        progress = engine_of(body).progress(body)
        assert (progress.has_ended, progress.driver_was_seen, progress.words) == (False, False, state)
    assert observe(application(state, **GOING), pod(ENDED), driver_seen=True).stage is Stage.NOT_OVER


def test_the_words_are_those_of_the_state_in_which_it_ended() -> None:
    """The last state is that its pods are released, or kept, whatever came of them."""
    failed = application("DriverStarted", "Failed", "TerminatedWithoutReleaseResources")
    assert engine_of(failed).progress(failed).words == "Failed: because of Failed"
    well = application("DriverStarted", "Succeeded", "TerminatedWithoutReleaseResources")
    assert engine_of(well).progress(well).words == "Succeeded"
    running = application("DriverStarted", "RunningHealthy")
    assert engine_of(running).progress(running).words == "RunningHealthy"
    new = application(history=False)
    assert engine_of(new).progress(new).words == ""


@pytest.mark.parametrize("states", [[], ["Submitted"], ["DriverStarted", "Failed", "ResourceReleased"]])
def test_what_is_kept_of_it_tells_all_that_is_read_of_it(states: list[str]) -> None:
    body = application(*states)
    for state in (body["status"].get("currentState"), *body["status"]["stateTransitionHistory"].values()):
        if state:
            state["lastObservedDriverStatus"] = {"containerStatuses": ["x" * 1000]}
    engine = engine_of(body)
    kept = body | {"status": engine.kept(body["status"])}
    assert engine.progress(kept) == engine.progress(body)
    assert "lastObservedDriverStatus" not in str(kept)
