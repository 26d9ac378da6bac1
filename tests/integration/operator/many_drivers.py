"""Hundreds of drivers at once, played over one connection: requests that each open one of their own cost more than all else."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection
from queue import Empty, Queue
from threading import Event, Thread
from types import TracebackType
from typing import Self

from integration.objects import MERGE, Objects
from integration.operator.played import (
    SPARK,
    Played,
    committed,
    driver_pod,
    lost_a_race,
    now,
    status_of_driver,
)
from sluice.api import names
from sluice.api.base import Json

WATCH_SECONDS = 1


class Followed:
    """What becomes of the objects of one kind from now on, as a thread of its own learns it: the API server forgets it soon."""

    def __init__(self, objects: Objects, kind: str) -> None:
        self._objects, self._kind = objects, kind
        self._version = objects.version()
        self._over = Event()
        self._thread = Thread(target=self._follow, name=f"follows {kind}s", daemon=True)
        self.failure: Exception | None = None
        self.new: Queue[Json] = Queue()
        """Events that nobody has taken yet."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _follow(self) -> None:
        try:
            while not self._over.is_set():
                for event in self._objects.changes(self._kind, self._version, WATCH_SECONDS):
                    self._version = event["object"]["metadata"]["resourceVersion"]
                    self.new.put(event)
        except Exception as error:  # noqa: BLE001 - is raised where its events are taken
            self.failure = error

    def take(self, seconds: float) -> Json | None:
        """The next event; None if there is none within that time."""
        if self.failure is not None:
            raise self.failure
        try:
            return self.new.get(timeout=seconds) if seconds else self.new.get_nowait()
        except Empty:
            return None


@dataclass
class ManyDrivers:
    """Plays the drivers of all applications of a namespace: each begins at once, and ends as its job's losses say."""

    cluster: Played
    losses: Mapping[str, int]
    """How many attempts of a job lose a race, the first ones; those of other jobs succeed."""
    running: dict[str, Json] = field(default_factory=dict)
    """Applications of first attempts whose drivers run until they are told to end, by job."""

    def __post_init__(self) -> None:
        server = self.cluster.objects.server
        self._connection: HTTPConnection = server.connect()
        self._headers = {"Authorization": f"Bearer {server.token}", "Accept": "application/json"}

    def create_job(self, name: str, spec: Json) -> None:
        self._send(
            "POST",
            f"/apis/{names.API_VERSION}/namespaces/{self.cluster.namespace}/{names.JOB_PLURAL}",
            {
                "apiVersion": names.API_VERSION,
                "kind": names.JOB_KIND,
                "metadata": {"name": name},
                "spec": spec,
            },
        )

    def begins(self, application: Json) -> None:
        labels = application["metadata"]["labels"]
        job, attempt = labels[names.LABEL_JOB], int(labels[names.LABEL_ATTEMPT])
        pod = driver_pod(application)
        pod["spec"]["nodeName"] = "played"
        self._send("POST", self._pods(), {"apiVersion": "v1", "kind": "Pod", **pod})
        self._container(application, "Running", {"running": {"startedAt": now()}})
        if attempt == 1 and job in self.losses:
            self.running[job] = application
        else:
            self.ends(application, lost=attempt <= self.losses.get(job, 0))

    def first_one_loses(self, job: str) -> None:
        self.ends(self.running.pop(job), lost=True)

    def ends(self, application: Json, *, lost: bool) -> None:
        code, message = (1, lost_a_race()) if lost else (0, committed("file:/lake/played"))
        terminated = {
            "exitCode": code,
            "reason": "Error" if lost else "Completed",
            "message": message,
            "finishedAt": now(),
        }
        self._container(application, "Failed" if lost else "Succeeded", {"terminated": terminated})
        state = {"state": "FAILED" if lost else "COMPLETED", "errorMessage": "exit code 1" if lost else ""}
        group, version = SPARK
        place = f"/apis/{group}/{version}/namespaces/{self.cluster.namespace}/sparkapplications"
        status = {"applicationState": state, "driverInfo": {}, "sparkApplicationId": "spark-played"}
        self._send("PATCH", f"{place}/{application['metadata']['name']}/status", {"status": status})

    def _container(self, application: Json, phase: str, state: Json) -> None:
        name = application["spec"]["driver"]["podName"]
        self._send("PATCH", f"{self._pods()}/{name}/status", {"status": status_of_driver(phase, state)})

    def _pods(self) -> str:
        return f"/api/v1/namespaces/{self.cluster.namespace}/pods"

    def _send(self, method: str, path: str, body: Json) -> None:
        content = MERGE if method == "PATCH" else "application/json"
        self._connection.request(method, path, json.dumps(body), self._headers | {"Content-Type": content})
        response = self._connection.getresponse()
        answer = response.read().decode("utf-8")
        assert response.status in (200, 201), f"{method} {path}: {response.status}: {answer[:2000]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
