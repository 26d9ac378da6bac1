"""Plays scheduler and kubelet for driver pods that run as processes of this machine.

Pods are bound when there is room, started once, reported on, and ended when somebody deletes them: a pod that is bound to a node
and is being deleted stays until its kubelet says that its containers are dead. So what Sluice proves by looking at a pod is as
true here as on a real node.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from localengine import driverpod, podstatus, supervisor
from localengine.application import KIND, Application
from localengine.containerenv import CreateContainerConfigError, Fetch, Source, resolve
from localengine.driverpod import LOG_ANNOTATION, SCHEDULER, Runtime
from localengine.node import Node
from localengine.objects import BINDINGS, delete, find
from localengine.processes import Drivers, Facts, Life
from sluice.api.base import Json
from sluice.kube.client import ApiError, ConflictError, Kube, NotFoundError
from sluice.kube.mirror import Mirror
from sluice.kube.resources import KUBEFLOW_APPLICATIONS, PODS, Resource

_log = logging.getLogger(__name__)

LOOK_AGAIN = 0.2
CONFIG_RETRY = 5.0
GRACE_OF_THE_VANISHED = timedelta(seconds=2)


class Kubelet:
    def __init__(
        self,
        *,
        kube: Kube,
        node: Node,
        pods: Mirror,
        applications: Mirror,
        drivers: Drivers,
        runtime: Runtime,
        limit: int,
        look_at: Callable[[str], None],
    ) -> None:
        self._kube = kube
        self._node = node
        self._pods = pods
        self._applications = applications
        self._drivers = drivers
        self._runtime = runtime
        self._limit = limit
        self._look_at = look_at
        self._deadlines: dict[str, datetime] = {}
        self._bound: set[str] = set()
        self._scheduling = asyncio.Lock()

    async def reconcile(self, uid: str) -> float | None:
        pod = self._pods.by_uid(uid)
        if pod is None:
            self._bound.discard(uid)
            return self._end_vanished(uid)
        if pod["spec"].get("schedulerName") != SCHEDULER:
            return None
        if not _is_deleted(pod) and await self._is_orphan(pod):
            _log.info("%s: its application is gone, deleting it", _name(pod))
            await delete(self._kube, PODS, pod)
            return None
        node = pod["spec"].get("nodeName")
        if node is None:
            await self.schedule()
            return None
        return await self._run(pod) if node == self._node.name else None

    async def schedule(self) -> None:
        """Binds the oldest pods that may start, as many as there is room for."""
        async with self._scheduling:
            waiting = sorted(filter(self._is_waiting, self._pods.values()), key=_age)
            for pod in waiting:
                if len(self._holders()) >= self._limit:
                    await self._tell_full(pod)
                else:
                    await self._bind(pod)

    async def stop_drivers(self, patience: float) -> list[str]:
        """Ends every driver process; returns the pods' names (or ids, where the pod is gone)."""
        for uid in self._drivers.known():
            self._drivers.seal(uid)  # a supervisor may be on its way to one that was to start just now
        stopped = self._drivers.running()
        for uid in stopped:
            self._drivers.terminate(uid)
        deadline = asyncio.get_running_loop().time() + patience
        while self._drivers.running():
            if asyncio.get_running_loop().time() > deadline:
                for uid in self._drivers.running():
                    self._drivers.kill(uid)
            await asyncio.sleep(LOOK_AGAIN)
        for uid in stopped:
            await self.reconcile(uid)
        return [uid if (pod := self._pods.by_uid(uid)) is None else _name(pod) for uid in stopped]

    async def _run(self, pod: Json) -> float | None:
        uid = pod["metadata"]["uid"]
        facts = self._drivers.facts(uid)
        if facts.life is Life.UNBORN:
            if _is_deleted(pod) or _has_run(pod):
                self._drivers.seal(uid)
                facts = self._drivers.facts(uid)
            else:
                return await self._start(pod)
        if facts.over:
            return await self._report_end(pod, facts)
        if (pod.get("status") or {}).get("phase") != "Running":
            await self._patch_status(pod, podstatus.running(pod, facts))
        if _is_deleted(pod):
            self._end(uid, by=datetime.fromisoformat(pod["metadata"]["deletionTimestamp"]))
        return LOOK_AGAIN

    async def _start(self, pod: Json) -> float | None:
        uid = pod["metadata"]["uid"]
        application = await self._application(pod)
        if application is None or application.deleted:
            return LOOK_AGAIN
        [container] = pod["spec"]["containers"]
        try:
            variables = await resolve(pod, container, self._fetcher(application.namespace))
        except CreateContainerConfigError as error:
            await self._patch_status(pod, podstatus.waiting(pod, "CreateContainerConfigError", str(error)))
            _log.warning("%s can't start yet: %s", _name(pod), error)
            return CONFIG_RETRY
        folder = self._drivers.folder(uid)
        environment = driverpod.process_environment(self._runtime, variables, folder)
        await self._drivers.start(uid, driverpod.command(application, self._runtime), environment)
        log = folder / supervisor.LOG
        _log.info("%s started, log: %s", _name(pod), log)
        told = {"metadata": {"uid": uid, "annotations": {LOG_ANNOTATION: str(log)}}}
        await self._kube.patch(PODS, application.namespace, pod["metadata"]["name"], told)
        return 0.0

    async def _report_end(self, pod: Json, facts: Facts) -> float | None:
        uid = pod["metadata"]["uid"]
        self._deadlines.pop(uid, None)
        if not _is_reported(pod):
            [container] = pod["spec"]["containers"]
            folder = self._drivers.folder(uid)
            code = podstatus.exit_code(facts)
            policy = container.get("terminationMessagePolicy", "File")
            message = podstatus.termination_message(
                policy, code, folder / "termination-log", folder / supervisor.LOG
            )
            await self._patch_status(pod, podstatus.ended(pod, facts, message))
            _log.info("%s ended with exit code %s (%s)", _name(pod), code, facts.life.value)
        if _is_deleted(pod) and pod["metadata"].get("deletionGracePeriodSeconds"):
            await delete(self._kube, PODS, pod, grace_seconds=0)
        self._bound.discard(uid)
        await self.schedule()
        return None

    def _end_vanished(self, uid: str) -> float | None:
        """Ends processes whose pod was removed by force, or whose API server forgot it: a process must not outlive its pod."""
        facts = self._drivers.facts(uid)
        if facts.life is Life.UNBORN and self._drivers.folder(uid).exists():
            self._drivers.seal(uid)
        if facts.life is not Life.RUNNING:
            self._deadlines.pop(uid, None)
            return None
        if uid not in self._deadlines:
            _log.info("pod %s is gone, ending its process", uid)
        self._end(uid, by=self._deadlines.get(uid, datetime.now(UTC) + GRACE_OF_THE_VANISHED))
        return LOOK_AGAIN

    def _end(self, uid: str, by: datetime) -> None:
        first = uid not in self._deadlines
        self._deadlines[uid] = by
        if datetime.now(UTC) >= by:
            self._drivers.kill(uid)
        elif first:
            self._drivers.terminate(uid)

    def _is_waiting(self, pod: Json) -> bool:
        return (
            pod["spec"].get("schedulerName") == SCHEDULER
            and "nodeName" not in pod["spec"]
            and not pod["spec"].get("schedulingGates")
            and not _is_deleted(pod)
            and pod["metadata"]["uid"] not in self._bound
        )

    def _holders(self) -> set[str]:
        """Returns the uids of what takes up room: pods bound here that aren't over, pods that were just bound, and processes
        without a pod."""
        bound = {
            pod["metadata"]["uid"]
            for pod in self._pods.values()
            if pod["spec"].get("nodeName") == self._node.name and not _is_reported(pod)
        }
        return bound | self._bound | set(self._drivers.running())

    async def _bind(self, pod: Json) -> None:
        metadata = pod["metadata"]
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {
                "name": metadata["name"],
                "namespace": metadata["namespace"],
                "uid": metadata["uid"],
            },
            "target": {"apiVersion": "v1", "kind": "Node", "name": self._node.name},
        }
        self._bound.add(metadata["uid"])
        try:
            await self._kube.create(BINDINGS, metadata["namespace"], binding)
        except ApiError as error:
            self._bound.discard(metadata["uid"])
            if not isinstance(error, NotFoundError | ConflictError):
                raise

    async def _tell_full(self, pod: Json) -> None:
        conditions = (pod.get("status") or {}).get("conditions") or []
        if any(condition["type"] == "PodScheduled" for condition in conditions):
            return
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": f"all {self._limit} places for drivers on this machine are taken",
        }
        await self._patch_status(pod, {"conditions": [condition]})

    async def _is_orphan(self, pod: Json) -> bool:
        owners = pod["metadata"].get("ownerReferences") or []
        return (
            not any(owner["uid"] in self._applications for owner in owners)
            and await self._application(pod) is None
        )

    async def _application(self, pod: Json) -> Application | None:
        """The application that owns the pod, if it still exists and is still the same one."""
        metadata = pod["metadata"]
        for owner in metadata.get("ownerReferences") or []:
            if owner["kind"] == KIND:
                body = await find(self._kube, KUBEFLOW_APPLICATIONS, metadata["namespace"], owner["name"])
                if body is not None and body["metadata"]["uid"] == owner["uid"]:
                    return Application(body)
        return None

    def _fetcher(self, namespace: str) -> Fetch:
        async def fetch(kind: Source, name: str) -> Json | None:
            return await find(self._kube, Resource("/api/v1", kind), namespace, name)

        return fetch

    async def _patch_status(self, pod: Json, status: Json) -> None:
        body = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
        try:
            metadata = pod["metadata"]
            await self._kube.patch(PODS, metadata["namespace"], metadata["name"], body, sub="status")
        except (NotFoundError, ConflictError):
            self._look_at(pod["metadata"]["uid"])


def _name(pod: Json) -> str:
    return f"pod {pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _age(pod: Json) -> tuple[str, str]:
    return pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]


def _is_deleted(pod: Json) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def _container_states(pod: Json) -> list[Json]:
    return [
        container.get("state") or {} for container in (pod.get("status") or {}).get("containerStatuses") or []
    ]


def _has_run(pod: Json) -> bool:
    return any("running" in state or "terminated" in state for state in _container_states(pod))


def _is_reported(pod: Json) -> bool:
    return any("terminated" in state for state in _container_states(pod))
