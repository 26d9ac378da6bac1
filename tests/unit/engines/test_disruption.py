"""What Kubernetes says of pods that it ends."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.engines import Stage, observe
from sluice.engines.disruption import disruption_of, silent_since
from unit.engines.test_observation import container, pod

AT = "2026-11-19T10:04:00Z"
RUNNING = {"running": {"startedAt": "2026-11-19T10:00:00Z"}}
CONDITIONS = [
    "EvictionByEvictionAPI",
    "PreemptionByScheduler",
    "DeletionByTaintManager",
    "TerminationByKubelet",
    "DeletionByPodGC",
]
BY_KUBELET = ["Evicted", "NodeShutdown", "Terminated"]


def condition(type_: str, status: str = "True", **more: Any) -> dict[str, Any]:
    return {"type": type_, "status": status, "lastTransitionTime": AT, **more}


def target(reason: str, message: str = "in the cluster's own words") -> dict[str, Any]:
    return condition("DisruptionTarget", reason=reason, message=message)


def disrupted(*conditions: dict[str, Any], **status: Any) -> dict[str, Any]:
    return pod({"conditions": list(conditions), **status})


@pytest.mark.parametrize("reason", CONDITIONS)
def test_each_reason_of_the_condition_is_known_and_quoted(reason: str) -> None:
    found = disruption_of(disrupted(target(reason)))
    assert found is not None
    assert found.meaning is not None
    assert found.may_have_ended(None)
    assert str(found) == f"{found.meaning} ({reason}: in the cluster's own words)"


@pytest.mark.parametrize("reason", BY_KUBELET)
def test_each_reason_of_a_kubelet_is_known_and_quoted(reason: str) -> None:
    found = disruption_of(disrupted(target("TerminationByKubelet"), reason=reason, message="low on memory"))
    assert found is not None
    assert found.meaning is not None
    assert str(found) == f"{found.meaning} ({reason}: low on memory)"


@pytest.mark.parametrize("status", [{"reason": "Unheard"}, {"conditions": [target("Unheard", "")]}])
def test_of_an_unknown_reason_nothing_is_concluded_and_it_is_quoted(status: dict[str, Any]) -> None:
    found = disruption_of(pod(status))
    assert found is not None
    assert not found.may_have_ended(None)
    assert str(found) == "its pod says Unheard"


def test_what_is_known_is_taken_before_what_is_not() -> None:
    found = disruption_of(disrupted(target("EvictionByEvictionAPI"), reason="Unheard"))
    assert found is not None
    assert found.reason == "EvictionByEvictionAPI"


def test_a_disruption_that_was_taken_back_is_none() -> None:
    taken_back = condition("DisruptionTarget", "False", reason="EvictionByEvictionAPI")
    assert disruption_of(disrupted(taken_back)) is None
    assert disruption_of(pod()) is None


def test_an_endless_message_is_cut() -> None:
    found = disruption_of(disrupted(target("EvictionByEvictionAPI", "x" * 32_768)))
    assert len(str(found)) < 600


@pytest.mark.parametrize(("seconds", "may"), [(-60, True), (4, True), (60, False)])
def test_a_driver_was_not_ended_by_what_came_after_its_end(seconds: int, *, may: bool) -> None:
    """A node may be drained while the pod of a driver that failed by itself is still there."""
    ended = datetime.fromisoformat(AT).astimezone(UTC) - timedelta(seconds=seconds)
    found = disruption_of(disrupted(target("EvictionByEvictionAPI")))
    by_kubelet = disruption_of(disrupted(target("TerminationByKubelet")))
    assert found is not None
    assert found.may_have_ended(ended) is may
    assert by_kubelet is not None
    assert by_kubelet.may_have_ended(ended)


def test_a_node_is_silent_where_its_pod_is_not_ready_and_no_kubelet_said_why() -> None:
    containers = condition("ContainersReady")
    assert silent_since(disrupted(condition("Ready", "False"), containers)) == AT
    assert (
        silent_since(disrupted(condition("Ready", "False", reason="ReadinessGatesNotReady"), containers))
        is None
    )
    assert silent_since(disrupted(condition("Ready"), containers)) is None
    both = [condition(type_, "False", reason="ContainersNotReady") for type_ in ("Ready", "ContainersReady")]
    assert silent_since(disrupted(*both)) is None
    assert silent_since(pod()) is None


def test_nobody_knows_whether_a_driver_runs_whose_node_is_silent() -> None:
    status = container(RUNNING) | {"conditions": [condition("Ready", "False"), condition("ContainersReady")]}
    seen = observe(None, pod(status), driver_seen=True)
    assert (seen.stage, seen.node) == (Stage.LOST, "n")
    assert seen.detail == f"the driver's node has not been heard of since {AT}"


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_who_collects_a_lost_nodes_pods_proves_no_end(phase: str) -> None:
    status = container(RUNNING, phase) | {
        "conditions": [target("DeletionByPodGC", "PodGC: node no longer exists")]
    }
    seen = observe(None, pod(status), driver_seen=True)
    assert seen.stage is Stage.LOST
    assert "DeletionByPodGC: PodGC: node no longer exists" in seen.detail


def test_a_container_that_its_node_says_has_ended_is_believed_whatever_was_disrupted() -> None:
    ended = {"terminated": {"exitCode": 143, "finishedAt": AT}}
    status = container(ended, "Failed") | {
        "conditions": [target("DeletionByPodGC"), condition("Ready", "False")]
    }
    seen = observe(None, pod(status, uid="u"), driver_seen=True)
    assert (seen.stage, seen.pod_uid) == (Stage.ENDED, "u")
    assert seen.disruption is not None
