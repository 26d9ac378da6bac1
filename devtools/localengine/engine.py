"""Joins the parts: what is watched, whose turn it is when something changes, and what happens at the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from localengine.application import KIND, LABEL_LAUNCHED, LABEL_ROLE
from localengine.clustersubmit import ClusterSubmitter
from localengine.controller import ApplicationController, Faults, Name, now
from localengine.driverpod import Runtime
from localengine.kubelet import Kubelet
from localengine.ledger import Ledger
from localengine.node import Node
from localengine.objects import told
from localengine.processes import Drivers
from localengine.processsubmit import ProcessSubmitter
from localengine.workqueue import WorkQueue
from sluice.api.base import Json
from sluice.kube.client import ApiError, Kube
from sluice.kube.mirror import Mirror, uid_of
from sluice.kube.resources import KUBEFLOW_APPLICATIONS, PODS
from sluice.kube.watch_loop import Watcher

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
    """Runs SparkApplications. If a `cluster` submitter is given, real kubelets run the drivers, else this process plays the
    kubelet."""

    def __init__(self, kube: Kube, settings: Settings, cluster: ClusterSubmitter | None) -> None:
        self._settings = settings
        self._ledger = Ledger(settings.work / "submissions")
        self._applications = Mirror(KUBEFLOW_APPLICATIONS, self._application_changed)
        selector = f"{LABEL_LAUNCHED}=true,{LABEL_ROLE}=driver"
        self._pods = Mirror(PODS, self._pod_changed, selector=selector)
        self._watchers = [
            Watcher(kube, mirror, settings.namespace) for mirror in (self._applications, self._pods)
        ]
        controller = ApplicationController(
            kube, cluster or ProcessSubmitter(kube), self._ledger, settings.faults, now
        )
        self._application_queue: WorkQueue[Name] = WorkQueue("application", controller.reconcile)
        self._drivers = Drivers(settings.work / "drivers")
        self._node = Node(kube, settings.node)
        self._kubelet = Kubelet(
            kube=kube,
            node=self._node,
            pods=self._pods,
            applications=self._applications,
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
            *(watcher.run() for watcher in self._watchers),
            self._application_queue.run(WORKERS),
        ]
        return [*always, self._start_kubelet()] if self._plays_kubelet else always

    async def _start_kubelet(self) -> None:
        # Before both lists are known every process looks as if its pod were gone.
        for watcher in self._watchers:
            await watcher.listed.wait()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pod_queue.run(WORKERS))
            group.create_task(self._sweep())

    async def _sweep(self) -> None:
        while True:
            try:
                await self._node.beat(now())
            except (ApiError, aiohttp.ClientError, TimeoutError, OSError) as error:
                _log.warning("can't tell that node %s is alive: %s", self._node.name, told(error))
            pods = {uid_of(pod) for pod in self._pods.values()}
            for uid in pods | set(self._drivers.known()):
                self._pod_queue.add(uid)
            self._drivers.forget_oldest(needed=pods)
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

    def _application_changed(self, before: Json | None, after: Json | None) -> None:
        metadata = _either(before, after)["metadata"]
        self._application_queue.add((metadata["namespace"], metadata["name"]))
        if after is None:
            self._ledger.forget(metadata["uid"])
            for pod in self._pods.values():
                if metadata["uid"] in _owners(pod):
                    self._look_at_pod(pod["metadata"]["uid"])

    def _pod_changed(self, before: Json | None, after: Json | None) -> None:
        metadata = _either(before, after)["metadata"]
        for owner in metadata.get("ownerReferences") or []:
            if owner["kind"] == KIND:
                self._application_queue.add((metadata["namespace"], owner["name"]))
        self._look_at_pod(metadata["uid"])

    def _look_at_pod(self, uid: str) -> None:
        if self._plays_kubelet:
            self._pod_queue.add(uid)


def _either(before: Json | None, after: Json | None) -> Json:
    """The object as it is after the change, or as it was before if it is gone."""
    body = before if after is None else after
    assert body is not None  # noqa: S101 - a change is of something
    return body


def _owners(pod: Json) -> set[str]:
    return {owner["uid"] for owner in pod["metadata"].get("ownerReferences") or []}
