"""The Spark operator and the kubelet, played against the real API server: a driver for each application, which runs and ends."""

import threading
from dataclasses import dataclass, field
from http.client import HTTPException
from random import Random
from time import monotonic
from typing import Self

from kubernetes.client import ApiException
from urllib3.exceptions import HTTPError

from integration.objects import RefusedRequestError
from integration.operator.played import Played, committed
from sluice.api import names
from sluice.api.base import Json
from sluice.engines import is_placeholder
from sluice.leases import Lease

LOOK_EVERY = 0.1
LONGEST_RUN = 0.6
FAILS = "fails"
"""In the name of a job whose driver fails."""
ENDLESS = "unwanted"
"""In the name of a job whose driver ends only when it is told to."""
_LOST_RACES = (404, 409, 422)
_ENDED = ("COMPLETED", "FAILED")


@dataclass
class Engine(threading.Thread):
    cluster: Played
    chance: Random
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(name="played engine", daemon=True)
        self._stopping = threading.Event()
        self._ends: dict[str, float] = {}

    def __hash__(self) -> int:
        return id(self)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self.join(60)

    def run(self) -> None:
        while not self._stopping.wait(LOOK_EVERY):
            try:
                self._look()
            except (HTTPError, HTTPException, OSError):
                continue  # the API server is away; both ask again
            except (ApiException, RefusedRequestError) as error:
                if error.status < 500 and error.status != 429:
                    self.faults.append(f"the played engine failed: {error}")
                    raise
            except Exception as error:
                self.faults.append(f"the played engine failed: {error!r}")
                raise

    def _look(self) -> None:
        pods = {pod["metadata"]["name"]: pod for pod in self.cluster.pods()}
        for application in self.cluster.applications():
            _unless_it_changed(self._operate, application, pods.get(_driver(application)))
        for pod in pods.values():
            if not is_placeholder(pod):
                _unless_it_changed(self._keep, pod)

    # As the Spark operator

    def _operate(self, application: Json, pod: Json | None) -> None:
        name = application["metadata"]["name"]
        state = application.get("status", {}).get("applicationState", {}).get("state", "")
        own = pod is not None and _owner(pod) == application["metadata"]["uid"]
        if "deletionTimestamp" in application["metadata"]:
            if own and pod is not None and "deletionTimestamp" not in pod["metadata"]:
                self.cluster.delete_pod_gently(_driver(application))
        elif state == "" and pod is None:
            self.cluster.driver_for(application)
        elif state == "":
            self.cluster.application_is(name, "SUBMITTED" if own else "FAILED", "" if own else "name taken")
        elif state == "SUBMITTED" and pod is not None and is_running(pod):
            self.cluster.application_is(name, "RUNNING", driver=f"spark-{name}")
        elif state not in _ENDED and pod is not None and (ended := _ended(pod)) is not None:
            self.cluster.application_is(name, "COMPLETED" if ended == 0 else "FAILED", "")
        elif state not in _ENDED and pod is None:
            self.cluster.application_is(name, "FAILED", "driver pod not found")

    # As the kubelet

    def _keep(self, pod: Json) -> None:
        driver = self.cluster.driver_named(pod["metadata"]["name"].removesuffix("-driver"))
        if _ended(pod) is not None:
            if "deletionTimestamp" in pod["metadata"] and pod["metadata"].get("deletionGracePeriodSeconds"):
                self.cluster.delete_pod(driver.pod)
        elif "deletionTimestamp" in pod["metadata"]:
            driver.container_ends(143)
        elif not is_running(pod):
            if not pod["spec"].get("nodeName"):
                self.cluster.bind(driver.pod)
            driver.container_runs()
        else:
            self._may_end(pod, driver.application)

    def _may_end(self, pod: Json, application: str) -> None:
        lease = Lease.from_json(pod["metadata"]["annotations"][names.ANNOTATION_LEASE])
        if ENDLESS in lease.job:
            return
        due = self._ends.setdefault(application, monotonic() + self.chance.uniform(0, LONGEST_RUN))
        if monotonic() >= due:
            driver = self.cluster.driver_named(application)
            if FAILS in lease.job:
                driver.container_ends(1)
            else:
                driver.container_ends(0, committed(lease.tables[0]))


def _unless_it_changed(do: object, *about: object) -> None:
    """What is gone, or has been changed, is looked at again."""
    assert callable(do)
    try:
        do(*about)
    except ApiException as error:
        if error.status not in _LOST_RACES:
            raise


def _driver(application: Json) -> str:
    return str(application["spec"]["driver"]["podName"])


def _owner(pod: Json) -> str | None:
    owners = pod["metadata"].get("ownerReferences") or []
    return owners[0]["uid"] if owners else None


def is_running(pod: Json) -> bool:
    return bool((pod.get("status") or {}).get("phase") == "Running")


def _ended(pod: Json) -> int | None:
    for container in (pod.get("status") or {}).get("containerStatuses") or []:
        if "terminated" in (container.get("state") or {}):
            return int(container["state"]["terminated"]["exitCode"])
    return None
