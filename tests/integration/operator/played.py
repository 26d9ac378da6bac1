"""A cluster as the operator sees it, in which the test itself is the Spark operator, the kubelet and the user.

Every order of events can be made so, also those that real components show once in a thousand runs.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kubernetes import client
from redis import Redis

from integration import evidence
from integration.objects import Objects
from integration.waiting import PATIENCE, eventually
from sluice.api import names
from sluice.api.base import Json

SPARK = ("sparkoperator.k8s.io", "v1beta2")


@dataclass(frozen=True)
class Played:
    api: client.ApiClient
    objects: Objects
    redis_url: str
    log: Path | None = None
    """The log of its operator, where many tests share one."""

    @property
    def namespace(self) -> str:
        return self.objects.namespace

    @property
    def _custom(self) -> client.CustomObjectsApi:
        return client.CustomObjectsApi(self.api)

    @property
    def _core(self) -> client.CoreV1Api:
        return client.CoreV1Api(self.api)

    def evidence(self) -> Iterator[evidence.Part]:
        yield from evidence.resources(self.objects)
        yield from evidence.redis_keys(self.redis_url)
        if self.log is not None:
            yield str(self.log), evidence.end_of(self.log)

    # The user's side

    def apply(self, name: str, spec: Any, metadata: Json | None = None) -> str:
        """Creates a job and gives its uid."""
        body = {
            "apiVersion": names.API_VERSION,
            "kind": names.JOB_KIND,
            "metadata": {"name": name} | (metadata or {}),
            "spec": spec,
        }
        created = self._custom.create_namespaced_custom_object(
            names.GROUP, names.VERSION, self.namespace, names.JOB_PLURAL, body
        )
        return str(_body(created)["metadata"]["uid"])

    def policy(self, name: str) -> Json:
        found = self.objects.get("deltatablepolicy", name)
        assert found is not None, f"policy {name} is gone"
        return found

    def policy_is(self, name: str, reason: str) -> Json:
        """The policy once its status has this reason, for its spec of now."""

        def told() -> Json | None:
            policy = self.policy(name)
            status = policy.get("status") or {}
            is_told = status.get("reason") == reason
            return (
                policy
                if is_told and status.get("observedGeneration") == policy["metadata"]["generation"]
                else None
            )

        return eventually(told, f"policy {name} is {reason}", show=lambda: self.policy(name))

    def change_policy(self, name: str, patch: Json) -> None:
        self._custom.patch_namespaced_custom_object(
            names.GROUP, names.VERSION, self.namespace, names.POLICY_PLURAL, name, patch
        )

    def declare(self, name: str, spec: Json) -> None:
        """Creates a policy."""
        body = {
            "apiVersion": names.API_VERSION,
            "kind": names.POLICY_KIND,
            "metadata": {"name": name},
            "spec": spec,
        }
        self._custom.create_namespaced_custom_object(
            names.GROUP, names.VERSION, self.namespace, names.POLICY_PLURAL, body
        )

    def change(self, name: str, patch: Json) -> None:
        self._custom.patch_namespaced_custom_object(
            names.GROUP, names.VERSION, self.namespace, names.JOB_PLURAL, name, patch
        )

    def delete(self, name: str) -> None:
        self._custom.delete_namespaced_custom_object(
            names.GROUP, names.VERSION, self.namespace, names.JOB_PLURAL, name
        )

    def job(self, name: str) -> Json | None:
        return self.objects.get("deltawritejob", name)

    def jobs(self) -> list[Json]:
        return self.objects.every("deltawritejob")

    def status(self, name: str) -> Json:
        return (self.job(name) or {}).get("status") or {}

    def reaches(self, name: str, phase: str, *, seconds: float = PATIENCE) -> Json:
        """The job's status once it is in this phase."""
        return eventually(
            lambda: (status := self.status(name)).get("phase") == phase and status,
            f"{name} is {phase}",
            seconds=seconds,
            show=lambda: self.status(name),
        )

    def keeps(self, name: str, field: str) -> Any:
        """Returns what the status says there, once it says anything."""
        return eventually(lambda: self.status(name).get(field), f"{name} tells its {field}", seconds=PATIENCE)

    def events_of(self, name: str) -> list[str]:
        return self._events_about(names.JOB_KIND, name)

    def messages_of(self, name: str, reason: str) -> list[str]:
        """What Events of this reason say."""
        events = self.objects.every("event", fieldSelector=f"involvedObject.name={name},reason={reason}")
        return [event.get("message", "") for event in events]

    def events_of_policy(self, name: str) -> list[str]:
        return self._events_about(names.POLICY_KIND, name)

    def events_of_the_operator(self) -> list[str]:
        return self._events_about("Lease", "sluice-leader")

    def _events_about(self, kind: str, name: str) -> list[str]:
        about = f"involvedObject.name={name},involvedObject.kind={kind}"
        return [event.get("reason", "") for event in self.objects.every("event", fieldSelector=about)]

    def holders(self) -> set[str]:
        """Who holds leases, by Redis: uid/attempt."""
        with Redis.from_url(self.redis_url, decode_responses=True) as redis:
            return set(redis.hkeys("sluice:{sluice}:leases"))

    def writes_since(self, version: str) -> list[str]:
        """Every write to jobs, applications and pods since then, in words; whoever made it."""
        return [
            f"{event['type']} {event['object']['kind']} {event['object']['metadata']['name']}"
            for kind in ("deltawritejob", "sparkapplication", "pod")
            for event in self.objects.history(kind, version)
        ]

    def leader_lease(self) -> Json:
        """The Lease object of the operator whose namespace this is."""
        lease = self.objects.get("lease", "sluice-leader")
        assert lease is not None, "no operator has led in this namespace"
        return lease

    def operator_condition(self, type_: str) -> Json:
        """Returns the condition as the operator tells it; empty if it doesn't."""
        annotations = self.leader_lease()["metadata"].get("annotations", {})
        conditions = json.loads(annotations.get(names.ANNOTATION_CONDITIONS, "[]"))
        return next((condition for condition in conditions if condition["type"] == type_), {})

    def operator_tells(self, type_: str, status: str) -> Json:
        """The condition once it has this status."""
        return eventually(
            lambda: (said := self.operator_condition(type_)).get("status") == status and said,
            f"the operator's condition {type_} is {status}",
            show=self.leader_lease,
        )

    # The Spark operator's side

    def applications(self) -> list[Json]:
        return self.objects.every("sparkapplication")

    def applications_of(self, uid: str) -> list[Json]:
        return [app for app in self.applications() if app["metadata"]["labels"][names.LABEL_JOB_UID] == uid]

    def application(self, name: str) -> Json | None:
        return self.objects.get("sparkapplication", name)

    def apply_application(self, body: Json) -> None:
        """Somebody's own."""
        self._custom.create_namespaced_custom_object(*SPARK, self.namespace, "sparkapplications", body)

    def apply_pod(self, body: Json) -> None:
        self._core.create_namespaced_pod(self.namespace, client.V1Pod.model_validate(body))

    def write_status(self, job: str, status: Json) -> None:
        """Writes a status that only the operator should write, as a user with too many rights may."""
        self._custom.patch_namespaced_custom_object_status(
            names.GROUP, names.VERSION, self.namespace, names.JOB_PLURAL, job, {"status": status}
        )

    def condition(self, job: str, type_: str) -> Json:
        conditions = self.status(job).get("conditions", [])
        return next((condition for condition in conditions if condition["type"] == type_), {})

    def delete_application(self, name: str) -> None:
        self._custom.delete_namespaced_custom_object(*SPARK, self.namespace, "sparkapplications", name)

    def patch_application(self, name: str, patch: Json) -> None:
        self._custom.patch_namespaced_custom_object(*SPARK, self.namespace, "sparkapplications", name, patch)

    def application_is(self, name: str, state: str, error: str = "", *, driver: str | None = None) -> None:
        """`driver`: the id of the driver that was found; what was said of one before stays."""
        found = {"sparkApplicationId": driver} if driver is not None else {}
        self._custom.patch_namespaced_custom_object_status(
            *SPARK,
            self.namespace,
            "sparkapplications",
            name,
            {
                "status": {
                    "applicationState": {"state": state, "errorMessage": error},
                    "driverInfo": {},
                    **found,
                }
            },
        )

    def submitted(self, job: str) -> "Driver":
        """The job's application, once it is there, with a driver pod that waits for its node."""
        application = eventually(lambda: self._latest_application(job), f"{job} has a SparkApplication")
        return self.driver_for(application)

    def driver_for(self, application: Json) -> "Driver":
        name = application["metadata"]["name"]
        self.apply_pod(driver_pod(application))
        self.application_is(name, "SUBMITTED")
        return self.driver_named(name)

    def driver_named(self, application: str) -> "Driver":
        return Driver(self, application)

    def _latest_application(self, job: str) -> Json | None:
        attempts = self.status(job).get("attempts") or []
        return self.application(attempts[-1]["application"]) if attempts else None

    def start(self, job: str) -> "Driver":
        driver = self.submitted(job)
        driver.runs()
        return driver

    # The kubelet's side

    def pod(self, name: str) -> Json | None:
        return self.objects.get("pod", name)

    def pods(self) -> list[Json]:
        return self.objects.every("pod")

    def patch_pod_status(self, name: str, status: Json) -> None:
        self._core.patch_namespaced_pod_status(name, self.namespace, {"status": status})

    def patch_pod(self, name: str, patch: Json) -> None:
        self._core.patch_namespaced_pod(name, self.namespace, patch)

    def delete_pod(self, name: str) -> None:
        self._core.delete_namespaced_pod(name, self.namespace, grace_period_seconds=0)

    def evict_pod(self, name: str) -> None:
        body = client.V1Eviction(metadata=client.V1ObjectMeta(name=name, namespace=self.namespace))
        self._core.create_namespaced_pod_eviction(name, self.namespace, body)

    def delete_pod_gently(self, name: str) -> None:
        """Tells its kubelet to end it, if it is on a node."""
        self._core.delete_namespaced_pod(name, self.namespace)

    def bind(self, pod: str) -> None:
        self._core.create_namespaced_pod_binding(
            pod,
            self.namespace,
            client.V1Binding(
                metadata=client.V1ObjectMeta(name=pod),
                target=client.V1ObjectReference(api_version="v1", kind="Node", name="played"),
            ),
            _preload_content=False,
        )


@dataclass(frozen=True)
class Driver:
    cluster: Played
    application: str

    @property
    def pod(self) -> str:
        return f"{self.application}-driver"

    def runs(self, since: str | None = None) -> None:
        self.cluster.bind(self.pod)
        self.container_runs(since)
        self.cluster.application_is(self.application, "RUNNING", driver=f"spark-{self.application}")

    def container_runs(self, since: str | None = None) -> None:
        self._container("Running", {"running": {"startedAt": since or now()}})

    def has_no_node(self, reason: str, message: str) -> None:
        """Its scheduler says why."""
        condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
        self.cluster.patch_pod_status(self.pod, {"phase": "Pending", "conditions": [condition]})

    def container_waits(self, reason: str, message: str) -> None:
        """It has a node, which can't start it."""
        self.cluster.bind(self.pod)
        self._container("Pending", {"waiting": {"reason": reason, "message": message}})

    def container_is_ended_unstarted(self) -> None:
        """As a kubelet says of a container that it has never made, once it is told to end its pod."""
        terminated = {
            "exitCode": 137,
            "reason": "ContainerStatusUnknown",
            "message": "The container could not be located when the pod was terminated",
            "startedAt": None,
            "finishedAt": None,
        }
        self._container("Failed", {"terminated": terminated})

    def ends(self, exit_code: int, message: str = "", *, reason: str = "") -> None:
        self.container_ends(exit_code, message, reason=reason)
        application = self.cluster.application(self.application)
        # One that is being deleted may be gone as soon as its driver is.
        if application is not None and "deletionTimestamp" not in application["metadata"]:
            failed = f"driver container failed with ExitCode: {exit_code}, Reason: Error"
            state = ("COMPLETED", "") if exit_code == 0 else ("FAILED", failed)
            self.cluster.application_is(self.application, *state)

    def container_ends(self, exit_code: int, message: str = "", *, reason: str = "") -> None:
        terminated = {
            "exitCode": exit_code,
            "reason": reason or ("Completed" if exit_code == 0 else "Error"),
            "message": message,
            "startedAt": now(),
            "finishedAt": now(),
        }
        self._container("Succeeded" if exit_code == 0 else "Failed", {"terminated": terminated})

    def has_ended_batches(self, number: int, table: str, version: int = 1) -> None:
        """As the runner of a stream says on its pod."""
        said = {
            "statement": 1,
            "of": 1,
            "operation": "STREAM",
            "since": now(),
            "stream": streamed(number, table, version),
        }
        self.cluster.patch_pod(
            self.pod, {"metadata": {"annotations": {names.ANNOTATION_PROGRESS: json.dumps(said)}}}
        )

    def is_asked_to_stop(self) -> Json:
        """What stands on its pod, once it is asked to stop at a batch boundary."""

        def asked() -> Json | None:
            metadata = (self.cluster.pod(self.pod) or {}).get("metadata") or {}
            said = (metadata.get("annotations") or {}).get(names.ANNOTATION_STOP)
            return None if said is None else _body(json.loads(said))

        return eventually(asked, f"{self.pod} is asked to stop", show=lambda: self.cluster.pod(self.pod))

    def stops(self, number: int, table: str, version: int = 1) -> None:
        """Ends at a batch boundary, as it was asked to."""
        told = {
            "version": 1,
            "outcome": "Paused",
            "attempt": 1,
            "statements": [],
            "stream": streamed(number, table, version),
        }
        self.ends(0, json.dumps(told))

    def succeeds(self, table: str, version: int = 1) -> None:
        self.ends(0, committed(table, version))

    def vanishes(self) -> None:
        """Goes as after `kubectl delete --force` with the finalizer taken off by hand: nothing says how it ended."""
        self.cluster.patch_pod(self.pod, {"metadata": {"finalizers": None}})
        if self.cluster.pod(self.pod) is not None:
            self.cluster.delete_pod(self.pod)

    def _container(self, phase: str, state: Json) -> None:
        self.cluster.patch_pod_status(self.pod, status_of_driver(phase, state))


def status_of_driver(phase: str, state: Json) -> Json:
    """The status of a driver's pod whose container is in this state, as a kubelet writes it."""
    container = {
        "name": "spark-kubernetes-driver",
        "image": "none",
        "imageID": "none",
        "ready": phase == "Running",
        "restartCount": 0,
        "state": state,
    }
    return {"phase": phase, "containerStatuses": [container]}


def committed(table: str, version: int = 1, operation: str = "WRITE") -> str:
    """What the runner leaves when all went well."""
    return json.dumps(
        {
            "version": 1,
            "outcome": "Succeeded",
            "attempt": 1,
            "statements": [
                {
                    "number": 1,
                    "state": "Committed",
                    "operation": operation,
                    "commits": [
                        {
                            "table": table,
                            "version": version,
                            "operation": operation,
                            "metrics": {"numFiles": 3},
                        }
                    ],
                }
            ],
        }
    )


def streamed(batches: int, table: str, version: int) -> Json:
    """How far a stream has come, as its runner says."""
    return {
        "queryId": "0b5c",
        "batch": batches - 1,
        "batches": batches,
        "rows": 10,
        "batchAt": now(),
        "batchSeconds": 1,
        "lag": {"files": 0},
        "lastCommit": {"table": table, "version": version},
    }


def stream(table: str, source: str = "/lake/raw", *, checkpoint: str = "", **more: Any) -> Json:
    """A stream that appends to a table for ever."""
    return {
        "stream": {
            "source": {"format": "delta", "path": source},
            "table": {"path": table},
            "checkpoint": checkpoint or f"{table}/_checkpoints/of-it",
            "trigger": {"processingTime": "1 second"},
            **more,
        }
    }


def set_property(table: str, **more: Any) -> Json:
    return {"sql": f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('note' = 'x')", **more}


def lost_a_race() -> str:
    """The result of a driver whose commit Delta refused for another's."""
    return json.dumps(
        {
            "version": 1,
            "outcome": "Failed",
            "attempt": 1,
            "statements": [],
            "exception": {
                "class": "ConcurrentAppendException",
                "errorClass": "DELTA_CONCURRENT_APPEND",
                "sqlState": "2D521",
                "message": "Files were added",
                "statement": 1,
                "partition": "date=2026-11-19",
                "retriable": True,
                "conflictingCommit": {
                    "version": 5,
                    "operation": "WRITE",
                    "engine": "delta-rs:1.6.6",
                    "stamp": None,
                    "foreign": True,
                },
            },
        }
    )


def told_to_end() -> str:
    """The result of a driver that got SIGTERM."""
    exception = {"class": "Terminated", "message": "ended by SIGTERM", "statement": 1}
    told = {"version": 1, "outcome": "Failed", "attempt": 1, "statements": [], "exception": exception}
    return json.dumps(told)


def append(table: str, **more: Any) -> Json:
    return {"sql": f"INSERT INTO delta.`{table}` VALUES (1)", **more}


def rewrite(table: str, **more: Any) -> Json:
    return {"sql": f"DELETE FROM delta.`{table}` WHERE id = 1", **more}


def driver_pod(application: Json) -> Json:
    metadata, driver = application["metadata"], application["spec"]["driver"]
    template = driver.get("template", {})
    given = template.get("metadata", {})
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
            "ownerReferences": [
                {
                    "apiVersion": "/".join(SPARK),
                    "kind": "SparkApplication",
                    "name": metadata["name"],
                    "uid": metadata["uid"],
                }
            ],
        },
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "spark-kubernetes-driver", "image": "none"}],
        },
    }


def _body(answer: object) -> Json:
    assert isinstance(answer, dict), answer
    return answer


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
