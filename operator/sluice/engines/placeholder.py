"""A pod that never starts, under the name of a driver: whichever Spark operator runs the application, that name is fixed."""

import re
from typing import Any

from sluice.api import names
from sluice.engines.attempt import driver_pod_name

_NOTHING = {"cpu": "0", "memory": "0", "ephemeral-storage": "0"}


def placeholder(namespace: str, application: str, labels: dict[str, str]) -> dict[str, Any]:
    """While it is there, no driver of this application can start. A submission that is under way outlives its application, and
    must not find the name free again: so it has no owner, and a finalizer keeps the name taken when it is deleted. No
    namespace's Pod Security Standard refuses it: as long as it is refused, leases are held."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": driver_pod_name(application),
            "namespace": namespace,
            "labels": labels | {names.LABEL_PLACEHOLDER: "true"},
            "finalizers": [names.FINALIZER_PLACEHOLDER],
        },
        "spec": {
            "schedulingGates": [{"name": names.SCHEDULING_GATE}],
            "automountServiceAccountToken": False,
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [
                {
                    "name": "never-starts",
                    "image": names.PLACEHOLDER_IMAGE,
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "capabilities": {"drop": ["ALL"]},
                    },
                }
            ],
        },
    }


def least_named_in(refusal: str) -> dict[str, str]:
    """The amounts that a LimitRange wants at least, by the API server's own words; what it wants of a pod counts before what it
    wants of each container, of which the placeholder has one."""
    found = re.findall(r"minimum (\S+) usage per (\w+) is (\w+)", refusal)
    return {resource: least for resource, _, least in sorted(found, key=lambda one: one[1] == "Pod")}


def asking_for(pod: dict[str, Any], least: dict[str, str]) -> dict[str, Any]:
    """Returns the placeholder with amounts, nothing but these: a quota of compute refuses a pod that names none, and so does what
    a LimitRange says of each pod. Elsewhere it names none, and whatever is asked of each container is filled in."""
    amounts = _NOTHING | least
    resources = {"requests": amounts, "limits": amounts}
    containers = [container | {"resources": resources} for container in pod["spec"]["containers"]]
    return pod | {"spec": pod["spec"] | {"containers": containers}}


def is_placeholder(pod: dict[str, Any]) -> bool:
    """Whether the pod is a placeholder: it has the label, which anybody may put on a driver, and the gate, which no pod gets
    once it is there."""
    gates = pod["spec"].get("schedulingGates") or ()
    is_gated = any(gate.get("name") == names.SCHEDULING_GATE for gate in gates)
    return is_gated and names.LABEL_PLACEHOLDER in (pod["metadata"].get("labels") or {})
