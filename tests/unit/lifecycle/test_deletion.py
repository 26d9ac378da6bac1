"""How what is left of an attempt goes: whatever may write is ended first, and let go when that is proved."""

from itertools import product
from typing import Any

from sluice.api import names
from sluice.api.job_status import Outcome
from sluice.lifecycle import deletion
from sluice.lifecycle.evidence import PROVED, Evidence, evidence_of
from unit.lifecycle.objects import LEASE, NAME, RUNNING, TERMINATED, application, placeholder, pod
from unit.lifecycle.test_evidence import INTENT

GOING: dict[str, Any] = {"deletionTimestamp": "2026-11-19T10:30:00Z"}


def left(*objects: dict[str, Any]) -> Evidence:
    """Returns the evidence that a job that is gone has left."""
    pods = [body for body in objects if "kind" not in body]
    return evidence_of(LEASE.uid, None, [body for body in objects if "kind" in body], pods).by_application[
        NAME
    ]


def step(*objects: dict[str, Any]) -> deletion.LeavingStep:
    return deletion.leaving(left(*objects), "etl")


def test_a_running_driver_is_ended_and_then_waited_for() -> None:
    running = pod(RUNNING)
    assert step(application("RUNNING"), running) == deletion.DeletePod(running)
    assert step(application("RUNNING"), pod(RUNNING, **GOING)) == deletion.Wait()
    assert step(application("RUNNING"), pod(TERMINATED, **GOING)) == deletion.LetGo()


def test_an_application_without_a_driver_is_deleted_and_its_drivers_name_taken() -> None:
    assert step(application()) == deletion.DeleteApplication()
    assert step(application(**GOING)) == deletion.OccupyName()
    assert step(application("FAILED")) == deletion.OccupyName()
    assert step(application("FAILED"), placeholder()) == deletion.LetGo()


def test_a_driver_whose_end_was_not_seen_is_held_until_somebody_says_it_is_dead() -> None:
    found = step(application("COMPLETED"))
    assert isinstance(found, deletion.Hold)
    assert f"kubectl annotate sparkapplication -n etl {NAME}" in found.message
    said = application("COMPLETED")
    said["metadata"]["annotations"][names.ANNOTATION_DRIVER_DEAD] = NAME
    assert step(said) == deletion.LetGo()


def test_a_lost_nodes_driver_says_so_where_its_pod_is_all_that_is_left() -> None:
    lost = pod(**GOING) | {"status": {"phase": "Failed", "reason": "NodeLost"}}
    found = step(lost)
    assert isinstance(found, deletion.Hold)
    assert f"kubectl annotate pod -n etl {NAME}-driver" in found.message
    lost["metadata"]["annotations"][names.ANNOTATION_DRIVER_DEAD] = NAME
    assert step(lost) == deletion.LetGo()


def test_nothing_is_let_go_without_a_proof_whatever_there_is() -> None:
    applications = [None, *(application(s, **g) for s, g in product(_STATES, ({}, GOING)))]
    pods = [None, placeholder(), *(pod(s, **g) for s, g in product(_CONTAINERS, ({}, GOING)))]
    for one in _each(applications, pods):
        over = one.intent is not None and not one.is_open
        if isinstance(deletion.leaving(one, "etl"), deletion.LetGo):
            assert one.seen.stage in PROVED or over


_STATES = ["", "SUBMITTED", "RUNNING", "FAILING", "COMPLETED", "FAILED", "SUSPENDED", "UNKNOWN"]
_CONTAINERS = [None, RUNNING, TERMINATED, {"waiting": {"reason": "ImagePullBackOff"}}]


def _each(applications: list[Any], pods: list[Any]) -> list[Evidence]:
    intents = [None, INTENT, INTENT.model_copy(update={"outcome": Outcome.FAILED})]
    return [
        Evidence(1, NAME, intent=intent, application=body, pod=driver)
        for intent, body, driver in product(intents, applications, pods)
    ]


def test_what_has_its_outcome_is_let_go_though_its_driver_is_nowhere_any_more() -> None:
    closed = INTENT.model_copy(update={"outcome": Outcome.SUCCEEDED})
    for intent, expected in ((closed, True), (INTENT, False)):
        one = Evidence(1, NAME, intent=intent, application=application("COMPLETED"))
        assert isinstance(deletion.leaving(one, "etl"), deletion.LetGo) == expected


def test_a_driver_that_is_going_is_waited_for_before_its_application_is_touched() -> None:
    assert step(application(), pod(None, **GOING)) == deletion.Wait()
