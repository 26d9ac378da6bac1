"""How what is left of an attempt goes: whatever may write is ended first, and let go when that is proved."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from typing import Any

from sluice.api import names
from sluice.api.job_status import AttemptDriver, Outcome
from sluice.lifecycle.evidence import deletion
from sluice.lifecycle.evidence.attempt_evidence import PROVED, Evidence, evidence_of
from unit.lifecycle.objects import (
    LEASE,
    NAME,
    RUNNING,
    TERMINATED,
    application,
    declared_dead,
    loss,
    placeholder,
    pod,
    told_there,
)
from unit.lifecycle.test_attempt_evidence import INTENT, NOW

GOING: dict[str, Any] = {"deletionTimestamp": "2026-11-19T10:30:00Z"}
SOON = datetime(2026, 11, 19, 10, 30, 30, tzinfo=UTC)


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
    assert step(application("RUNNING"), pod(RUNNING, **GOING)) == deletion.AwaitChange()
    assert step(application("RUNNING"), pod(TERMINATED, **GOING)) == deletion.DeleteApplication()
    assert step(application("RUNNING", **GOING), pod(TERMINATED, **GOING)) == deletion.ReleaseObject()


def test_an_application_that_may_start_another_driver_is_kept_from_it_before_anything_is_let_go() -> None:
    """It may just be submitted for the second time: as long as the pod of the first driver is there, its name is taken."""
    ended = pod(TERMINATED)
    assert step(application("SUBMITTED"), ended) == deletion.DeleteApplication()
    assert step(application("SUBMITTED", **GOING), ended) == deletion.FreeDriverName(ended)
    assert step(application("SUBMITTED", **GOING)) == deletion.OccupyName()
    assert step(application("SUBMITTED", **GOING), placeholder()) == deletion.ReleaseObject()
    assert step(ended) == deletion.ReleaseObject()


def test_so_it_is_where_its_outcome_was_told_before_its_drivers_pod_went() -> None:
    closed = INTENT.model_copy(update={"outcome": Outcome.SUCCEEDED, "started_at": NOW})
    one = Evidence(1, NAME, intent=closed, application=application("SUBMITTED", **GOING))
    assert deletion.leaving(one, "etl") == deletion.OccupyName()
    assert deletion.leaving(replace(one, namespace_ends=True), "etl") == deletion.ReleaseObject()
    there = replace(one, application=application("SUBMITTED"))
    assert deletion.leaving(there, "etl") == deletion.DeleteApplication()
    assert deletion.leaving(replace(one, pod=placeholder()), "etl") == deletion.ReleaseObject()
    assert (
        deletion.leaving(replace(one, application=application("RUNNING")), "etl") == deletion.ReleaseObject()
    )


def test_so_it_is_where_a_container_was_ended_unstarted_and_where_only_a_name_was_taken_it_is_not() -> None:
    for outcome in (Outcome.NOT_STARTED, Outcome.WITHDRAWN):
        driver = AttemptDriver(pod=f"{NAME}-driver", pod_uid="uid")
        known = INTENT.model_copy(update={"outcome": outcome, "driver": driver})
        one = Evidence(1, NAME, intent=known, application=application("SUBMITTED", **GOING))
        assert deletion.leaving(one, "etl") == deletion.RecordLoss()
        ended = replace(one, intent=known.model_copy(update={"exit_code": 137}))
        assert deletion.leaving(ended, "etl") == deletion.OccupyName()


def test_in_a_namespace_that_ends_no_other_driver_can_start() -> None:
    ends = Evidence(
        1, NAME, application=application("SUBMITTED", **GOING), pod=pod(TERMINATED), namespace_ends=True
    )
    assert deletion.leaving(ends, "etl") == deletion.ReleaseObject()


def test_an_application_without_a_driver_is_deleted_and_its_drivers_name_taken() -> None:
    assert step(application()) == deletion.DeleteApplication()
    assert step(application(**GOING)) == deletion.OccupyName()
    assert step(application("FAILED")) == deletion.OccupyName()
    assert step(application("FAILED"), placeholder()) == deletion.ReleaseObject()


def test_a_driver_whose_end_was_not_seen_is_held_until_somebody_says_it_is_dead() -> None:
    left_over = application("COMPLETED")
    assert step(left_over) == deletion.RecordLoss()
    left_over["metadata"]["annotations"] |= told_there()
    annotate = f"kubectl annotate --overwrite sparkapplication.sparkoperator.k8s.io -n etl {NAME} "
    assert step(left_over) == deletion.Hold(
        "the driver's pod is gone, and its end was not seen; its leases are held; once you know that it is dead, say so: "
        f"{annotate}{names.ANNOTATION_DRIVER_DEAD}={NAME}@2026-11-19T10:30:00.123456Z"
    )
    left_over["metadata"]["annotations"] |= {names.ANNOTATION_DRIVER_DEAD: NAME}
    found = step(left_over)
    assert isinstance(found, deletion.Hold)
    assert (
        f"{names.ANNOTATION_DRIVER_DEAD}={NAME} names no loss that was told, and frees nothing;"
        in found.message
    )
    left_over["metadata"]["annotations"] |= declared_dead()
    assert step(left_over) == deletion.ReleaseObject()


def test_a_lost_nodes_driver_says_so_where_its_pod_is_all_that_is_left() -> None:
    lost = pod(**GOING) | {"status": {"phase": "Failed", "reason": "NodeLost"}}
    assert step(lost) == deletion.RecordLoss()
    lost["metadata"]["annotations"] |= told_there(loss(lost))
    found = step(lost)
    assert isinstance(found, deletion.Hold)
    assert f"kubectl annotate --overwrite pod -n etl {NAME}-driver" in found.message
    lost["metadata"]["annotations"] |= declared_dead(loss(lost))
    assert step(lost) == deletion.ReleaseObject()


def test_nothing_is_let_go_without_a_proof_whatever_there_is() -> None:
    applications = [None, *(application(s, **g) for s, g in product(_STATES, ({}, GOING)))]
    pods = [None, placeholder(), *(pod(s, **g) for s, g in product(_CONTAINERS, ({}, GOING)))]
    for one in _each(applications, pods):
        if isinstance(deletion.leaving(one, "etl"), deletion.ReleaseObject):
            assert one.seen.stage in PROVED or (
                one.intent is not None and one.intent.outcome is Outcome.FAILED
            )


_STATES = ["", "SUBMITTED", "RUNNING", "FAILING", "COMPLETED", "FAILED", "SUSPENDED", "UNKNOWN"]
_CONTAINERS = [None, RUNNING, TERMINATED, {"waiting": {"reason": "ImagePullBackOff"}}]


def _each(applications: list[Any], pods: list[Any]) -> list[Evidence]:
    ended = (Outcome.FAILED, Outcome.WITHDRAWN, Outcome.NOT_STARTED)
    intents = [None, INTENT, *(INTENT.model_copy(update={"outcome": outcome}) for outcome in ended)]
    return [
        Evidence(1, NAME, intent=intent, application=body, pod=driver)
        for intent, body, driver in product(intents, applications, pods)
    ]


def test_what_has_its_outcome_is_let_go_though_its_driver_is_nowhere_any_more() -> None:
    closed = INTENT.model_copy(update={"outcome": Outcome.SUCCEEDED})
    for intent, expected in ((closed, True), (INTENT, False)):
        one = Evidence(1, NAME, intent=intent, application=application("COMPLETED"))
        assert isinstance(deletion.leaving(one, "etl"), deletion.ReleaseObject) == expected


SILENT = [{"type": "Ready", "status": "False"}, {"type": "ContainersReady", "status": "True"}]


def silent(**metadata: Any) -> dict[str, Any]:
    found = pod(RUNNING, **metadata)
    return found | {"status": found["status"] | {"conditions": SILENT}}


def test_a_driver_that_came_after_its_attempt_was_taken_back_is_ended_also_where_its_node_is_silent() -> None:
    for outcome in (Outcome.WITHDRAWN, Outcome.NOT_STARTED):
        taken_back = INTENT.model_copy(update={"outcome": outcome})
        one = Evidence(1, NAME, intent=taken_back, application=application("RUNNING"), pod=silent())
        assert deletion.leaving(one, "etl") == deletion.DeletePod(silent())
        going = Evidence(1, NAME, intent=taken_back, application=application("RUNNING"), pod=silent(**GOING))
        assert deletion.leaving(going, "etl") == deletion.RecordLoss()


def test_the_outcome_of_one_driver_proves_nothing_of_another_that_bears_its_name() -> None:
    driver = AttemptDriver(pod=f"{NAME}-driver", pod_uid=f"uid-of-{NAME}-driver")
    for known, expected in ((driver, True), (driver.model_copy(update={"pod_uid": "another"}), False)):
        closed = INTENT.model_copy(update={"outcome": Outcome.FAILED, "driver": known})
        one = Evidence(1, NAME, intent=closed, application=application("RUNNING"), pod=silent())
        assert isinstance(deletion.leaving(one, "etl"), deletion.ReleaseObject) == expected


def test_a_word_that_a_driver_is_dead_counts_of_a_silent_node_once_the_pod_is_being_deleted() -> None:
    """The node may be heard of again, and ends it then."""
    told = loss(pod(), silent_since="some time ago")
    said = told_there(told) | declared_dead(told)
    for going, expected in (({}, False), (GOING, True)):
        on_application = application("RUNNING")
        on_application["metadata"]["annotations"] |= said
        one = left(on_application, silent(**going))
        assert (one.seen.stage in PROVED) == expected
        assert one.holds
        unmarked = silent(**going, finalizers=None)
        unmarked["metadata"]["annotations"] |= said
        assert left(unmarked).holds != expected


def test_a_driver_that_is_going_is_waited_for_before_its_application_is_touched() -> None:
    going = pod(None, **GOING)
    assert step(application(), going) == deletion.RecordLoss(SOON), (
        "should its node not have ended it by then"
    )
    noted = application()
    noted["metadata"]["annotations"] |= told_there(loss(going))
    found = step(noted, going)
    assert isinstance(found, deletion.Hold)
    assert found.message.startswith(
        "its driver's node has not said what became of it; its leases are held; once you know that it is dead, say so: "
        f"kubectl delete pod -n etl {NAME}-driver --force --wait=false && kubectl annotate --overwrite sparkapplication."
    )
    noted["metadata"]["annotations"] |= declared_dead(loss(going))
    assert step(noted, going) == deletion.DeleteApplication()


def test_no_loss_is_noted_where_a_jobs_status_tells_it() -> None:
    one = Evidence(1, NAME, intent=INTENT, application=application("COMPLETED", **GOING))
    assert deletion.leaving(one, "etl") == deletion.AwaitChange()


def test_who_says_that_a_driver_is_dead_says_nothing_of_the_one_that_its_application_may_still_start() -> (
    None
):
    """Its Spark operator may have lost the word that it submitted it, and submits it again once the name is free."""
    ran = INTENT.model_copy(update={"outcome": Outcome.DRIVER_LOST, "started_at": NOW})
    silent = pod(RUNNING, **GOING)
    silent["status"] |= {"phase": "Failed"}
    for state, driver in product(("", "SUBMITTED"), (None, silent)):
        said = application(state)
        said["metadata"]["annotations"] |= declared_dead()
        one = Evidence(1, NAME, intent=ran, application=said, pod=driver, declared_dead=True)
        let_go = replace(one, application=application(state, finalizers=None), pod=None)
        assert let_go.holds, "it may start a driver, and bears our finalizer no more"
        assert deletion.leaving(one, "etl") == deletion.DeleteApplication()


def test_a_driver_that_ended_without_a_finalizer_leaves_the_lease_to_an_application_that_may_start_another() -> (
    None
):
    """The same application holds it where no pod is there, so it would hold it again once that pod is gone."""
    trying = application("SUBMITTED", finalizers=None)
    assert left(trying).holds
    assert left(trying, pod(TERMINATED, finalizers=None)).holds


def test_a_driver_whose_node_fell_silent_before_it_told_of_its_container_does_not_keep_its_namespace() -> (
    None
):
    """It may run; its pod stays for as long as its node is silent, and nobody is told what to do."""
    begun = pod(None, **GOING)
    begun["status"] = {"phase": "Pending"}
    one = Evidence(1, NAME, application=application("SUBMITTED", **GOING), pod=begun, namespace_ends=True)
    assert not isinstance(deletion.leaving(one, "etl"), deletion.AwaitChange)
