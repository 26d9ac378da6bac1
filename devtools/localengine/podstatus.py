"""What a kubelet would write into a driver pod's status, as a pure function of the pod and its process."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from localengine.application import DRIVER_CONTAINER
from localengine.processes import Facts, Life
from localengine.states import timestamp
from sluice.api.base import Json

TERMINATION_MESSAGE_BYTES = 4096
FALLBACK_BYTES = 2048
FALLBACK_LINES = 80

_NEVER_FOUND = "The container could not be located when the pod was terminated"


def termination_message(policy: str, exit_code: int, message_file: Path, log: Path) -> str:
    """The kubelet's rule: the file if it says anything, else the log's tail if the policy wants it and the container failed."""
    message = _tail(message_file, TERMINATION_MESSAGE_BYTES)
    if message or policy != "FallbackToLogsOnError" or exit_code == 0:
        return message
    lines = _tail(log, FALLBACK_BYTES).splitlines(keepends=True)
    return "".join(lines[-FALLBACK_LINES:])


def waiting(pod: Json, reason: str, message: str) -> Json:
    """The status while the container can't be made: the pod stays Pending and the kubelet tries again."""
    return {
        "phase": "Pending",
        "containerStatuses": [_container(pod, {"waiting": {"reason": reason, "message": message}})],
    }


def running(pod: Json, facts: Facts) -> Json:
    started = timestamp(facts.started or datetime.now(UTC))
    return {
        "phase": "Running",
        "startTime": started,
        "hostIP": "127.0.0.1",
        "podIP": "127.0.0.1",
        "conditions": _conditions(ready=True, at=started),
        "containerStatuses": [_container(pod, {"running": {"startedAt": started}})],
    }


def exit_code(facts: Facts) -> int:
    """The exit code; 137 for a container whose end nobody saw, as kubelets have it."""
    return facts.exit_code if facts.exit_code is not None else 137


def ended(pod: Json, facts: Facts, message: str) -> Json:
    """The terminal status of a pod whose process is over: exited, lost, or never to be started."""
    code = exit_code(facts)
    finished = timestamp(facts.ended or datetime.now(UTC))
    end: Json = {"exitCode": code, "finishedAt": finished}
    if facts.started:
        end["startedAt"] = timestamp(facts.started)
    if facts.life is Life.EXITED:
        end["reason"] = "Completed" if code == 0 else "Error"
    else:
        end["reason"] = "ContainerStatusUnknown"
        message = message or _NEVER_FOUND
    if message:
        end["message"] = message
    return {
        "phase": "Succeeded" if code == 0 else "Failed",
        "conditions": _conditions(ready=False, at=finished),
        "containerStatuses": [_container(pod, {"terminated": end})],
    }


def _container(pod: Json, state: Json) -> Json:
    [image] = [container["image"] for container in pod["spec"]["containers"]]
    return {
        "name": DRIVER_CONTAINER,
        "image": image,
        "imageID": "",
        "containerID": f"process://{pod['metadata']['uid']}",
        "ready": "running" in state,
        "started": "running" in state,
        "restartCount": 0,
        "state": state,
    }


def _conditions(*, ready: bool, at: str) -> list[Json]:
    readiness = {"status": "True" if ready else "False", "lastTransitionTime": at}
    if not ready:
        readiness["reason"] = "PodCompleted"
    return [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": at},
        {"type": "Initialized", "status": "True", "lastTransitionTime": at},
        {"type": "ContainersReady", **readiness},
        {"type": "Ready", **readiness},
    ]


def _tail(path: Path, limit: int) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - limit))
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
