"""The Spark operator and the kubelet, played with as few writes as tell the operator what it must know."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum

from bench.admission.cluster import Cluster

from sluice.api.base import Json
from sluice.engines.attempt import driver_pod_name
from sluice.kube.resources import KUBEFLOW_APPLICATIONS, PODS

CONTAINER = "spark-kubernetes-driver"


class Play(StrEnum):
    """What becomes of a SparkApplication."""

    NOTHING = "nothing"
    RUNS = "runs"
    ENDS = "ends"


class Drivers:
    """Follows every SparkApplication once it is seen; they run beside one another, and nobody waits for them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.play = Play.NOTHING
        self.running: set[str] = set()
        """Applications whose driver runs."""

    def runs(self, application: str) -> Callable[[], bool]:
        return lambda: application in self.running

    def heed(self, application: Json) -> None:
        match self.play:
            case Play.RUNS:
                self._cluster.soon(self.start(application))
            case Play.ENDS:
                self._cluster.soon(self.run_through(application))
            case Play.NOTHING:
                pass

    async def start(self, application: Json) -> None:
        name = application["metadata"]["name"]
        await self._cluster.create(PODS, driver_pod(application))
        await self._container(name, "Running", {"running": {"startedAt": _now()}})
        await self._application_is(name, "RUNNING")
        self.running.add(name)

    async def run_through(self, application: Json) -> None:
        """Plays a driver that ends at once: three writes."""
        await self._cluster.create(PODS, driver_pod(application))
        await self.end(application)

    async def end(self, application: Json) -> None:
        await self._ends(application, _committed(application))

    async def pause(self, application: Json, progress: Json) -> None:
        """Plays the driver of a stream that was asked to stop."""
        stopped = {
            "version": 1,
            "outcome": "Paused",
            "attempt": 1,
            "statements": [],
            "stream": progress["stream"],
        }
        await self._ends(application, json.dumps(stopped))

    async def _ends(self, application: Json, result: str) -> None:
        name = application["metadata"]["name"]
        terminated = {
            "exitCode": 0,
            "reason": "Completed",
            "message": result,
            "startedAt": _now(),
            "finishedAt": _now(),
        }
        await self._container(name, "Succeeded", {"terminated": terminated})
        await self._application_is(name, "COMPLETED")
        self.running.discard(name)

    async def leave_behind(self, application: Json) -> None:
        """Leaves what an attempt that ended long ago leaves behind: a driver's pod that nothing waits for any more."""
        pod = driver_pod(application)
        del pod["metadata"]["finalizers"]
        await self._cluster.create(PODS, pod)
        await self.end(application)

    async def _application_is(self, name: str, state: str) -> None:
        status = {"status": {"applicationState": {"state": state, "errorMessage": ""}, "driverInfo": {}}}
        await self._cluster.patch(KUBEFLOW_APPLICATIONS, name, status, sub="status")

    async def _container(self, application: str, phase: str, state: Json) -> None:
        container = {
            "name": CONTAINER,
            "image": "none",
            "imageID": "none",
            "ready": phase == "Running",
            "restartCount": 0,
            "state": state,
        }
        status = {"status": {"phase": phase, "containerStatuses": [container]}}
        await self._cluster.patch(PODS, driver_pod_name(application), status, sub="status")


def driver_pod(application: Json) -> Json:
    """The pod as the Spark operator's submission makes it from the application's template."""
    metadata, driver = application["metadata"], application["spec"]["driver"]
    given = driver.get("template", {}).get("metadata", {})
    return {
        "metadata": {
            "name": driver["podName"],
            "labels": {
                **driver.get("labels", {}),
                **given.get("labels", {}),
                "spark-role": "driver",
                "sparkoperator.k8s.io/app-name": metadata["name"],
            },
            "annotations": given.get("annotations", {}),
            "finalizers": given.get("finalizers", []),
        },
        "spec": {"restartPolicy": "Never", "containers": [{"name": CONTAINER, "image": "none"}]},
    }


def _committed(application: Json) -> str:
    """What the runner leaves when all went well."""
    job = application["metadata"]["ownerReferences"][0]["name"]
    commit = {"table": f"file:/{job}", "version": 1, "operation": "DELETE", "metrics": {"numFiles": 3}}
    statement = {"number": 1, "state": "Committed", "operation": "DELETE", "commits": [commit]}
    return json.dumps({"version": 1, "outcome": "Succeeded", "attempt": 1, "statements": [statement]})


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
