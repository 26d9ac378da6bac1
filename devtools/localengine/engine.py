"""Joins the parts: what is watched, whose turn it is when something changes, and what happens at the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from kubernetes.aio.client.exceptions import ApiException

from localengine.api import APPLICATIONS, PODS, Api, told
from localengine.application import KIND, LABEL_LAUNCHED, LABEL_ROLE, Json
from localengine.clustersubmit import ClusterSubmitter
from localengine.controller import ApplicationController, Faults, Name, now
from localengine.driverpod import Runtime
from localengine.kubelet import Kubelet
from localengine.ledger import Ledger
from localengine.node import Node
from localengine.processes import Drivers
from localengine.processsubmit import ProcessSubmitter
from localengine.watching import Mirror
from localengine.workqueue import WorkQueue

_log = logging.getLogger("localengine")

WORKERS = 4
SWEEP_SECONDS = 5.0
PATIENCE_AT_THE_END = 5.0


@dataclass(frozen=True)
class Settings:
    namespace: str | None
    work: Path
    node: str
    limit: int
    runtime: Runtime
    faults: Faults
    stop_drivers: bool


class Engine:
    """With a `cluster` submitter real kubelets run the drivers, else this process plays the kubelet."""

    def __init__(self, api: Api, settings: Settings, cluster: ClusterSubmitter | None) -> None:
        self._settings = settings
        self._ledger = Ledger(settings.work / "submissions")
        self._applications = Mirror(
            api, _collection(APPLICATIONS, settings.namespace), self._application_changed
        )
        selector = f"{LABEL_LAUNCHED}=true,{LABEL_ROLE}=driver"
        self._pods = Mirror(api, _collection(PODS, settings.namespace), self._pod_changed, selector)
        controller = ApplicationController(
            api, cluster or ProcessSubmitter(api), self._ledger, settings.faults, now
        )
        self._application_queue: WorkQueue[Name] = WorkQueue("application", controller.reconcile)
        self._drivers = Drivers(settings.work / "drivers")
        self._node = Node(api, settings.node)
        self._kubelet = Kubelet(
            api=api,
            node=self._node,
            pods=self._pods.objects,
            applications=self._applications.objects,
            drivers=self._drivers,
            runtime=settings.runtime,
            limit=settings.limit,
            look_at=self._look_at_pod,
        )
        self._pod_queue: WorkQueue[str] = WorkQueue("pod", self._kubelet.reconcile)
        self._plays_kubelet = cluster is None

    async def run(self, stop: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in self._work()]
            await stop.wait()
            for task in tasks:
                task.cancel()
        if self._plays_kubelet:
            await self._end()

    def _work(self) -> list[Coroutine[None, None, None]]:
        always: list[Coroutine[None, None, None]] = [
            self._applications.run(),
            self._pods.run(),
            self._application_queue.run(WORKERS),
        ]
        return [*always, self._start_kubelet()] if self._plays_kubelet else always

    async def _start_kubelet(self) -> None:
        # Before both lists are known every process looks as if its pod were gone.
        await self._applications.synced.wait()
        await self._pods.synced.wait()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pod_queue.run(WORKERS))
            group.create_task(self._sweep())

    async def _sweep(self) -> None:
        while True:
            try:
                await self._node.beat(now())
            except (ApiException, aiohttp.ClientError, TimeoutError, OSError) as error:
                _log.warning("can't tell that node %s is alive: %s", self._node.name, told(error))
            for uid in {*self._pods.objects, *self._drivers.known()}:
                self._pod_queue.add(uid)
            self._drivers.forget_oldest(needed=set(self._pods.objects))
            await asyncio.sleep(SWEEP_SECONDS)

    async def _end(self) -> None:
        running = self._drivers.running()
        if self._settings.stop_drivers:
            for name in await self._kubelet.stop_drivers(PATIENCE_AT_THE_END):
                _log.info("ended %s", name)
            _log.info("%d drivers ended, no process left", len(running))
        elif running:
            _log.info(
                "%d drivers go on without the engine; the next start on this folder finds them", len(running)
            )

    def _application_changed(self, body: Json) -> None:
        metadata = body["metadata"]
        self._application_queue.add((metadata["namespace"], metadata["name"]))
        if metadata["uid"] not in self._applications.objects:
            self._ledger.forget(metadata["uid"])
            for pod in self._pods.objects.values():
                if metadata["uid"] in _owners(pod):
                    self._look_at_pod(pod["metadata"]["uid"])

    def _pod_changed(self, pod: Json) -> None:
        metadata = pod["metadata"]
        for owner in metadata.get("ownerReferences") or []:
            if owner["kind"] == KIND:
                self._application_queue.add((metadata["namespace"], owner["name"]))
        self._look_at_pod(metadata["uid"])

    def _look_at_pod(self, uid: str) -> None:
        if self._plays_kubelet:
            self._pod_queue.add(uid)


def _collection(template: str, namespace: str | None) -> str:
    if namespace is not None:
        return template.format(namespace=namespace)
    return template.replace("/namespaces/{namespace}", "")


def _owners(pod: Json) -> set[str]:
    return {owner["uid"] for owner in pod["metadata"].get("ownerReferences") or []}
