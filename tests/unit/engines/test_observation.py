"""What every application state and every pod state together say of an attempt."""

from typing import Any

import pytest

from sluice.api import names
from sluice.api.base import Json
from sluice.engines import Stage, observe

KUBEFLOW = "sparkoperator.k8s.io/v1beta2"
APPLICATION_STATES = [
    "",
    "SUBMITTED",
    "RUNNING",
    "SUCCEEDING",
    "COMPLETED",
    "FAILING",
    "FAILED",
    "SUBMISSION_FAILED",
    "PENDING_RERUN",
    "INVALIDATING",
    "SUSPENDING",
    "SUSPENDED",
    "RESUMING",
    "UNKNOWN",
]
TERMINAL = {"COMPLETED", "FAILED"}
DRIVER_WAS_SEEN = {"RUNNING", "SUCCEEDING", "COMPLETED"}


def application(state: str, **metadata: Any) -> dict[str, Any]:
    status = {"applicationState": {"state": state, "errorMessage": f"because of {state}"}} if state else {}
    return {"apiVersion": KUBEFLOW, "metadata": {"name": "app", **metadata}, "status": status}


def pod(status: dict[str, Any] | None = None, *, node: str | None = "n", **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "app-driver", **metadata},
        "spec": {"nodeName": node} if node else {},
        "status": status or {},
    }


def container(state: dict[str, Any], phase: str = "Running") -> dict[str, Any]:
    sidecar = {"name": "sidecar", "state": {"terminated": {"exitCode": 9}}}
    return {
        "phase": phase,
        "containerStatuses": [sidecar, {"name": "spark-kubernetes-driver", "state": state}],
    }


TERMINATED = {
    "terminated": {
        "exitCode": 137,
        "reason": "OOMKilled",
        "message": "{}",
        "startedAt": "2026-11-19T10:00:00Z",
        "finishedAt": "2026-11-19T10:05:00Z",
    }
}


GOING: Json = {"deletionTimestamp": "2026-11-19T10:00:00Z"}


@pytest.mark.parametrize("state", APPLICATION_STATES)
@pytest.mark.parametrize("driver_seen", [False, True])
def test_how_a_driver_ended_its_container_tells_whatever_its_application_says(
    state: str, *, driver_seen: bool
) -> None:
    seen = observe(application(state), pod(container(TERMINATED, "Failed")), driver_seen=driver_seen)
    assert (seen.exit_code, seen.detail, seen.message) == (137, "OOMKilled", "{}")
    assert seen.started_at is not None
    assert seen.ended_at is not None
    assert (seen.ended_at - seen.started_at).total_seconds() == 300


@pytest.mark.parametrize("state", APPLICATION_STATES)
def test_a_driver_that_ended_proves_the_end_only_if_its_application_starts_no_other(state: str) -> None:
    """One that has ended starts none; nor does one that is being deleted and knows of this one."""
    ended = pod(container(TERMINATED, "Failed"))
    never = pod(node=None, **GOING)
    for driver, proved in ((ended, Stage.ENDED), (never, Stage.NEVER_STARTS)):
        stage = observe(application(state), driver, driver_seen=True).stage
        assert stage is (proved if state in TERMINAL else Stage.NOT_OVER)
        deleted = observe(application(state, **GOING), driver, driver_seen=True).stage
        assert deleted is (proved if state in TERMINAL | DRIVER_WAS_SEEN else Stage.NOT_OVER)
        assert observe(None, driver, driver_seen=True).stage is proved


@pytest.mark.parametrize("state", APPLICATION_STATES)
def test_an_application_that_knows_its_drivers_id_has_had_its_driver(state: str) -> None:
    """A state that tells of a failure doesn't say so any more."""
    knows = application(state)
    knows["status"]["sparkApplicationId"] = "spark-1"
    assert observe(knows, None, driver_seen=False).stage is Stage.LOST
    knows["metadata"] |= GOING
    assert observe(knows, None, driver_seen=False).stage is Stage.LOST
    assert observe(knows, pod(container(TERMINATED)), driver_seen=False).stage is Stage.ENDED


@pytest.mark.parametrize("state", APPLICATION_STATES)
@pytest.mark.parametrize("deleted", [{}, {"deletionTimestamp": "2026-11-19T10:00:00Z"}])
def test_a_container_that_runs_is_running_whatever_else_is_said(state: str, deleted: dict[str, str]) -> None:
    running = container({"running": {"startedAt": "2026-11-19T10:00:00Z"}})
    assert observe(application(state), pod(running, **deleted), driver_seen=True).stage is Stage.RUNNING
    assert observe(None, pod(running, **deleted), driver_seen=True).stage is Stage.RUNNING


@pytest.mark.parametrize("state", APPLICATION_STATES)
def test_without_a_pod_only_a_terminal_or_deleted_application_is_worth_a_proof(state: str) -> None:
    expected = Stage.NO_DRIVER if state in TERMINAL else Stage.STARTING
    was_seen = state in DRIVER_WAS_SEEN
    assert observe(application(state), None, driver_seen=False).stage is (
        Stage.LOST if was_seen else expected
    )
    deleted = application(state, deletionTimestamp="2026-11-19T10:00:00Z")
    assert observe(deleted, None, driver_seen=False).stage is (Stage.LOST if was_seen else Stage.NO_DRIVER)


@pytest.mark.parametrize("state", APPLICATION_STATES)
def test_a_driver_that_was_seen_and_is_gone_is_lost(state: str) -> None:
    assert observe(application(state), None, driver_seen=True).stage is Stage.LOST
    assert observe(None, None, driver_seen=True).stage is Stage.LOST


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_pods_phase_alone_proves_no_end(phase: str) -> None:
    seen = observe(application("FAILED"), pod({"phase": phase, "reason": "NodeLost"}), driver_seen=True)
    assert seen.stage is Stage.LOST
    assert "NodeLost" in seen.detail


def test_a_placeholder_proves_that_no_driver_can_start() -> None:
    placeholder = pod(node=None, labels={names.LABEL_PLACEHOLDER: "true"})
    placeholder["spec"]["schedulingGates"] = [{"name": names.SCHEDULING_GATE}]
    seen = observe(application("FAILED"), placeholder, driver_seen=False)
    assert (seen.stage, seen.detail) == (Stage.NEVER_STARTS, "because of FAILED")
    assert observe(None, placeholder, driver_seen=False).stage is Stage.NEVER_STARTS
    going = application("SUBMITTED", **GOING)
    deleted = observe(going, placeholder, driver_seen=False)
    assert deleted.stage is Stage.NEVER_STARTS
    assert deleted.detail == "the application was deleted (because of SUBMITTED)"
    trying = application("SUBMITTED")
    assert observe(trying, placeholder, driver_seen=False).stage is Stage.NOT_OVER


def test_a_pod_deleted_before_it_had_a_node_can_never_start() -> None:
    deleted: Json = {"deletionTimestamp": "2026-11-19T10:00:00Z"}
    assert (
        observe(application("FAILED"), pod(node=None, **deleted), driver_seen=False).stage
        is Stage.NEVER_STARTS
    )
    assert observe(application("SUBMITTED"), pod(**deleted), driver_seen=False).stage is Stage.STARTING


@pytest.mark.parametrize(
    ("status", "says"),
    [
        ({"phase": "Pending"}, "is being started"),
        (container({"waiting": {"reason": "ContainerCreating"}}, "Pending"), "is being started"),
        (
            container({"waiting": {"reason": "ErrImagePull", "message": "no such image"}}, "Pending"),
            "no such image",
        ),
        (
            {
                "phase": "Pending",
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "0/3 nodes",
                    }
                ],
            },
            "0/3 nodes",
        ),
    ],
)
def test_a_start_tells_only_what_is_out_of_the_ordinary(status: dict[str, Any], says: str) -> None:
    seen = observe(application("SUBMITTED"), pod(status), driver_seen=False)
    assert seen.stage is Stage.STARTING
    assert says in seen.detail


def test_nothing_at_all_was_not_created() -> None:
    assert observe(None, None, driver_seen=False).stage is Stage.NOT_CREATED
