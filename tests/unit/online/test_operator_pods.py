"""When a pod of the operator is no operator any more."""

from typing import Any

import pytest

from sluice.online.installation.operator_pods import may_act

_RUNS: dict[str, Any] = {"state": {"running": {}}}
_WAITS: dict[str, Any] = {"state": {"waiting": {"reason": "ContainerCreating"}}}
_ENDED: dict[str, Any] = {"state": {"terminated": {"exitCode": 137}}}
_COLLECTED = [{"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC"}]
_EVICTED = [{"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}]


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Failed", "containerStatuses": [_ENDED, _ENDED], "conditions": _EVICTED},
        {"phase": "Succeeded", "containerStatuses": [_ENDED]},
        {"phase": "Failed", "containerStatuses": [_WAITS]},
        {"phase": "Failed", "reason": "NodeShutdown"},
        {"phase": "Failed", "containerStatuses": [_ENDED], "conditions": _COLLECTED},
    ],
)
def test_a_pod_whose_kubelet_has_ended_it_is_no_operator(status: dict[str, Any]) -> None:
    assert not may_act({"status": status})


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"phase": "Pending"},
        {"phase": "Running", "containerStatuses": [_RUNS]},
        {"phase": "Running", "containerStatuses": [_ENDED]},  # it is started again
        {"phase": "Unknown", "containerStatuses": [_ENDED]},
        {"phase": "Failed", "containerStatuses": [_ENDED, _RUNS]},
        {"phase": "Failed", "conditions": _COLLECTED},
        {"phase": "Failed", "containerStatuses": [_WAITS], "conditions": _COLLECTED},
        {"phase": "Failed", "containerStatuses": [_RUNS], "conditions": _COLLECTED},
    ],
)
def test_a_pod_of_which_nobody_saw_the_end_may_act(status: dict[str, Any]) -> None:
    assert may_act({"status": status})
