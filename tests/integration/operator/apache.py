"""Apache's Spark operator as a test plays it: its objects, its states in their order, and what it does when it is told to go.

It says of each step what that operator says, and keeps its own finalizer on an application until it is done with it.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kubernetes import client

from integration.operator.played import Driver, Played
from integration.waiting import eventually
from sluice.api import names
from sluice.api.base import Json

DEFINITION = Path(__file__).parent / "apache_crd.yaml"
API = ("spark.apache.org", "v1")
PLURAL = "sparkapplications"
OWN_FINALIZER = "sparkapplications.spark.apache.org/finalizer"
LABEL_APPLICATION = "spark.operator/spark-app-name"


@dataclass(frozen=True)
class Apache:
    cluster: Played

    @property
    def _custom(self) -> client.CustomObjectsApi:
        return client.CustomObjectsApi(self.cluster.api)

    def applications(self) -> list[Json]:
        listed: Any = self._custom.list_namespaced_custom_object(*API, self.cluster.namespace, PLURAL)
        return list(listed["items"])

    def application(self, name: str) -> Json | None:
        return next((body for body in self.applications() if body["metadata"]["name"] == name), None)

    def application_of(self, job: str) -> Json:
        """The application of the job's latest attempt once it is there."""

        def found() -> Json | None:
            attempts = self.cluster.status(job).get("attempts") or []
            return self.application(attempts[-1]["application"]) if attempts else None

        return eventually(found, f"{job} has a SparkApplication", show=lambda: self.cluster.status(job))

    def takes_up(self, job: str) -> str:
        """Sees the application for the first time; returns its name."""
        body = self.application_of(job)
        name = str(body["metadata"]["name"])
        finalizers = [*body["metadata"]["finalizers"], OWN_FINALIZER]
        self._patch(name, {"metadata": {"finalizers": finalizers}})
        self.says(name, "Submitted", "Spark application has been created on Kubernetes Cluster.")
        return name

    def submitted(self, job: str) -> "ApacheDriver":
        """Has the driver's pod created, which waits for its node."""
        name = self.takes_up(job)
        body = self.application(name)
        assert body is not None
        self.cluster.apply_pod(_driver_pod(body))
        self.says(name, "DriverRequested", "Requested driver from resource scheduler.")
        return ApacheDriver(self.cluster, name)

    def start(self, job: str) -> "ApacheDriver":
        driver = self.submitted(job)
        driver.runs()
        return driver

    def says(self, name: str, *states: str) -> None:
        """Says the first of them, with the second as its message."""
        summary, message = (*states, "")[:2]
        body = self.application(name)
        assert body is not None
        status: Json = body.get("status") or {}
        history = status.get("stateTransitionHistory") or {}
        at = datetime.now(UTC).isoformat()
        state = {"currentStateSummary": summary, "lastTransitionTime": at, "message": message}
        told = {
            "currentState": state,
            "stateTransitionHistory": {**history, str(len(history)): state},
            "currentAttemptSummary": {"attemptInfo": {"id": 0, "restartCounter": 0}},
        }
        self._custom.patch_namespaced_custom_object_status(
            *API, self.cluster.namespace, PLURAL, name, {"status": told}
        )

    def is_done_with(self, name: str) -> None:
        """Takes its own finalizer off. Others take off theirs at the same time: what was read is written only if it is still so."""
        while True:
            body = self.application(name)
            assert body is not None
            metadata = body["metadata"]
            left = [one for one in metadata.get("finalizers", []) if one != OWN_FINALIZER]
            seen = {"resourceVersion": metadata["resourceVersion"], "finalizers": left}
            try:
                self._patch(name, {"metadata": seen})
            except client.ApiException as error:
                if error.status != 409:
                    raise
            else:
                return

    def delete(self, name: str) -> None:
        self._custom.delete_namespaced_custom_object(*API, self.cluster.namespace, PLURAL, name)

    def _patch(self, name: str, patch: Json) -> None:
        self._custom.patch_namespaced_custom_object(*API, self.cluster.namespace, PLURAL, name, patch)

    def let_go(self, job_uid: str, application: str) -> None:
        """Waits until nothing of the attempt stands for leases any more."""

        def done() -> bool:
            bodies = (self.application(application), self.cluster.pod(f"{application}-driver"))
            held = [
                body
                for body in bodies
                if body and names.FINALIZER_LEASE in body["metadata"].get("finalizers", [])
            ]
            return not held and not any(holder.startswith(job_uid) for holder in self.cluster.holders())

        eventually(done, f"finalizers of {application} are off and its leases are released")


@dataclass(frozen=True)
class ApacheDriver(Driver):
    @property
    def _operator(self) -> Apache:
        return Apache(self.cluster)

    def runs(self, since: str | None = None) -> None:
        self.cluster.bind(self.pod)
        self.container_runs(since)
        self._operator.says(self.application, "DriverStarted", "Driver has started running.")
        self._operator.says(self.application, "DriverReady", "Driver has reached ready state.")
        self._operator.says(self.application, "RunningHealthy", "Application is running healthy.")

    def ends(self, exit_code: int, message: str = "", *, reason: str = "") -> None:
        self.container_ends(exit_code, message, reason=reason)
        if exit_code == 0:
            self._operator.says(self.application, "Succeeded", "Spark application completed successfully.")
        else:
            self._operator.says(self.application, "Failed", "Driver has one or more failed containers.")
        self.is_over()

    def is_over(self) -> None:
        """Comes to the last state, with the pod left as it is."""
        self._operator.says(
            self.application, "TerminatedWithoutReleaseResources", "Application is terminated."
        )


def _driver_pod(application: Json) -> Json:
    metadata, spec = application["metadata"], application["spec"]
    template = spec["driverSpec"]["podTemplateSpec"]
    given = template.get("metadata", {})
    container = next(
        one for one in template["spec"]["containers"] if one["name"] == "spark-kubernetes-driver"
    )
    return {
        "metadata": {
            "name": spec["sparkConf"]["spark.kubernetes.driver.pod.name"],
            "labels": {
                **given.get("labels", {}),
                "spark-role": "driver",
                "spark-app-selector": f"{metadata['name']}-0",
                "spark.operator/name": "spark-kubernetes-operator",
                LABEL_APPLICATION: metadata["name"],
            },
            "annotations": given.get("annotations", {}),
            "finalizers": given.get("finalizers", []),
            "ownerReferences": [
                {
                    "apiVersion": "/".join(API),
                    "kind": "SparkApplication",
                    "name": metadata["name"],
                    "uid": metadata["uid"],
                }
            ],
        },
        "spec": {
            "restartPolicy": "Never",
            "containers": [
                container | {"image": spec["sparkConf"].get("spark.kubernetes.container.image", "none")}
            ],
        },
    }
