"""Reads what Kubernetes says of a pod that it ends, or that a node ended, for reasons of its own."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

CONDITION = "DisruptionTarget"

_BY_CONDITION = {
    "EvictionByEvictionAPI": "it was evicted, as when a node is drained",
    "PreemptionByScheduler": "a pod of a higher priority took its place",
    "DeletionByTaintManager": "its node got a taint that it does not tolerate",
    "TerminationByKubelet": "its node ended it",
    "DeletionByPodGC": "its node is no longer there",
}
_BY_KUBELET = {
    "Evicted": "its node ran out of something and evicted it",
    "NodeShutdown": "its node was being shut down",
    "Terminated": "its node was shut down",
}
"""Reasons of a pod's status, which tell more than the kubelet's condition."""

_WRITTEN_BEFORE_THE_END = frozenset(
    {"EvictionByEvictionAPI", "PreemptionByScheduler", "DeletionByTaintManager"}
)
"""Reasons that are written before the pod is told to end, also of one that has ended already. A kubelet may write its own
afterwards, but only of what it ended."""

_LONGEST = 400
"""Characters of a message: a condition's may have 32,768."""

_CLOCKS_DIFFER_BY = 5.0
"""Seconds between the clocks of a node and of whoever writes conditions."""


@dataclass(frozen=True)
class Disruption:
    reason: str
    message: str
    meaning: str | None
    """What the reason means; None: it is not known here, and nothing may be concluded from it."""
    at: datetime | None = None

    def __str__(self) -> str:
        said = f"{self.reason}: {self.message}" if self.message else self.reason
        return f"{self.meaning} ({said})" if self.meaning else f"its pod says {said}"

    def may_have_ended(self, driver_ended_at: datetime | None) -> bool:
        """Whether it may be why the driver ended."""
        if self.meaning is None:
            return False
        if self.reason not in _WRITTEN_BEFORE_THE_END or self.at is None or driver_ended_at is None:
            return True
        return (self.at - driver_ended_at).total_seconds() <= _CLOCKS_DIFFER_BY


def disruption_of(pod: dict[str, Any]) -> Disruption | None:
    """What is known is taken before what is not, and the kubelet's own reason before its condition."""
    status = pod.get("status", {})
    by_kubelet, condition = status.get("reason"), condition_of(pod, CONDITION)
    found = []
    if by_kubelet:
        found.append(Disruption(by_kubelet, _cut(status.get("message")), _BY_KUBELET.get(by_kubelet)))
    if condition is not None and condition.get("status") == "True":
        reason = condition.get("reason") or CONDITION
        at = condition.get("lastTransitionTime")
        found.append(
            Disruption(
                reason,
                _cut(condition.get("message")),
                _BY_CONDITION.get(reason),
                datetime.fromisoformat(at) if at else None,
            )
        )
    return next((one for one in found if one.meaning is not None), found[-1] if found else None)


def _cut(message: str | None) -> str:
    return (message or "")[:_LONGEST]


def condition_of(pod: dict[str, Any], type_: str) -> dict[str, Any] | None:
    return next(
        (one for one in pod.get("status", {}).get("conditions") or () if one.get("type") == type_), None
    )


def silent_since(pod: dict[str, Any]) -> str | None:
    """Since when the pod's node has not been heard of, in the pod's own words; None if nothing says so. Kubelets write both
    conditions alike, and say why. Where only one of them turned, and for no reason, the control plane wrote that for a node that is
    silent."""
    ready, containers = condition_of(pod, "Ready"), condition_of(pod, "ContainersReady")
    if ready is None or containers is None:
        return None
    is_written_for_it = ready.get("status") == "False" and not ready.get("reason")
    if not is_written_for_it or containers.get("status") != "True":
        return None
    return str(ready.get("lastTransitionTime") or "some time ago")
